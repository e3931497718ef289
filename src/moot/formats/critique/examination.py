"""How far a critique's answer holds: the deciding score given again, and the answer compared with the first proposal.

The comparison is blind: whoever compares reads two answers, in mirrored orders, and nothing of the debate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from moot.core.debate import Step, Turn
from moot.core.script import Debate, Script
from moot.core.trust import COMPARISON, RESCORING, Judging, Level, Trust
from moot.formats.critique.answers import Comparison, Rescored
from moot.formats.critique.issues import AnyCritique, TrackedIssue, open_issues
from moot.trust.judging import LEVELS, Case, Judged, JudgeView, call, judge_in_pairs, limit_of, trust, weighed
from moot.trust.mirrored import form_shown, judged_again, judging

NEAR = 1.0
"""So far below the score from which on it decides, a score is given again."""
SCORING_TOKENS = 100
COMPARING_TOKENS = 300


def rescored(
    debate: Debate[Any], round: int, turn: Turn, critique: AnyCritique, **known: object
) -> Script[AnyCritique]:
    """The critique with the mean of its score and others like it, where the score is about to decide."""
    s = debate.settings
    decides = critique.score is not None and critique.score >= s.early_stop_score - NEAR
    if not s.rescorings or round < s.min_rounds or not (decides or debate.rehearsed):
        return critique
    cap = debate.seats["skeptic"].max_tokens if s.think else SCORING_TOKENS
    if limit_of(debate, "skeptic", s.rescorings, s.rescorings):
        return critique
    turns = yield from debate.ask_all(
        [
            Step(
                "skeptic",
                RESCORING,
                round,
                answer=Rescored,
                variables={**known, "wording": wording},
                max_tokens=cap,
                visible=range(turn.position),
            )
            for wording in range(s.rescorings)
        ]
    )
    return together(critique, turns)


def together(critique: AnyCritique, turns: Sequence[Turn]) -> AnyCritique:
    """The critique with the mean of all scores, and ready when most call it so."""
    readings = [each for each in (critique, *map(scoring_of, turns)) if each.score is not None]
    if len(readings) < 2:
        return critique
    mean = fmean(each.score for each in readings if each.score is not None)
    ready = 2 * sum(each.ready for each in readings) > len(readings)
    return critique.model_copy(update={"score": round(mean, 2), "ready": ready})


def scoring_of(turn: Turn) -> Rescored:
    return Rescored.model_validate(turn.data)


def examined(debate: Debate[Any], answer: Turn, issues: Sequence[TrackedIssue]) -> Script[Trust | None]:
    """How far the final answer can be relied on; None where there is no other answer to compare it with."""
    first = next((turn for turn in debate.transcript if turn.kind == "proposal" and turn.content), None)
    if debate.settings.most_judgings == 1 or first is None or first.content == answer.content:
        return None
    limit = limit_of(debate, "skeptic", 2, 2)
    if limit:
        said = debate.language(
            "the comparison with the first proposal was left out: {limit} leaves no room", limit=limit
        )
        return Trust(level="Low", reasons=[said])
    case = Case(partial(_comparison, debate, answer.content, first.content), compared)
    (judged,) = yield from judge_in_pairs(debate, [case])
    return _trust(debate, judged, issues)


def _comparison(debate: Debate[Any], final: str, first: str, view: JudgeView) -> Step:
    step = Step(
        "skeptic",
        COMPARISON,
        answer=form_shown("Comparison", Comparison, ("score",), ("a", "b"), ("1", "2"), view.mirrored),
        aliases={},
        variables={
            "texts": (first, final) if view.mirrored else (final, first),
            "wording": view.wording,
            "templates": (),
        },
        max_tokens=debate.seats["skeptic"].max_tokens if debate.settings.think else COMPARING_TOKENS,
        visible=frozenset(),
    )
    return judged_again(debate, step, view)


def compared(turn: Turn, view: JudgeView) -> Judging:
    said: Any = turn.data or {}
    return judging(turn, view, said["score_a"], said["score_b"])


def _trust(debate: Debate[Any], judged: Judged, issues: Sequence[TrackedIssue]) -> Trust:
    stability = weighed(judged, compared).stability
    found = trust(debate, judged, stability)
    if stability is None:
        return found
    say, better = debate.language, call(stability.margin)
    caps: list[tuple[Level, str]] = list(_caps(debate, issues))
    if better == "b":
        caps.insert(0, ("Low", say("blind, the first proposal was found better than the final answer")))
    elif better == "undecided":
        caps.insert(0, ("Medium", say("blind, the final answer was found no better than the first proposal")))
    else:
        caps.insert(0, (found.level, say("blind, the final answer was found better than the first proposal")))
    reasons = found.reasons[1:] if better == "undecided" else found.reasons
    level = min((level for level, _ in caps), key=LEVELS.index)
    return found.model_copy(update={"level": level, "reasons": [*(reason for _, reason in caps), *reasons]})


def _caps(debate: Debate[Any], issues: Sequence[TrackedIssue]) -> Iterator[tuple[Level, str]]:
    """What stayed open weighs more than what readers prefer."""
    left = {issue.severity for issue in open_issues(issues)}
    if "critical" in left:
        yield "Low", debate.language("a critical issue stayed open")
    elif "major" in left:
        yield "Medium", debate.language("a major issue stayed open")

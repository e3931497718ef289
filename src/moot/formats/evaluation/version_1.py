"""The rules of version 1 of the evaluation, by which debates that began under it go on.

The advocate began on every topic and both sides had their titles, answers were prose, only the quotes in forms were
compared with the idea, and the arbiter's own confidence moved scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from moot.core.charts import signed
from moot.core.debate import Step, Turn
from moot.formats.evaluation import answers
from moot.formats.evaluation.answers import Judgment
from moot.formats.evaluation.concessions import other
from moot.formats.evaluation.evidence import Quote, quoted, remarks
from moot.formats.evaluation.hearing import Evaluating, Rules, TopicDebate
from moot.formats.evaluation.scorecard import TopicVerdict, counted
from moot.formats.evaluation.scores import change
from moot.formats.evaluation.settings import SIDES
from moot.trust.judging import Judged, JudgeView

FOLDER = Path(__file__).parent / "version_1"


class Arguments(answers.Arguments):
    quoting = '(Quoting: "{}")'


def notes(debate: Evaluating, turn: Turn) -> tuple[str, ...]:
    say, idea = debate.language, debate.settings.quotable(debate.topic)
    match turn.kind:
        case "scores":
            return (answers.rated(turn), *remarks(quoted(turn, idea), say))
        case "argument":
            return tuple(remarks(quoted(turn, idea), say))
        case "verdict" if turn.round:
            category, verdict = debate.settings.topics[turn.round - 1].category, answers.verdict(turn)
            return (
                say(
                    "advocate {advocate:g}, challenger {challenger:g}, confidence {confidence}: {category} {change}",
                    advocate=verdict.score_advocate,
                    challenger=verdict.score_challenger,
                    confidence=verdict.certainty,
                    category=category,
                    change=signed(change(verdict)),
                ),
            )
        case _:
            return ()


def _speech(debate: Evaluating, hearing: TopicDebate, seat: str, kind: str, last: bool, most: int) -> Step:
    return Step(
        seat,
        kind,
        hearing.number,
        answer=Arguments if kind == "argument" else None,
        variables={
            "about": hearing.topic,
            "position": hearing.position(seat),
            "against": hearing.position(other(seat)),
            "rating": hearing.rating,
            "raised": hearing.raised,
            "last": last,
        },
        max_tokens=most,
        visible=hearing.visible,
    )


def _judging(debate: Evaluating, hearing: TopicDebate, view: JudgeView) -> Step:
    false = [quote for quote in _quoted(debate, hearing) if quote.false]
    return Step(
        "arbiter",
        "verdict",
        hearing.number,
        answer=Judgment,
        variables={"about": hearing.topic, "misquoted": false},
        visible=hearing.visible,
    )


def _judged(debate: Evaluating, hearing: TopicDebate, judged: Judged) -> TopicVerdict:
    (turn,) = judged.turns
    verdict = answers.verdict(turn)
    return TopicVerdict(
        **answers.judgment(turn).model_dump(exclude={"winner"}),
        number=hearing.number,
        name=hearing.topic.name,
        category=hearing.topic.category,
        winner=verdict.winner,
        change=round(change(verdict), 2),
        quotes=counted(_quoted(debate, hearing)),
        fallback=verdict.fallback,
    )


def _quoted(debate: Evaluating, hearing: TopicDebate) -> Sequence[Quote]:
    idea = debate.settings.quotable(debate.topic)
    return [quote for turn in hearing.turns for quote in quoted(turn, idea)]


RULES = Rules(order=lambda number: SIDES, speech=_speech, judging=_judging, judged=_judged)

"""The critique: a proposer answers with reasoning templates, a skeptic attacks, a synthesizer writes the final answer.

The skeptic's issues are numbered and followed by code (see `issues`), which alone decides when the rounds end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeAlias

from pydantic import Field, model_validator

from moot.core.charts import ChartData
from moot.core.debate import Seat, Settings, Turn
from moot.core.format import LIBRARY, Format, Side, Starter
from moot.core.script import Debate, Script
from moot.core.trust import CHECKS, RESCORING
from moot.formats.critique.answers import Critique, Proposal
from moot.formats.critique.examination import compared, examined, rescored, scoring_of, together
from moot.formats.critique.final_answer import (
    REASONS,
    FinalAnswer,
    UsedTemplate,
    described,
    final_answer,
    status_word,
    templates_of,
)
from moot.formats.critique.issues import (
    AnyCritique,
    TrackedIssue,
    critique_of,
    judged,
    open_issues,
    reason_to_end,
    replied,
    tracked,
)
from moot.formats.critique.page import by_round, first_and_final, page
from moot.formats.critique.points import claims, points
from moot.formats.critique.version_1 import Critique as FirstCritique
from moot.text.language import Language
from moot.trust.depth import JudgedSettings
from moot.trust.judging import JudgeView

SPEAKING = ("proposer", "skeptic")
FULL_INTENSITY = 4
"""From this round on the skeptic cannot be told to press harder."""
ANSWER_SHARE = 2 / 3
"""Of what the proposer may write; the rest is for replies."""


class FirstSettings(Settings):
    """What can be chosen from version 1 on."""

    max_runtime_seconds: float = Field(1800, gt=0, allow_inf_nan=False)
    max_total_output_tokens: int = Field(20_000, ge=1, le=1_000_000_000)
    min_rounds: int = Field(3, ge=1, le=100, description="no early end before; at most max_rounds")
    early_stop_score: float = Field(8, ge=0, le=10, description="the skeptic's score from which its `ready` counts")
    rag_top_k: int = Field(3, ge=0, le=20, description="how many reasoning templates to retrieve; 0 for none")
    strict_retrieval: bool = Field(False, description="fail when templates cannot be retrieved, or go on without")
    model_proposer: str | None = Field(None, description="the proposer's model")
    model_skeptic: str | None = Field(None, description="the skeptic's model")
    model_synthesizer: str | None = Field(None, description="the synthesizer's model")

    @model_validator(mode="after")
    def _rounds_fit(self) -> Self:
        """Fewer rounds than the usual least are fine, unless somebody asked for that least."""
        least, most = self.min_rounds, self.max_rounds
        if least > most and "min_rounds" in self.model_fields_set:
            raise ValueError(f"min_rounds is {least}, but max_rounds is {most}: lower min_rounds or raise max_rounds")
        self.min_rounds = min(least, most)
        return self


class CritiqueSettings(FirstSettings, JudgedSettings):
    pass


Critical: TypeAlias = Debate[FirstSettings] | Debate[CritiqueSettings]


def script(debate: Critical) -> Script[FinalAnswer]:
    templates = yield from _retrieved(debate)
    issues: tuple[TrackedIssue, ...] = ()  # as `tracked` would find them, which reads all turns each time
    with debate.until_closing():
        for round in debate.rounds(SPEAKING, closing=["synthesizer", "skeptic"]):
            proposal = yield from _proposal(debate, round, templates, open_issues(issues))
            issues = yield from _criticised(debate, round, templates, replied(issues, proposal), proposal)
    answer = yield from debate.ask("synthesizer", "answer", templates=templates, issues=open_issues(issues))
    if any(turn.kind == "critique" for turn in debate.transcript):  # or there is nobody's judgement to give again
        yield from debate.ask("skeptic", "review", answer=Critique, templates=templates, issues=open_issues(issues))
    trust = yield from examined(debate, answer, tracked(debate.transcript))
    return final_answer(debate, answer, templates, trust=trust)


def first_script(debate: Critical) -> Script[FinalAnswer]:
    """Version 1: replies in prose, and nobody reviews the answer."""
    templates = yield from _retrieved(debate)
    issues: tuple[TrackedIssue, ...] = ()
    with debate.until_closing():
        for round in debate.rounds(SPEAKING, closing=["synthesizer"]):
            asked = open_issues(issues)
            proposal = yield from debate.ask("proposer", "proposal", round, templates=templates, issues=asked)
            known = replied(issues, proposal)
            issues = yield from _criticised(debate, round, templates, known, proposal, FirstCritique)
    answer = yield from debate.ask("synthesizer", "answer", templates=templates, issues=open_issues(issues))
    return final_answer(debate, answer, templates, with_figures=False)


def _proposal(
    debate: Critical, round: int, templates: Sequence[UsedTemplate], issues: Sequence[TrackedIssue]
) -> Script[Turn]:
    """The answer, with as much room in each round: replies to issues have their own."""
    alone = None if issues else int(debate.output_cap("proposer") * ANSWER_SHARE)
    return debate.ask(
        "proposer",
        "proposal",
        round,
        answer=Proposal if issues else None,
        max_tokens=alone,
        templates=templates,
        issues=issues,
        share=ANSWER_SHARE,
        looks_for=(debate.topic, *(issue.text for issue in issues)),
    )


def _criticised(
    debate: Critical,
    round: int,
    templates: Sequence[UsedTemplate],
    issues: tuple[TrackedIssue, ...],
    proposal: Turn,
    form: type[AnyCritique] = Critique,
) -> Script[tuple[TrackedIssue, ...]]:
    """The issues after the skeptic's critique, which may end the rounds."""
    s = debate.settings
    turn = yield from debate.ask(
        "skeptic",
        "critique",
        round,
        answer=form,
        templates=templates,
        issues=open_issues(issues),
        intensity=min(round, FULL_INTENSITY),
        last=round == s.max_rounds,
    )
    critique = critique_of(turn)
    left = judged(issues, critique, proposal.content, round)
    if form is Critique:
        critique = yield from rescored(debate, round, turn, critique, templates=templates)
    reason = reason_to_end(critique, left, round, min_rounds=s.min_rounds, early_stop_score=s.early_stop_score)
    if reason:
        debate.end_rounds(reason)
    return left


def _retrieved(debate: Critical) -> Script[tuple[UsedTemplate, ...]]:
    s = debate.settings
    if not s.rag_top_k:
        return ()
    turn = yield from debate.ask(
        "library", "templates", query=debate.topic, top_k=s.rag_top_k, strict=s.strict_retrieval
    )
    return templates_of(turn)


# What readers are told below a turn


def notes(debate: Critical, turn: Turn) -> tuple[str, ...]:
    match turn.kind:
        case "proposal":
            return tuple(_about_proposal(debate, turn))
        case "critique" | "review":
            return tuple(_about_critique(debate, turn))
        case "answer":
            return tuple(_about_scorings(debate, max((each.round or 0 for each in debate.transcript), default=0)))
        case "comparison" | "rejudging" if "score_a" in (turn.data or {}):
            scores = compared(turn, JudgeView())
            told = {"final": f"{scores.score_a:g}", "first": f"{scores.score_b:g}"}
            return (debate.language("the final answer {final}, the first proposal {first}", **told),)
        case _:
            return ()


def first_notes(debate: Critical, turn: Turn) -> tuple[str, ...]:
    """In version 1 the answer was the last word."""
    if turn.kind != "answer":
        return notes(debate, turn)
    say, remaining = debate.language, open_issues(tracked(debate.transcript))
    return tuple(say("stayed open: {issue}", issue=described(issue, say)) for issue in remaining) or (
        say("no issue stayed open"),
    )


def _about_proposal(debate: Critical, turn: Turn) -> Iterator[str]:
    say = debate.language
    yield from _about_scorings(debate, (turn.round or 1) - 1)
    after = open_issues(replied(tracked(debate.transcript), turn))
    told = [issue for issue in after if issue.replied == turn.round]
    silent = [issue for issue in after if issue.replied != turn.round]
    if turn.data:
        yield from (say("issue {number}: {reply}", number=each.number, reply=each.reply) for each in told)
    elif told:
        yield say("replies to {issues}", issues=_numbers(told, say))
    if silent:
        yield say("does not reply to {issues}", issues=_numbers(silent, say))


def _about_critique(debate: Critical, turn: Turn) -> Iterator[str]:
    say = debate.language
    before, after = tracked(debate.transcript), tracked([*debate.transcript, turn])
    yield _scored(debate, turn)
    for was, now in zip(before, after, strict=False):
        if was.status != now.status or now.status == "open":
            why = f" ({now.why})" if now.why else ""
            yield say("issue {number} is {status}", number=now.number, status=status_word(now, say)) + why
    yield from (say("new {issue}", issue=described(issue, say)) for issue in after[len(before) :])


def _about_scorings(debate: Debate[Any], round: int) -> Iterator[str]:
    """What all scorings of a round came to, where there were several."""
    s, say = debate.settings, debate.language
    again = [turn for turn in debate.in_round(round) if turn.kind == RESCORING]
    first = next((turn for turn in debate.in_round(round) if turn.kind == "critique"), None)
    if first is None or not again:
        return
    scores = [critique_of(first).score, *(scoring_of(turn).score for turn in again)]
    mean = together(critique_of(first), again)
    values = {
        "round": round,
        "scores": ", ".join("–" if score is None else f"{score:g}" for score in scores),
        "mean": f"{mean.score:g}",
    }
    if mean.ready and (mean.score or 0) >= s.early_stop_score:
        yield say("round {round} was scored {scores}: {mean} on average, ready", **values)
    else:
        yield say("round {round} was scored {scores}: {mean} on average, which does not end the rounds", **values)


def _scored(debate: Critical, turn: Turn) -> str:
    say, s, critique = debate.language, debate.settings, critique_of(turn)
    if critique.score is None:
        return say("no score: this critique decides nothing")
    score = f"{critique.score:g}"
    if not critique.ready:
        return say("score {score}/10, not ready", score=score)
    if turn.kind == "critique" and critique.score < s.early_stop_score:
        least = f"{s.early_stop_score:g}"
        return say("score {score}/10; called ready, but that counts from {least} on", score=score, least=least)
    if turn.kind == "critique" and (turn.round or 0) < s.min_rounds:
        rounds = s.min_rounds
        return say("score {score}/10; called ready, but there are at least {rounds} rounds", score=score, rounds=rounds)
    return say("score {score}/10, ready", score=score)


def _numbers(issues: Sequence[TrackedIssue], say: Language) -> str:
    numbers = ", ".join(str(issue.number) for issue in issues)
    return say("issue {numbers}", numbers=numbers) if len(issues) == 1 else say("issues {numbers}", numbers=numbers)


def charts(debate: Critical, outcome: FinalAnswer) -> Iterator[ChartData]:
    yield from first_and_final(outcome)
    yield from by_round(debate)


def _seats(proposer: int) -> tuple[Seat, ...]:
    return (
        LIBRARY,
        Seat("proposer", "Proposer", "proposer", max_tokens=proposer, temperature=0.7, prefers="large"),
        Seat("skeptic", "Skeptic", "skeptic", max_tokens=800, temperature=0.8, prefers="large_of_another_family"),
        Seat("synthesizer", "Synthesizer", "synthesizer", max_tokens=1500, temperature=0.5, prefers="large"),
    )


_CRITIQUE: Format[Any, FinalAnswer] = Format(
    name="critique",
    version=2,
    summary="A proposer answers, a skeptic attacks, and a synthesizer writes what survived.",
    settings=CritiqueSettings,
    seats=_seats(proposer=1800),
    outcome=FinalAnswer,
    script=script,
    folder=Path(__file__).parent,
    notes=notes,
    points=points,
    claims=claims,
    charts=charts,
    sides=lambda debate: {"proposer": Side(), "skeptic": Side()},
    closing=lambda debate: ("Answer",),
    page=page,
    folded=CHECKS,
    first=("depth",),
    picture="document",
    starters=(
        Starter(
            "Is it safe to run database migrations when the server starts?",
            "an answer, hardened until the skeptic has nothing left",
            {"depth": "normal"},
        ),
        Starter("What is wrong with this plan?", "add a plan or a design; get its weak points and a better one"),
    ),
    reasons=REASONS,
)
_FIRST = replace(
    _CRITIQUE,
    version=1,
    settings=FirstSettings,
    folded=frozenset(),
    first=(),
    seats=_seats(proposer=1200),
    script=first_script,
    folder=_CRITIQUE.folder / "version_1",
    notes=first_notes,
)
CRITIQUE = replace(_CRITIQUE, earlier=(_FIRST,))

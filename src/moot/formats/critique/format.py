"""The critique: a proposer answers with reasoning templates, a skeptic attacks, a synthesizer writes the final answer.

The skeptic's issues are numbered and followed by code (see `issues`), which alone decides when the rounds end.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field, model_validator

from moot.core.charts import ChartData, scores_by_round
from moot.core.debate import Seat, Settings, Turn
from moot.core.format import Format
from moot.core.script import Debate, Script
from moot.formats.critique.answers import Critique
from moot.formats.critique.final_answer import REASONS, FinalAnswer, UsedTemplate, described, final_answer, templates_of
from moot.formats.critique.issues import TrackedIssue, critique_of, judged, open_issues, reason_to_end, replied, tracked
from moot.formats.critique.points import points

SPEAKING = ("proposer", "skeptic")
FULL_INTENSITY = 4
"""From this round on the skeptic cannot be told to press harder."""


class CritiqueSettings(Settings):
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
    def _rounds_fit(self) -> CritiqueSettings:
        """Fewer rounds than the usual least are fine, unless somebody asked for that least."""
        least, most = self.min_rounds, self.max_rounds
        if least > most and "min_rounds" in self.model_fields_set:
            raise ValueError(f"min_rounds is {least}, but max_rounds is {most}: lower min_rounds or raise max_rounds")
        self.min_rounds = min(least, most)
        return self


def script(debate: Debate[CritiqueSettings]) -> Script[FinalAnswer]:
    s = debate.settings
    templates = yield from _retrieved(debate)
    issues: tuple[TrackedIssue, ...] = ()  # as `tracked` would find them, which reads all turns each time
    with debate.until_closing():
        for round in debate.rounds(SPEAKING, closing=["synthesizer"]):
            asked = open_issues(issues)
            proposal = yield from debate.ask("proposer", "proposal", round, templates=templates, issues=asked)
            issues = replied(issues, proposal.content, round)
            turn = yield from debate.ask(
                "skeptic",
                "critique",
                round,
                answer=Critique,
                templates=templates,
                issues=open_issues(issues),
                intensity=min(round, FULL_INTENSITY),
                last=round == s.max_rounds,
            )
            critique = critique_of(turn)
            issues = judged(issues, critique, proposal.content, round)
            reason = reason_to_end(
                critique, issues, round, min_rounds=s.min_rounds, early_stop_score=s.early_stop_score
            )
            if reason:
                debate.end_rounds(reason)
    answer = yield from debate.ask("synthesizer", "answer", templates=templates, issues=open_issues(issues))
    return final_answer(debate, answer, templates)


def _retrieved(debate: Debate[CritiqueSettings]) -> Script[tuple[UsedTemplate, ...]]:
    s = debate.settings
    if not s.rag_top_k:
        return ()
    turn = yield from debate.ask(
        "library", "templates", query=debate.topic, top_k=s.rag_top_k, strict=s.strict_retrieval
    )
    return templates_of(turn)


def _open(debate: Debate[CritiqueSettings]) -> tuple[TrackedIssue, ...]:
    return open_issues(tracked(debate.transcript))


# What readers are told below a turn


def notes(debate: Debate[CritiqueSettings], turn: Turn) -> tuple[str, ...]:
    match turn.kind:
        case "proposal":
            return tuple(_about_proposal(debate, turn))
        case "critique":
            return tuple(_about_critique(debate, turn))
        case "answer":
            remaining = [f"stayed open: {described(issue)}" for issue in _open(debate)]
            return tuple(remaining or ["no issue stayed open"])
        case _:
            return ()


def _about_proposal(debate: Debate[CritiqueSettings], turn: Turn) -> Iterator[str]:
    after = open_issues(replied(tracked(debate.transcript), turn.content, turn.round or 0))
    told = [issue for issue in after if issue.replied == turn.round]
    silent = [issue for issue in after if issue.replied != turn.round]
    if told:
        yield f"replies to {_numbers(told)}"
    if silent:
        yield f"does not reply to {_numbers(silent)}"


def _about_critique(debate: Debate[CritiqueSettings], turn: Turn) -> Iterator[str]:
    before, after = tracked(debate.transcript), tracked([*debate.transcript, turn])
    yield _scored(debate.settings, turn)
    for was, now in zip(before, after, strict=False):
        if was.status != now.status:
            yield f"issue {now.number} is {now.status}"
        elif now.status == "open":
            yield f"issue {now.number} is still open"
    yield from (f"new {described(issue)}" for issue in after[len(before) :])


def _scored(s: CritiqueSettings, turn: Turn) -> str:
    critique = critique_of(turn)
    if critique.score is None:
        return "no score: this critique decides nothing"
    if not critique.ready:
        return f"score {critique.score:g}/10, not ready"
    if critique.score < s.early_stop_score:
        return f"score {critique.score:g}/10; called ready, but that counts from {s.early_stop_score:g} on"
    if (turn.round or 0) < s.min_rounds:
        return f"score {critique.score:g}/10; called ready, but there are at least {s.min_rounds} rounds"
    return f"score {critique.score:g}/10, ready"


def _numbers(issues: list[TrackedIssue]) -> str:
    numbers = ", ".join(str(issue.number) for issue in issues)
    return f"issue {numbers}" if len(issues) == 1 else f"issues {numbers}"


def charts(debate: Debate[CritiqueSettings], outcome: FinalAnswer) -> Iterator[ChartData]:
    yield from scores_by_round(debate.transcript, "critique", {"score": "Skeptic’s score"})


CRITIQUE = Format(
    name="critique",
    version=1,
    summary="A proposer answers, a skeptic attacks, and a synthesizer writes what survived.",
    settings=CritiqueSettings,
    seats=(
        Seat("library", "Library", "library", max_tokens=0, player="library"),
        Seat("proposer", "Proposer", "proposer", max_tokens=1200, temperature=0.7, prefers="large"),
        Seat("skeptic", "Skeptic", "skeptic", max_tokens=800, temperature=0.8, prefers="large_of_another_family"),
        Seat("synthesizer", "Synthesizer", "synthesizer", max_tokens=1500, temperature=0.5, prefers="large"),
    ),
    outcome=FinalAnswer,
    script=script,
    folder=Path(__file__).parent,
    notes=notes,
    points=points,
    charts=charts,
    reasons=REASONS,
)

"""The rules of version 1 of the panel, by which debates that began under it go on.

Agreement was what the moderator quoted of two debaters, confidence how the rounds ended less a level for each weakness.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema, create_model

from moot.core.debate import Answer, Turn
from moot.core.fields import Flag, Text, Texts, Words, at_most, objects
from moot.core.script import Debate
from moot.core.trust import Level
from moot.formats.panel import perspectives as catalogs
from moot.formats.panel.answers import UNREAD, Reply, View
from moot.formats.panel.assessment import Verdict, facts, stale
from moot.formats.panel.casting import Casting, debaters, evaluation_of, muted, names, spoken
from moot.formats.panel.decision import REASONS, Decision, caveats, round_facts, views
from moot.formats.panel.perspectives import Perspective
from moot.formats.panel.positions import is_agreed, last_round
from moot.formats.panel.record import first_sentence
from moot.formats.panel.settings import FirstSettings
from moot.formats.panel.steps import Rules
from moot.sources.quotes import contains
from moot.text.plain import shortened
from moot.trust.judging import LEVELS

FOLDER = Path(__file__).parent / "version_1"
BUILT_IN = 6
"""Perspectives of the catalog."""
MAX_MENTION = 160
"""Characters; a false quote is told to the moderator, who should not get a speech in its place."""
MIN_EVIDENCE = 4
"""Words; anything shorter could stand in any speech."""
CONVERGED = {"agreed": 2, "clear_winner": 2, "quick_agreement": 1, "stagnant": 1, "concluded": 1}
"""How far up the levels each way of ending may lead; any other ran out of something."""
BECAUSE = {
    **REASONS,
    "agreed": "the debaters agreed, in their own words",
    "quick_agreement": "quick agreement: everybody agreed in the first round",
    "concluded": "a person ended the rounds before the debaters agreed",
}
"""Why the confidence is what it is."""


class Settings(FirstSettings):
    rules: ClassVar[int] = 1
    noted: ClassVar[str] = "off"
    most_judgings: ClassVar[int] = 1
    round_timeout_seconds: float = Field(120, gt=0, allow_inf_nan=False, description="who is later misses the round")

    def known(self) -> tuple[Perspective, ...]:
        return catalogs.catalog(self.custom_perspectives, BUILT_IN)


# Forms, whose schemas stand in recordings


class Analysis(Answer):
    shown = "framing"
    unread = "The moderator's analysis could not be read."

    framing: Annotated[Words, at_most(500)]
    domain: Annotated[Text, at_most(60)] = ""
    constraints: Texts = Field(default_factory=list)
    too_vague: Flag = False
    question: Annotated[Text, at_most(300)] = ""


@cache
def analysis_of(names: tuple[str, ...]) -> type[Analysis]:
    """The analysis as the moderator sees it: perspectives by the names of the catalog."""
    schema = {"type": "array", "items": {"type": "string", "enum": list(names)}, "minItems": 2, "maxItems": 4}
    number = {"type": "integer", "minimum": 2, "maximum": 4}
    return create_model(
        "Analysis",
        __base__=Analysis,
        debaters=(Annotated[int, BeforeValidator(_number), WithJsonSchema(number)], 0),
        perspectives=(Annotated[Texts, WithJsonSchema(schema)], Field(default_factory=list)),
    )


def _number(value: Any) -> Any:
    try:
        return max(0, min(9, int(float(value))))
    except (TypeError, ValueError, OverflowError):
        return 0


class Rebuttal(Reply):
    pass


class Evidence(BaseModel):
    """The very words in which a debater agrees with another or gives in."""

    perspective: Annotated[Text, at_most(60)] = ""
    quote: Annotated[Text, at_most(300)] = ""


class Evaluation(Answer):
    shown = "summary"

    summary: Annotated[Words, at_most(800)]
    state: Literal["converging", "stagnating", "new_ground", "clear_winner"]
    evidence: Annotated[list[Evidence], at_most(4, "maxItems"), BeforeValidator(objects)] = Field(default_factory=list)
    winner: Annotated[Text, at_most(60)] = ""
    decision: Literal["continue", "clarify", "conclude"]
    clarification: Annotated[Text, at_most(300)] = ""
    strayed: Texts = Field(default_factory=list)
    mute: Texts = Field(default_factory=list)

    @classmethod
    def fallback(cls) -> Self:
        told = "The moderator's evaluation could not be read; the debate goes on."
        return cls(summary=told, state="new_ground", decision="continue")


class Synthesis(Answer):
    shown = "recommendation"
    unread = UNREAD

    recommendation: Annotated[Words, at_most(2000)]
    perspectives: Annotated[list[View], at_most(4, "maxItems"), BeforeValidator(objects)] = Field(default_factory=list)
    agreement: Texts = Field(default_factory=list)
    tensions: Texts = Field(default_factory=list)
    caveats: Texts = Field(default_factory=list)
    dissent: Annotated[Text, at_most(600)] = ""
    tasks: Texts = Field(default_factory=list)
    acceptance: Texts = Field(default_factory=list)


def _findings(debate: Debate[Any], round: int) -> list[str]:
    by_seat, found = names(debate), facts(debate, round)
    lines = [f"{by_seat[seat]} repeats {found.repetition[seat]:.0%} of its last round." for seat in found.repeating]
    if found.novelty:
        shares = ", ".join(f"{by_seat[seat]} {share:.0%}" for seat, share in found.novelty.items())
        lines.append(f"Share of what was said that was new: {shares}.")
    lines += [f"{by_seat[seat]} was late and missed the round." for seat in found.late]
    for seat, quote in found.unverified:
        says = "does not say so" if quote.passage is None else f"says “{shortened(quote.passage, MAX_MENTION)}”"
        lines.append(f"{by_seat[seat]} quotes “{shortened(quote.quote, MAX_MENTION)}” from {quote.tag}, which {says}.")
    return lines


# What counts, and what comes out


def evidence(debate: Debate[Any], evaluation: Evaluation) -> dict[str, Evidence]:
    """Seat → the words in which it agrees or gives in, of those who really said them."""
    by_name = {name.casefold(): seat for seat, name in debaters(debate).items()}
    found: dict[str, Evidence] = {}
    for item in evaluation.evidence:
        seat = by_name.get(item.perspective.casefold())
        if (
            seat
            and len(item.quote.split()) >= MIN_EVIDENCE
            and any(contains(item.quote, turn.content) for turn in debate.of_seat(seat))
        ):
            found[seat] = item
    return found


def verdict(debate: Debate[Any], round: int, new: Turn | None = None) -> Verdict:
    if stale(debate, round):
        return Verdict("repetition", "nobody has said anything new for two rounds")
    turn = new or evaluation_of(debate, round)
    evaluation = Evaluation.model_validate(turn.data) if turn else Evaluation.fallback()
    if evaluation.decision != "conclude":
        return Verdict(None, "")
    agreeing = evidence(debate, evaluation)
    match evaluation.state:
        case "converging" if len(agreeing) >= 2:
            return Verdict("quick_agreement", "agreement in the first round") if round == 1 else Verdict("agreed")
        case "converging":
            return Verdict(None, "agreement is claimed, but not with the words of two debaters: it does not count")
        case "clear_winner" if _others_concede(debate, evaluation, agreeing):
            return Verdict("clear_winner", "")
        case "clear_winner":
            return Verdict(None, "a winner is claimed, but no other debater's words concede it: it does not count")
        case "stagnating" if round > 1:
            return Verdict("stagnant", "")
        case _:
            return Verdict(None, "there is no reason yet to conclude: the debate goes on")


def _others_concede(debate: Debate[Any], evaluation: Evaluation, agreeing: Mapping[str, Evidence]) -> bool:
    known, winner = {seat: name.casefold() for seat, name in debaters(debate).items()}, evaluation.winner.casefold()
    return winner in known.values() and any(known[seat] != winner for seat in agreeing)


def decision(
    debate: Debate[Any], casting: Casting, synthesis: Turn, approved: bool | None = None, remark: str = ""
) -> Decision:
    answer = Synthesis.model_validate(synthesis.data)
    level, reasons = confidence(debate, synthesis)
    tensions = answer.tensions or ([] if is_agreed(debate) else ["Unresolved: the perspectives did not agree."])
    return Decision(
        summary=answer.recommendation,
        perspectives=views(debate, answer.perspectives),
        agreement=answer.agreement,
        tensions=tensions,
        conditions=answer.caveats,
        dissent=answer.dissent or _kept_dissent(debate),
        confidence=level,
        reasons=reasons,
        rounds=round_facts(debate),
        tasks=answer.tasks,
        acceptance=answer.acceptance,
        approved=approved,
        remark=remark,
        fallback="fallback" in synthesis.marks,
        ended=debate.stop_reason or "",
        caveats=list(caveats(debate, casting)),
    )


def confidence(debate: Debate[Any], synthesis: Turn) -> tuple[Level, list[str]]:
    """From what happened, never from what the model claims: how it ended, less one level for each weakness."""
    ended = debate.stop_reason or ""
    level = CONVERGED.get(ended, 0)
    weaknesses = list(_weaknesses(debate, synthesis))
    first = BECAUSE.get(ended, "the rounds ran out before the debaters agreed")
    return LEVELS[max(0, level - len(weaknesses))], [first, *weaknesses]


def _weaknesses(debate: Debate[Any], synthesis: Turn) -> Iterator[str]:
    known, last = names(debate), facts(debate, last_round(debate))
    unread = [turn for turn in (*debate.transcript, synthesis) if "fallback" in turn.marks]
    if unread:
        number = len({turn.position for turn in unread})
        yield "an answer could not be read" if number == 1 else f"{number} answers could not be read"
    if missing := _incomplete(debate):
        yield f"not everybody had their say: {', '.join(known[seat] for seat in missing)}"
    if last.repeating:
        yield f"repeating themselves in the last round: {', '.join(known[seat] for seat in last.repeating)}"
    false = sum(len(facts(debate, round).unverified) for round in range(1, last_round(debate) + 1))
    if false:
        yield "a quote does not stand in its source" if false == 1 else f"{false} quotes do not stand in their source"


def _incomplete(debate: Debate[Any]) -> list[str]:
    late = {turn.seat for turn in debate.transcript if "late" in turn.marks}
    return [seat for seat in names(debate) if seat in late or seat in muted(debate)]


def _kept_dissent(debate: Debate[Any]) -> str:
    """What those said last who never agreed, when the moderator leaves it out."""
    turn = evaluation_of(debate, last_round(debate)) if is_agreed(debate) else None
    agreeing = evidence(debate, Evaluation.model_validate(turn.data)) if turn else {}
    last = {turn.seat: turn for turn in debate.transcript if spoken(turn)}
    known = names(debate)
    holding = [f"{known[seat]}: {first_sentence(turn.content)}" for seat, turn in last.items() if seat not in agreeing]
    return " ".join(holding)


RULES = Rules(
    analysis=lambda debate: analysis_of(tuple(perspective.name for perspective in debate.settings.known())),
    rebuttal=lambda debate: Rebuttal,
    evaluation=Evaluation,
    record=lambda debate: Synthesis,
    caps={"analysis": 500, "summary": 300, "evaluation": 500, "synthesis": 1500, "perspective": 0},
    findings=_findings,
    verdict=verdict,
    decision=decision,
)

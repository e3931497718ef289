"""The decision a panel comes to: what was considered, what is recommended, how sure that is and why.

The words are the moderator's; links to turns, confidence, dissent that was left out and everything counted are code's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import indent
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, Field
from rapidfuzz.fuzz import token_set_ratio

from moot.core.debate import Issue, Outcome, Record, Turn
from moot.core.script import Debate
from moot.core.trace import iso
from moot.formats.panel.answers import Considered, Evaluation, Synthesis
from moot.formats.panel.assessment import ARGUED, SEATS, Casting, evidence, facts, muted, names, quotes, spoken
from moot.text.language import sentences
from moot.text.markdown import contained, front_matter, in_line
from moot.trust.caveats import about_models

Confidence = Literal["High", "Medium", "Low"]
LEVELS: tuple[Confidence, ...] = ("Low", "Medium", "High")
LINKED = 55.0
"""A key argument so like a sentence of a turn, out of 100, came from there."""
MAX_LINKS, CLOSE = 2, 10.0
"""At most so many turns, and only those nearly as like it as the likest."""
MAX_COMPARED = 1000
"""Characters of a point and of a sentence; comparing takes their product."""
SHORT = 160
CONVERGED = {"agreed": 2, "clear_winner": 2, "quick_agreement": 1, "stagnant": 1, "concluded": 1}
"""How far up the levels each way of ending may lead; any other ran out of something."""
REASONS = {
    "agreed": "the debaters agreed, in their own words",
    "clear_winner": "another debater conceded to one perspective, in its own words",
    "quick_agreement": "everybody agreed in the first round",
    "stagnant": "the arguments stopped moving before agreement",
    "repetition": "the debaters repeated themselves without agreeing",
}
BECAUSE = {
    **REASONS,
    "quick_agreement": f"quick agreement: {REASONS['quick_agreement']}",
    "concluded": "a person ended the rounds before the debaters agreed",
}
"""Why the confidence is what it is."""


class KeyArgument(BaseModel):
    text: str
    turns: list[int] = Field(default_factory=list, description="the positions of the turns it came from")


class FinalPosition(BaseModel):
    """One perspective in the record."""

    seat: str
    name: str
    key_arguments: list[KeyArgument]
    trade_offs: str
    verified_quotes: int = 0
    all_quotes: int = 0


class RoundFacts(BaseModel):
    """What code measured in a round, by seat."""

    round: int
    novelty: dict[str, float]
    repetition: dict[str, float]
    late: list[str]


class Decision(Outcome):
    """The record of a decision; `summary` is the recommendation."""

    shows_document: ClassVar[bool] = True

    perspectives: list[FinalPosition]
    agreement: list[str]
    tensions: list[str]
    conditions: list[str] = Field(description="what might change the recommendation")
    dissent: str
    confidence: Confidence
    reasons: list[str] = Field(description="why the confidence is what it is")
    rounds: list[RoundFacts]
    tasks: list[str]
    acceptance: list[str]
    approved: bool | None = None
    remark: str = Field("", description="why a person rejected it")
    fallback: bool = False
    ended: str = ""

    def headline(self) -> str:
        said = {True: ", approved", False: ", rejected", None: ""}[self.approved]
        return f"{first_sentence(self.summary)} ({self.confidence} confidence{said})"

    def table(self) -> tuple[tuple[str, ...], ...]:
        rows = [
            (view.name, str(len(view.key_arguments)), f"{view.verified_quotes}/{view.all_quotes}", self._new(view.seat))
            for view in self.perspectives
        ]
        cited = any(view.all_quotes for view in self.perspectives)
        header = ("perspective", "key arguments", "quotes verified", "new in last round")
        return tuple((*row[:2], *row[3 - cited :]) for row in (header, *rows))

    def _new(self, seat: str) -> str:
        last = self.rounds[-1].novelty.get(seat) if self.rounds else None
        return "–" if last is None else f"{last:.0%}"

    def is_approved(self) -> bool:
        return self.approved is True

    def document(self, record: Record, turns: Sequence[Turn]) -> str:
        return "\n".join(_record(self, record, turns))

    def issue(self, record: Record) -> Issue | None:
        if self.fallback or self.approved is False:
            return None
        return Issue(f"Act on the decision: {in_line(first_sentence(record.topic))}", "\n".join(_issue(self, record)))


def decision(
    debate: Debate[Any], casting: Casting, synthesis: Turn, approved: bool | None, remark: str = ""
) -> Decision:
    answer = Synthesis.model_validate(synthesis.data)
    level, reasons = confidence(debate, synthesis)
    tensions = answer.tensions or ([] if _converged(debate) else ["Unresolved: the perspectives did not agree."])
    return Decision(
        summary=answer.recommendation,
        perspectives=[_view(debate, seat, name, answer) for seat, name in names(debate).items() if seat in SEATS],
        agreement=answer.agreement,
        tensions=tensions,
        conditions=answer.caveats,
        dissent=answer.dissent or _kept_dissent(debate),
        confidence=level,
        reasons=reasons,
        rounds=[_round_facts(debate, round) for round in range(1, rounds_of(debate) + 1)],
        tasks=answer.tasks,
        acceptance=answer.acceptance,
        approved=approved,
        remark=remark,
        fallback="fallback" in synthesis.marks,
        ended=debate.stop_reason or "",
        caveats=list(_caveats(debate, casting)),
    )


def rounds_of(debate: Debate[Any]) -> int:
    return max((turn.round or 0 for turn in debate.transcript), default=0)


def confidence(debate: Debate[Any], synthesis: Turn) -> tuple[Confidence, list[str]]:
    """From what happened, never from what the model claims: how it ended, less one level for each weakness."""
    ended = debate.stop_reason or ""
    level = CONVERGED.get(ended, 0)
    weaknesses = list(_weaknesses(debate, synthesis))
    first = BECAUSE.get(ended, "the rounds ran out before the debaters agreed")
    return LEVELS[max(0, level - len(weaknesses))], [first, *weaknesses]


def _weaknesses(debate: Debate[Any], synthesis: Turn) -> Iterator[str]:
    known, last = names(debate), facts(debate, rounds_of(debate))
    unread = [turn for turn in (*debate.transcript, synthesis) if "fallback" in turn.marks]
    if unread:
        number = len({turn.position for turn in unread})
        yield "an answer could not be read" if number == 1 else f"{number} answers could not be read"
    if missing := _incomplete(debate):
        yield f"not everybody had their say: {', '.join(known[seat] for seat in missing)}"
    if last.repeating:
        yield f"repeating themselves in the last round: {', '.join(known[seat] for seat in last.repeating)}"
    false = sum(len(facts(debate, round).unverified) for round in range(1, rounds_of(debate) + 1))
    if false:
        yield "a quote does not stand in its source" if false == 1 else f"{false} quotes do not stand in their source"


def _incomplete(debate: Debate[Any]) -> list[str]:
    late = {turn.seat for turn in debate.transcript if "late" in turn.marks}
    return [seat for seat in names(debate) if seat in late or seat in muted(debate)]


def _converged(debate: Debate[Any]) -> bool:
    return debate.stop_reason in ("agreed", "clear_winner", "quick_agreement")


def _caveats(debate: Debate[Any], casting: Casting) -> Iterator[str]:
    known = {seat: name for seat, name in names(debate).items() if seat in SEATS}
    if "chose" not in casting.note or "keywords" in casting.note:
        yield casting.note
    if not any(map(spoken, debate.transcript)):
        yield "nobody spoke: there was nothing to decide from"
    for turn in debate.transcript:
        if "late" in turn.marks:
            yield f"{known[turn.seat]} was late and missed its {turn.kind} in round {turn.round}"
        if turn.kind in ARGUED and "truncated" in turn.marks:
            yield f"{known[turn.seat]}'s {turn.kind} in round {turn.round} ran into the output cap"
        if turn.kind == "passages" and turn.marks:
            yield f"the sources could not be searched in round {turn.round}: the debaters knew only their names"
    yield from (f"{known[seat]} was muted for straying from the question" for seat in muted(debate))
    vague = [turn for turn in debate.transcript if turn.kind == "analysis" and (turn.data or {}).get("too_vague")]
    if vague and not any(turn.kind == "answer" for turn in debate.transcript):
        yield "the moderator found the question vague, and nobody was there to clarify it"
    yield from about_models(debate, "moderator", known)


def _view(debate: Debate[Any], seat: str, name: str, answer: Synthesis) -> FinalPosition:
    said = [turn for turn in debate.of_seat(seat) if spoken(turn)]
    mine = next((each for each in answer.perspectives if each.perspective.casefold() == name.casefold()), Considered())
    openings = [(first_sentence(turn.content), [turn.position]) for turn in said if turn.kind == "opening"]
    points = [(point, linked(point, said)) for point in mine.key_arguments] or openings
    found = [quote for turn in said for quote in quotes(turn.content, tuple(debate.settings.sources))]
    return FinalPosition(
        seat=seat,
        name=name,
        key_arguments=[KeyArgument(text=point, turns=turns) for point, turns in points],
        trade_offs=mine.trade_offs_accepted,
        verified_quotes=sum(quote.verdict == "verified" for quote in found),
        all_quotes=len(found),
    )


def linked(point: str, turns: Sequence[Turn]) -> list[int]:
    """The turns that a point came from, the likeliest ones, in order."""
    point = point[:MAX_COMPARED]
    scores = [
        (
            max((token_set_ratio(point, text[:MAX_COMPARED]) for text in sentences(turn.content)), default=0.0),
            turn.position,
        )
        for turn in turns
    ]
    best = max((score for score, _ in scores), default=0.0)
    likely = sorted((each for each in scores if each[0] >= max(LINKED, best - CLOSE)), reverse=True)[:MAX_LINKS]
    return sorted(position for _, position in likely)


def _kept_dissent(debate: Debate[Any]) -> str:
    """What those said last who never agreed, when the moderator leaves it out."""
    if _converged(debate):
        turn = [turn for turn in debate.transcript if turn.kind == "evaluation"][-1]
        agreeing = evidence(debate, Evaluation.model_validate(turn.data))
    else:
        agreeing = {}
    last = {turn.seat: turn for turn in debate.transcript if spoken(turn)}
    known = names(debate)
    holding = [f"{known[seat]}: {first_sentence(turn.content)}" for seat, turn in last.items() if seat not in agreeing]
    return " ".join(holding)


def _round_facts(debate: Debate[Any], round: int) -> RoundFacts:
    found = facts(debate, round)
    return RoundFacts(round=round, novelty=found.novelty, repetition=found.repetition, late=list(found.late))


def first_sentence(text: str) -> str:
    sentence = next(iter(sentences(" ".join(text.split()))), "")
    return sentence if len(sentence) <= SHORT else sentence[: SHORT - 1].rsplit(" ", 1)[0] + "…"


# The record as a document


def _record(outcome: Decision, record: Record, turns: Sequence[Turn]) -> Iterator[str]:
    date = iso(record.finished_at or record.created_at)[:10]
    yield front_matter(
        {
            "debate": record.id,
            "title": " ".join(record.topic.split()),
            "date": date,
            "status": {True: "accepted", False: "rejected", None: "proposed"}[outcome.approved],
            "confidence": outcome.confidence,
            "rounds": len(outcome.rounds),
            "perspectives": [view.name for view in outcome.perspectives],
        }
    )
    yield f"# Decision: {in_line(first_sentence(record.topic))}\n"
    yield f"**Date:** {date}  "
    yield f"**Debate ID:** {record.id}  "
    yield f"**Rounds:** {len(outcome.rounds)}  "
    yield f"**Perspectives:** {', '.join(in_line(view.name) for view in outcome.perspectives)}\n"
    yield f"## Question\n\n{_safe(record.topic)}\n"
    yield "## Perspectives Considered\n"
    for view in outcome.perspectives:
        yield from _considered(view)
    yield from _list("## Points of Agreement", outcome.agreement, "The perspectives agreed on nothing explicitly.")
    yield from _list("## Key Tensions", outcome.tensions, "No tension was left open.")
    yield f"## Recommendation\n\n{_safe(outcome.summary)}\n"
    yield f"**Confidence:** {outcome.confidence} ({'; '.join(map(in_line, outcome.reasons))})\n"
    yield from _list("**Caveats:**", [*outcome.conditions, *outcome.caveats], "none")
    yield f"## Dissenting View\n\n{_safe(outcome.dissent) if outcome.dissent else 'None was left.'}\n"
    if outcome.approved is False:
        yield f"**Rejected:** {in_line(outcome.remark)}\n"
    yield from _footnotes(outcome, turns)


def _considered(view: FinalPosition) -> Iterator[str]:
    yield f"### {in_line(view.name)}\n"
    yield "- Key arguments:"
    for argument in view.key_arguments:
        notes = "".join(f"[^turn-{position}]" for position in argument.turns)
        yield f"  - {in_line(argument.text)}{notes or ' (found in no turn of this perspective)'}"
    if not view.key_arguments:
        yield "  - none"
    yield f"- Trade-offs accepted: {in_line(view.trade_offs) or 'none were named'}\n"


def _list(heading: str, items: Sequence[str], otherwise: str, mark: str = "-") -> Iterator[str]:
    yield heading + "\n"
    yield "\n".join(f"{mark} {in_line(item)}" for item in items) if items else otherwise
    yield ""


def _footnotes(outcome: Decision, turns: Sequence[Turn]) -> Iterator[str]:
    """Every turn that is pointed to, in full."""
    wanted = {position for view in outcome.perspectives for each in view.key_arguments for position in each.turns}
    by_seat = {view.seat: view.name for view in outcome.perspectives}
    for turn in turns:
        if turn.position in wanted:
            about = f"{in_line(by_seat[turn.seat])}, {turn.kind} of round {turn.round}"
            yield indent(f"[^turn-{turn.position}]: **{about}**\n\n{_safe(turn.content)}\n", "    ").lstrip()


def _issue(outcome: Decision, record: Record) -> Iterator[str]:
    yield f"## Context\n\n{_safe(record.topic)}\n"
    for view in outcome.perspectives:
        yield f"- **{in_line(view.name)}:** {in_line('; '.join(each.text for each in view.key_arguments) or '–')}"
    yield f"\n## Decision\n\n{_safe(outcome.summary)}\n\nConfidence: {outcome.confidence}.\n"
    if outcome.dissent:
        yield f"Dissenting view: {in_line(outcome.dissent)}\n"
    yield from _list("## Tasks", outcome.tasks, "- [ ] Carry out the decision.", "- [ ]")
    otherwise = "- [ ] What the decision asks for is in place."
    yield from _list("## Acceptance criteria", outcome.acceptance, otherwise, "- [ ]")
    yield f"Debate: {record.id}"


def _safe(text: str) -> str:
    """Somebody's text that cannot leave its place, nor forge a heading of the record or a footnote."""
    return contained(text, 3).replace("[^", "\\[^")

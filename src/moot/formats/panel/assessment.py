"""Where a panel stands, from its turns alone: who was cast, who is muted, what each round brought, and why it ends.

What code finds (repetition, novelty, quotes, evidence) stands beside the moderator's opinion and decides what counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from moot.core.debate import Turn
from moot.core.script import Debate
from moot.formats.panel import perspectives as catalogs
from moot.formats.panel.answers import Analysis, Evaluation, Evidence
from moot.formats.panel.perspectives import Perspective
from moot.trust.novelty import REPEATS, STALE, SpokenBefore, repetition
from moot.trust.quotes import Checked, Source, check_all, contains

SEATS = ("debater_1", "debater_2", "debater_3", "debater_4")
ARGUED = ("opening", "rebuttal")
MIN_EVIDENCE = 4
"""Words; anything shorter could stand in any speech."""
STALE_ROUNDS = 2


class Casting(NamedTuple):
    """Who debates, by seat, and how they were chosen."""

    perspectives: Mapping[str, Perspective]
    note: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What code found in one round, by seat."""

    repetition: Mapping[str, float]
    novelty: Mapping[str, float]
    quotes: Mapping[str, tuple[Checked, ...]]
    late: tuple[str, ...]

    @property
    def repeating(self) -> list[str]:
        return [seat for seat, share in self.repetition.items() if share > REPEATS]

    @property
    def unverified(self) -> list[tuple[str, Checked]]:
        return [(seat, quote) for seat, found in self.quotes.items() for quote in found if quote.verdict != "verified"]

    @property
    def stale(self) -> bool:
        return bool(self.novelty) and all(share < STALE for share in self.novelty.values())


def cast(debate: Debate[Any]) -> Casting | None:
    """The perspectives by seat; None before the moderator has analysed the question."""
    return debate.once(("cast", len(debate.in_round(None))), lambda: _cast(debate))


def _cast(debate: Debate[Any]) -> Casting | None:
    turn = next((turn for turn in debate.in_round(None) if turn.kind == "analysis"), None)
    if turn is None:
        return None
    chosen, note = _chosen(debate, turn)
    return Casting(dict(zip(SEATS, chosen, strict=False)), note)


def _chosen(debate: Debate[Any], turn: Turn) -> tuple[Sequence[Perspective], str]:
    s = debate.settings
    known = catalogs.catalog(s.custom_perspectives)
    if isinstance(s.perspectives, list):
        return s.named(), "the perspectives were chosen by the person who asked"
    question = " ".join([debate.topic, *(said.content for said in debate.in_round(None) if said.kind == "answer")])
    if "fallback" in turn.marks:
        chosen = catalogs.by_keywords(question, known, s.perspectives)
        return chosen, "the moderator's choice could not be read: the perspectives were chosen by keywords"
    analysis = Analysis.model_validate(turn.data)
    named = [found for name in analysis.perspectives if (found := catalogs.find(known, name))]
    distinct = list({perspective.name: perspective for perspective in named}.values())
    number = s.perspectives or len(distinct)
    if len(distinct) == number and catalogs.fault(distinct) is None:
        return distinct, "the moderator chose the perspectives"
    wanted = s.perspectives or (analysis.debaters if 2 <= analysis.debaters <= 4 else None)
    chosen = catalogs.by_keywords(question, known, wanted, distinct[: wanted or 4])
    why = catalogs.fault(distinct[: wanted or 4]) or f"{len(distinct)} were chosen, {number} are wanted"
    return chosen, f"the moderator's choice was mended by keywords ({why.partition(';')[0]})"


def names(debate: Debate[Any], known: Casting | None = None) -> dict[str, str]:
    """Seat → name of everyone on the panel, the moderator included."""
    found = known or cast(debate)
    debaters = {seat: perspective.name for seat, perspective in found.perspectives.items()} if found else {}
    return {"moderator": "Moderator", **debaters}


def muted(debate: Debate[Any], *new: Turn) -> list[str]:
    """The seats that the moderator has muted for straying, also in a new turn; at least two always speak."""
    found = cast(debate)
    seats = {perspective.name.casefold(): seat for seat, perspective in found.perspectives.items()} if found else {}
    silent: list[str] = []
    for turn in (*debate.of_seat("moderator"), *new):
        if turn.kind == "evaluation" and (turn.data or {}).get("mute"):
            evaluation = Evaluation.model_validate(turn.data)
            strayed = {name.casefold() for name in evaluation.strayed}
            wanted = [seats.get(name.casefold()) for name in evaluation.mute if name.casefold() in strayed]
            more = [seat for seat in dict.fromkeys(wanted) if seat and seat not in silent]
            silent += more[: max(0, len(seats) - 2 - len(silent))]
    return silent


def heard(debate: Debate[Any]) -> range:
    """The turns that are read on the panel: those after the analysis, which was made before it met."""
    analysed = next(turn.position for turn in debate.in_round(None) if turn.kind == "analysis")
    return range(analysed + 1, len(debate.transcript))


def spoken(turn: Turn) -> bool:
    """Whether a debater argued here; what stands in for an unreadable reply is nobody's argument."""
    return turn.kind in ARGUED and bool(turn.content) and "fallback" not in turn.marks


def facts(debate: Debate[Any], round: int) -> Facts:
    return debate.once(("facts", round, len(debate.in_round(round))), lambda: _facts(debate, round))


def _facts(debate: Debate[Any], round: int) -> Facts:
    now = _speeches(debate, round)
    before = _speeches(debate, round - 1)
    said = debate.once("said", lambda: SpokenBefore(debate.topic))
    for number in range(said.rounds + 1, round):
        said.add_round(_speeches(debate, number).values())
    sources = tuple(debate.settings.sources)
    late = [turn.seat for turn in debate.in_round(round) if "late" in turn.marks]
    return Facts(
        {seat: _repetition(text, before[seat]) for seat, text in now.items() if seat in before},
        {seat: said.novelty(text, round) for seat, text in now.items()} if round > 1 else {},
        {seat: found for seat, text in now.items() if (found := quotes(text, sources))},
        tuple(dict.fromkeys(late)),
    )


@lru_cache(maxsize=256)
def quotes(text: str, sources: tuple[Source, ...]) -> tuple[Checked, ...]:
    return check_all(text, sources) if sources else ()


def evidence(debate: Debate[Any], evaluation: Evaluation) -> dict[str, Evidence]:
    """Seat → the words in which it agrees or gives in, of those who really said them."""
    by_name = {name.casefold(): seat for seat, name in names(debate).items() if seat in SEATS}
    found: dict[str, Evidence] = {}
    for item in evaluation.evidence:
        seat = by_name.get(item.perspective.casefold())
        if seat and len(item.quote.split()) >= MIN_EVIDENCE and _said(debate, seat, item.quote):
            found[seat] = item
    return found


def verdict(debate: Debate[Any], round: int, new: Turn | None = None) -> tuple[str | None, str]:
    """Why the rounds should end after this one, if they should; and what is to be said about the moderator's claim."""
    if _stale(debate, round):
        return "repetition", "nobody has said anything new for two rounds"
    turn = new or next((turn for turn in debate.in_round(round) if turn.kind == "evaluation"), None)
    evaluation = Evaluation.model_validate(turn.data) if turn else Evaluation.fallback()
    if evaluation.decision != "conclude":
        return None, ""
    agreeing = evidence(debate, evaluation)
    match evaluation.state:
        case "converging" if len(agreeing) >= 2:
            return ("quick_agreement", "agreement in the first round") if round == 1 else ("agreed", "")
        case "converging":
            return None, "agreement is claimed, but not with the words of two debaters: it does not count"
        case "clear_winner" if _others_concede(debate, evaluation, agreeing):
            return "clear_winner", ""
        case "clear_winner":
            return None, "a winner is claimed, but no other debater's words concede it: it does not count"
        case "stagnating" if round > 1:
            return "stagnant", ""
        case _:
            return None, "there is no reason yet to conclude: the debate goes on"


def _others_concede(debate: Debate[Any], evaluation: Evaluation, agreeing: Mapping[str, Evidence]) -> bool:
    by_seat = names(debate)
    winner = evaluation.winner.casefold()
    known = any(winner == name.casefold() for seat, name in by_seat.items() if seat in SEATS)
    return known and any(by_seat[seat].casefold() != winner for seat in agreeing)


def _stale(debate: Debate[Any], round: int) -> bool:
    return round > STALE_ROUNDS and all(facts(debate, round - back).stale for back in range(STALE_ROUNDS))


def _said(debate: Debate[Any], seat: str, quote: str) -> bool:
    return any(contains(quote, turn.content) for turn in debate.of_seat(seat))


def _speeches(debate: Debate[Any], round: int) -> dict[str, str]:
    """What each debater said in a round, opening and rebuttal together."""
    said: dict[str, list[str]] = {}
    for turn in debate.in_round(round):
        if spoken(turn):
            said.setdefault(turn.seat, []).append(turn.content)
    return {seat: "\n".join(texts) for seat, texts in said.items()}


def notes(debate: Debate[Any], turn: Turn) -> tuple[str, ...]:
    """What readers are told below a turn."""
    match turn.kind:
        case "analysis":
            casting = cast(_after(debate, turn))
            return (casting.note,) if casting else ()
        case "opening" | "rebuttal":
            return tuple(_about_speech(debate, turn))
        case "evaluation":
            return tuple(_about_round(debate, turn))
        case _:
            return ()


def _after(debate: Debate[Any], turn: Turn) -> Debate[Any]:
    """The debate as it is once the turn stands in it."""
    return Debate(debate.id, debate.topic, debate.settings, debate.seats, [*debate.transcript, turn])


def _about_speech(debate: Debate[Any], turn: Turn) -> Iterator[str]:
    if "late" in turn.marks:
        yield "late: it misses this round"
    found = quotes(turn.content, tuple(debate.settings.sources))
    if found:
        verified = sum(quote.verdict == "verified" for quote in found)
        yield f"{verified} of {len(found)} quotes stand in their source word for word"
    for quote in found:
        if quote.verdict == "near":
            yield f"not quite: “{quote.quote}” [{quote.tag}]; the source says “{quote.passage}”"
        elif quote.verdict == "unclear":
            yield f"whether “{quote.quote}” [{quote.tag}] leaves out a “not” cannot be told: “{quote.passage}”"
        elif quote.verdict != "verified":
            yield f"{'no such source' if quote.verdict == 'no_source' else 'not found'}: “{quote.quote}” [{quote.tag}]"


def _about_round(debate: Debate[Any], evaluation: Turn) -> Iterator[str]:
    """From the debate before the evaluation, which keeps what it has found out: another one would do all anew."""
    round = evaluation.round or 1
    known, found = names(debate), facts(debate, round)
    if found.novelty:
        yield "new: " + ", ".join(f"{known[seat]} {share:.0%}" for seat, share in found.novelty.items())
    for seat in found.repeating:
        yield f"{known[seat]} repeats {found.repetition[seat]:.0%} of its last round"
    if remark := verdict(debate, round, evaluation)[1]:
        yield remark
    if seats := muted(debate, evaluation):
        yield f"muted: {', '.join(known[seat] for seat in seats)}"


_repetition = lru_cache(maxsize=256)(repetition)

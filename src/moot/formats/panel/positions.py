"""Where each debater stands, in its own words, and whether that is agreement.

Only what a debater declares beside its rebuttal counts. A seat agrees with another when it says so knowing the other's
last word: whoever spoke before that has to be named in return.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from moot.core.debate import Turn
from moot.core.script import Debate
from moot.formats.panel.answers import Evaluation, Rebuttal
from moot.formats.panel.casting import active_seats, evaluation_of, muted, names, options_of, seats_of, spoken
from moot.trust.recommendations import clearly_differ


class Position(NamedTuple):
    """What a debater recommends after a rebuttal, with whom, and what would change its mind."""

    recommendation: str
    agrees_with: frozenset[str]
    would_change: str
    round: int
    turn: int


class Agreement(NamedTuple):
    """Those who declared one recommendation, and those who did not: who may speak, or are muted and dissent."""

    agreeing: tuple[str, ...]
    differing: tuple[str, ...]
    recommendation: str = ""
    apart: tuple[str, ...] = ()
    """Those who say that they agree with one another and recommend different things."""

    @property
    def of_all(self) -> bool:
        return len(self.agreeing) > 1 and not self.differing

    @property
    def of_most(self) -> bool:
        return len(self.agreeing) > len(self.differing)


class _Positions:
    """Those that were declared last in the turns that were looked at by now."""

    def __init__(self) -> None:
        self.looked_at = 0
        self.held: dict[str, Position] = {}


def positions(debate: Debate[Any], round: int | None = None) -> dict[str, Position]:
    """Seat → what it declared last, or in a round."""
    if round is not None:
        return _declared(debate, debate.in_round(round))
    known = debate.once("positions", _Positions)
    known.held |= _declared(debate, debate.transcript[known.looked_at :])
    known.looked_at = len(debate.transcript)
    return dict(known.held)


def _declared(debate: Debate[Any], turns: Iterable[Turn]) -> dict[str, Position]:
    found: dict[str, Position] = {}
    for turn in turns:
        if turn.kind == "rebuttal" and spoken(turn):
            held = debate.once(("declared", turn.position), partial(_position, debate, turn))
            found |= {turn.seat: held} if held else {}
    return found


def _position(debate: Debate[Any], turn: Turn) -> Position | None:
    said = Rebuttal.model_validate(turn.data or {"content": turn.content})
    agrees = frozenset(seats_of(debate, said.agrees_with)) - {turn.seat}
    held = Position(said.recommendation, agrees, said.would_change, turn.round or 0, turn.position)
    return held if said.recommendation else None


def declared(debate: Debate[Any], but: str = "") -> list[tuple[str, str, str]]:
    """What models are told of where each debater stands, but for one: its name, recommendation and condition."""
    by_seat, held = names(debate), positions(debate)
    return [(by_seat[seat], each.recommendation, each.would_change) for seat, each in held.items() if seat != but]


def agreement(debate: Debate[Any], round: int, evaluated: Turn | None = None) -> Agreement:
    """The largest group in a round that holds what one of its members recommends."""
    active, held = active_seats(debate), positions(debate, round)
    evaluated = evaluated or evaluation_of(debate, round)
    differ = seats_of(debate, Evaluation.model_validate(evaluated.data).differ) if evaluated else []
    false = false_agreements(debate, held)
    apart = tuple(dict.fromkeys(seat for pair in false for seat in pair if seat in active))
    joined = {(seat, leader) for seat in held for leader in held if _with(held, seat, leader)}.difference(false)
    groups = [
        (leader, [seat for seat in active if seat not in differ and (seat, leader) in joined])
        for leader in active
        if leader in held
    ]
    leader, group = max(groups, key=lambda each: len(each[1]), default=("", []))
    if len(group) < 2:
        return Agreement((), tuple(active), apart=apart)
    others = (*(seat for seat in active if seat not in group), *_silenced(debate, group))
    return Agreement(tuple(group), others, held[leader].recommendation, apart)


def _silenced(debate: Debate[Any], group: Collection[str]) -> Iterator[str]:
    """The muted who declared something before and agreed with nobody of the group; from version 3 on."""
    held, silent = positions(debate) if debate.settings.rules >= 3 else {}, muted(debate)
    return (seat for seat, last in held.items() if seat in silent and last.agrees_with.isdisjoint(group))


def false_agreements(debate: Debate[Any], held: Mapping[str, Position]) -> list[tuple[str, str]]:
    """Who says that it agrees with whom, although what they recommend is clearly not the same; from version 3 on."""
    if debate.settings.rules < 3:
        return []
    options = options_of(debate)
    return [
        (seat, other)
        for seat in held
        for other in held
        if seat != other
        and _with(held, seat, other)
        and clearly_differ(held[seat].recommendation, held[other].recommendation, options)
    ]


def misnamed(debate: Debate[Any], seat: str) -> list[tuple[str, str, str]]:
    """With whom a debater said that it agrees, what that one recommends, and what it recommends itself."""
    by_seat, held = names(debate), positions(debate)
    return [
        (by_seat[other], held[other].recommendation, held[one].recommendation)
        for one, other in false_agreements(debate, held)
        if one == seat
    ]


def told_apart(debate: Debate[Any], seats: Iterable[str]) -> str:
    say, known, held = debate.language, names(debate), positions(debate)
    told = "; ".join(f"{known[seat]}: {held[seat].recommendation.rstrip('.')}" for seat in seats)
    return say("they say that they agree, but their recommendations differ: {told}", told=told)


def _with(held: Mapping[str, Position], seat: str, leader: str) -> bool:
    if seat == leader:
        return True
    if seat not in held or leader not in held[seat].agrees_with:
        return False
    return held[leader].turn < held[seat].turn or seat in held[leader].agrees_with


def is_agreed(debate: Debate[Any]) -> bool:
    """Whether that is why the rounds ended."""
    return debate.stop_reason in ("agreed", "clear_winner", "quick_agreement")


def last_round(debate: Debate[Any]) -> int:
    return next((turn.round for turn in reversed(debate.transcript) if turn.round), 0)


def final_agreement(debate: Debate[Any]) -> Agreement:
    """Of the last round in which anybody rebutted."""
    answered = (turn.round for turn in reversed(debate.transcript) if turn.kind == "rebuttal" and spoken(turn))
    return agreement(debate, next(answered, None) or 0)

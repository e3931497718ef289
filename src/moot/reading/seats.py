"""How seats are told apart wherever a debate is drawn: a colour and a shape for those who argue, by their number."""

from __future__ import annotations

from collections import Counter

from moot.core.format import AnyFormat

COLOURS = 6


def colours_of(format: AnyFormat) -> dict[str, int]:
    """Seat → a number from 1 for those who argue; whoever leads, judges or notes takes no side and has 0."""
    chairs = chairs_of(format)
    names = [seat.name for seat in format.seats if seat.player == "model"]
    arguing = [name for name in names if name not in chairs]
    return {name: arguing.index(name) % COLOURS + 1 if name in arguing else 0 for name in names}


def chairs_of(format: AnyFormat) -> set[str]:
    """The seats outside the largest group; where every seat is a group of its own all argue, but for who judges."""
    seats = [seat for seat in format.seats if seat.player == "model"]
    sizes = Counter(seat.group for seat in seats if not seat.optional)
    largest, size = max(sizes.items(), key=lambda each: each[1], default=("", 0))
    aside = {seat.name for seat in seats if seat.optional or (size > 1 and seat.group != largest)}
    return aside | ({format.judge} if format.judge else set())

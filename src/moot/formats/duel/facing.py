"""The two who face each other in a duel: what they are called, where they stand, when one gives in."""

from __future__ import annotations

from collections.abc import Mapping

from moot.core.debate import Turn
from moot.core.format import Side

TITLES = {"debater_a": "Debater A", "debater_b": "Debater B"}
SIDES = ("debater_a", "debater_b")
CONCEDED = "CONCEDED"
"""The last line of a debater that gives in."""
STANDING = {"pro": Side("For", "The claim holds."), "con": Side("Against", "The claim does not hold.")}


def facing(stances: Mapping[str, str]) -> dict[str, Side]:
    """Seat → where it stands, of seats with their stances; For is on the left."""
    by_stance = {stance: seat for seat, stance in stances.items()}
    return {by_stance[stance]: side for stance, side in STANDING.items()}


def concedes(turn: Turn) -> bool:
    """Whether a speech gives in: a line of its own says so at its end, the same in every language."""
    last = turn.content.rstrip(" \n*_.`").rpartition("\n")[2]
    return turn.kind == "argument" and last.lstrip(" *_`") == CONCEDED

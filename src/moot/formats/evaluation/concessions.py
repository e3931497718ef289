"""What the sides concede on a topic: their own arguments that they give up, and those of the other side they grant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from moot.core.debate import Turn
from moot.core.script import Debate
from moot.formats.evaluation.answers import arguments, reply
from moot.formats.evaluation.settings import SIDES


class Concessions(NamedTuple):
    """Side → the numbers of its arguments that it gave up, and of those that the other side granted."""

    given_up: Mapping[str, frozenset[int]]
    granted: Mapping[str, frozenset[int]]
    gave_in: str = ""
    """The side that gave up all of its arguments."""


NONE = Concessions(dict.fromkeys(SIDES, frozenset()), dict.fromkeys(SIDES, frozenset()))


def concessions(debate: Debate[Any], turns: Sequence[Turn]) -> Concessions:
    """Of all turns on one topic; a number that no argument has means nothing."""
    replies = [(turn.seat, debate.once(("reply", turn.position), partial(reply, turn))) for turn in turns]
    if not any(said and (said.gives_up or said.grants) for _, said in replies):
        return NONE
    made = dict.fromkeys(SIDES, 0) | {turn.seat: len(arguments(turn)) for turn in turns if turn.kind == "argument"}
    given_up: dict[str, set[int]] = {side: set() for side in SIDES}
    granted: dict[str, set[int]] = {side: set() for side in SIDES}
    for seat, said in replies:
        if said:
            given_up[seat] |= {*said.gives_up}
            granted[other(seat)] |= {*said.grants}
    gone = {side: frozenset(given_up[side] & {*range(1, made[side] + 1)}) for side in SIDES}
    won = {side: frozenset(granted[side] & {*range(1, made[side] + 1)} - gone[side]) for side in SIDES}
    return Concessions(gone, won, next((side for side in SIDES if made[side] and len(gone[side]) == made[side]), ""))


def other(side: str) -> str:
    return SIDES[1 - SIDES.index(side)]

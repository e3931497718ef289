"""What an argument map of a duel shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moot.core.points import Point, speech_key
from moot.core.script import Debate
from moot.formats.duel.facing import SIDES, concedes
from moot.trust.claims import points as claim_points
from moot.trust.scribe import ledger_of


def points(debate: Debate[Any]) -> Iterator[Point]:
    """The claims where they were noted; else the motion, and every speech for or against it, which answers the other
    side's last one."""
    if (ledger := ledger_of(debate, SIDES)) and not ledger.by_code:
        yield from claim_points(ledger)
        return
    yield Point("motion", debate.topic, title="Motion", claim=True)
    last: dict[str, str] = {}
    for turn in debate.transcript:
        if turn.seat in SIDES and concedes(turn):
            yield Point.spoken(turn)
        elif turn.seat in SIDES:
            answered = [key for seat, key in last.items() if seat != turn.seat]
            if debate.settings.stances[turn.seat] == "pro":
                yield Point.spoken(turn, supports=["motion"], attacks=answered)
            else:
                yield Point.spoken(turn, attacks=["motion", *answered])
            last[turn.seat] = speech_key(turn)

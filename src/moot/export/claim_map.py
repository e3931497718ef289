"""The map of a debate's claims, as its pages and its HTML document show it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from moot.core.claims import Claim, Ledger
from moot.export.charts.claim_map import Layer, Look, claim_map, layers_of
from moot.export.charts.drawing import point
from moot.reading.debate import Reading
from moot.reading.seats import colours_of


class Seated(NamedTuple):
    """Whoever makes claims: a name, a colour and a shape."""

    name: str
    colour: int

    @property
    def mark(self) -> str:
        return point(max(0, self.colour - 1), 6, 6, 1.25)


def seated(reading: Reading, ledger: Ledger) -> dict[str, Seated]:
    """Who makes claims, in the order in which they first do."""
    colours, titles = colours_of(reading.format), reading.titles
    seats = dict.fromkeys(claim.seat for claim in ledger.claims)
    return {seat: Seated(titles.get(seat, seat), colours.get(seat, 0)) for seat in seats}


def drawn(reading: Reading, ledger: Ledger, link: Callable[[Claim], str], *, stacked: bool = False) -> str:
    """As SVG; `link` says where a claim leads, "" if nowhere."""
    colours, titles = colours_of(reading.format), reading.titles
    look = Look(
        colour=lambda claim: colours.get(claim.seat, 0),
        who=lambda claim: titles.get(claim.seat, claim.seat),
        link=link,
        decisive=decisive(reading),
    )
    return claim_map(_layers(reading, ledger), look, stacked=stacked)


def decisive(reading: Reading) -> frozenset[str]:
    """The claims that judgings name."""
    trust = reading.outcome.trust if reading.outcome else None
    return frozenset(each.id for each in trust.claims.decided_by) if trust and trust.claims else frozenset()


def _layers(reading: Reading, ledger: Ledger) -> list[Layer]:
    turns = {turn.position: turn for turn in reading.turns}

    def title(claim: Claim) -> str:
        turn = turns[claim.turn]
        return f"Round {turn.round} · {turn.kind}" if turn.round else turn.kind.capitalize()

    return layers_of(ledger, title)

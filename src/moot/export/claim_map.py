"""The map of a debate's claims, as its pages and its HTML document show it."""

from __future__ import annotations

from collections.abc import Callable

from moot.core.claims import Claim, Ledger
from moot.export.charts.claim_map import Look, Seated, claim_map
from moot.reading.debate import Reading
from moot.reading.seats import colours_of


def seated(reading: Reading, ledger: Ledger) -> dict[str, Seated]:
    """Who makes claims, in the order in which they first do."""
    colours, titles = colours_of(reading.format), reading.titles
    seats = dict.fromkeys(claim.seat for claim in ledger.claims)
    return {seat: Seated(titles.get(seat, seat), colours.get(seat, 0)) for seat in seats}


def drawn(reading: Reading, ledger: Ledger, link: Callable[[Claim], str], *, stacked: bool = False) -> str:
    """As SVG; `link` says where a claim leads, "" if nowhere."""
    return claim_map(_layers(reading, ledger), Look(seated(reading, ledger), link, decisive(reading)), stacked=stacked)


def decisive(reading: Reading) -> frozenset[str]:
    """The claims that judgings name."""
    trust = reading.outcome.trust if reading.outcome else None
    return frozenset(each.id for each in trust.claims.decided_by) if trust and trust.claims else frozenset()


def _layers(reading: Reading, ledger: Ledger) -> dict[str, list[Claim]]:
    """The claims of speeches that belong together, under what readers call these."""
    turns = {turn.position: turn for turn in reading.turns}
    found: dict[str, list[Claim]] = {}
    for claim in ledger.claims:
        turn = turns[claim.turn]
        title = f"Round {turn.round} · {turn.kind}" if turn.round else turn.kind.capitalize()
        found.setdefault(title, []).append(claim)
    return found

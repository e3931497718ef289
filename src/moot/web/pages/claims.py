"""What the page of a debate's claims shows: the map, and the same as a list of threads."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

from moot.core.claims import Claim, Ledger
from moot.export.charts.claim_map import Seated, decisive, drawn, seated
from moot.reading.debate import Reading

FIRST, LAST = 5, 4
"""Words of a quote that a browser looks for in a speech: where it begins, and where it ends."""
DECISIVE = "key"
FILTERS: Mapping[str, frozenset[str]] = {
    "Contested": frozenset({"contested"}),
    "Unanswered": frozenset({"unanswered", "untested"}),
    "Conceded": frozenset({"conceded"}),
    "Fallen": frozenset({"dropped", "withdrawn"}),
}


class Thread(NamedTuple):
    """A claim and those that answer it first of all."""

    claim: Claim
    seat: Seated
    url: str
    """To its words in the transcript."""
    decisive: bool
    answers: tuple[Thread, ...] = ()


def claims_page(reading: Reading, ledger: Ledger) -> dict[str, Any]:
    seats, key = seated(reading, ledger), decisive(reading)
    url = partial(_url, reading.record.id)
    svg = drawn(reading, ledger, url)
    trust = reading.trust
    return {
        "map": svg,
        "version": zlib.crc32(svg.encode()),
        "threads": _nested([Thread(each, seats[each.seat], url(each), each.id in key) for each in ledger.claims]),
        "seats": tuple(seats.values()),
        "filters": tuple(_filters(ledger, key)),
        "decided": trust.claims.text if trust and trust.claims else "",
        "answers": sum(len(claim.links) for claim in ledger.claims),
    }


def claims_pane(reading: Reading) -> str:
    """The map as it stands beside the speeches of a debate that goes on; "" as long as nothing was noted."""
    if not (ledger := reading.ledger) or not ledger.claims:
        return ""
    return drawn(reading, ledger, partial(_url, reading.record.id), stacked=True)


def _filters(ledger: Ledger, decisive: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Those by which something would be found: what a button is called, and which statuses it shows."""
    yield "All", ""
    if decisive:
        yield "Decisive", DECISIVE
    ends = {claim.status for claim in ledger.claims}
    yield from ((name, " ".join(sorted(wanted))) for name, wanted in FILTERS.items() if ends & wanted)


def _nested(threads: Sequence[Thread]) -> tuple[Thread, ...]:
    """Each under what it answers first; from the last to the first, so that a thread is whole before it is hung up."""
    below: dict[str, list[Thread]] = {}
    roots: list[Thread] = []
    for thread in reversed(threads):
        whole = thread._replace(answers=tuple(reversed(below.pop(thread.claim.id, []))))
        (below.setdefault(thread.claim.links[0].to, []) if thread.claim.links else roots).append(whole)
    return tuple(reversed(roots))


def _url(debate_id: str, claim: Claim) -> str:
    """The turn, and in browsers that know how, the words themselves, which they mark and scroll to."""
    words, turn = claim.quote.split(), f"/debates/{debate_id}#turn-{claim.turn}"
    if not words:
        return turn
    ends = [" ".join(words)] if len(words) <= FIRST + LAST else [" ".join(words[:FIRST]), " ".join(words[-LAST:])]
    return f"{turn}:~:text={','.join(quote(end, safe='').replace('-', '%2D') for end in ends)}"

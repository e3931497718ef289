"""Claims in the terminal: those of one debate, and those that were found in several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from rich.console import Console

from moot.app.claims import FoundClaim
from moot.core.claims import Claim, Ledger
from moot.errors import InvalidInput
from moot.reading.debate import Reading
from moot.terminal.tables import introduction, print_json, print_table, say
from moot.text.plain import one_line

HEADER = ("", "who", "turn", "ended", "says to others", "claim")


def show_claims(reading: Reading, as_json: bool) -> None:
    """What was claimed in a debate, what was said to it, and how it ended."""
    ledger = reading.ledger
    if ledger is None:
        raise InvalidInput(f"nobody noted the claims of {reading.record.id}")
    if as_json:
        print_json(ledger.model_dump(mode="json"))
        return
    console = Console()
    console.print(introduction(reading), soft_wrap=not console.is_terminal)
    console.print()
    print_table(console, HEADER, rows(reading, ledger.claims), wide=("turn",))
    for line in _about(reading, ledger):
        say(console, f"\n{line}")


def show_found_claims(found: Sequence[FoundClaim], as_json: bool) -> None:
    """Claims of several debates, below the question of each."""
    if as_json:
        for each in found:
            print_json(each.as_json())
        return
    console = Console()
    for _, group in groupby(found, key=lambda each: each.reading.record.id):
        claims = list(group)
        reading = claims[0].reading
        say(console, f"{reading.record.id}  {one_line(reading.record.title)}")
        print_table(console, HEADER, rows(reading, [each.claim for each in claims]), wide=("turn", "says to others"))
        console.print()


def rows(reading: Reading, claims: Iterable[Claim]) -> list[tuple[str, ...]]:
    return [
        (
            claim.id,
            one_line(reading.titles.get(claim.seat, claim.seat)),
            str(claim.turn),
            claim.status or "–",
            ", ".join(f"{link.how} {link.to}" for link in claim.links) or "–",
            one_line(claim.text),
        )
        for claim in claims
    ]


def _about(reading: Reading, ledger: Ledger) -> Iterator[str]:
    """Which of them decided, and what is missing."""
    if reading.trust and reading.trust.claims and reading.trust.claims.text:
        yield reading.trust.claims.text
    if ledger.by_code:
        yield "Nobody could follow the claims: these are the sentences with which the speeches begin."
    if ledger.claims_left_out:
        yield f"These are the first {len(ledger.claims)} claims; {ledger.claims_left_out} more were made."
    if ledger.left_out:
        yield ledger.left_out

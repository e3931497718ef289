"""What is known of a judge when a debate is made: how far its judgings differed in earlier ones.

It is kept with the debate's settings, so that a debate comes to the same outcome whenever it is replayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from pydantic import ValidationError

from moot.core.debate import JsonObject, Record
from moot.core.format import AnyFormat
from moot.core.trust import Trust
from moot.store.store import Store
from moot.trust.judging import learned_noise

NEWEST = 50
"""How many earlier debates of its format are looked at."""


async def with_noise(store: Store, format: AnyFormat, record: Record, key: str | None) -> Record:
    """A new debate with what is known of its judges; one that was made under its key before has what was known then."""
    had = record.settings.get("noise")
    if "noise" not in format.settings.model_fields or (had and not record.origin):
        return record
    if key and (made := await store.find(key)):
        noise = made.settings.get("noise")
    else:
        judges = {seat.model for name, seat in record.seats.items() if name.startswith(format.judge)}
        learned = learned_noise(_trusts(await store.outcomes(record.format, NEWEST)), judges)
        noise = learned.model_dump(mode="json") if learned else None
    return replace(record, settings={**record.settings, "noise": noise})


def _trusts(outcomes: Iterable[JsonObject]) -> Iterator[Trust]:
    for outcome in outcomes:
        try:
            yield Trust.model_validate(outcome.get("trust"))
        except ValidationError:  # judged once, or written by another version
            continue

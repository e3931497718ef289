"""What is known of a judge when a debate is made: how far its judgings differed in earlier ones.

It is kept with the debate's settings, so that a debate comes to the same outcome whenever it is replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from pydantic import ValidationError

from moot.core.debate import JsonObject, Record
from moot.core.format import AnyFormat
from moot.core.trust import Trust
from moot.store.store import Store
from moot.trust.judging import learned_noise, spreads

NEWEST = 50
"""How many earlier debates of its format are looked at."""
Told: TypeAlias = Sequence[tuple[str, float, int]]


class JudgesBefore:
    """What finished debates tell of their judges; the outcome of each is read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._told: dict[str, dict[str, Told]] = {}
        """Format → debate → what it tells."""

    async def with_noise(self, format: AnyFormat, record: Record, key: str | None) -> Record:
        """A new debate with what is known of its judges; one made under its key before has what was known then."""
        if "noise" not in format.settings.model_fields:
            return record
        settings: Any = format.settings.model_validate(record.settings)
        if settings.noise and not record.origin:
            return record
        noise = None
        if settings.most_judgings > 1:
            if key and (made := await self._store.find(key)):
                noise = made.settings.get("noise")
            else:
                judges = {seat.model for name, seat in record.seats.items() if name.startswith(format.judge)}
                learned = learned_noise(await self._earlier(record.format), judges)
                noise = learned.model_dump(mode="json") if learned else None
        return replace(record, settings={**record.settings, "noise": noise})

    async def _earlier(self, format: str) -> Sequence[Told]:
        known = self._told.get(format, {})
        found = await self._store.outcomes(format, NEWEST, known)
        told = {debate: known[debate] if debate in known else _told(outcome) for debate, outcome in found.items()}
        self._told[format] = told
        return [*told.values()]


def _told(outcome: JsonObject | None) -> Told:
    try:
        return spreads(Trust.model_validate((outcome or {}).get("trust")))
    except ValidationError:  # judged once, or written by another version
        return ()

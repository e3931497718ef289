"""How a new debate begins: checked and stored, and run at once where that is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from moot.core.debate import Record, Status, Turn
from moot.errors import InvalidInput
from moot.formats import of_record

if TYPE_CHECKING:
    from moot.app.app import App


async def begin(app: App, record: Record, turns: Sequence[Turn], start: bool, key: str | None, watched: bool) -> Record:
    for seat in record.seats.values():
        app.models.check(seat.model, here=not app.is_shared)
    if start:
        record = replace(record, status=Status.QUEUED)
    record = await app.judges_before.with_noise(of_record(app.formats, record), record, key)
    made = await app.store.create(record, key, watched=watched, turns=turns)
    if any(getattr(made, field) != getattr(record, field) for field in ("format", "topic", "settings", "origin")):
        raise InvalidInput(f"the key {key!r} was used for another debate, {made.id}; choose a new one")
    return await app.go_on(made) if start and made.status is Status.QUEUED else made

"""What debates like those that are watched cost: reckoned once for each, beside what is asked of the server."""

from __future__ import annotations

import asyncio
import logging

from moot.app import App
from moot.app.estimates import expected
from moot.core.debate import Record, Usage
from moot.errors import InvalidInput, MootError

log = logging.getLogger(__name__)
MOST = 200
"""Debates whose costs are kept."""


class TypicalCosts:
    def __init__(self, app: App) -> None:
        self._app = app
        self._known: dict[str, Usage | None] = {}
        self._reckoning: set[asyncio.Task[None]] = set()

    def of(self, record: Record) -> Usage | None:
        """What one like it takes; None until that is reckoned, and where its models have no price."""
        if record.id in self._known:
            return self._known[record.id]
        self._known[record.id] = None
        if self._has_price(record):
            task = asyncio.create_task(self._reckon(record))
            self._reckoning.add(task)
            task.add_done_callback(self._reckoning.discard)
        return None

    def _has_price(self, record: Record) -> bool:
        cost = self._app.models.prices.cost
        try:
            return any(cost(seat.model, Usage(calls=1)) is not None for seat in record.seats.values())
        except InvalidInput:  # its provider is not known any more
            return False

    async def _reckon(self, record: Record) -> None:
        try:
            found = await expected(self._app, record)
        except MootError as error:
            log.info("%s: nobody knows what it costs: %s", record.id, error)
            return
        if len(self._known) > MOST:
            self._known.clear()
        self._known[record.id] = found.typical

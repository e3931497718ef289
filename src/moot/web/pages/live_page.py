"""The page of a debate that goes on, or can go on: what it is rendered with, and what its buttons do."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from pydantic import JsonValue

from moot.app import App
from moot.app.estimates import expected
from moot.core.debate import Record, Status, Usage
from moot.errors import InvalidInput, MootError
from moot.llm.addresses import refuse_addresses
from moot.reading.debate import Reading
from moot.runs.process import is_lost
from moot.web.pages.form_values import Posted, last
from moot.web.pages.live_views import live_view

log = logging.getLogger(__name__)
NOBODY_WORKS = "queued, but no worker is alive"
MOST = 200
"""Debates whose costs are kept."""


class LivePage:
    def __init__(self, app: App) -> None:
        self._app = app
        self._costs = TypicalCosts(app)

    async def about(self, reading: Reading, fork_at: int = 0) -> dict[str, Any]:
        view = await asyncio.to_thread(live_view, reading, self._costs.of(reading.stored.record))
        if reading.record.status is Status.QUEUED and not (await self._app.load_of_queue()).workers:
            view["status_text"] = NOBODY_WORKS
        settings = self._app.settings
        known = {*settings.models.values(), settings.model or "", *view["models"]} - {""}
        view |= {"lost": is_lost(reading.record, time.time()), "known_models": sorted(known)}
        return {"view": view, "debate": reading, "typed": {}, "fault": "", "fork_at": fork_at}

    async def change_model(self, debate_id: str, posted: Posted, who: str) -> None:
        """Give a seat another model, and let the debate go on with it."""
        changes: dict[str, JsonValue] = {"models": {last(posted, "seat"): last(posted, "model").strip()}}
        refuse_addresses(changes)
        await self._app.resume(debate_id, changes)


class TypicalCosts:
    """What debates like those that are watched cost: reckoned once for each, beside what is asked of the server."""

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

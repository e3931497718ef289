"""The page of a debate that goes on, or can go on: what it is rendered with, and what its buttons do."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from pydantic import JsonValue

from moot.app import App
from moot.core.debate import Status
from moot.llm.addresses import refuse_addresses
from moot.reading.debate import Reading
from moot.runs.process import is_lost
from moot.web.pages.form_values import Posted, last
from moot.web.pages.live_views import live_view
from moot.web.pages.typical import TypicalCosts

NOBODY_WORKS = "queued, but no worker is alive"


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

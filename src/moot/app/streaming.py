"""A run of a debate as a stream of its events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

from moot.app.app import App
from moot.core.events import Event
from moot.errors import MootError


async def stream(app: App, debate_id: str) -> AsyncGenerator[Event, None]:
    events: asyncio.Queue[Event | None] = asyncio.Queue()
    running = asyncio.create_task(app.run(debate_id, events.put_nowait))
    running.add_done_callback(lambda _: events.put_nowait(None))
    try:
        while (event := await events.get()) is not None:
            yield event
        await running
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError, MootError):
            await running

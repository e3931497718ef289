"""Whether the database can be worked with, told in time whatever it does."""

from __future__ import annotations

import asyncio

from moot.app.app import App
from moot.errors import StoreAway, StoreBlocked
from moot.runs.queue import Load
from moot.store.database import Operation, alone

SECONDS = 2.5
"""Who asks wants to hear within three."""


async def health(app: App) -> Load:
    """What there is to do, and who is there to do it. Raises StoreError when the database cannot be used now."""
    try:
        async with asyncio.timeout(SECONDS):
            if await app.store.database.write(_is_read_only()):
                raise StoreBlocked("the database is read-only; make it writable, or name the server that is")
            return await app.load_of_queue()
    except TimeoutError:
        raise StoreAway(f"the database has not answered within {SECONDS:g} s; check the server") from None


def _is_read_only() -> Operation[bool]:
    rows = yield alone("is_read_only")
    return bool(rows[0]["is_read_only"])

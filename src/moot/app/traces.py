"""What many debates together tell: their traces, and numbers of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import suppress

from moot.app.app import App
from moot.core.debate import Status
from moot.core.trace import Trace
from moot.errors import NotFound
from moot.export.bundle import Chosen
from moot.export.stats import Stats, Totals
from moot.store.store import Cursor

PAGE = 100


async def traces(app: App, chosen: Chosen) -> AsyncGenerator[Trace, None]:
    after: Cursor | None = None
    while page := await app.list(PAGE, chosen.status, chosen.format, after=after):
        for record in page:
            if chosen.since is not None and record.created_at < chosen.since:
                return
            with suppress(NotFound):  # it was deleted meanwhile
                yield (await app.read(record.id)).trace
        after = Cursor(page[-1].created_at, page[-1].id)


async def stats(app: App) -> tuple[Stats, ...]:
    totals = Totals()
    async for each in app.traces(Chosen(Status.FINISHED)):
        totals.add(each)
    return totals.stats()

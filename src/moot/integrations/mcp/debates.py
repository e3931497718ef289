"""What a caller can do with debates that a queue runs: begin, read, stop, go on, conclude, answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from moot.app import App
from moot.core.debate import Record, Status
from moot.integrations.mcp.views import DebateReport, debate_report, is_about
from moot.llm.addresses import refuse_addresses
from moot.store.store import Cursor

PAGE = 100
MAX_SEARCHED = 2000


@dataclass(frozen=True, slots=True)
class Debates:
    """What the tools work with."""

    app: App

    async def start(self, format: str, topic: str, settings: Mapping[str, JsonValue]) -> str:
        """The id of a new debate that runs by itself from now on."""
        refuse_addresses(settings)
        return (await self.app.create(format, topic, settings, start=True)).id

    async def report(self, debate_id: str) -> DebateReport:
        return debate_report(await self.app.read(debate_id))

    async def finished(self, words: Sequence[str]) -> AsyncIterator[Record]:
        """Debates with an outcome in which all these words stand, newest first."""
        after: Cursor | None = None
        for _ in range(0, MAX_SEARCHED, PAGE):
            page = await self.app.list(PAGE, Status.FINISHED, after=after)
            for record in page:
                if record.outcome is not None and is_about(record, words):
                    yield record
            if len(page) < PAGE:
                return
            after = Cursor(page[-1].created_at, page[-1].id)

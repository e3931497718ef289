"""What a caller can do with debates that a queue runs: begin, read, stop, go on, conclude, answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from moot.app import App, steering
from moot.core.debate import Action, Record, Status
from moot.integrations.mcp.views import DebateReport, debate_report, is_about
from moot.llm.addresses import refuse_addresses
from moot.runs.queue import Queue
from moot.store.store import Cursor

PAGE = 100
MAX_SEARCHED = 2000


@dataclass(frozen=True, slots=True)
class Debates:
    """What the tools work with."""

    app: App
    queue: Queue

    async def start(self, format: str, topic: str, settings: Mapping[str, JsonValue]) -> str:
        """The id of a new debate that runs by itself from now on."""
        refuse_addresses(settings)
        record = await self.app.create(format, topic, settings, queued=True)
        await self.queue.enqueue(record.id)
        return record.id

    async def report(self, debate_id: str) -> DebateReport:
        return debate_report(self.app.reading(await self.app.load(debate_id)))

    async def stop(self, debate_id: str) -> None:
        await steering.stop(self.app, debate_id)

    async def resume(self, debate_id: str) -> None:
        await self.queue.enqueue(debate_id)

    async def conclude(self, debate_id: str) -> None:
        await steering.conclude(self.app, self.queue, debate_id)

    async def answer(self, debate_id: str, action: Action, text: str = "", position: int | None = None) -> None:
        await steering.answer(self.app, self.queue, debate_id, action, text, position)

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

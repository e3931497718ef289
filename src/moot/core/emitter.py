"""Those who watch a debate: each event gets its id and reaches them in the order of the ids."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TypeAlias

from moot.core.debate import Turn
from moot.core.events import EVENTS_PER_RUN, Event, Terminal, ended, turn_finished

Sink: TypeAlias = Callable[[Event], None]


class Emitter:
    """Gives every event of a run its id, debate and time, and hands it to the sink in the order of the ids."""

    def __init__(self, debate_id: str, run: int, sink: Sink, now: Callable[[], float]) -> None:
        self._debate_id = debate_id
        self._run = run
        self._next = run * EVENTS_PER_RUN
        self._sink = sink
        self._now = now
        self._held: list[Event] | None = None
        self._storing = asyncio.Lock()

    def emit(self, event: Event) -> None:
        if self._held is not None:
            self._held.append(event)
            return
        self._next += 1
        fill = object.__setattr__  # as `stamped` does, but this happens for every token
        fill(event, "id", self._next)
        fill(event, "debate", self._debate_id)
        fill(event, "at", datetime.fromtimestamp(self._now(), UTC))
        self._sink(event)

    def end(self, event: Terminal) -> None:
        """Emit the last event of the run."""
        self._sink(ended(event, self._run, self._debate_id, self._now()))

    @asynccontextmanager
    async def turn_id(self) -> AsyncIterator[int]:
        """Reserve the id of a turn that is being stored; what others say meanwhile comes after it."""
        async with self._storing:
            self._held = []
            self._next += 1
            try:
                yield self._next
            finally:
                held, self._held = self._held, None
                for event in held:
                    self.emit(event)

    def show(self, turn: Turn, title: str, notes: tuple[str, ...]) -> None:
        """Show a turn that is now durable under the id reserved for it."""
        self._sink(turn_finished(self._debate_id, turn, title, notes))

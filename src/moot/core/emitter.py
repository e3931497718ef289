"""Those who watch a debate: each event gets its id and reaches them in the order of the ids."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias

from moot.core.debate import Turn
from moot.core.events import EVENTS_PER_RUN, Event, turn_finished

Sink: TypeAlias = Callable[[Event], None]


class Readers:
    """Gives every event its id and hands it to the sink, in the order of the ids."""

    def __init__(self, debate_id: str, run: int, sink: Sink, now: Callable[[], float]) -> None:
        self._debate_id = debate_id
        self._next = run * EVENTS_PER_RUN
        self._sink = sink
        self._now = now
        self._held: list[tuple[type[Event], tuple[object, ...]]] | None = None
        self._storing = asyncio.Lock()

    def emit(self, event: type[Any], *fields: object) -> None:
        if self._held is not None:
            self._held.append((event, fields))
            return
        self._next += 1
        self._sink(event(self._next, self._debate_id, datetime.fromtimestamp(self._now(), UTC), *fields))

    def turn_id(self) -> _TurnId:
        """Reserve the id of a turn that is being stored; what others say meanwhile comes after it."""
        return _TurnId(self)

    def show(self, turn: Turn, title: str, notes: tuple[str, ...]) -> None:
        """Show a turn that is now durable under the id reserved for it."""
        self._sink(turn_finished(self._debate_id, turn, title, notes))


class _TurnId:
    def __init__(self, readers: Readers) -> None:
        self._readers = readers

    async def __aenter__(self) -> int:
        readers = self._readers
        await readers._storing.acquire()
        readers._held = []
        readers._next += 1
        return readers._next

    async def __aexit__(self, *_: object) -> None:
        readers = self._readers
        held, readers._held = readers._held or [], None
        for event, fields in held:
            readers.emit(event, *fields)
        readers._storing.release()

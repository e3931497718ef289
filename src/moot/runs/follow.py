"""A debate followed from anywhere: what is stored of it, then what happens, each event once and in order.

The store is the truth; what is heard of a run on the way only comes sooner. Whatever gets lost there is read from
the store a moment later.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from moot.core.events import DebateStarted, Event, Terminal, TurnChunk, TurnFinished, TurnStarted, Waiting
from moot.core.format import AnyFormat
from moot.core.stored import StoredDebate
from moot.errors import StoreError
from moot.reading.history import events_of
from moot.reading.unreadable import format_of
from moot.runs.live import Heard

LOOK_SECONDS = 2.0
"""So often the store is looked at when nothing is heard."""


class Loads(Protocol):
    async def load(self, debate_id: str) -> StoredDebate: ...


async def follow(
    store: Loads,
    formats: Mapping[str, AnyFormat],
    debate_id: str,
    heard: Heard,
    after: int = 0,
    through_waits: bool = False,
    ask: Callable[[], Awaitable[bool]] | None = None,
    is_heard: Callable[[str], bool] = lambda debate_id: False,
) -> AsyncGenerator[Event, None]:
    """What happens in a debate after an event's id, to its end; or only until it waits for a person.

    `ask` has the text so far of the turns in progress told again, when some of it was not heard; False says that it
    is too early for that. While `is_heard`, nothing the debate's run says gets lost, and the store need not be asked.
    """
    place = _Place(after)
    event: Event | None = None
    behind = True
    while True:
        news: list[Event] = []
        if behind or event is None or isinstance(event, DebateStarted):  # what the run before has told may be lost
            stored = await _stored(store, formats, debate_id)
            behind = stored is None
            news += place.unseen(stored or [])
        if event and not behind:  # else it would go before what is stored
            news += place.passed(event)
        for each in news:
            yield each
            if isinstance(each, Terminal) and not (through_waits and isinstance(each, Waiting)):
                return
        if place.lost and ask:
            place.lost = not await ask()
        event = await _next(heard, (lambda _: False) if behind else is_heard, debate_id)


async def _next(heard: Heard, is_heard: Callable[[str], bool], debate_id: str) -> Event | None:
    while True:
        try:
            return await asyncio.wait_for(heard.get(), LOOK_SECONDS)
        except TimeoutError:
            if not is_heard(debate_id):
                return None


async def _stored(store: Loads, formats: Mapping[str, AnyFormat], debate_id: str) -> list[Event] | None:
    try:
        stored = await store.load(debate_id)
    except StoreError:  # it is away; what happens meanwhile will be there when it is back
        return None
    events = await asyncio.to_thread(events_of, stored, format_of(formats, stored.record))
    return sorted(events, key=lambda event: event.id)  # turns played side by side end in any order


class _Place:
    """How far a reader has come."""

    def __init__(self, after: int) -> None:
        self._last = after
        self._lengths: dict[int, int] = {}
        self.lost = False
        """Whether some text of a turn in progress is missing."""

    def unseen(self, events: list[Event]) -> Iterator[Event]:
        for event in events:
            yield from self.passed(event)

    def passed(self, event: Event) -> Iterator[Event]:
        """The event, if it is new, or what is new of it."""
        if isinstance(event, TurnStarted) and (event.id > self._last or event.position not in self._lengths):
            self._lengths[event.position] = 0
        elif isinstance(event, TurnChunk):
            known = self._lengths.get(event.position)
            if known is None or event.offset > known:
                self.lost = event.id > self._last
                return
            if event.id <= self._last:  # while another speaks; it comes with what this one says next
                return
            event = replace(event, offset=known, text=event.text[known - event.offset :])
            if not event.text:
                return
            self._lengths[event.position] = known + len(event.text)
        elif isinstance(event, TurnFinished):
            self._lengths.pop(event.position, None)
        elif isinstance(event, DebateStarted):
            self._lengths.clear()
        if event.id > self._last:
            self._last = event.id
            yield event

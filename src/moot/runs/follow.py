"""A debate followed from anywhere: what is stored of it, then what happens, each event once and in order.

The store is the truth; what is heard of a run on the way only comes sooner. Whatever gets lost there is read from
the store a moment later.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
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
ANSWER_SECONDS = 0.5
"""So long the text so far is waited for, once, when somebody begins to follow a debate that another process runs."""


class Loads(Protocol):
    async def load(self, debate_id: str) -> StoredDebate: ...


async def follow(
    store: Loads,
    formats: Mapping[str, AnyFormat],
    debate_id: str,
    listening: AbstractContextManager[Heard],
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
    with listening as heard:
        news: deque[Event | None] = deque([None])
        if ask and await ask():
            before = await _stored(store, formats, debate_id)
            if before and not isinstance(before[-1], Terminal):  # what is said now may have begun before the last turn
                news.extend(await _answer(heard))
        while True:
            event = news.popleft()
            batch = [event] if event else []
            if event is None or (
                isinstance(event, DebateStarted) and event.id > place.last
            ):  # a run before may be lost
                while (stored := await _stored(store, formats, debate_id)) is None:  # noqa: ASYNC110
                    await asyncio.sleep(LOOK_SECONDS)
                batch = sorted([*stored, *batch, *_until_next_look(news, heard)], key=_id)
            for each in batch:
                if (new := place.new_of(each)) is None:
                    continue
                yield new
                if isinstance(new, Terminal) and not (through_waits and isinstance(new, Waiting)):
                    return
            if place.lost and ask:
                place.lost = not await ask()
            while not news:
                try:
                    async with asyncio.timeout(LOOK_SECONDS):
                        news.append(await heard.get())
                except TimeoutError:
                    if not is_heard(debate_id):
                        news.append(None)
                        place.lost = not place.at_rest  # perhaps its run does not know that it is followed


async def _answer(heard: Heard) -> list[Event]:
    """What is heard of a run that was asked for its text so far, up to the end of its answer."""
    answer: list[Event] = []
    with suppress(TimeoutError):
        async with asyncio.timeout(ANSWER_SECONDS):
            while event := await heard.get():
                answer.append(event)
    return answer


def _until_next_look(news: deque[Event | None], heard: Heard) -> Iterator[Event]:
    """What was heard while the store was looked at, as far as that is no reason to look again."""
    while not heard.empty():
        news.append(heard.get_nowait())
    while news and (event := news[0]):
        news.popleft()
        yield event


async def _stored(store: Loads, formats: Mapping[str, AnyFormat], debate_id: str) -> list[Event] | None:
    try:
        stored = await store.load(debate_id)
    except StoreError:  # it is away; what happens meanwhile will be there when it is back
        return None
    events = await asyncio.to_thread(events_of, stored, format_of(formats, stored.record))
    return sorted(events, key=_id)  # turns played side by side end in any order


def _id(event: Event) -> int:
    return event.id


class _Place:
    """How far a reader has come."""

    def __init__(self, after: int) -> None:
        self.last = after
        self._lengths: dict[int, int] = {}
        self.lost = False
        """Whether some text of a turn in progress is missing."""
        self.at_rest = False
        """Whether its last run has ended."""

    def new_of(self, event: Event) -> Event | None:
        """The event, if it is new, or what is new of it."""
        if isinstance(event, TurnStarted) and (event.id > self.last or event.position not in self._lengths):
            self._lengths[event.position] = 0
        elif isinstance(event, TurnChunk):
            known = self._lengths.get(event.position)
            if known is None or event.offset > known:
                self.lost = event.id > self.last
                return None
            if event.id <= self.last:  # while another speaks; it comes with what this one says next
                return None
            if event.offset < known:
                event = replace(event, offset=known, text=event.text[known - event.offset :])
            if not event.text:
                return None
            self._lengths[event.position] = known + len(event.text)
        elif isinstance(event, TurnFinished):
            self._lengths.pop(event.position, None)
        elif isinstance(event, DebateStarted) and event.id > self.last:
            self._lengths.clear()
        if event.id <= self.last:
            return None
        self.last, self.at_rest = event.id, isinstance(event, Terminal)
        return event

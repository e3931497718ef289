"""What runs in one process, heard in others: Postgres NOTIFY, for what is shown while it happens.

Nothing here is the truth: a message that gets lost costs a moment, and the store tells what has become of it.
A message is a few lines, each the id of a debate and an event of it; without an event it says that there is something
new in the store. Text too long for one message comes in parts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from typing import Any

from moot.core.events import PASSING, Event, TurnChunk, TurnStarted, decode, encode
from moot.runs.live import Heard, Listeners, Live
from moot.store.postgres import PostgresPool, connect

log = logging.getLogger(__name__)

EVENTS = "moot_events"
ASKS = "moot_asks"
"""On which a process asks for the text so far of a debate's turns in progress."""
HURRIES = "moot_hurries"
"""On which a person's wish is told to have a debate's failed calls made now, or given up by some seats."""
TICK_SECONDS = 0.05
MAX_MESSAGE = 7900
"""Bytes of a message; Postgres takes less than 8000."""
MAX_PART = 1200
"""Characters, of which JSON makes up to six bytes each."""
PART = "+"
AGAIN_SECONDS = 1.0
ALIVE_SECONDS = 10.0


class Publisher:
    """Tells what the runs of this process say, a few times a second, little pieces put together."""

    def __init__(self, server: PostgresPool, is_followed: Callable[[str], bool] = lambda debate_id: True) -> None:
        """A debate that nobody follows is not told of; whoever begins to gets the text so far."""
        self._server = server
        self._is_followed = is_followed
        self._live = Live()
        self._told: list[Event | str] = []
        self._untold: set[str] = set()
        """The debates of which something could not be told."""
        self._open: dict[tuple[str, int], int] = {}
        """Where in `_told` the latest chunk of a turn is, to which the next is joined."""
        self._sending: asyncio.Task[None] | None = None

    def emit(self, event: Event) -> None:
        self._live.emit(event)
        if self._is_followed(event.debate):
            self._add(event if event.type in PASSING else event.debate)

    def resend(self, debate_id: str) -> None:
        """Tell the text so far of a debate's turns in progress, and that this is all."""
        so_far = self._live.so_far(debate_id)
        for event in so_far:
            self._add(event)
        if so_far:
            self._add(debate_id)

    def announce_change(self, debate_id: str) -> None:
        self._add(debate_id)

    async def close(self) -> None:
        if self._sending:
            await self._sending

    def _add(self, told: Event | str) -> None:
        place = (told.debate, told.position) if isinstance(told, TurnChunk | TurnStarted) else None
        if place and isinstance(told, TurnChunk):
            at = self._open.get(place)
            before = None if at is None else self._told[at]
            if at is not None and isinstance(before, TurnChunk) and told.offset == before.offset + len(before.text):
                self._told[at] = ""
                told = replace(told, offset=before.offset, text=before.text + told.text)
            self._open[place] = len(self._told)
        elif place:
            self._open.pop(place, None)
        self._told.append(told)
        if self._sending is None:
            self._sending = asyncio.create_task(self._send())

    async def _send(self) -> None:
        """One message after the other: what comes later must not be heard first."""
        try:
            while self._told:
                await asyncio.sleep(TICK_SECONDS)
                told, self._told = [*self._untold, *self._told], []
                self._untold.clear()
                self._open.clear()
                await self._notify([each for each in told if each])
        finally:
            self._sending = None

    async def _notify(self, told: list[Event | str]) -> None:
        try:
            await self._server.execute(
                "SELECT pg_notify($1, message) FROM unnest($2::text[]) AS message",
                EVENTS,
                list(messages(iter(told))),
            )
        except Exception as error:  # whatever it is, who follows finds it in the store
            log.debug("nobody was told: %s", error)
            self._untold.update(each if isinstance(each, str) else each.debate for each in told)


def messages(told: Iterator[Event | str]) -> Iterator[str]:
    """Lines put together, each message short enough."""
    message: list[str] = []
    size = 0
    for line in (line for each in told for line in _lines(each)):
        length = len(line.encode()) + 1
        if size + length > MAX_MESSAGE:
            yield "\n".join(message)
            message, size = [], 0
        message.append(line)
        size += length
    if message:
        yield "\n".join(message)


def _lines(told: Event | str) -> Iterator[str]:
    if isinstance(told, str):
        yield told
        return
    while isinstance(told, TurnChunk) and len(told.text) > MAX_PART:
        yield f"{told.debate} {PART}{encode(replace(told, text=told.text[:MAX_PART])).decode()}"
        told = replace(told, offset=told.offset + MAX_PART, text=told.text[MAX_PART:])
    line = f"{told.debate} {encode(told).decode()}"
    yield line if len(line.encode()) < MAX_MESSAGE else told.debate


class Listener:
    """One connection on which this process hears the others; made again when it is lost."""

    def __init__(self, server: PostgresPool) -> None:
        self._server = server
        self._listeners = Listeners()
        self._parts: dict[tuple[str, int], TurnChunk] = {}
        self._callbacks: dict[str, Callable[[str], None]] = {EVENTS: self._hear}

    def on(self, channel: str, callback: Callable[[str], None]) -> None:
        """Have a channel's messages handed over; to be said before the ear listens."""
        self._callbacks[channel] = callback

    def listening(self, debate_id: str) -> AbstractContextManager[Heard]:
        return self._listeners.listening(debate_id)

    async def listen(self) -> None:
        """Listen for ever."""
        while True:
            try:
                connection = await connect(self._server.url)
                try:
                    await self._listen_on(connection)
                finally:
                    connection.terminate()
            except Exception as error:  # whatever it is, the next connection may do
                log.info("not listening, trying again: %s", error or type(error).__name__)
            await asyncio.sleep(AGAIN_SECONDS)

    async def _listen_on(self, connection: Any) -> None:
        for channel, callback in reversed(self._callbacks.items()):
            await connection.add_listener(channel, lambda _, pid, name, payload, heard=callback: heard(payload))
        # Who follows looks before it hears: the channel of the events came last, and nothing was awaited since.
        self._parts.clear()
        self._listeners.wake_all()
        closed = asyncio.Event()
        connection.add_termination_listener(lambda _: closed.set())
        await connection.execute(
            "SELECT pg_notify($1, debate_id) FROM unnest($2::text[]) AS debate_id", ASKS, list(self._listeners.heard)
        )
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(closed.wait(), ALIVE_SECONDS)
            await connection.execute("SELECT 1", timeout=ALIVE_SECONDS)

    def _hear(self, message: str) -> None:
        for line in message.split("\n"):  # no other of the many line ends there are, which may stand in a text
            debate_id, _, body = line.partition(" ")
            if debate_id not in self._listeners.heard:
                continue
            if not body:
                self._listeners.send(debate_id, None)
                continue
            with suppress(ValueError, KeyError, TypeError):  # of a newer moot; the store tells it in time
                self._pass_on(debate_id, body)

    def _pass_on(self, debate_id: str, body: str) -> None:
        event = decode(body.removeprefix(PART))
        if isinstance(event, TurnChunk):
            place = (debate_id, event.position)
            event = _joined(self._parts.pop(place, None), event)
            if body.startswith(PART):
                self._parts[place] = event
                return
        self._listeners.send(debate_id, event)


def _joined(before: TurnChunk | None, part: TurnChunk) -> TurnChunk:
    """A part with those before it; where one of them was lost, it stands alone, and its offset tells of the loss."""
    if before is None or (before.id, before.offset + len(before.text)) != (part.id, part.offset):
        return part
    return replace(before, text=before.text + part.text)

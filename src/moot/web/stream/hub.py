"""Live events to many readers: a log for each debate, a cursor for each reader, all woken together.

The hub is fed through `emit`, by the queue of this process or by whatever hears of the runs of others.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from moot.core.debate import Record
from moot.core.events import Event, Terminal
from moot.reading.history import stopped
from moot.web.stream.log import Log, Missed

FLUSH_SECONDS = 0.04
BEAT_SECONDS = 15.0
BEAT = b": still here\n\n"
MAX_BEHIND = 1_000_000
"""Bytes that wait for a reader who is too slow; with more it is sent away, and can come back."""
PIECE = 64_000
MAX_LOGS = 50
"""Of debates that nobody runs and nobody reads."""


class Hub:
    """All logs of a process, and who reads them."""

    def __init__(self, beat_seconds: float = BEAT_SECONDS) -> None:
        self._beat_seconds = beat_seconds
        self.attend: Callable[[str, bool], None] = lambda debate_id, read: None
        """Called when somebody begins to read a debate, and when the last one has left it."""
        self._logs: dict[str, Log] = {}
        self._readers: dict[str, set[Reader]] = {}
        self._changed: set[str] = set()
        self._flushing = False
        self._beating: asyncio.TimerHandle | None = None
        self.closed = asyncio.Event()
        """Set when all streams are to end."""

    @property
    def readers(self) -> int:
        return sum(map(len, self._readers.values()))

    def emit(self, event: Event) -> None:
        log = self._logs.get(event.debate) or self._logs.setdefault(event.debate, Log())
        if not log.append(event):
            return
        if isinstance(event, Terminal):
            self._forget_oldest(event.debate)
        if event.debate in self._readers:
            self._changed.add(event.debate)
            if not self._flushing:
                self._flushing = True
                asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush)

    def tell_stopped(self, record: Record) -> None:
        """A debate was stopped while nothing ran; who reads it is told, or at least sent home."""
        self.emit(stopped(record))
        for reader in self._readers.get(record.id, ()):
            reader.leave(after_all=True)

    def disconnect(self, debate_id: str) -> None:
        for reader in self._readers.get(debate_id, ()):
            reader.leave()

    def close(self) -> None:
        """End all streams, for good."""
        self.closed.set()
        if self._beating:
            self._beating.cancel()
        for debate_id in list(self._readers):
            self.disconnect(debate_id)

    def forget(self, debate_id: str) -> None:
        """Keep nothing of a debate that nobody reads."""
        if debate_id not in self._readers:
            self._logs.pop(debate_id, None)

    def log(self, debate_id: str) -> Log:
        return self._logs.get(debate_id) or Log()

    @contextmanager
    def reading(self, debate_id: str, follow: bool) -> Iterator[Reader]:
        log = self._logs.setdefault(debate_id, Log())
        reader = Reader(log, follow)
        self._readers.setdefault(debate_id, set()).add(reader)
        self.attend(debate_id, True)
        if self._beating is None:
            self._beating = asyncio.get_running_loop().call_later(self._beat_seconds, self._beat)
        if self.closed.is_set():
            reader.leave()
        try:
            yield reader
        finally:
            self._readers[debate_id].discard(reader)
            if not self._readers[debate_id]:
                del self._readers[debate_id]
                self.attend(debate_id, False)
                if not log.frames:
                    self._logs.pop(debate_id, None)

    def _flush(self) -> None:
        self._flushing = False
        changed, self._changed = self._changed, set()
        for debate_id in changed:
            for reader in self._readers.get(debate_id, ()):
                reader.wake()

    def _beat(self) -> None:
        self._beating = None
        for readers in self._readers.values():
            for reader in readers:
                reader.beat()
        if self._readers and not self.closed.is_set():
            self._beating = asyncio.get_running_loop().call_later(self._beat_seconds, self._beat)

    def _forget_oldest(self, newest: str) -> None:
        """Keep the logs of the latest debates that have ended; those who reconnect may want them."""
        self._logs[newest] = self._logs.pop(newest)
        idle = [id for id, log in self._logs.items() if log.over and id not in self._readers]
        for debate_id in idle[:-MAX_LOGS]:
            del self._logs[debate_id]


class Reader:
    """One who listens: at a place in the log, idle or being sent something."""

    def __init__(self, log: Log, follow: bool) -> None:
        self._log = log
        self._follow = follow
        self._at = log.end
        self._read = log.written
        self._seen = -1
        self._woken = asyncio.Event()
        self._beats = False
        self._sending = True
        self._left = False
        self._leaves = False
        self._task: asyncio.Task[Any] | None = asyncio.current_task()

    @property
    def left(self) -> bool:
        """Sent away in the middle of something, which is not to be completed."""
        return self._left

    async def listen(self, missed: Missed, after: int) -> AsyncIterator[bytes]:
        """What was missed since an id, then what happens; ends with the debate."""
        data = b"".join(frame.data for frame in missed.frames)
        self._seen = missed.frames[-1].id if missed.frames else after
        for start in range(0, len(data), PIECE):
            yield data[start : start + PIECE]
        over = missed.over
        while not over:
            self._sending = False
            await self._woken.wait()
            self._sending = True
            self._woken.clear()
            data, over = self._take()
            if data:
                yield data
            over = over or self._leaves

    def wake(self) -> None:
        if self._sending and self._log.written - self._read > MAX_BEHIND:
            self._drop()
        self._woken.set()

    def beat(self) -> None:
        self._beats = True
        self._woken.set()

    def leave(self, after_all: bool = False) -> None:
        """End: at once, or after what there is."""
        self._leaves = True
        if self._sending and not after_all:
            self._drop()
        self._woken.set()

    def stay(self) -> None:
        """The task goes on to its end: nobody but us has cancelled it."""
        if self._task:
            self._task.uncancel()

    def _drop(self) -> None:
        if self._task and not self._left:
            self._left = True
            self._task.cancel()

    def _take(self) -> tuple[bytes, bool]:
        log, start = self._log, self._at
        beats, self._beats = self._beats, False
        new = log.frames[start - log.dropped :]
        self._at, self._read = log.end, log.written
        while new and new[0].id <= self._seen:  # it was read from the store before it was told
            new, start = new[1:], start + 1
        for number, frame in enumerate(new, 1):
            if frame.kind == "end" or (frame.kind == "waiting" and not self._follow):
                return b"".join(each.data for each in new[:number]), True
        return (log.joined(start) if new else BEAT if beats else b""), False


class EventStream(Response):
    """A reader's connection: what was missed is looked up when it begins, so that nothing falls in between."""

    media_type = "text/event-stream"

    def __init__(self, hub: Hub, record: Record, stored: list[Event], after: int, follow: bool) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._hub = hub
        self._record = record
        self._stored = stored
        self._after = after
        self._follow = follow

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        with self._hub.reading(self._record.id, self._follow) as reader:
            missed = self._hub.log(self._record.id).missed(self._after, self._record, self._stored, self._follow)
            gone = asyncio.create_task(_disconnected(receive, reader))
            try:
                async for data in reader.listen(missed, self._after):
                    await send({"type": "http.response.body", "body": data, "more_body": True})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            except asyncio.CancelledError:
                if not reader.left:
                    raise  # not by us: the server ends
                reader.stay()
            finally:
                gone.cancel()
                with suppress(asyncio.CancelledError):
                    await gone


async def _disconnected(receive: Receive, reader: Reader) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    reader.leave(after_all=True)

"""Live events to many readers: each debate that is read is followed once, wherever it runs.

What is followed is kept in a log; each reader has a cursor in it, and all are woken together.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from moot.core.debate import Record
from moot.core.events import Event, StepRetrying, TurnFinished
from moot.errors import NotFound
from moot.web.stream.log import Log, ends

log = logging.getLogger(__name__)

FLUSH_SECONDS = 0.04
BEAT_SECONDS = 15.0
BEAT = b": still here\n\n"
UNBUFFERED = {"cache-control": "no-store", "x-accel-buffering": "no"}
MAX_BEHIND = 1_000_000
"""Bytes that wait for a reader who is too slow; with more it is sent away, and can come back."""
PIECE = 64_000
LINGER_SECONDS = 30.0
"""So long a debate is still followed when nobody reads it; who was only cut off then misses nothing."""
AGAIN_SECONDS = 1.0


class Follow(Protocol):
    def __call__(self, debate_id: str, *, through_waits: bool) -> AsyncGenerator[Event, None]: ...


class _Followed:
    """A debate that is read, or was a moment ago."""

    def __init__(self) -> None:
        self.log = Log()
        self.readers: set[Reader] = set()
        self.following: asyncio.Task[None] | None = None
        self.leaving: asyncio.TimerHandle | None = None


class Hub:
    """All debates that are read in a process, and who reads them."""

    def __init__(
        self, follow: Follow, beat_seconds: float = BEAT_SECONDS, linger_seconds: float = LINGER_SECONDS
    ) -> None:
        self._follow = follow
        self._beat_seconds = beat_seconds
        self._linger_seconds = linger_seconds
        self._followed: dict[str, _Followed] = {}
        self._changed: set[_Followed] = set()
        self._flushing = False
        self._beating: asyncio.TimerHandle | None = None
        self.closed = asyncio.Event()
        """Set when all streams are to end."""

    @property
    def readers(self) -> int:
        return sum(len(each.readers) for each in self._followed.values())

    def close(self) -> None:
        """End all streams, for good."""
        self.closed.set()
        if self._beating:
            self._beating.cancel()
        for debate_id in list(self._followed):
            for reader in self._followed[debate_id].readers:
                reader.leave()
            self._leave(debate_id)

    @contextmanager
    def reading(self, debate_id: str, follow: bool) -> Iterator[Reader]:
        followed = self._followed.setdefault(debate_id, _Followed())
        reader = Reader(followed.log, follow)
        followed.readers.add(reader)
        if followed.leaving:
            followed.leaving.cancel()
        if self.closed.is_set():
            reader.leave()
        elif followed.following is None or followed.following.done():
            followed.following = asyncio.create_task(self._keep_following(debate_id, followed))
        if self._beating is None:
            self._beating = asyncio.get_running_loop().call_later(self._beat_seconds, self._beat)
        try:
            yield reader
        finally:
            followed.readers.discard(reader)
            if not followed.readers:
                loop = asyncio.get_running_loop()
                followed.leaving = loop.call_later(self._linger_seconds, self._leave, debate_id)

    def retries(self, debate_id: str) -> list[StepRetrying]:
        """What waits in a debate to be tried again, as far as it was heard: from now on it is followed for a while."""
        with self.reading(debate_id, follow=True):
            return self._followed[debate_id].log.retries

    async def _keep_following(self, debate_id: str, followed: _Followed) -> None:
        while True:
            try:
                async for event in self._follow(debate_id, through_waits=True):
                    if followed.log.append(event):
                        self._changed.add(followed)
                        if not self._flushing:
                            self._flushing = True
                            asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush)
                break
            except NotFound:
                break
            except Exception as error:  # whatever it is, who reads must not wait for good
                log.warning("%s is followed again in a moment: %r", debate_id, error)
                await asyncio.sleep(AGAIN_SECONDS)
        for reader in followed.readers:
            reader.leave(after_all=True)

    def _leave(self, debate_id: str) -> None:
        """Keep nothing of a debate that nobody reads."""
        followed = self._followed.pop(debate_id, None)
        if followed and followed.leaving:
            followed.leaving.cancel()
        if followed and followed.following:
            followed.following.cancel()

    def _flush(self) -> None:
        self._flushing = False
        changed, self._changed = self._changed, set()
        for followed in changed:
            for reader in followed.readers:
                reader.wake()

    def _beat(self) -> None:
        self._beating = None
        for followed in self._followed.values():
            for reader in followed.readers:
                reader.beat()
        if self.readers and not self.closed.is_set():
            self._beating = asyncio.get_running_loop().call_later(self._beat_seconds, self._beat)


class Reader:
    """One who listens: at a place in the log, idle or being sent something."""

    def __init__(self, log: Log, follow: bool) -> None:
        self._log = log
        self._follow = follow
        self._at = self._read = 0
        self._seen = -1
        self._woken = asyncio.Event()
        self._beats = False
        self._sending = False
        self.left = False
        """Sent away in the middle of something, which is not to be completed."""
        self._leaves = False
        self._task: asyncio.Task[Any] | None = asyncio.current_task()

    async def listen(self, after: int, record: Record, stored: Sequence[Event]) -> AsyncIterator[bytes]:
        """What was missed since an id, the debate being stored like this, then what happens; ends with the debate."""
        await self._caught_up(max((event.id for event in stored if isinstance(event, TurnFinished)), default=-1))
        missed = self._log.missed(after, record, stored, self._follow)
        self._at, self._read, self._sending = self._log.end, self._log.written, True
        data = b"".join(frame.data for frame in missed.frames)
        self._seen = missed.frames[-1].id if missed.frames else after
        for start in range(0, len(data), PIECE):
            yield data[start : start + PIECE]
        over = missed.over or self._leaves
        while not over:
            await self._wait()
            data, over = self._take()
            if data:
                yield data
            over = over or self._leaves

    async def _caught_up(self, turn: int) -> None:
        """Wait until the log has the last stored turn: before it comes what those say who began to speak earlier."""
        while self._log.last_id < turn and not self._leaves:
            await self._wait()

    async def _wait(self) -> None:
        self._sending = False
        await self._woken.wait()
        self._sending = True
        self._woken.clear()

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
        if self._task and not self.left:
            self.left = True
            self._task.cancel()

    def _take(self) -> tuple[bytes, bool]:
        log, start = self._log, self._at
        beats, self._beats = self._beats, False
        new = log.frames[start - log.dropped :]
        self._at, self._read = log.end, log.written
        while new and new[0].id <= self._seen:  # it was read from the store before it was told
            new, start = new[1:], start + 1
        for number, frame in enumerate(new, 1):
            if ends(frame, self._follow):
                return b"".join(each.data for each in new[:number]), True
        return (log.joined(start) if new else BEAT if beats else b""), False


class EventStream(Response):
    """A reader's connection: what was missed is looked up when it begins, so that nothing falls in between."""

    media_type = "text/event-stream"

    def __init__(self, hub: Hub, record: Record, stored: list[Event], after: int, follow: bool) -> None:
        super().__init__(headers=UNBUFFERED)
        del self.headers["content-length"]
        self._hub = hub
        self._record = record
        self._stored = stored
        self._after = after
        self._follow = follow

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        with self._hub.reading(self._record.id, self._follow) as reader:
            gone = asyncio.create_task(_disconnected(receive, reader))
            try:
                async for data in reader.listen(self._after, self._record, self._stored):
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

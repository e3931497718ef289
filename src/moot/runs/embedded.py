"""Debates as tasks of this process: a few at once, the others in their order, and timers for people who are late.

The store knows all there is to know; what is kept here can be lost at any moment.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine
from functools import partial

from moot.core.debate import Record, Status
from moot.core.events import Event
from moot.errors import Busy, Fenced, MootError, NotFound, StoreError, WrongStatus
from moot.formats import of_record
from moot.reading.history import open_question
from moot.runs.follow import follow
from moot.runs.in_progress import Runs
from moot.runs.live import Live
from moot.runs.process import is_dead, this_process
from moot.runs.queue import Backlog, Load
from moot.runs.runner import Runner
from moot.store.processes import Unfinished

log = logging.getLogger(__name__)

LEASE_MARGIN = 0.1
"""A lease is looked at again so many seconds after it should have ended."""


RETRY_SECONDS = 5.0
"""After so long a debate is looked at again that the database, or another process, has kept from running; and so often
all of them are looked at, for what other processes have left."""


class EmbeddedQueue:
    def __init__(
        self,
        runner: Runner,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._runner = runner
        self._retry_seconds = retry_seconds
        self._queued: dict[str, float] = {}
        """What waits for room, and since when."""
        self._runs = Runs(self._fill)
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._chores: set[asyncio.Task[None]] = set()
        self._draining = False
        self._live = Live(self._runs.hear)

    async def load(self) -> Load:
        return Load(len(self._runs), len(self._queued), 1)

    async def backlog(self) -> Backlog:
        now = time.monotonic()
        return Backlog(len(self._queued), 0, now - min(self._queued.values(), default=now))

    async def start(self) -> None:
        for found in await self._runner.store.unfinished():
            await self._look_after(found)
        self._keep(self._look_around())

    async def enqueue(self, debate_id: str) -> Record:
        record = await self._runner.store.enqueue(debate_id)
        if record.status is Status.QUEUED:
            self._admit(debate_id)
        elif record.status is Status.RUNNING:  # its process may be dead
            await self.look_after(debate_id)
        return record

    def follow(self, debate_id: str, after: int = 0, through_waits: bool = False) -> AsyncGenerator[Event, None]:
        store, formats, here = self._runner.store, self._runner.formats, self._runs.__contains__
        listening = self._live.listening(debate_id)
        return follow(store, formats, debate_id, listening, after, through_waits, is_heard=here)

    def look(self, debate_id: str) -> None:
        self._live.look(debate_id)

    async def hurry(self, debate_id: str, give_up: Collection[str] = ()) -> None:
        self._runner.hurry(debate_id, give_up)

    async def look_after(self, debate_id: str) -> None:
        for found in await self._runner.store.unfinished():
            if found.record.id == debate_id:
                await self._look_after(found)

    async def drain(self, grace_seconds: float) -> None:
        self._draining = True
        for timer in self._timers.values():
            timer.cancel()
        await self._runs.drain(grace_seconds)
        for chore in self._chores:
            chore.cancel()
        await asyncio.gather(*self._chores, return_exceptions=True)

    async def _look_around(self) -> None:
        """Find what other processes on this file have left, for as long as this one works."""
        while True:
            await asyncio.sleep(self._retry_seconds)
            try:
                for found in await self._runner.store.unfinished():
                    if self._is_left(found):
                        await self._look_after(found)
            except Exception:  # whatever it is, the next look may find more
                log.exception("nobody has looked for what other processes have left")

    def _is_left(self, found: Unfinished) -> bool:
        record = found.record
        if record.status is Status.WAITING or record.id in self._timers or record.id in self._queued:
            return False
        # What this process runs outside of the queue has a lease that lasts.
        return record.owner != this_process() or (record.lease_until or 0.0) < found.now

    def _keep(self, work: Coroutine[None, None, None]) -> None:
        chore = asyncio.create_task(work)
        self._chores.add(chore)
        chore.add_done_callback(self._chores.discard)

    def _admit(self, debate_id: str) -> None:
        self._forget_timer(debate_id)
        self._queued.setdefault(debate_id, time.monotonic())
        self._fill()

    def _fill(self) -> None:
        """Begin runs while there is room; a debate whose last run is just ending waits for that."""
        for debate_id in [each for each in self._queued if each not in self._runs]:
            if self._draining or len(self._runs) >= self._runner.settings.max_running:
                return
            del self._queued[debate_id]
            self._runs.begin(debate_id, self._run(debate_id))

    async def _run(self, debate_id: str) -> None:
        try:
            ending = await self._runner.run_queued(debate_id, self._live.emit)
            if ending.status is Status.WAITING:
                await self._wait_for_person(debate_id, 0.0)
        except (WrongStatus, Fenced, NotFound) as error:
            log.info("%s is not run: %s", debate_id, error)
        except Busy as error:  # another process on this file was faster
            log.info("%s is run elsewhere: %s", debate_id, error)
            self._look_later(debate_id)
        except MootError as error:
            log.warning("%s is not run now: %s", debate_id, error)
            self._look_later(debate_id)
        except Exception:  # one debate's failure must not end the server
            log.exception("%s failed", debate_id)

    async def _look_after(self, found: Unfinished) -> None:
        record = found.record
        if record.id in self._runs:
            return
        try:
            if record.status is Status.QUEUED:
                self._admit(record.id)
            elif record.status is Status.WAITING:
                await self._wait_for_person(record.id, found.now - (found.waiting_since or found.now))
            else:
                await self._take_over(record, found.now)
        except StoreError:
            raise
        except MootError as error:
            log.warning("%s is left alone: %s", record.id, error)

    async def _take_over(self, record: Record, now: float) -> None:
        """Go on with what a dead process was running; what a living one holds is looked at when its lease ends."""
        left = (record.lease_until or now) - now
        if record.owner == this_process():  # whose end could not be stored
            await self._runner.store.release(record.id, record.run)
        elif left > 0 and not (record.owner and is_dead(record.owner)):
            self._look_later(record.id, left + LEASE_MARGIN)
            return
        self._admit(record.id)

    async def _wait_for_person(self, debate_id: str, waited: float) -> None:
        stored = await self._runner.store.load(debate_id)
        if stored.record.status is Status.QUEUED:  # the answer came while the debate was about to wait for it
            self._admit(debate_id)
        elif stored.record.status is Status.WAITING:
            question = open_question(stored, of_record(self._runner.formats, stored.record))
            if question and question.timeout_seconds is not None:
                self._later(debate_id, max(0.0, question.timeout_seconds - waited), partial(self._pause, debate_id))

    def _look_later(self, debate_id: str, seconds: float | None = None) -> None:
        self._later(debate_id, seconds or self._retry_seconds, partial(self.look_after, debate_id))

    async def _pause(self, debate_id: str) -> None:
        await self._runner.store.pause(debate_id)
        self.look(debate_id)

    def _later(self, debate_id: str, seconds: float, do: Callable[[], Coroutine[None, None, None]]) -> None:
        self._forget_timer(debate_id)
        if not self._draining:
            call = partial(self._do, debate_id, do)
            self._timers[debate_id] = asyncio.get_running_loop().call_later(seconds, call)

    def _do(self, debate_id: str, do: Callable[[], Coroutine[None, None, None]]) -> None:
        del self._timers[debate_id]
        self._keep(self._tried(debate_id, do))

    async def _tried(self, debate_id: str, do: Callable[[], Coroutine[None, None, None]]) -> None:
        try:
            await do()
        except StoreError as error:
            log.warning("%s, trying again: %s", debate_id, error)
            self._later(debate_id, self._retry_seconds, do)
        except MootError as error:
            log.warning("%s: %s", debate_id, error)

    def _forget_timer(self, debate_id: str) -> None:
        if timer := self._timers.pop(debate_id, None):
            timer.cancel()

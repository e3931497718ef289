"""A debate that the workers on a Postgres run, watched from this process; it helps out where there are none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress

from moot.core.emitter import Sink
from moot.core.engine import RunResult
from moot.errors import StoreError, WrongStatus
from moot.runs.choice import open_queue
from moot.runs.queue import Queue
from moot.runs.runner import Runner

HELP_CONCURRENCY = 4
LOOK_SECONDS = 5.0
"""So often it is looked whether there are workers."""
ALONE = "No worker is alive on this database: working the queue here until this debate ends. (moot worker starts one.)"


class RemoteRun:
    def __init__(self, runner: Runner, queue: Queue, say: Callable[[str], None]) -> None:
        self._runner = runner
        self._queue = queue
        self._say = say
        self._last = 0

    async def play(self, debate_id: str, sink: Sink) -> RunResult:
        """Have a debate run, and follow it until it ends or waits for a person; what was shown is not shown again."""
        with suppress(WrongStatus):  # it waits for an answer, or stops: that is then what is followed
            await self._queue.enqueue(debate_id)
        beside = asyncio.gather(self._help_out(), self._tell_hold_up(debate_id), return_exceptions=True)
        try:
            async with aclosing(self._queue.follow(debate_id, self._last)) as events:
                async for event in events:
                    self._last = event.id
                    sink(event)
        finally:
            beside.cancel()
            with suppress(asyncio.CancelledError):
                await beside
        record = (await self._runner.store.load(debate_id)).record
        return RunResult(record.status, record.stop_reason, outcome=record.outcome, error=record.error)

    async def _help_out(self) -> None:
        """Work the queue as soon as nobody else does."""
        while await self._others():  # noqa: ASYNC110 - nobody is told when a worker dies
            await asyncio.sleep(LOOK_SECONDS)
        self._say(ALONE)
        own = open_queue(self._runner, HELP_CONCURRENCY)
        await own.start()
        try:
            await asyncio.Event().wait()
        finally:
            await own.drain(0.0)

    async def _tell_hold_up(self, debate_id: str) -> None:
        """Say why nobody takes the debate, once that is known; it is followed all the same, as somebody may come."""
        while True:
            with suppress(StoreError):
                if why := (await self._runner.store.load(debate_id)).held_up:
                    self._say(f"It waits: {why}.")
                    return
            await asyncio.sleep(LOOK_SECONDS)

    async def _others(self) -> bool:
        try:
            return bool((await self._queue.load()).workers)
        except StoreError:
            return True  # nobody could work now

"""The runs of a process: each can be interrupted between two of its steps, so that nothing in progress is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from moot.core.events import Event, TurnFinished, TurnStarted
from moot.telemetry.log_context import within


class Runs:
    def __init__(self, when_one_ends: Callable[[], None]) -> None:
        self._when_one_ends = when_one_ends
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._speaking: dict[str, set[int]] = {}
        self._leaving: set[str] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def __contains__(self, debate_id: str) -> bool:
        return debate_id in self._tasks

    def begin(self, debate_id: str, work: Coroutine[Any, Any, None]) -> None:
        """Run a debate; it belongs to these runs until `work` is done."""
        self._speaking[debate_id] = set()
        with within(debate=debate_id):
            task = asyncio.create_task(work, name=debate_id)
        self._tasks[debate_id] = task
        task.add_done_callback(lambda _: self._forget(debate_id))

    def hear(self, event: Event) -> None:
        """Note which turns are being spoken."""
        if isinstance(event, TurnStarted):
            self._speaking[event.debate].add(event.position)
        elif isinstance(event, TurnFinished):
            self._speaking[event.debate].discard(event.position)
            if event.debate in self._leaving:
                self.interrupt(event.debate)

    def interrupt(self, debate_id: str) -> None:
        """Cancel a run as soon as none of its turns is in progress."""
        self._leaving.add(debate_id)
        if not self._speaking[debate_id]:
            _cancel(self._tasks[debate_id])

    async def drain(self, grace_seconds: float) -> None:
        """Let the steps in progress end, and interrupt what takes longer."""
        for debate_id in list(self._tasks):
            self.interrupt(debate_id)
        if left := list(self._tasks.values()):
            await asyncio.wait(left, timeout=grace_seconds)
        left = list(self._tasks.values())
        for task in left:
            _cancel(task)
        await asyncio.gather(*left, return_exceptions=True)

    def _forget(self, debate_id: str) -> None:
        del self._tasks[debate_id], self._speaking[debate_id]
        self._leaving.discard(debate_id)
        self._when_one_ends()


def _cancel(task: asyncio.Task[None]) -> None:
    if not task.cancelling():  # else it is handing its debate back
        task.cancel()

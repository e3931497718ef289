"""Debates that run in other processes, brought to the hub of this one for as long as somebody reads them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable

from moot.core.events import Event
from moot.errors import NotFound
from moot.web.stream.hub import Hub

log = logging.getLogger(__name__)

AGAIN_SECONDS = 1.0
LINGER_SECONDS = 30.0
"""So long a debate is still followed when nobody reads it; who was only cut off then misses nothing."""


class Mirrors:
    def __init__(
        self,
        hub: Hub,
        follow: Callable[[str], AsyncGenerator[Event, None]],
        is_all: bool,
        linger_seconds: float = LINGER_SECONDS,
    ) -> None:
        """`is_all` says that the hub hears nothing but what is followed."""
        self._hub = hub
        self._followed = follow
        self._is_all = is_all
        self._linger_seconds = linger_seconds
        self._following: dict[str, asyncio.Task[None]] = {}
        self._leaving: dict[str, asyncio.TimerHandle] = {}

    def attend(self, debate_id: str, read: bool) -> None:
        """Somebody has begun to read a debate, or the last one has left."""
        if leaving := self._leaving.pop(debate_id, None):
            leaving.cancel()
        if not read:
            loop = asyncio.get_running_loop()
            self._leaving[debate_id] = loop.call_later(self._linger_seconds, self._leave, debate_id)
        elif debate_id not in self._following:
            task = asyncio.create_task(self._follow(debate_id))
            self._following[debate_id] = task
            task.add_done_callback(lambda _: self._forget(debate_id))

    async def _follow(self, debate_id: str) -> None:
        while True:
            try:
                async for event in self._followed(debate_id):
                    self._hub.emit(event)
                return
            except NotFound as error:
                log.info("%s is not followed any more: %s", debate_id, error)
                return
            except Exception as error:  # whatever it is, who reads must not wait for good
                log.warning("%s is followed again in a moment: %r", debate_id, error)
                await asyncio.sleep(AGAIN_SECONDS)

    def _leave(self, debate_id: str) -> None:
        self._leaving.pop(debate_id, None)
        if task := self._following.get(debate_id):
            task.cancel()

    def _forget(self, debate_id: str) -> None:
        del self._following[debate_id]
        if self._is_all:  # what comes next is not heard, so what was heard is not enough for who comes later
            self._hub.forget(debate_id)

"""A store for a run that must not end because its database was away for a while."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from moot.core.changes import Wish
from moot.core.people import HumanReply
from moot.core.record import Failure, Turn
from moot.errors import StoreAway, StoreBlocked

if TYPE_CHECKING:
    from moot.core.engine import Control, RunResult, TurnStore

log = logging.getLogger(__name__)

AGAIN_SECONDS = 1.0
SAY_SECONDS = 30.0
"""So often it is logged that a run waits."""
BLOCKED_SECONDS = 600.0
"""After so long a run gives up on a database that is locked, full or read-only; its job comes again."""

T = TypeVar("T")


class RetryingStore:
    """Tries everything again until the database answers; each write is done once, however often it was tried."""

    def __init__(self, store: TurnStore) -> None:
        self._store = store

    async def append(self, debate_id: str, turn: Turn) -> Control:
        return await until_back(lambda: self._store.append(debate_id, turn))

    async def said(self, debate_id: str) -> tuple[HumanReply, ...]:
        return await until_back(lambda: self._store.said(debate_id))

    async def wishes(self, debate_id: str) -> tuple[Wish, ...]:
        return await until_back(lambda: self._store.wishes(debate_id))

    async def add_failure(self, debate_id: str, failure: Failure) -> None:
        await until_back(lambda: self._store.add_failure(debate_id, failure))

    async def end(self, debate_id: str, run: int, ending: RunResult) -> None:
        await until_back(lambda: self._store.end(debate_id, run, ending))


async def until_back(call: Callable[[], Awaitable[T]], patience: float = math.inf) -> T:
    """What comes of it, as soon as the database is there; one that is there but blocked is not waited for for ever."""
    began = time.monotonic()
    said_at = -SAY_SECONDS
    while True:
        try:
            return await call()
        except StoreAway as error:
            waited = time.monotonic() - began
            if waited >= (min(patience, BLOCKED_SECONDS) if isinstance(error, StoreBlocked) else patience):
                raise
            if waited - said_at >= SAY_SECONDS:
                log.warning("waiting for the database, for %.0f s now: %s", waited, error)
                said_at = waited
            await asyncio.sleep(AGAIN_SECONDS)

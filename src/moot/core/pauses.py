"""The pauses of a run before failed calls are made again: a person can end them, or have a seat give up."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine
from typing import Any, Literal, TypeAlias

PauseEnd: TypeAlias = Literal["over", "now", "given_up"]
"""It has lasted as long as it should, a person wants the call made now, or has no use for it any more."""


class Pauses:
    def __init__(self) -> None:
        self._waiting: dict[asyncio.Future[PauseEnd], str] = {}
        self._given_up: set[str] = set()

    def has_given_up(self, seat: str) -> bool:
        return seat in self._given_up

    async def wait(self, seat: str, pause: Coroutine[Any, Any, None]) -> PauseEnd:
        """Let a seat's pause pass, or somebody end it."""
        sleeping = asyncio.ensure_future(pause)
        either: list[asyncio.Future[Any]] = [sleeping]
        ended: asyncio.Future[PauseEnd] = asyncio.get_running_loop().create_future()
        self._waiting[ended] = seat
        try:
            await asyncio.wait([*either, ended], return_when=asyncio.FIRST_COMPLETED)
            return ended.result() if ended.done() else "over"
        finally:
            del self._waiting[ended]
            sleeping.cancel()

    def end(self, give_up: Collection[str] = ()) -> None:
        """Have the calls that wait made now; those of the seats in `give_up` not at all, nor when they fail later."""
        self._given_up.update(give_up)
        for ended, seat in self._waiting.items():
            if not ended.done() and (seat in give_up or not give_up):
                ended.set_result("given_up" if give_up else "now")

    def begin_anew(self) -> None:
        """The seats that gave up have another model by now."""
        self._given_up.clear()

"""How fast one provider may be asked: at most so many calls at once, so many a minute, and slower when it complains.

One `Pace` serves all clients of a provider in a process. A call that fails is still raised to its caller, who may try
again; the caller's pause and the pace's both begin with the failure, so that the longer one counts and not their sum.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import NamedTuple

from moot.errors import InvalidInput, ModelError, RateLimited, ServerFault

FIRST_PAUSE = 1.0
"""Seconds without a new call after a refusal that names no time; doubled while nothing succeeds."""
MAX_PAUSE = 120.0
"""Who is told to wait longer is not made to: callers give up at such a time, and should hear it at once."""
STAGGER = 0.05
"""Seconds between calls while recovering, so that a new refusal is known before everybody has asked again."""
FEW = 3
"""Successes for which one more call at once is allowed."""
MOMENT = 0.5
"""Seconds for which a call waits without a word."""
USUAL_SECONDS = 10.0
"""What a call is thought to take before one has ended."""


class Delay(NamedTuple):
    """Why a call is not made yet, and the seconds until it may be: a guess where other calls have to end first."""

    error: ModelError
    seconds: float


class Pace:
    def __init__(
        self, max_concurrent: int | None = None, requests_per_minute: float | None = None, name: str = "the provider"
    ) -> None:
        """`None` is unlimited, until the provider complains; the name is for messages."""
        if max_concurrent is not None and max_concurrent < 1:
            raise InvalidInput(f"max_concurrent is {max_concurrent}: it must be at least 1")
        if requests_per_minute is not None and not requests_per_minute > 0:
            raise InvalidInput(f"requests_per_minute is {requests_per_minute}: it must be more than 0")
        self._name = name
        self._most = max_concurrent or math.inf
        self._allowed = self._most
        self._normal = self._most
        """How many at once were in order before the last refusal; up to there recovery is quick."""
        # Evenly spaced and not a bucket: servers count in windows much shorter than a minute, and a bucket that is
        # full when the window begins lets almost twice as many through.
        self._spacing = 60 / requests_per_minute if requests_per_minute else 0.0
        self._limited = max_concurrent is not None or requests_per_minute is not None
        self._in_flight = 0
        self._waiting = 0
        self._usual = USUAL_SECONDS
        self._refusal: Callable[[], ModelError] | None = None
        self._successes = 0
        self._refusals = 0
        self._pause = FIRST_PAUSE
        self._paused_until = -math.inf
        self._last_start = -math.inf
        self._line = asyncio.Lock()
        self._change = asyncio.Event()

    @property
    def allowed(self) -> float:
        """How many calls may be in flight now."""
        return self._allowed

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until a call may be made, which is then what happens in the block."""
        if self._limited:
            await self.opened(take=True)
        else:
            self._in_flight += 1
        refusals, began = self._refusals, _now()
        try:
            yield
        except (RateLimited, ServerFault) as error:
            self._refused(error, refusals)
            raise
        finally:
            self._leave()
        self._succeeded(_now() - began)

    async def delay(self) -> Delay | None:
        """Why and how long a call that is wanted now has to wait; None when it is no longer than a moment."""
        if self._closed_for() <= 0:
            return None
        with suppress(TimeoutError):
            async with asyncio.timeout(MOMENT):
                await self.opened()
                return None
        seconds = max(0.0, self._next_start() - _now()) + self._waiting * self._spacing
        if self._in_flight >= self._allowed:
            seconds = max(seconds, self._usual * (self._waiting + 1) / self._allowed)
        return Delay(self._reason(), seconds)

    async def opened(self, *, take: bool = False) -> None:
        """Wait until a call may be made, first come first served: whoever holds the line is the next to start."""
        self._waiting += 1
        try:
            async with self._line:
                while (seconds := self._closed_for()) > 0:
                    self._change.clear()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(None if seconds == math.inf else seconds):
                            await self._change.wait()
                if take:
                    self._last_start = _now()
                    self._in_flight += 1
        finally:
            self._waiting -= 1

    def end_pause(self) -> None:
        """Ask the provider again now, as a person wants it."""
        self._paused_until = -math.inf
        self._change.set()

    def _closed_for(self) -> float:
        """Seconds until a call may start; without an end while as many are in flight as may be."""
        return math.inf if self._in_flight >= self._allowed else self._next_start() - _now()

    def _next_start(self) -> float:
        spacing = max(self._spacing, STAGGER) if self._allowed < self._normal else self._spacing
        return max(self._paused_until, self._last_start + spacing)

    def _reason(self) -> ModelError:
        slowed = self._paused_until > _now() or self._in_flight >= self._allowed < self._most
        if self._refusal and slowed:
            return self._refusal()
        if self._in_flight >= self._allowed:
            return RateLimited(f"{self._name} answers {self._in_flight} calls, all that max_concurrent lets it at once")
        return RateLimited(f"{self._name} has had as many calls as requests_per_minute lets it")

    def _leave(self) -> None:
        self._in_flight -= 1
        self._change.set()

    def _succeeded(self, seconds: float) -> None:
        self._usual += (seconds - self._usual) / FEW
        self._pause = FIRST_PAUSE
        if self._allowed < self._most:
            self._successes += 1
            # Past what was in order we are guessing, and one more for each round of calls is fast enough.
            if self._successes >= (FEW if self._allowed < self._normal else max(FEW, self._allowed)):
                self._successes = 0
                self._allowed += 1
                self._change.set()

    def _refused(self, error: ModelError, refusals: int) -> None:
        """Slow down for a call that began after so many refusals; many that fail together count as one."""
        news = refusals == self._refusals
        if (pause := _pause_asked_for(error, self._pause if news else 0.0)) is None:
            return
        self._limited = True
        self._refusal = partial(type(error), str(error))  # anew: the error itself may hold a text of its debate
        self._paused_until = max(self._paused_until, _now() + pause)
        if news:
            self._refusals += 1
            self._successes = 0
            self._pause = min(2 * self._pause, MAX_PAUSE)
            self._normal = self._in_flight if self._most == math.inf else self._most
            self._allowed = max(1, self._in_flight // 2)


def _pause_asked_for(error: ModelError, otherwise: float) -> float | None:
    """Seconds for which the server wants no more calls; None when it has not complained of too many."""
    match error:
        case RateLimited(retry_after=float(seconds)) | ServerFault(retry_after=float(seconds)):
            return seconds if seconds <= MAX_PAUSE else None
        case RateLimited():
            return otherwise
        case _:
            return None


def _now() -> float:
    return asyncio.get_running_loop().time()

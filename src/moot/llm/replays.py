"""A client that plays recorded debates again and again, for whoever watches them: it calls nobody and costs nothing.

A recording answers a debate that goes as it went. One that is steered asks for something else: then what was said at
that place is said again, which is the call that is closest to the one that was asked.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

from moot.errors import NotRecorded
from moot.llm.client import Completion, Request
from moot.llm.recording import Key, RecordedCall, calls_of, distance, key_of, tell

CLOSE = 2000
"""Characters that a question to a recorded seat begins with: those of another debate begin otherwise."""


class Replays:
    """Calls of several recordings, told at a speed or at once.

    Each answers as often as it is asked, several that were asked alike in turn.
    """

    def __init__(
        self, paths: Iterable[Path], speed: float | None, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._speed = speed
        self._now = now
        self._calls: dict[Key, deque[RecordedCall]] = {}
        for path in paths:
            for call in calls_of(path):
                self._calls.setdefault(key_of(call.provider, call.request), deque()).append(call)

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        call = self._next(request)
        await tell(call, on_text, self._speed, self._now)
        return call.ended()

    def _next(self, request: Request) -> RecordedCall:
        alike = [calls for calls in self._calls.values() if _is_alike(calls[0].request, request)]
        if not alike:
            raise NotRecorded("the recorded examples hold no such debate; choose another model")
        found = min(alike, key=lambda calls: distance(request, calls[0].request))
        found.rotate(-1)
        return found[-1]


def _is_alike(recorded: Request, asked: Request) -> bool:
    """Whether they ask the same seat of the same debate for the same kind of answer, whatever was said before it."""
    ours, theirs = asked.schema, recorded.schema
    same_form = (ours.name if ours else "") == (theirs.name if theirs else "")
    return same_form and _beginning(recorded) == _beginning(asked)


def _beginning(request: Request) -> str:
    return request.messages[0].content[:CLOSE]

"""What a player writes a turn's text to as it arrives: its readers see it at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NamedTuple, TypeAlias

from moot.core.debate import Step
from moot.core.emitter import Emitter
from moot.core.events import StepRetrying, TurnChunk, TurnStarted, place_of
from moot.core.pauses import PauseEnd, Pauses
from moot.errors import ModelError, MootError

Keep: TypeAlias = Callable[[Step, int, ModelError], Awaitable[None]]
"""Stores an attempt at a step that failed, with the text that had arrived."""


class Again(NamedTuple):
    """When a call that failed is made again, and how many attempts that makes."""

    seconds: float
    attempt: int
    """The one that comes next."""
    attempts: int
    """How many there are at most."""


class TurnWriter:
    """A seat that is speaking: what it says reaches the readers at once."""

    def __init__(
        self, step: Step, position: int, *, emitter: Emitter, keep: Keep, pauses: Pauses, model: str | None, title: str
    ) -> None:
        self._step = step
        self.position = position
        self._place = place_of(step, position)
        self._emitter = emitter
        self._keep = keep
        self._pauses = pauses
        self._model = model
        self._title = title
        self._attempt = 0
        self.on_sign: Callable[[], None] = lambda: None
        """Called at every sign of life: whatever arrives of a reply, also what no reader sees."""
        self._begin()

    def say(self, text: str) -> None:
        if not self._length:
            text = text.lstrip()
            if not text:
                return
        step = self._step  # its fields by name: this happens for every token
        self._emitter.emit(
            TurnChunk(
                seat=step.seat,
                kind=step.kind,
                round=step.round,
                position=self.position,
                offset=self._length,
                text=text,
            )
        )
        self._length += len(text)
        self._said.append(text)

    def said(self) -> str:
        """What readers have seen of this attempt."""
        return "".join(self._said)

    async def start_over(self, error: ModelError) -> None:
        """Keep what arrived of a broken reply and begin the turn again."""
        await self._keep(self._step, self.position, error)
        self._begin()

    async def pause(self, error: ModelError, again: Again, pause: Coroutine[Any, Any, None]) -> PauseEnd:
        """Tell the readers why nothing is said, and let the `pause` pass before the call is made again."""
        if self._pauses.has_given_up(self._step.seat):
            pause.close()
            return "given_up"
        self.tell_retry(error, again)
        return await self._pauses.wait(self._step.seat, pause)

    def tell_retry(self, error: MootError, again: Again) -> None:
        self._emitter.emit(
            StepRetrying(
                **self._place,
                code=error.code,
                error=str(error),
                attempt=again.attempt,
                attempts=again.attempts,
                seconds=round(again.seconds, 3),
                model=self._model,
                title=self._title,
            )
        )

    def _begin(self) -> None:
        self._attempt += 1
        self._length = 0
        self._said: list[str] = []
        if self._step.question:
            return  # a person's turn is told when it is there
        self._emitter.emit(TurnStarted(**self._place, model=self._model, attempt=self._attempt, title=self._title))

"""What the runs of this process say, for whoever follows them; who comes late gets the text so far."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from moot.core.emitter import Sink
from moot.core.events import PASSING, DebateStarted, Event, StepRetrying, Terminal, TurnChunk, TurnFinished, TurnStarted

Heard: TypeAlias = "asyncio.Queue[Event | None]"
"""Events as they happen; None says that there is something new in the store."""


@dataclass(slots=True)
class _Speech:
    started: TurnStarted
    text: list[str] = field(default_factory=list)
    last: TurnChunk | None = None
    retrying: StepRetrying | None = None
    """Why nothing is said."""


class Listeners:
    """Who follows which debate."""

    def __init__(self) -> None:
        self.heard: dict[str, set[Heard]] = {}

    def send(self, debate_id: str, event: Event | None) -> None:
        for heard in self.heard.get(debate_id, ()):
            heard.put_nowait(event)

    def wake_all(self) -> None:
        for debate_id in self.heard:
            self.send(debate_id, None)

    @contextmanager
    def listening(self, debate_id: str) -> Iterator[Heard]:
        heard: Heard = asyncio.Queue()
        self.heard.setdefault(debate_id, set()).add(heard)
        try:
            yield heard
        finally:
            self.heard[debate_id].discard(heard)
            if not self.heard[debate_id]:
                del self.heard[debate_id]


class Live:
    def __init__(self, on_turn: Sink = lambda event: None) -> None:
        """`on_turn` gets all events that are no text: there are few of them."""
        self._on_turn = on_turn
        self._told: dict[str, list[Event]] = {}
        """Of each run what is neither stored nor text."""
        self._speeches: dict[str, dict[int, _Speech]] = {}
        self._listeners = Listeners()

    def emit(self, event: Event) -> None:
        if isinstance(event, TurnChunk):
            if speech := self._speeches.get(event.debate, {}).get(event.position):
                speech.text.append(event.text)
                speech.last, speech.retrying = event, None
        else:
            self._note(event)
            self._on_turn(event)
        self._listeners.send(event.debate, event)

    def look(self, debate_id: str) -> None:
        """Have those who follow a debate look at what is stored of it."""
        self._listeners.send(debate_id, None)

    @contextmanager
    def listening(self, debate_id: str) -> Iterator[Heard]:
        with self._listeners.listening(debate_id) as heard:
            for event in self.so_far(debate_id):
                heard.put_nowait(event)
            yield heard

    def so_far(self, debate_id: str) -> list[Event]:
        """What is not stored of a run: how it began, and each turn in progress with all it has said as one chunk."""
        events = [*self._told.get(debate_id, ())]
        for speech in self._speeches.get(debate_id, {}).values():
            events.append(speech.started)
            if speech.last:
                events.append(replace(speech.last, offset=0, text="".join(speech.text)))
            if speech.retrying:
                events.append(speech.retrying)
        return sorted(events, key=lambda event: event.id)

    def _note(self, event: Event) -> None:
        if isinstance(event, TurnStarted):
            self._speeches.setdefault(event.debate, {})[event.position] = _Speech(event)
        elif isinstance(event, StepRetrying):
            if speech := self._speeches.get(event.debate, {}).get(event.position):
                speech.retrying = event
        elif isinstance(event, TurnFinished):
            self._speeches.get(event.debate, {}).pop(event.position, None)
        else:
            if isinstance(event, DebateStarted | Terminal):
                self._speeches.pop(event.debate, None)
                self._told.pop(event.debate, None)
            if event.type in PASSING:
                self._told.setdefault(event.debate, []).append(event)

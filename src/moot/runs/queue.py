"""The port to what runs debates in the background, one job for each run of a debate."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from typing import TYPE_CHECKING, NamedTuple, Protocol

from moot.core.debate import Record

if TYPE_CHECKING:
    from moot.core.events import Event


class Load(NamedTuple):
    """How much there is to do, and how many processes are there to do it."""

    running: int
    queued: int
    workers: int


class Backlog(NamedTuple):
    """What waits to be run: now, or at a later time because the last attempt failed."""

    due: int
    later: int = 0
    oldest_seconds: float = 0.0
    """How long the first of those that are due has waited."""


class Queue(Protocol):
    async def start(self) -> None:
        """Begin to work, with everything that an earlier process left unfinished."""
        ...

    async def enqueue(self, debate_id: str) -> Record:
        """See to it that a debate is run, once however often it is asked for. Raises WrongStatus, NotFound."""
        ...

    def follow(self, debate_id: str, after: int = 0, through_waits: bool = False) -> AsyncGenerator[Event, None]:
        """What happened in a debate after an event's id, then what happens, wherever it runs.

        Ends after the terminal event; a question is one unless it is to be waited through. Raises NotFound.
        """
        ...

    def look(self, debate_id: str) -> None:
        """Have those who follow a debate look at what is stored of it: it has changed while nothing ran."""
        ...

    async def hurry(self, debate_id: str, give_up: Collection[str] = ()) -> None:
        """Have a debate's calls that wait to be made again made now, wherever it runs; see `Pauses.end`."""
        ...

    async def load(self) -> Load: ...

    async def backlog(self) -> Backlog: ...

    async def look_after(self, debate_id: str) -> None:
        """Do for one debate what `start` does for all: run it, wait for its lease to end, or for its person."""
        ...

    async def drain(self, grace_seconds: float) -> None:
        """Begin no more runs, let the steps in progress end, interrupt what takes longer; the next start goes on."""
        ...

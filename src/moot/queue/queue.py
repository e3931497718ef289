"""The port to what runs debates in the background, one job for each run of a debate."""

from __future__ import annotations

from typing import Protocol

from moot.model import Record


class Queue(Protocol):
    async def start(self) -> None:
        """Begin to work, with everything that an earlier process left unfinished."""
        ...

    async def enqueue(self, debate_id: str) -> Record:
        """See to it that a debate is run, once however often it is asked for. Raises WrongStatus, NotFound."""
        ...

    async def look_after(self, debate_id: str) -> None:
        """Do for one debate what `start` does for all: run it, wait for its lease to end, or for its person."""
        ...

    async def drain(self, grace_seconds: float) -> None:
        """Begin no more runs, let the steps in progress end, interrupt what takes longer; the next start goes on."""
        ...

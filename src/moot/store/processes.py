"""What the store tells of runs and of the processes that look after them."""

from __future__ import annotations

from typing import NamedTuple

from moot.core.record import Record


class Unfinished(NamedTuple):
    """A debate that is queued, running, stopping or waiting; times by the database's clock, which says `now`."""

    record: Record
    waiting_since: float | None
    now: float


class Running(NamedTuple):
    """A run that has not said how it ended, and whose it is."""

    debate_id: str
    run: int
    owner: str | None


class Worker(NamedTuple):
    """A process that runs debates from a queue, and when it was last seen alive."""

    id: str
    process: str
    concurrency: int
    started_at: float = 0.0
    seen_at: float = 0.0

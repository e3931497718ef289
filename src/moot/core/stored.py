"""A debate with all that was stored of it."""

from __future__ import annotations

from typing import NamedTuple

from moot.core.control import Control
from moot.core.notices import Notice
from moot.core.people import Rating, Tick, Workflow
from moot.core.record import Failure, Record, Status, Turn
from moot.errors import NewerDebate


class StoredDebate(NamedTuple):
    """A debate with all that was stored of it; turns by position, failures by time."""

    record: Record
    turns: tuple[Turn, ...] = ()
    failures: tuple[Failure, ...] = ()
    rating: Rating | None = None
    workflow: Workflow | None = None
    notices: tuple[Notice, ...] = ()
    """What webhooks were told or will be."""
    ticks: tuple[Tick, ...] = ()
    """Of its next steps, those that somebody has ticked, or unticked since."""
    asked: Control = Control()
    """What people had asked of it when a run took it; nobody else is told."""

    @property
    def last_event_id(self) -> int:
        """Of the turns."""
        return max((turn.event_id for turn in self.turns), default=0)

    @property
    def held_up(self) -> str | None:
        """Why it is queued and nobody runs it, where that is known."""
        waits = self.record.status is Status.QUEUED
        codes = {each.code: each.message for each in self.failures if waits and each.run == self.record.run}
        return codes.get(NewerDebate.code)

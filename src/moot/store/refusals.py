"""What the store says when it refuses a call: why, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from moot.core.record import Record, Status
from moot.errors import Busy, Fenced, MootError, NotFound, WrongStatus
from moot.store.database import Row
from moot.store.rows import record_from

ENDED = (Status.STOPPED, Status.FINISHED, Status.FAILED)


def not_found(debate_id: str) -> NotFound:
    return NotFound(f"no debate {debate_id!r}; moot debate --list shows the latest")


def answered(debate_id: str) -> WrongStatus:
    return WrongStatus(f"this question of {debate_id} has been answered already; moot show {debate_id} tells how")


def no_workflow(debate_id: str) -> NotFound:
    return NotFound(f"{debate_id} has no workflow; make one: moot workflow {debate_id}")


def fenced(debate_id: str, run: int, found: Sequence[Row], position: int | None = None) -> Fenced:
    """Why a run may not write to the debate that was found, or the turn at this position."""
    if not found:
        return Fenced(f"there is no debate {debate_id!r} to write to")
    record = record_from(found[0])
    if record.run != run:
        return Fenced(f"run {run} of {debate_id} may not write any more: run {record.run} has taken over")
    if position is not None and record.status not in (*ENDED, Status.QUEUED):
        return Fenced(f"{debate_id} already has a turn at position {position}; it was stored by another call or run")
    return Fenced(f"run {run} of {debate_id} may not write any more: the debate is {record.status}")


def cannot_take(record: Record, now: float) -> MootError:
    """Why a debate cannot be taken now."""
    if record.unreadable:
        return _unreadable(record)
    if record.status is Status.FINISHED:
        return WrongStatus(f"{record.id} is finished; there is nothing left to run")
    if record.lease_until is None or record.lease_until < now:
        return WrongStatus(f"{record.id} is {record.status}, not queued; start or resume it")
    left = max(0.0, record.lease_until - now)
    owner = (record.owner or "another process").partition(" (")[0]
    return Busy(f"{record.id} is being run by {owner}, whose lease lasts {left:.0f} s more; stop it there or wait")


def check_readable(record: Record) -> None:
    """What is not known whole is not run. Raises WrongStatus."""
    if record.unreadable:
        raise _unreadable(record)


def _unreadable(record: Record) -> WrongStatus:
    return WrongStatus(f"{record.id} can only be looked at: {record.unreadable}")


def cannot_enqueue(record: Record) -> WrongStatus:
    """Why a debate cannot go on now."""
    if record.unreadable:
        return _unreadable(record)
    reasons = {
        Status.FINISHED: "there is nothing left to run",
        Status.WAITING: "it goes on when the person it asks has replied",
        Status.STOPPING: "wait until its step in progress has ended, then resume it",
    }
    changed = "it has changed in this very moment; try again"
    return WrongStatus(f"{record.id} is {record.status}; {reasons.get(record.status, changed)}")


def cannot_delete(record: Record) -> WrongStatus:
    return WrongStatus(f"{record.id} is {record.status}; stop it and wait for its step in progress, then delete it")

"""A stored debate as the events that told of it, for those who were not there. Pure: reads what is stored, no more."""

from __future__ import annotations

from moot.core import events
from moot.core.debate import Record, Status
from moot.core.format import AnyFormat
from moot.core.replay import CHANGED, log_fault, next_steps, turn_events
from moot.core.stored import StoredDebate
from moot.core.trace import trace
from moot.errors import MootError


def events_of(stored: StoredDebate, format: AnyFormat) -> list[events.Event]:
    """The stored turns, and how the debate has ended or what it asks. For a thread: formats may have much to note."""
    last = ending(stored, format)
    return [*turn_events(stored.record, stored.turns, format), *([last] if last else [])]


def ending(stored: StoredDebate, format: AnyFormat) -> events.Terminal | None:
    record = stored.record
    match record.status:
        case Status.FINISHED:
            whole = trace(record, stored.turns, stored.rating)
            outcome = record.outcome or {}
            return _ended(
                record, events.DebateFinished(stop_reason=record.stop_reason or "", outcome=outcome, trace=whole)
            )
        case Status.STOPPED:
            return stopped(record)
        case Status.FAILED:
            failure = next((each for each in reversed(stored.failures) if each.run == record.run), None)
            code, round = (failure.code, failure.round) if failure else (MootError.code, None)
            return _ended(record, events.DebateFailed(code=code, error=record.error or "", round=round))
        case Status.WAITING:
            return open_question(stored, format)
        case _:
            return None


def stopped(record: Record) -> events.DebateStopped:
    """What is told of a debate that has stopped, be it while nothing ran."""
    return _ended(record, events.DebateStopped(stop_reason=record.stop_reason or "stopped"))


def waiting(stored: StoredDebate, format: AnyFormat) -> events.Waiting | None:
    """The question a debate waits with."""
    record, turns = stored.record, stored.turns
    step = next((step for step in next_steps(record, turns, format) if step.question), None)
    if step is None:
        return None
    at = turns[-1].finished_at if turns else record.created_at
    return events.ended(events.waiting_for(step, len(turns)), record.run, record.id, at)


def open_question(stored: StoredDebate, format: AnyFormat) -> events.Waiting | None:
    """What a debate asks a person next, also after it was stopped for want of an answer."""
    if stored.record.status not in (Status.WAITING, Status.STOPPED):
        return None
    try:
        return waiting(stored, format)
    except CHANGED as error:  # a format that has changed asks nothing any more
        log_fault(stored.record.id, error)
        return None


def _ended(record: Record, event: events.E) -> events.E:
    return events.ended(event, record.run, record.id, record.finished_at or 0.0)

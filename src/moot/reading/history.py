"""A stored debate as the events that told of it, for those who were not there. Pure: reads what is stored, no more.

A run's last event has an id that can be told from the run alone, so that it is the same after a restart.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from pydantic import ValidationError

from moot.core.debate import Record, Status
from moot.core.events import EVENTS_PER_RUN, DebateFailed, DebateFinished, DebateStopped, Event, Terminal, Waiting
from moot.core.format import AnyFormat
from moot.core.replay import next_steps, turn_events
from moot.core.stored import StoredDebate
from moot.core.trace import trace
from moot.errors import MootError, ScriptChanged


def placed(event: Event) -> Event:
    """A run's last event under the last id of its run; a stop while nothing runs comes behind a question's."""
    if isinstance(event, Waiting):
        return replace(event, id=_last_id(event.id // EVENTS_PER_RUN) - 1)
    if isinstance(event, DebateFinished | DebateStopped | DebateFailed):
        return replace(event, id=_last_id(event.id // EVENTS_PER_RUN))
    return event


def events_of(stored: StoredDebate, format: AnyFormat) -> list[Event]:
    """The stored turns, and how the debate has ended or what it asks."""
    last = ending(stored, format)
    return [*turn_events(stored.record, stored.turns, format), *([last] if last else [])]


def ending(stored: StoredDebate, format: AnyFormat) -> Terminal | None:
    record = stored.record
    about = (_last_id(record.run), record.id, _at(record.finished_at))
    match record.status:
        case Status.FINISHED:
            whole = trace(record, stored.turns, stored.rating)
            return DebateFinished(*about, record.stop_reason or "", record.outcome or {}, whole)
        case Status.STOPPED:
            return stopped(record)
        case Status.FAILED:
            failure = next((each for each in reversed(stored.failures) if each.run == record.run), None)
            code, round = (failure.code, failure.round) if failure else (MootError.code, None)
            return DebateFailed(*about, code, record.error or "", round)
        case Status.WAITING:
            return waiting(stored, format)
        case _:
            return None


def stopped(record: Record) -> DebateStopped:
    """What is told of a debate that has stopped, be it while nothing ran."""
    return DebateStopped(_last_id(record.run), record.id, _at(record.finished_at), record.stop_reason or "stopped")


def waiting(stored: StoredDebate, format: AnyFormat) -> Waiting | None:
    """The question a debate waits with."""
    record, turns = stored.record, stored.turns
    step = next((step for step in next_steps(record, turns, format) if step.question), None)
    if step is None or step.question is None:
        return None
    asked = step.question
    at = _at(turns[-1].finished_at if turns else record.created_at)
    place = (step.seat, step.kind, step.round, len(turns))
    about = (asked.text, asked.actions, asked.timeout_seconds)
    return Waiting(_last_id(record.run) - 1, record.id, at, *place, *about)


def open_question(stored: StoredDebate, format: AnyFormat) -> Waiting | None:
    """What a debate asks a person next, also after it was stopped for want of an answer."""
    if stored.record.status not in (Status.WAITING, Status.STOPPED):
        return None
    try:
        return waiting(stored, format)
    except (ScriptChanged, ValidationError):  # a format that has changed asks nothing any more
        return None


def _last_id(run: int) -> int:
    return run * EVENTS_PER_RUN + EVENTS_PER_RUN - 1


def _at(seconds: float | None) -> datetime:
    return datetime.fromtimestamp(seconds or 0.0, UTC)

"""The typed events of a running debate: one union that terminal, web page, API and exports all read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import orjson

from moot.core.debate import Action, JsonObject, Turn, Usage

EVENTS_PER_RUN = 1_000_000_000
"""Event ids are `run * EVENTS_PER_RUN + n`: they grow within a run and from each run to the next."""


@dataclass(frozen=True, slots=True)
class DebateStarted:
    id: int
    debate: str
    at: datetime
    format: str
    topic: str
    run: int
    type: Literal["debate_started"] = "debate_started"


@dataclass(frozen=True, slots=True)
class RoundStarted:
    id: int
    debate: str
    at: datetime
    round: int
    type: Literal["round_started"] = "round_started"


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A seat begins to speak; once more for the same position when a broken reply is asked for again."""

    id: int
    debate: str
    at: datetime
    seat: str
    kind: str
    round: int | None
    position: int
    model: str | None = None
    attempt: int = 1
    title: str = ""
    type: Literal["turn_started"] = "turn_started"


@dataclass(frozen=True, slots=True)
class TurnChunk:
    id: int
    debate: str
    at: datetime
    seat: str
    kind: str
    round: int | None
    position: int
    offset: int
    text: str
    type: Literal["turn_chunk"] = "turn_chunk"


@dataclass(frozen=True, slots=True)
class TurnFinished:
    id: int
    debate: str
    at: datetime
    seat: str
    kind: str
    round: int | None
    position: int
    content: str
    data: JsonObject | None
    usage: Usage
    duration_ms: int
    model: str | None = None
    marks: tuple[str, ...] = ()
    title: str = ""
    notes: tuple[str, ...] = ()
    """What code has to say about the turn."""
    type: Literal["turn_finished"] = "turn_finished"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A person is asked; `actions` are the answers that `moot reply` takes."""

    id: int
    debate: str
    at: datetime
    seat: str
    kind: str
    round: int | None
    position: int
    question: str = ""
    actions: tuple[Action, ...] = ()
    timeout_seconds: float | None = None
    type: Literal["waiting"] = "waiting"


@dataclass(frozen=True, slots=True)
class LimitReached:
    id: int
    debate: str
    at: datetime
    reason: str
    type: Literal["limit_reached"] = "limit_reached"


@dataclass(frozen=True, slots=True)
class DebateFinished:
    id: int
    debate: str
    at: datetime
    stop_reason: str
    outcome: JsonObject
    trace: Mapping[str, Any]
    """A `moot.export.trace.Trace`."""
    type: Literal["debate_finished"] = "debate_finished"


@dataclass(frozen=True, slots=True)
class DebateStopped:
    id: int
    debate: str
    at: datetime
    stop_reason: str
    type: Literal["debate_stopped"] = "debate_stopped"


@dataclass(frozen=True, slots=True)
class DebateFailed:
    id: int
    debate: str
    at: datetime
    code: str
    error: str
    round: int | None
    type: Literal["debate_failed"] = "debate_failed"


Event: TypeAlias = (
    DebateStarted
    | RoundStarted
    | TurnStarted
    | TurnChunk
    | TurnFinished
    | Waiting
    | LimitReached
    | DebateFinished
    | DebateStopped
    | DebateFailed
)
Terminal: TypeAlias = DebateFinished | DebateStopped | DebateFailed | Waiting
"""The events after which a run emits nothing more."""


def encode(event: Event) -> bytes:
    """One line of JSON, without the line's end."""
    return orjson.dumps(event)


PASSING = {
    "debate_started": DebateStarted,
    "round_started": RoundStarted,
    "turn_started": TurnStarted,
    "turn_chunk": TurnChunk,
    "limit_reached": LimitReached,
}
"""What is only shown while it happens; all else can be told again from what is stored."""


def decode(line: str) -> Event:
    """A passing event from its line of JSON. Raises ValueError, KeyError or TypeError for anything else."""
    fields = orjson.loads(line)
    kind = PASSING[fields.pop("type")]
    event: Event = kind(**{**fields, "at": datetime.fromisoformat(fields["at"])})
    return event


def turn_finished(debate_id: str, turn: Turn, title: str = "", notes: tuple[str, ...] = ()) -> TurnFinished:
    """The event that showed a stored turn when it was new."""
    return TurnFinished(
        turn.event_id,
        debate_id,
        datetime.fromtimestamp(turn.finished_at, UTC),
        turn.seat,
        turn.kind,
        turn.round,
        turn.position,
        turn.content,
        turn.data,
        turn.usage,
        turn.duration_ms,
        turn.model,
        turn.marks,
        title,
        notes,
    )

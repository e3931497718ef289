"""The typed events of a running debate: one union that terminal, web page, API and exports all read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar

import orjson

from moot.core.debate import Action, JsonObject, Step, Turn, Usage

EVENTS_PER_RUN = 1_000_000_000
"""Event ids are `run * EVENTS_PER_RUN + n`: they grow within a run and from each run to the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Emitted:
    """What the emitter fills in."""

    id: int = 0
    debate: str = ""
    at: datetime = datetime.min


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfStep(_Emitted):
    seat: str
    kind: str
    round: int | None
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateStarted(_Emitted):
    format: str
    topic: str
    run: int
    type: Literal["debate_started"] = "debate_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundStarted(_Emitted):
    round: int
    type: Literal["round_started"] = "round_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted(_OfStep):
    """A seat begins to speak; once more for the same position when a broken reply is asked for again."""

    model: str | None = None
    attempt: int = 1
    title: str = ""
    type: Literal["turn_started"] = "turn_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnChunk(_OfStep):
    offset: int
    text: str
    type: Literal["turn_chunk"] = "turn_chunk"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRetrying(_OfStep):
    """A model could not be asked, and is asked again: what was wrong, which attempt comes next, and when.

    A call that waits because its provider has refused those of other debates, or gets as many as its limits allow, is
    told so before its first attempt.
    """

    code: str
    error: str
    """In the provider's words."""
    attempt: int
    """The one that comes next; the first was 1."""
    attempts: int
    """How many there are at most."""
    seconds: float
    """After which it comes, counted from `at`, unless a person wants it sooner."""
    model: str | None = None
    title: str = ""
    type: Literal["step_retrying"] = "step_retrying"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFinished(_OfStep):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting(_OfStep):
    """A person is asked; `actions` are the answers that `moot reply` takes."""

    question: str = ""
    actions: tuple[Action, ...] = ()
    timeout_seconds: float | None = None
    type: Literal["waiting"] = "waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached(_Emitted):
    reason: str
    type: Literal["limit_reached"] = "limit_reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateFinished(_Emitted):
    stop_reason: str
    outcome: JsonObject
    trace: Mapping[str, Any]
    """A `moot.export.trace.Trace`."""
    type: Literal["debate_finished"] = "debate_finished"


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateStopped(_Emitted):
    stop_reason: str
    type: Literal["debate_stopped"] = "debate_stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateFailed(_Emitted):
    code: str
    error: str
    round: int | None
    type: Literal["debate_failed"] = "debate_failed"


Event: TypeAlias = (
    DebateStarted
    | RoundStarted
    | TurnStarted
    | TurnChunk
    | StepRetrying
    | TurnFinished
    | Waiting
    | LimitReached
    | DebateFinished
    | DebateStopped
    | DebateFailed
)
Terminal: TypeAlias = DebateFinished | DebateStopped | DebateFailed | Waiting
"""The events after which a run emits nothing more."""
E = TypeVar("E", bound=_Emitted)


def stamped(event: E, id: int, debate: str, at: float) -> E:
    """A new event with what its maker does not know. Filled in, not copied: this happens for every token."""
    object.__setattr__(event, "id", id)
    object.__setattr__(event, "debate", debate)
    object.__setattr__(event, "at", datetime.fromtimestamp(at, UTC))
    return event


def ended(event: E, run: int, debate: str, at: float) -> E:
    """A run's last event under an id that the run alone tells, so that it is the same after a restart.

    A stop while nothing runs comes behind the question the debate waits with.
    """
    return stamped(event, (run + 1) * EVENTS_PER_RUN - (2 if isinstance(event, Waiting) else 1), debate, at)


encode: Callable[[Event], bytes] = orjson.dumps
"""One line of JSON, without the line's end."""


PASSING = {
    "debate_started": DebateStarted,
    "round_started": RoundStarted,
    "turn_started": TurnStarted,
    "turn_chunk": TurnChunk,
    "step_retrying": StepRetrying,
    "limit_reached": LimitReached,
}
"""What is only shown while it happens; all else can be told again from what is stored."""


def decode(line: str) -> Event:
    """A passing event from its line of JSON. Raises ValueError, KeyError or TypeError for anything else."""
    fields = orjson.loads(line)
    kind = PASSING[fields.pop("type")]
    event: Event = kind(**{**fields, "at": datetime.fromisoformat(fields["at"])})
    return event


def turn_finished(debate_id: str, turn: Turn, title: str, notes: tuple[str, ...] = ()) -> TurnFinished:
    """The event that showed a stored turn when it was new."""
    event = TurnFinished(
        **place_of(turn, turn.position),
        content=turn.content,
        data=turn.data,
        usage=turn.usage,
        duration_ms=turn.duration_ms,
        model=turn.model,
        marks=turn.marks,
        title=turn.who or title,
        notes=notes,
    )
    return stamped(event, turn.event_id, debate_id, turn.finished_at)


class StepPlace(TypedDict):
    """What all events of one step say of it."""

    seat: str
    kind: str
    round: int | None
    position: int


def place_of(step: Step | Turn | TurnStarted, position: int) -> StepPlace:
    return {"seat": step.seat, "kind": step.kind, "round": step.round, "position": position}


def waiting_for(step: Step, position: int) -> Waiting:
    """The event that asks a person what a step asks."""
    place = place_of(step, position)
    if (asked := step.question) is None:
        return Waiting(**place)
    return Waiting(**place, question=asked.text, actions=asked.actions, timeout_seconds=asked.timeout_seconds)

"""What goes over the wire: the bodies of requests and answers, and how stored debates become answers."""

from __future__ import annotations

import base64
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool, StrictInt, StrictStr, ValidationError

from moot.core.debate import NO_USAGE, Action, JsonObject, Outcome, Record, Status, Usage
from moot.core.format import AnyFormat
from moot.core.replay import turn_events
from moot.core.stored import StoredDebate
from moot.errors import InvalidInput, ScriptChanged
from moot.reading import history as retelling
from moot.store.store import Cursor

# Requests


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewDebate(Body):
    format: StrictStr = Field("panel", description="one of GET /api/formats")
    topic: StrictStr = Field(min_length=1, description="the question, at most 4000 characters")
    settings: dict[str, JsonValue] = Field(default_factory=dict, description="what the format lets its user choose")


class CreateDebate(NewDebate):
    start: StrictBool = Field(True, description="run it at once, or as soon as there is room")


class Reply(Body):
    action: Action
    text: StrictStr = Field("", description="at most 2000 characters; `guide`, `answer` and `reject` need one")
    position: StrictInt | None = Field(
        None, ge=0, le=2**31, description="of the question this answers; without it, `guide` is heard at any time"
    )


class NewRating(Body):
    stars: Annotated[StrictInt, Field(ge=1, le=5)]
    comment: StrictStr = ""


# Answers


class View(BaseModel):
    """Made of whatever has fields of these names; times are seconds there."""

    model_config = ConfigDict(from_attributes=True)


class Problem(BaseModel):
    code: str
    message: str


class Failed(BaseModel):
    """What every answer that is no success looks like."""

    error: Problem


class SeatView(BaseModel):
    name: str
    title: str
    model: str
    temperature: float
    max_tokens: int


class TurnView(View):
    position: int
    seat: str
    title: str = Field("", description="how readers call the seat")
    kind: str
    round: int | None
    content: str
    data: JsonObject | None
    usage: Usage
    model: str | None
    marks: tuple[str, ...]
    notes: tuple[str, ...] = Field((), description="what code has to say about the turn")
    started_at: datetime
    finished_at: datetime
    duration_ms: int
    event_id: int


class QuestionView(View):
    """What a debate asks a person; `position` is where the answer goes."""

    question: str
    actions: tuple[Action, ...]
    timeout_seconds: float | None
    seat: str
    kind: str
    round: int | None
    position: int


class FailureView(View):
    """An attempt that failed, with what had arrived."""

    position: int
    seat: str
    kind: str
    round: int | None
    code: str
    message: str
    partial: str
    at: datetime


class RatingView(View):
    stars: int
    comment: str
    at: datetime


class WorkflowView(View):
    id: str
    title: str
    body: str
    created_at: datetime
    delivered: bool
    attempts: int
    result: str


class NoticeView(View):
    """What a webhook was told of a debate, or will be."""

    id: str
    run: int
    event: str
    hook: str
    attempts: int
    next_at: datetime | None = Field(description="when it is tried next; null when it is delivered or given up")
    delivered_at: datetime | None
    result: str


class DebateView(BaseModel):
    """A debate without its turns."""

    id: str
    format: str
    topic: str
    status: Status
    stop_reason: str | None
    error: str | None
    headline: str | None = Field(description="the outcome in a line")
    created_at: datetime
    finished_at: datetime | None


class DebateList(BaseModel):
    debates: list[DebateView]
    next_cursor: str | None


class WholeDebate(DebateView):
    format_version: int
    settings: JsonObject
    seats: list[SeatView]
    run: int
    concluding: bool
    turns: list[TurnView]
    usage: Usage
    outcome: JsonObject | None
    question: QuestionView | None
    failures: list[FailureView]
    rating: RatingView | None
    workflow: WorkflowView | None
    notices: list[NoticeView]
    last_event_id: int = Field(description="of the stored turns; follow the events from here")


class FormatSeat(View):
    name: str
    title: str
    group: str
    player: str
    temperature: float
    max_tokens: int


class FormatView(BaseModel):
    name: str
    version: int
    summary: str
    seats: list[FormatSeat]
    settings: JsonObject = Field(description="the JSON schema of its settings")


class FormatList(BaseModel):
    formats: list[FormatView]


class PerspectiveView(View):
    name: str
    priorities: tuple[str, ...]
    trade_offs: str


class PerspectiveList(BaseModel):
    perspectives: list[PerspectiveView]


class TemplateView(View):
    name: str
    title: str
    when: str
    built_in: bool


class TemplateList(BaseModel):
    templates: list[TemplateView]


class ProviderView(BaseModel):
    name: str
    state: str = Field(description="`ready`, or what is missing")
    models: list[str]


class ChosenModel(BaseModel):
    format: str
    seat: str
    model: str
    why: str


class ModelList(BaseModel):
    providers: list[ProviderView]
    seats: list[ChosenModel] = Field(description="the model each seat would use when nobody chooses another")


class EstimateView(BaseModel):
    most: Usage
    typical: Usage


class Health(BaseModel):
    status: str
    version: str
    running: int
    queued: int
    workers: int = Field(description="processes that run debates")


# From what is stored


def debate_view(record: Record, format: AnyFormat | None) -> DebateView:
    return DebateView.model_validate(_summary(record, format))


def whole_debate(stored: StoredDebate, format: AnyFormat) -> WholeDebate:
    record = stored.record
    turns = turn_views(stored, format)
    titles = {turn.seat: turn.title for turn in turns}
    return WholeDebate(
        **_summary(record, format),
        format_version=record.format_version,
        settings=record.settings,
        seats=[
            SeatView(name=name, title=titles.get(name, format.title(name)), **asdict(seat))
            for name, seat in record.seats.items()
        ],
        run=record.run,
        concluding=record.concluding,
        turns=turns,
        usage=sum((turn.usage for turn in stored.turns), NO_USAGE),
        outcome=record.outcome,
        question=question_view(stored, format),
        failures=[FailureView.model_validate(each) for each in stored.failures],
        rating=stored.rating and RatingView.model_validate(stored.rating),
        workflow=stored.workflow and WorkflowView.model_validate(stored.workflow),
        notices=[NoticeView.model_validate(each) for each in stored.notices],
        last_event_id=max((turn.event_id for turn in stored.turns), default=0),
    )


def turn_views(stored: StoredDebate, format: AnyFormat) -> list[TurnView]:
    told = turn_events(stored.record, stored.turns, format)
    return [
        TurnView.model_validate(turn).model_copy(update={"title": event.title, "notes": event.notes})
        for turn, event in zip(stored.turns, told, strict=True)
    ]


def question_view(stored: StoredDebate, format: AnyFormat) -> QuestionView | None:
    """What the debate waits with, also after it was stopped for want of an answer."""
    if stored.record.status not in (Status.WAITING, Status.STOPPED):
        return None
    try:
        asked = retelling.waiting(stored, format)
    except ScriptChanged:  # a format that has changed asks nothing any more
        return None
    return QuestionView.model_validate(asked) if asked else None


def format_view(format: AnyFormat) -> FormatView:
    return FormatView(
        name=format.name,
        version=format.version,
        summary=format.summary,
        seats=[FormatSeat.model_validate(seat) for seat in format.seats],
        settings=format.settings.model_json_schema(),
    )


def cursor(record: Record) -> str:
    """Where the page after this debate begins."""
    return base64.urlsafe_b64encode(f"{record.created_at!r} {record.id}".encode()).decode()


def place(cursor: str) -> Cursor:
    try:
        created_at, _, id = base64.b64decode(cursor.encode(), b"-_", validate=True).decode().partition(" ")
        if id and "\0" not in id:
            return Cursor(float(created_at), id)
    except ValueError:
        pass
    raise InvalidInput(f"{cursor!r} is no cursor; take next_cursor from the page before")


def _headline(record: Record, format: AnyFormat | None) -> str | None:
    if format is None or record.outcome is None:
        return None
    try:
        outcome: Outcome = format.outcome.model_validate(record.outcome)
    except ValidationError:  # of a version of the format that is gone; a list of debates must not fail for it
        return None
    return outcome.headline()


def _summary(record: Record, format: AnyFormat | None) -> dict[str, Any]:
    return {
        "id": record.id,
        "format": record.format,
        "topic": record.topic,
        "status": record.status,
        "stop_reason": record.stop_reason,
        "error": record.error,
        "headline": _headline(record, format),
        "created_at": record.created_at,
        "finished_at": record.finished_at,
    }

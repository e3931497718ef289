"""A debate as JSON: what an answer of the HTTP API and of the MCP tools holds of it."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from moot.core.debate import Action, JsonObject, Status, Usage
from moot.reading.debate import Reading


class FromAttributes(BaseModel, from_attributes=True):
    """Made of whatever has fields of these names; times are seconds there."""


class SeatView(BaseModel):
    name: str
    title: str
    model: str
    temperature: float
    max_tokens: int


class TurnView(FromAttributes):
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


class QuestionView(FromAttributes):
    """What a debate asks a person; `position` is where the answer goes."""

    question: str
    actions: tuple[Action, ...]
    timeout_seconds: float | None
    seat: str
    kind: str
    round: int | None
    position: int


class FailureView(FromAttributes):
    """An attempt that failed, with what had arrived."""

    position: int
    seat: str
    kind: str
    round: int | None
    code: str
    message: str
    partial: str
    at: datetime


class RatingView(FromAttributes):
    stars: int
    comment: str
    at: datetime


class WorkflowView(FromAttributes):
    id: str
    title: str
    body: str
    created_at: datetime
    delivered: bool
    attempts: int
    result: str


class TickView(FromAttributes):
    """Whether a next step of the outcome is done."""

    step: int = Field(description="its place among them, from 0")
    done: bool
    who: str = Field(description="who said so; empty where their name is not known")
    at: datetime


class NoticeView(FromAttributes):
    """What a webhook was told of a debate, or will be."""

    id: str
    run: int
    event: str
    hook: str
    attempts: int
    next_at: datetime | None = Field(description="when it is tried next; null when it is delivered or given up")
    delivered_at: datetime | None
    result: str


class OriginView(FromAttributes):
    """What a fork began as: the first `position` turns of another debate."""

    debate: str
    position: int


class DebateView(BaseModel):
    """A debate without its turns."""

    id: str
    format: str
    topic: str
    title: str = Field(description="the question as the outcome restates it, where it was clarified; else the topic")
    status: Status
    stop_reason: str | None
    error: str | None
    headline: str | None = Field(description="the outcome in a line")
    created_at: datetime
    finished_at: datetime | None
    origin: OriginView | None = Field(description="the debate it was forked from, if it was")


class WholeDebate(DebateView):
    format_version: int
    settings: JsonObject
    seats: list[SeatView]
    run: int
    concluding: bool
    held_up: str | None = Field(description="why it is queued and nobody runs it, where that is known")
    turns: list[TurnView]
    usage: Usage
    outcome: JsonObject | None
    question: QuestionView | None
    failures: list[FailureView]
    rating: RatingView | None
    workflow: WorkflowView | None
    notices: list[NoticeView]
    next_steps: list[str] = Field(description="what its outcome asks for, to be ticked by their places")
    ticks: list[TickView]
    last_event_id: int = Field(description="of the stored turns; follow the events from here")


def debate_view(reading: Reading) -> DebateView:
    return DebateView(**_values(DebateView, reading))


def whole_debate(reading: Reading) -> WholeDebate:
    seats = [
        SeatView(name=name, title=reading.titles[name], **asdict(seat)) for name, seat in reading.record.seats.items()
    ]
    turns = [
        TurnView.model_validate(turn).model_copy(update={"title": event.title, "notes": event.notes})
        for turn, event in zip(reading.turns, reading.events, strict=True)
    ]
    return WholeDebate(**_values(WholeDebate, reading) | {"seats": seats, "turns": turns})


def _values(view: type[BaseModel], reading: Reading) -> dict[str, Any]:
    """The fields of a view as they are stored, or else as they are read."""
    places = (reading.record, reading.stored, reading)
    return {name: next(getattr(place, name) for place in places if hasattr(place, name)) for name in view.model_fields}

"""What the pages show, as plain data: a debate with its turns, seats and outcome; a line of the list.

Knows no HTTP and no templates. Every text of a model or a person is still raw here, or has been through `markdown`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from markupsafe import Markup

from moot.core.debate import (
    NO_USAGE,
    Action,
    Bar,
    Cell,
    Failure,
    Outcome,
    Question,
    Rating,
    Record,
    Status,
    Turn,
    Usage,
    Workflow,
    span_seconds,
)
from moot.core.events import TurnFinished
from moot.core.format import AnyFormat
from moot.core.replay import turn_events
from moot.core.stored import StoredDebate
from moot.errors import ScriptChanged
from moot.reading.words import notice_text, reason_text, short_model, title_of
from moot.web.pages.markdown import Document, document, speech
from moot.web.pages.turns import ACTIONS, Section, colours_of, in_a_line, sections, turn_views

if TYPE_CHECKING:
    from moot.web.charts import Chart

LIVE = {Status.QUEUED, Status.RUNNING, Status.STOPPING}
GOING_ON = {*LIVE, Status.WAITING, Status.CREATED}
STATUS_TEXTS = {
    Status.CREATED: "not started",
    Status.QUEUED: "queued",
    Status.RUNNING: "live",
    Status.WAITING: "waiting for you",
    Status.STOPPING: "finishing this turn",
    Status.STOPPED: "stopped",
    Status.FINISHED: "finished",
    Status.FAILED: "failed",
}
Row: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SeatView:
    name: str
    title: str
    colour: int
    model: str
    turns: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Meter:
    """How much of a limit is used; no limit, no `most`."""

    name: str
    label: str
    value: float
    most: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Ask:
    """What a person is asked, and until when."""

    html: Markup
    actions: tuple[tuple[Action, str], ...]
    position: int
    deadline: float | None
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class OutcomeView:
    headline: str
    table: tuple[Row, ...]
    summary: Markup | None
    document: Document | None
    caveats: tuple[str, ...]
    has_issue: bool
    approved: bool


@dataclass(frozen=True, slots=True)
class DebateView:
    record: Record
    format: AnyFormat
    status: Status
    status_text: str
    reason: str
    seats: tuple[SeatView, ...]
    meters: tuple[Meter, ...]
    sections: tuple[Section, ...]
    after: int
    """The id of the last event that the sections show."""
    positions: int
    ask: Ask | None
    outcome: OutcomeView | None
    charts: tuple[Chart, ...]
    failures: tuple[Failure, ...]
    rating: Rating | None
    workflow: Workflow | None
    notices: tuple[str, ...]
    """What became of each, in a line."""

    @property
    def live(self) -> bool:
        return self.status in LIVE

    @property
    def going_on(self) -> bool:
        return self.status in GOING_ON


@dataclass(frozen=True, slots=True)
class ListRow:
    id: str
    topic: str
    format: str
    status: Status
    status_text: str
    live: bool
    outcome: str
    cost: str
    created: str
    """ISO 8601."""
    age: str
    workflow: str
    stars: int | None


def debate_view(stored: StoredDebate, format: AnyFormat, question: Question | None) -> DebateView:
    record, turns, failures, rating, workflow, notices = stored
    events = list(turn_events(record, turns, format))
    titles = titles_of(record, events, format)
    outcome = outcome_of(record, format)
    return DebateView(
        record=record,
        format=format,
        status=record.status,
        status_text=STATUS_TEXTS[record.status],
        reason=record.error or (reason_text(record.stop_reason) if record.stop_reason else ""),
        seats=tuple(_seats(record, turns, format, titles)),
        meters=tuple(_meters(record, turns)),
        sections=tuple(sections(turn_views(events, turns, format))),
        after=max((turn.event_id for turn in turns), default=0),
        positions=len(turns),
        ask=_ask(question, turns) if question and record.status in (Status.WAITING, Status.STOPPED) else None,
        outcome=_outcome_view(outcome, record, turns) if outcome else None,
        charts=_charts(record, turns, titles, outcome),
        failures=failures,
        rating=rating,
        workflow=workflow,
        notices=tuple(map(notice_text, notices)),
    )


def list_row(stored: StoredDebate, format: AnyFormat | None, now: float) -> ListRow:
    record = stored.record
    outcome = outcome_of(record, format) if format else None
    return ListRow(
        record.id,
        " ".join(record.topic.split()),
        record.format,
        record.status,
        STATUS_TEXTS[record.status],
        record.status in LIVE,
        in_a_line(outcome.headline() if outcome else record.error or ""),
        cost_text(_usage(stored.turns)),
        datetime.fromtimestamp(record.created_at, UTC).isoformat(timespec="seconds"),
        age_text(now - record.created_at),
        stored.workflow.id if stored.workflow else "",
        stored.rating.stars if stored.rating else None,
    )


def outcome_of(record: Record, format: AnyFormat) -> Outcome | None:
    return format.outcome.model_validate(record.outcome) if record.outcome else None


def titles_of(record: Record, events: Sequence[TurnFinished], format: AnyFormat) -> dict[str, str]:
    """Seat → what readers call it, of those that take part as far as that is known."""
    told = {event.seat: title_of(event) for event in events}
    try:
        debate = format.open(record)
    except ScriptChanged:
        return told
    before = dict(format.titles(debate))
    debate.transcript.extend(_turn_of(event) for event in events)
    cast = dict(format.titles(debate)) or {seat.name: seat.title for seat in format.seats if seat.player == "model"}
    return before | cast | told


def _turn_of(event: TurnFinished) -> Turn:
    return Turn(event.position, event.seat, event.kind, event.round, event.content, event.data, marks=event.marks)


def cost_text(usage: Usage) -> str:
    if not usage.calls:
        return "–"
    return "unknown" if usage.cost is None else f"${usage.cost:.4f}" if usage.cost else "$0"


def age_text(seconds: float) -> str:
    for size, name in ((86_400 * 365, "year"), (86_400 * 30, "month"), (86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            number = int(seconds // size)
            return f"{number} {name}{'' if number == 1 else 's'} ago"
    return "just now"


def duration_text(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    return f"{minutes} min {rest:02} s" if rest else f"{minutes} min"


def _usage(turns: Iterable[Turn]) -> Usage:
    return sum((turn.usage for turn in turns), NO_USAGE)


def _seats(record: Record, turns: Sequence[Turn], format: AnyFormat, titles: Mapping[str, str]) -> Iterator[SeatView]:
    colours = colours_of(format)
    for seat in format.seats:
        if seat.name in titles and seat.name in colours:
            own = [turn for turn in turns if turn.seat == seat.name]
            chosen = record.seats.get(seat.name)
            yield SeatView(
                seat.name,
                titles[seat.name],
                colours[seat.name],
                short_model(chosen.model) if chosen else "",
                len(own),
                _usage(own).output_tokens,
            )


def _meters(record: Record, turns: Sequence[Turn]) -> Iterator[Meter]:
    limits: Mapping[str, Any] = record.settings
    rounds = max((turn.round or 0 for turn in turns), default=0)
    most = limits.get("max_rounds")
    yield Meter("rounds", "Round", rounds, most, f"{rounds} of {most}" if most else str(rounds))
    seconds, most = span_seconds(turns), limits.get("max_runtime_seconds")
    yield Meter("seconds", "Time", seconds, most, _of(duration_text(seconds), most and duration_text(most)))
    usage, most = _usage(turns), limits.get("max_total_output_tokens")
    about = "about " if usage.estimated else ""
    yield Meter(
        "tokens", "Tokens", usage.output_tokens, most, about + _of(f"{usage.output_tokens:,}", most and f"{most:,}")
    )
    most = limits.get("max_cost")
    yield Meter("cost", "Cost", usage.cost or 0.0, most, _of(cost_text(usage), most and f"${most:g}"))


def _of(value: str, most: str | None) -> str:
    return f"{value} of {most}" if most else value


def _ask(question: Question, turns: Sequence[Turn]) -> Ask:
    asked_at = turns[-1].finished_at if turns else None
    limit = question.timeout_seconds
    return Ask(
        speech(question.text),
        tuple((action, ACTIONS[action]) for action in question.actions),
        len(turns),
        asked_at + limit if asked_at and limit else None,
    )


def _outcome_view(outcome: Outcome, record: Record, turns: Sequence[Turn]) -> OutcomeView:
    text = outcome.document(record, turns)
    return OutcomeView(
        outcome.headline(),
        tuple(tuple(map(_cell, row)) for row in outcome.table()),
        None if text else speech(outcome.summary),
        document(text, outcome.headline()) if text else None,
        tuple(outcome.caveats),
        outcome.issue(record) is not None,
        outcome.is_approved(),
    )


def _cell(cell: Cell) -> str:
    return f"{cell.value:.1f}" if isinstance(cell, Bar) else cell


def _charts(
    record: Record, turns: Sequence[Turn], titles: Mapping[str, str], outcome: Outcome | None
) -> tuple[Chart, ...]:
    from moot.web.charts import charts_for

    return charts_for(record, turns, titles, outcome) if turns and outcome else ()

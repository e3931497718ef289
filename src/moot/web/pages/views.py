"""What the pages show of a debate: its reading, and what is rendered of it.

Knows no HTTP and no templates. Every text of a model or a person is still raw here, or has been through `markdown`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from moot.core.debate import Action, Bar, Cell, Turn, Usage
from moot.core.duration import span_seconds
from moot.core.events import TurnFinished
from moot.core.format import AnyFormat
from moot.reading import words
from moot.reading.debate import Reading, usage_of
from moot.text.plain import shortened
from moot.web.pages.markdown import document, speech

if TYPE_CHECKING:
    from moot.web.charts import Chart

COLOURS = 6
MAX_LINE = 160
ACTIONS: Mapping[Action, str] = {
    "continue": "Continue",
    "guide": "Add guidance",
    "end": "End & synthesize",
    "answer": "Answer",
    "approve": "Approve",
    "reject": "Reject",
}


@dataclass(frozen=True, slots=True)
class SeatRow:
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


def debate_page(reading: Reading) -> dict[str, Any]:
    """What is rendered or drawn of a debate's reading for its page."""
    outcome, text = reading.outcome, reading.document
    return {
        "status_text": reading.status_text,
        "seats": tuple(_seats(reading)),
        "meters": tuple(_meters(reading)),
        "sections": tuple(cards(reading)),
        "deadline": _deadline(reading),
        "document": document(text, outcome.headline()) if outcome and text else None,
        "summary": speech(outcome.summary) if outcome and not text else None,
        "charts": _charts(reading),
    }


def cost_text(usage: Usage) -> str:
    return words.cost_text(usage) if usage.calls else "–"


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


def _seats(reading: Reading) -> Iterator[SeatRow]:
    for seat, colour in colours_of(reading.format).items():
        if seat in reading.participants:
            own = [turn for turn in reading.turns if turn.seat == seat]
            chosen = reading.record.seats.get(seat)
            model = words.short_model(chosen.model) if chosen else ""
            yield SeatRow(seat, reading.participants[seat], colour, model, len(own), usage_of(own).output_tokens)


def _meters(reading: Reading) -> Iterator[Meter]:
    # Settings that another version wrote, or a fault has damaged, may be anything.
    stored = reading.record.settings.items()
    limits: Mapping[str, Any] = {name: value for name, value in stored if isinstance(value, int | float)}
    rounds = max((turn.round or 0 for turn in reading.turns), default=0)
    most = limits.get("max_rounds")
    yield Meter("rounds", "Round", rounds, most, f"{rounds} of {most}" if most else str(rounds))
    seconds, most = span_seconds(reading.turns), limits.get("max_runtime_seconds")
    yield Meter("seconds", "Time", seconds, most, _of(duration_text(seconds), most and duration_text(most)))
    usage, most = reading.usage, limits.get("max_total_output_tokens")
    about = "about " if usage.estimated else ""
    yield Meter(
        "tokens", "Tokens", usage.output_tokens, most, about + _of(f"{usage.output_tokens:,}", most and f"{most:,}")
    )
    most = limits.get("max_cost")
    yield Meter("cost", "Cost", usage.cost or 0.0, most, _of(cost_text(usage), most and f"${most:g}"))


def _of(value: str, most: str | None) -> str:
    return f"{value} of {most}" if most else value


def _deadline(reading: Reading) -> float | None:
    """When its question is not waited for any more, in seconds since 1970."""
    asked = reading.question
    return asked.at.timestamp() + asked.timeout_seconds if asked and asked.timeout_seconds and reading.turns else None


def cell_text(cell: Cell) -> str:
    return f"{cell.value:.1f}" if isinstance(cell, Bar) else cell


def _charts(reading: Reading) -> tuple[Chart, ...]:
    from moot.web.charts import charts_for

    if not reading.turns or not reading.outcome:
        return ()
    titles = {**reading.participants, "human": words.YOU}
    return charts_for(reading.record, reading.turns, titles, reading.charts)


# The turns, round by round, with who spoke beside whom


@dataclass(frozen=True, slots=True)
class TurnCard:
    event: TurnFinished
    colour: int
    spoken: bool
    """Whether it is shown as a speech; others are a line between two."""
    html: Markup
    line: str
    chair: bool
    """Whether it is by somebody who leads or judges, and does not argue."""
    beside: bool
    """Whether it ran at the same time as another one of its kind and round."""
    folded: bool
    """Whether it only examines the one before it."""


class Cards(NamedTuple):
    """A section of the transcript."""

    title: str
    turns: tuple[TurnCard, ...]


def cards(reading: Reading) -> Iterator[Cards]:
    colours, chairs = colours_of(reading.format), chairs_of(reading.format)
    beside = {one.position for one in reading.turns for other in reading.turns if _overlap(one, other)}

    def card(event: TurnFinished) -> TurnCard:
        html = speech(event.content)
        spoken = words.is_speech(reading.format, event) and bool(event.content or event.marks)
        line = in_a_line(html.striptags()) if spoken else _aside(event, reading.format)
        colour, chair = colours.get(event.seat, 0), event.seat in chairs
        folded = event.kind in reading.format.folded
        return TurnCard(event, colour, spoken, html, line, chair, event.position in beside and not folded, folded)

    for title, events in reading.sections:
        yield Cards(title, tuple(map(card, events)))


def _aside(event: TurnFinished, format: AnyFormat) -> str:
    """What happened between two speeches."""
    action = (event.data or {}).get("action")
    if event.seat == "human" and not event.content and action in ACTIONS:
        label = format.actions.get(action) or ACTIONS[action].lower()  # type: ignore[call-overload, index]
        return f"You: {label}"
    return format.reason(event.content) if event.content else f"{words.title_of(event)}: {event.kind}"


def _overlap(one: Turn, other: Turn) -> bool:
    return (
        one.position != other.position
        and (one.kind, one.round) == (other.kind, other.round)
        and one.started_at < other.finished_at
        and other.started_at < one.finished_at
    )


def colours_of(format: AnyFormat) -> dict[str, int]:
    """Seat → a number from 1; a person and the library have 0, which is no colour."""
    names = [seat.name for seat in format.seats if seat.player == "model"]
    return {name: at % COLOURS + 1 for at, name in enumerate(names)}


def chairs_of(format: AnyFormat) -> set[str]:
    """The seats outside the largest group; where every seat is a group of its own, all of them argue."""
    seats = [seat for seat in format.seats if seat.player == "model"]
    sizes = Counter(seat.group for seat in seats)
    largest, size = max(sizes.items(), key=lambda each: each[1], default=("", 0))
    return {seat.name for seat in seats if size > 1 and seat.group != largest}


def in_a_line(text: str) -> str:
    return shortened(" ".join(text.split()), MAX_LINE)

"""What the pages show of a debate: its reading, and what is rendered of it.

Knows no HTTP and no templates. Every text of a model or a person is still raw here, or has been through `markdown`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from moot.core.debate import Bar, Cell, Usage, span_seconds
from moot.reading import words
from moot.reading.debate import Reading, usage_of
from moot.web.pages.markdown import document, speech
from moot.web.pages.turns import cards, colours_of

if TYPE_CHECKING:
    from moot.web.charts import Chart


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
    limits: Mapping[str, Any] = reading.record.settings
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

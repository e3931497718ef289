"""What the pages show of a debate: its reading, and what is rendered of it.

Knows no HTTP and no templates. Every text of a model or a person is still raw here, or has been through `markdown`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup

from moot.core.debate import Turn, Usage
from moot.core.events import TurnFinished
from moot.core.format import AnyFormat
from moot.core.record import usage_of
from moot.core.table import Bar, Cell
from moot.examples.catalog import MODEL as EXAMPLE
from moot.reading import words
from moot.reading.debate import Reading
from moot.reading.seats import chairs_of, colours_of
from moot.text.plain import shortened
from moot.web.pages.markdown import Citing, cited_speech

MAX_LINE = 160


@dataclass(frozen=True, slots=True)
class SeatRow:
    name: str
    title: str
    colour: int
    model: str
    turns: int
    tokens: int


def is_recorded(reading: Reading) -> bool:
    """Whether it is an example: a recording speaks, and not the models of now."""
    return any(seat.model == EXAMPLE for seat in reading.record.seats.values())


def cost_text(usage: Usage) -> str:
    return words.cost_text(usage) if usage.calls else "–"


def age_text(seconds: float) -> str:
    for size, name in ((86_400 * 365, "year"), (86_400 * 30, "month"), (86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            number = int(seconds // size)
            return f"{number} {name}{'' if number == 1 else 's'} ago"
    return "just now"


def question_of(title: str) -> str:
    """The first paragraph of what was asked, without the mark of a heading; what follows is background."""
    return title.strip().partition("\n\n")[0].lstrip("# ")


def day_text(at: float) -> str:
    day = datetime.fromtimestamp(at, UTC)
    return f"{day.day} {day:%B %Y}"


def duration_text(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    return f"{minutes} min {rest:02} s" if rest else f"{minutes} min"


def seat_rows(reading: Reading) -> Iterator[SeatRow]:
    for seat, colour in colours_of(reading.format).items():
        if seat in reading.participants:
            own = [turn for turn in reading.turns if turn.seat == seat]
            chosen = reading.record.seats.get(seat)
            model = words.short_model(chosen.model) if chosen else ""
            side = reading.sides[seat].word if seat in reading.sides else ""
            title = ", ".join(filter(None, (side, reading.participants[seat])))
            yield SeatRow(seat, title, colour, model, len(own), usage_of(own).output_tokens)


def deadline_of(reading: Reading) -> float | None:
    """When its question is not waited for any more, in seconds since 1970."""
    asked = reading.question
    return asked.at.timestamp() + asked.timeout_seconds if asked and asked.timeout_seconds and reading.turns else None


def cell_text(cell: Cell) -> str:
    return f"{cell.value:.1f}" if isinstance(cell, Bar) else cell


# The turns, round by round, with who spoke beside whom


@dataclass(frozen=True, slots=True, kw_only=True)
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

    @property
    def groups(self) -> tuple[tuple[TurnCard, ...], ...]:
        """Those of one kind that only examine, and follow each other, together; any other alone."""
        found = groupby(self.turns, key=lambda card: card.event.kind if card.folded else card.event.position)
        return tuple(tuple(turns) for _, turns in found)


def cards(reading: Reading) -> Iterator[Cards]:
    colours, chairs = colours_of(reading.format), chairs_of(reading.format)
    citing = Citing(reading.record.id, reading.source_index)
    beside = {one.position for one in reading.turns for other in reading.turns if _overlap(one, other)}

    def card(event: TurnFinished) -> TurnCard:
        html = cited_speech(event.content, citing)
        spoken = words.is_speech(reading.format, event) and bool(event.content or event.marks)
        line = in_a_line(html.striptags()) if spoken else _aside(event, reading.format)
        folded = event.kind in reading.format.folded
        return TurnCard(
            event=event,
            colour=colours.get(event.seat, 0),
            spoken=spoken,
            html=html,
            line=line,
            chair=event.seat in chairs,
            beside=event.position in beside and not folded,
            folded=folded,
        )

    for title, events in reading.sections:
        yield Cards(title, tuple(map(card, events)))


def _aside(event: TurnFinished, format: AnyFormat) -> str:
    """What happened between two speeches."""
    if chosen := words.chosen(event, format):
        return f"You: {chosen}"
    return format.reason(event.content) if event.content else f"{words.title_of(event)}: {event.kind}"


def _overlap(one: Turn, other: Turn) -> bool:
    return (
        one.position != other.position
        and (one.kind, one.round) == (other.kind, other.round)
        and one.started_at < other.finished_at
        and other.started_at < one.finished_at
    )


def in_a_line(text: str) -> str:
    return shortened(" ".join(text.split()), MAX_LINE)

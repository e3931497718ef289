"""The turns of a debate as a page shows them: rendered, round by round, with who spoke beside whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from moot.core.debate import Action, Turn
from moot.core.events import TurnFinished
from moot.core.format import AnyFormat
from moot.reading.debate import Reading
from moot.reading.words import is_speech, title_of
from moot.text.plain import shortened
from moot.web.pages.markdown import speech

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


class Cards(NamedTuple):
    """A section of the transcript."""

    title: str
    turns: tuple[TurnCard, ...]


def cards(reading: Reading) -> Iterator[Cards]:
    colours, chairs = colours_of(reading.format), chairs_of(reading.format)
    beside = {one.position for one in reading.turns for other in reading.turns if _overlap(one, other)}

    def card(event: TurnFinished) -> TurnCard:
        html = speech(event.content)
        spoken = is_speech(reading.format, event) and bool(event.content or event.marks)
        line = in_a_line(html.striptags()) if spoken else _aside(event, reading.format)
        colour, chair = colours.get(event.seat, 0), event.seat in chairs
        return TurnCard(event, colour, spoken, html, line, chair, event.position in beside)

    for title, events in reading.sections:
        yield Cards(title, tuple(map(card, events)))


def _aside(event: TurnFinished, format: AnyFormat) -> str:
    """What happened between two speeches."""
    action = (event.data or {}).get("action")
    if event.seat == "human" and not event.content and action in ACTIONS:
        label = format.actions.get(action) or ACTIONS[action].lower()  # type: ignore[call-overload, index]
        return f"You: {label}"
    return format.reason(event.content) if event.content else f"{title_of(event)}: {event.kind}"


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

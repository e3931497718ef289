"""What the page of a debate that goes on shows: its turns as they stand beside each other, the way it goes, its models.

Knows no HTTP and no templates.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple, TypeAlias

from moot.core.debate import Status, Step, Turn, Usage
from moot.core.duration import span_seconds
from moot.core.format import Side
from moot.reading import words
from moot.reading.debate import Reading
from moot.reading.seats import chairs_of, colours_of
from moot.reading.sources import read_text
from moot.web.pages.claims import claims_pane
from moot.web.pages.running_on import money
from moot.web.pages.views import Cards, TurnCard, cards, cost_text, deadline_of, is_recorded

PhaseState: TypeAlias = Literal["done", "now", "next"]
FEW_ROUNDS = 3
"""More rounds than these are one step of the way."""


class Group(NamedTuple):
    """Turns that stand beside each other: they ran at the same time, or only examine what was said."""

    turns: tuple[TurnCard, ...]

    @property
    def checks(self) -> bool:
        """Whether they only examine."""
        return self.turns[0].folded


class Part(NamedTuple):
    title: str
    key: str
    groups: tuple[Group, ...]


class Phase(NamedTuple):
    """A step of the way that a debate goes."""

    title: str
    state: PhaseState
    key: str = ""
    """The part of the page that it is, if it was reached."""


LANES = range(2, 5)
"""So many can stand beside each other."""


class LiveSeat(NamedTuple):
    name: str
    title: str
    colour: int
    model: str
    side: Side | None


class Spent(NamedTuple):
    """What a debate has taken so far, and of how much."""

    seconds: float
    most_seconds: float | None
    tokens: str
    cost: str


def live_view(reading: Reading, typical: Usage | None) -> dict[str, Any]:
    """What is shown of a debate without an outcome; `typical` is what one like it costs, where that is known."""
    sections = tuple(cards(reading))
    seats = tuple(_seats(reading))
    lanes = {} if reading.sides else _lanes(reading)
    stands = reading.stands if reading.question else {}
    return {
        "status_text": reading.status_text,
        "parts": tuple(_part(section, lanes) for section in sections),
        "phases": tuple(_phases(reading, sections)),
        "spent": _spent(reading, typical),
        "seats": seats,
        "colours": colours_of(reading.format),
        "lanes": lanes,
        "quiet": {seat.name for seat in reading.format.seats if seat.player == "library"},
        "sides": dict(zip(reading.sides, ("for", "against"), strict=False)),
        "stands": [(seat, stands[seat.name]) for seat in seats if seat.name in stands],
        "models": tuple(dict.fromkeys(seat.model for seat in seats if seat.model)),
        "deadline": deadline_of(reading),
        "sources": reading.sources.sources,
        "read": read_text(reading),
        "claims": len(reading.ledger.claims) if reading.ledger else 0,
        "map": claims_pane(reading),
    }


def _part(section: Cards, lanes: Mapping[str, int]) -> Part:
    groups = groupby(section.turns, key=lambda card: _beside(card, lanes))
    return Part(section.title, key_of(section.title), tuple(Group(tuple(turns)) for _, turns in groups))


def _lanes(reading: Reading) -> dict[str, int]:
    """Seat → the column in which it stands in every round, where those who argue are of one group."""
    format = reading.format
    steps: Iterable[Turn | Step] = (*reading.turns, *reading.upcoming)
    heard = {step.seat for step in steps if step.round and step.kind not in format.folded} - chairs_of(format)
    seats = [seat for seat in format.seats if seat.name in heard and seat.player == "model"]
    is_one_group = len({seat.group for seat in seats}) == 1
    return {seat.name: at for at, seat in enumerate(seats, 1)} if is_one_group and len(seats) in LANES else {}


def key_of(title: str) -> str:
    return title.lower().replace(" ", "-")


def _beside(card: TurnCard, lanes: Mapping[str, int]) -> tuple[object, ...]:
    if card.folded:
        return (card.event.kind,)
    is_lane = card.event.seat in lanes and card.event.round
    return (card.event.kind, card.event.round) if card.beside or is_lane else (card.event.position,)


def _seats(reading: Reading) -> Iterator[LiveSeat]:
    """Those who face each other first, in the order in which they stand."""
    colours, chosen = colours_of(reading.format), reading.record.seats
    names = [name for name in (*reading.sides, *reading.participants) if name in chosen]
    for name in dict.fromkeys(names):
        title = reading.participants.get(name) or reading.titles[name]
        model = words.short_model(chosen[name].model)
        yield LiveSeat(name, title, colours.get(name, 0), model, reading.sides.get(name))


# The way it goes


def _phases(reading: Reading, sections: Sequence[Cards]) -> Iterator[Phase]:
    """What is done, what goes on, and what is to come as far as that can be known."""
    titles = [section.title for section in sections]
    now, asked, (first, *more) = _now_in(reading, titles), reading.question is not None, reading.closing or ("Closing",)
    yield from _done([title for title in titles if title != "Closing" and (asked or title not in now)])
    if now != ["Closing"]:
        yield Phase("Your turn" if asked else _doing(reading, now), "now")
        yield from _rounds_left(reading)
        yield from (Phase(title, "next") for title in (first, *more))
    elif asked:
        yield Phase(first, "done", "closing")
        yield Phase("Your turn", "now")
    else:
        yield Phase(first, "now")
        yield from (Phase(title, "next") for title in more)


def _now_in(reading: Reading, titles: Sequence[str]) -> list[str]:
    """The sections in which it is: rounds may be played at the same time."""
    if rounds := [step.round for step in reading.upcoming if step.round is not None]:
        return [f"Round {round}" for round in range(min(rounds), max(rounds) + 1)]
    if reading.question and titles:
        return [titles[-1]]
    return ["Closing" if any(title.startswith("Round") for title in titles) else "Opening"]


def _doing(reading: Reading, sections: Sequence[str]) -> str:
    now = sections[0] if len(sections) == 1 else f"Rounds {sections[0].split()[-1]} to {sections[-1].split()[-1]}"
    kinds = [step.kind for step in reading.upcoming if step.kind not in reading.format.folded and not step.question]
    if not kinds:
        return now
    several = len(kinds) > 1 and kinds.count(kinds[0]) == len(kinds) and not kinds[0].endswith("s")
    return f"{now}: {kinds[0]}{'s' if several else ''}"


def _done(titles: Sequence[str]) -> Iterator[Phase]:
    rounds = [title for title in titles if title.startswith("Round")]
    for title in titles:
        if title not in rounds or len(rounds) <= FEW_ROUNDS:
            yield Phase(title, "done", key_of(title))
        elif title == rounds[-1]:
            yield Phase(f"{len(rounds)} rounds", "done", key_of(title))


def _rounds_left(reading: Reading) -> Iterator[Phase]:
    most = reading.record.settings.get("max_rounds")
    rounds = [turn.round or 0 for turn in reading.turns] + [step.round or 0 for step in reading.upcoming]
    reached = max(rounds, default=0)
    if isinstance(most, int) and reached < most:
        yield Phase(f"Round {most}" if most == reached + 1 else f"Up to round {most}", "next")


def _spent(reading: Reading, typical: Usage | None) -> Spent:
    settings, usage = reading.record.settings, reading.usage
    seconds, most = span_seconds(reading.turns), settings.get("max_runtime_seconds")
    if reading.record.status in (Status.RUNNING, Status.STOPPING) and reading.turns:
        seconds += max(0.0, time.time() - max(turn.finished_at for turn in reading.turns))
    limit = settings.get("max_total_output_tokens")
    of = f" of {limit:,}" if isinstance(limit, int) else ""
    about = "about " if usage.estimated else ""
    cost = cost_text(usage) if usage.cost else ""
    if typical and typical.cost and (usage.cost is not None or not usage.calls):
        cost = f"{cost or '$0'} of about {money(typical.cost)}"
    # a recording ends long before its limit
    limit_seconds = most if isinstance(most, int | float) and not is_recorded(reading) else None
    return Spent(seconds, limit_seconds, f"{about}{usage.output_tokens:,}{of} tokens", cost)

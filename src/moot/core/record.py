"""A debate as it is kept: its record, its turns, what failed. Plain data that a list is made of without pydantic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from moot.core.usage import NO_USAGE, Usage
from moot.core.value import value
from moot.errors import ScriptChanged
from moot.text.language import Language, language_of

if TYPE_CHECKING:
    from pydantic import JsonValue

    JsonObject: TypeAlias = dict[str, JsonValue]
else:
    JsonObject = dict[str, Any]  # pydantic is slow to import, and a list needs none of it


class Status(StrEnum):
    CREATED = "created"
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FINISHED = "finished"
    FAILED = "failed"


LIVE = (Status.QUEUED, Status.RUNNING, Status.STOPPING)
"""Somebody speaks, or will without anybody's doing; in the order in which a debate has them."""


@value(frozen=True, slots=True, kw_only=True)
class Turn:
    """The stored answer to one step; written once, never changed."""

    position: int
    seat: str
    kind: str
    round: int | None
    content: str
    data: JsonObject | None = None
    usage: Usage = NO_USAGE
    model: str | None = None
    marks: tuple[str, ...] = ()
    started_at: float = 0.0
    finished_at: float = 0.0
    run: int = 0
    event_id: int = 0

    @property
    def duration_ms(self) -> int:
        return max(0, round((self.finished_at - self.started_at) * 1000))

    @property
    def who(self) -> str:
        """The person who said it, where their name is known."""
        named = (self.data or {}).get("who") if self.seat == "human" else None
        return named if isinstance(named, str) else ""


def usage_of(turns: Iterable[Turn]) -> Usage:
    return sum((turn.usage for turn in turns), NO_USAGE)


def usage_by_seat(turns: Sequence[Turn]) -> dict[str, Usage]:
    """Of the seats for which something was called."""
    found = {turn.seat: NO_USAGE for turn in turns if turn.usage.calls}
    for turn in turns:
        if turn.seat in found:
            found[turn.seat] += turn.usage
    return found


@dataclass(frozen=True, slots=True)
class SeatSettings:
    """What one debate chose for a seat."""

    model: str
    temperature: float
    max_tokens: int


class Seats(dict[str, SeatSettings]):
    """The seats that a debate has, for its script."""

    def __missing__(self, name: str) -> NoReturn:
        raise ScriptChanged(f"its format asks for the seat {name!r}, which the debate was stored without")


def short_model(name: str) -> str:
    """The model without the address of its server; that of a recording is nothing that could be called."""
    return name.rpartition("#")[2].removeprefix("recorded:")


@dataclass(frozen=True, slots=True)
class Origin:
    """What a debate began as: a copy of the turns of another that stand before a position."""

    debate: str
    position: int

    def __str__(self) -> str:
        turns = "the first turn" if self.position == 1 else f"the first {self.position} turns"
        return f"forked from {self.debate} after {turns}" if self.position else f"run again after {self.debate}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A debate as the store keeps it, without its turns."""

    id: str
    format: str
    format_version: int
    topic: str
    settings: JsonObject
    seats: Mapping[str, SeatSettings]
    created_at: float
    status: Status = Status.CREATED
    stop_reason: str | None = None
    error: str | None = None
    outcome: JsonObject | None = None
    finished_at: float | None = None
    run: int = 0
    owner: str | None = None
    lease_until: float | None = None
    concluding: bool = False
    tries_from: int = 0
    """Only attempts of later runs count against what may fail."""
    origin: Origin | None = None
    restated: str = ""
    """The question as its turns restate it, where those were read."""
    unreadable: str = ""
    """Why it cannot be read whole, if so; it can be looked at then, and no more."""

    @property
    def title(self) -> str:
        """The question: as it was restated, where it had to be clarified, or as it was asked."""
        restated = (self.outcome or {}).get("title")
        return (restated if isinstance(restated, str) and restated.strip() else self.restated) or self.topic

    @property
    def language(self) -> Language:
        return language_of(self.topic, str(self.settings.get("language") or ""))

    @property
    def copied(self) -> int:
        """How many of its turns it took over; another debate has paid for them."""
        return self.origin.position if self.origin else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An attempt at a step that failed, with the text that had arrived; kept beside the turns."""

    position: int
    seat: str
    kind: str
    round: int | None
    partial: str
    code: str
    message: str
    at: float
    run: int = 0


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")

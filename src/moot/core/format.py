"""The contract of a format: its rules, and all that the rest of moot needs to know about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeAlias

from pydantic import ValidationError

from moot.core.debate import Outcome, Point, Record, Seat, Turn
from moot.core.script import Debate, O_co, S, Script
from moot.errors import ScriptChanged

USE_ITS_VERSION = "run it with the version of the format that began it"


def _no_titles(debate: Debate[Any]) -> Mapping[str, str]:
    return {}


def _no_notes(debate: Debate[Any], turn: Turn) -> tuple[str, ...]:
    return ()


def _speeches(debate: Debate[Any]) -> Iterable[Point]:
    """Everything the models said, for and against nothing in particular."""
    return (Point.spoken(turn) for turn in debate.transcript if turn.seat in debate.seats)


@dataclass(frozen=True, slots=True)
class Format(Generic[S, O_co]):
    """The rules of one kind of debate, and all that the rest of moot needs to know about it."""

    name: str
    version: int
    summary: str
    settings: type[S]
    seats: tuple[Seat, ...]
    outcome: type[O_co]
    script: Callable[[Debate[S]], Script[O_co]]
    folder: Path
    """Where its prompt files are, `rules.md` and one `<kind>.md` for each kind."""
    titles: Callable[[Debate[S]], Mapping[str, str]] = _no_titles
    """How readers call the seats that are cast while the debate runs; those it leaves out keep their own title."""
    notes: Callable[[Debate[S], Turn], tuple[str, ...]] = _no_notes
    """What code has to say about a turn, from the turns before it; readers see it below the turn."""
    points: Callable[[Debate[S]], Iterable[Point]] = _speeches
    """What an argument map of a debate shows."""
    bare_models: bool = False
    """Whether `model_<group>` may name a model without its provider: it is the usual one's then."""

    def seat(self, name: str) -> Seat:
        return next(seat for seat in self.seats if seat.name == name)

    def title(self, seat: str, debate: Debate[S] | None = None) -> str:
        """How readers call a seat, those outside the format (clock, human) included."""
        if debate and (given := self.titles(debate).get(seat)):
            return given
        return next((declared.title for declared in self.seats if declared.name == seat), seat.capitalize())

    def open(self, record: Record) -> Debate[S]:
        """The debate as its script sees it before the first step."""
        try:
            settings = self.settings.model_validate(record.settings)
        except ValidationError as error:
            fields = ", ".join(".".join(map(str, fault["loc"])) for fault in error.errors())
            raise ScriptChanged(
                f"{self.name} version {self.version} cannot take the {fields} of {record.id}; {USE_ITS_VERSION}"
            ) from None
        return Debate(record.id, record.topic, settings, record.seats)


AnyFormat: TypeAlias = Format[Any, Outcome]

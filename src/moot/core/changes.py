"""Settings that a person has changed on the way: a turn that says so, read by the replay where it stands. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from moot.core.record import JsonObject, Record, Seats, SeatSettings, Turn
from moot.errors import ScriptChanged

if TYPE_CHECKING:
    from moot.core.script import Debate

SETTINGS = ("human", "settings")
"""A turn that answers no step: from there on the debate has other settings, and seats other models."""
ASKED_AT = "asked_at"


class Change(NamedTuple):
    """What is different from a turn on, each with its whole new value."""

    settings: JsonObject
    seats: Mapping[str, SeatSettings]

    @classmethod
    def of(cls, turn: Turn) -> Change:
        data: Any = turn.data or {}
        return cls(data["settings"], {name: SeatSettings(**chosen) for name, chosen in data["seats"].items()})

    def as_json(self) -> JsonObject:
        return {"settings": self.settings, "seats": {name: asdict(chosen) for name, chosen in self.seats.items()}}

    def without(self, settings: Collection[str], seats: Collection[str]) -> Change:
        return Change(
            {name: value for name, value in self.settings.items() if name not in settings},
            {name: chosen for name, chosen in self.seats.items() if name not in seats},
        )


class Wish(NamedTuple):
    """A change that was asked for while the debate ran: the turn that its run is to make of it."""

    content: str
    data: JsonObject
    at: float = 0.0

    @property
    def turn_data(self) -> JsonObject:
        return {**self.data, ASKED_AT: self.at}


def heard_wishes(turns: Iterable[Turn]) -> set[float]:
    """When those were wanted that have become turns, here or in the debate that a fork began as."""
    found = ((turn.data or {}).get(ASKED_AT) for turn in turns if is_change(turn))
    return {at for at in found if isinstance(at, float)}


def is_change(turn: Turn) -> bool:
    return (turn.seat, turn.kind) == SETTINGS


def current(record: Record, turns: Iterable[Turn]) -> Record:
    """A debate with the settings it has by now; the stored record keeps those it began with."""
    for change in (Change.of(turn) for turn in turns if is_change(turn)):
        record = replace(
            record, settings={**record.settings, **change.settings}, seats={**record.seats, **change.seats}
        )
    return record


def apply(turn: Turn, debate: Debate[Any]) -> None:
    """Change the settings in place: a script may have them in a variable. Applied twice it is the same."""
    from pydantic import ValidationError

    change, settings = Change.of(turn), debate.settings
    try:
        new = type(settings).model_validate({**settings.model_dump(mode="json"), **change.settings})
    except ValidationError:
        raise ScriptChanged(f"the settings that turn {turn.position} of {debate.id} chose are not known here") from None
    for name in change.settings:
        setattr(settings, name, getattr(new, name))
    debate.seats = Seats({**debate.seats, **change.seats})

"""Rows as what they stand for: what this version cannot read of one is left out and said, and harms no other."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple, TypeVar

import orjson

from moot.core.changes import Wish
from moot.core.notices import Notice
from moot.core.people import Rating, Tick, Workflow
from moot.core.record import Failure, JsonObject, Origin, Record, SeatSettings, Status, Turn
from moot.core.stored import StoredDebate
from moot.core.usage import NO_USAGE, Usage
from moot.store.database import Row

log = logging.getLogger(__name__)

T = TypeVar("T")

LATEST = 253_402_214_400.0
"""The end of the year 9999, behind which there is no date."""


class Cursor(NamedTuple):
    """Where a page of a list ended: at this debate."""

    created_at: float
    id: str


class Summary(NamedTuple):
    """A debate as lists show it: its record, and the sums over what else is stored of it."""

    record: Record
    turns: int
    usage: Usage
    stars: int | None
    workflow: str | None
    """The id of the issue made of it."""
    done: int
    """How many of its next steps are ticked."""


def record_from(row: Row) -> Record:
    """A debate; one that cannot be read whole is shown as failed, and says so."""
    unread: list[str] = []
    origin = None
    if row["origin_debate"] is not None:
        origin = Origin(row["origin_debate"], _or_note(_INT, row, "origin_position", unread))
    return _without(read(Record, row, unread, origin=origin, restated="", unreadable=""), unread)


def stored_from(record: Record, whole: Row) -> StoredDebate:
    unread: list[str] = []
    ratings = [read(Rating, row) for row in whole["ratings"]]
    workflows = [read(Workflow, row) for row in whole["workflows"]]
    turns = tuple(read(Turn, row, unread) for row in whole["turns"])
    return StoredDebate(
        _without(record, unread),
        turns,
        tuple(read(Failure, row) for row in whole["failures"]),
        ratings[0] if ratings else None,
        workflows[0] if workflows else None,
        tuple(read(Notice, row) for row in whole["deliveries"]),
        tuple(read(Tick, row) for row in whole["ticks"]),
    )


def summary_from(row: Row) -> Summary:
    record, usage = with_usage(record_from(row), row["usages"])
    return Summary(record, row["turns"], usage, row["stars"], row["workflow"], row["done"])


def with_usage(record: Record, usages: str | None) -> tuple[Record, Usage]:
    """A debate and the sum of the usages of its turns, which were put together with commas."""
    try:
        return record, sum((_whole(Usage, each) for each in orjson.loads(f"[{usages or ''}]")), NO_USAGE)
    except _UNREADABLE:
        return _without(record, ["usage"]), NO_USAGE


def wish_from(row: Row) -> Wish | None:
    """A change that is wanted; none where that cannot be read."""
    try:
        known = orjson.loads(row["text"])
        return Wish(known["content"], known["data"], row["at"])
    except (*_UNREADABLE, KeyError):
        _log_once(_id_of(row), "change of settings")
        return None


def outcome_from(row: Row) -> JsonObject | None:
    """Only the outcome; None where there is none, or it cannot be read."""
    try:
        found: JsonObject = _is(dict, orjson.loads(row["outcome"]))
        return found
    except _UNREADABLE:
        return None


def status_from(text: str) -> Status:
    """A status; that of another version counts as failed, as its debate does."""
    try:
        return Status(text)
    except ValueError:
        return Status.FAILED


def read(kind: Callable[..., T], row: Row, unread: list[str] | None = None, /, **others: object) -> T:
    """A dataclass of a row's columns, but for those fields that are stored in another way; `unread` gets the names of
    columns that cannot be read.
    """
    columns = ((name, column) for name, column in _columns(kind) if name not in others)
    return kind(**{name: _or_note(column, row, name, unread) for name, column in columns}, **others)


def _or_note(column: _Column, row: Row, name: str, unread: list[str] | None) -> Any:
    try:
        return column.read(row[name])
    except _UNREADABLE:
        _log_once(_id_of(row), name)
        if unread is not None and name != "outcome":  # whose reader says that it cannot be read
            unread.append(name)
        return column.instead(row[name])


def _without(record: Record, unread: list[str]) -> Record:
    if not unread:
        return record
    what = ", ".join(dict.fromkeys(unread))
    why = f"its {what} cannot be read: use the version of moot that wrote it, or mend its row in the database"
    return replace(record, status=Status.FAILED, error=why, unreadable=why)


def _id_of(row: Row) -> str:
    try:
        return str(row["debate_id"])
    except LookupError:
        return str(row["id"])


@lru_cache(1000)
def _log_once(debate_id: str, column: str) -> None:
    log.warning("%s: its %s cannot be read; another version has written it, or it is damaged", debate_id, column)


# Columns

_UNREADABLE = (ValueError, TypeError, AttributeError)


class _Column(NamedTuple):
    read: Callable[[Any], Any]
    instead: Callable[[Any], Any] = lambda value: None


@cache
def _columns(kind: Any) -> tuple[tuple[str, _Column], ...]:
    return tuple((field.name, _COLUMNS.get(str(field.type), _AS_IT_IS)) for field in fields(kind))


def _whole(kind: Callable[..., T], values: Mapping[str, Any]) -> T:
    """A dataclass of JSON, all of which it has to know."""
    known = dict(_columns(kind))
    return kind(**{name: known[name].read(value) if name in known else value for name, value in values.items()})


def _is(kind: type, value: T) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"{type(value)} is not {kind}")
    return value


def _number(value: Any) -> float:
    if not 0.0 <= float(value) <= LATEST:  # as all times, temperatures and costs are
        raise ValueError(value)
    return float(value)


def _nearest(value: object) -> float:
    """Where a list sorts it."""
    return 0.0 if isinstance(value, int | float) and value < 0 else LATEST


def _object(text: str) -> Any:
    value = orjson.loads(text)
    return value if isinstance(value, dict) else {"stored": value}  # which no version of moot has written


def _or_none(column: _Column) -> _Column:
    return column._replace(read=lambda value: None if value is None else column.read(value))


def _seats(text: str) -> dict[str, SeatSettings]:
    return {seat: _whole(SeatSettings, chosen) for seat, chosen in orjson.loads(text).items()}


_AS_IT_IS = _Column(lambda value: value)
_TEXT = _Column(partial(_is, str), lambda value: "")
_INT = _Column(partial(_is, int), lambda value: 0)
_OBJECT = _Column(_object, lambda value: {"stored": str(value)})
_COLUMNS = {
    "str": _TEXT,
    "str | None": _or_none(_TEXT),
    "int": _INT,
    "int | None": _or_none(_INT),
    "bool": _Column(bool),  # which SQLite has none of
    "float": _Column(_number, _nearest),
    "float | None": _or_none(_Column(_number)),
    "Status": _Column(Status, status_from),
    "JsonObject": _Column(lambda text: _is(dict, orjson.loads(text)), lambda value: {}),
    "JsonObject | None": _or_none(_OBJECT),
    "Mapping[str, SeatSettings]": _Column(_seats, lambda value: {}),
    "Usage": _Column(lambda text: _whole(Usage, orjson.loads(text)), lambda value: NO_USAGE),
    "tuple[str, ...]": _Column(
        lambda text: tuple(_is(str, mark) for mark in _is(list, orjson.loads(text))), lambda value: ()
    ),
}

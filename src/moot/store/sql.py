"""The SQL files and the rows: what both databases share. Knows no connection and runs nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import orjson

from moot.core.debate import NO_USAGE, Failure, Origin, Rating, Record, SeatSettings, Status, Turn, Usage, Workflow
from moot.core.notices import Notice
from moot.core.stored import StoredDebate
from moot.errors import SchemaTooNew
from moot.store.database import Parameter, Parameters, Row

Dialect: TypeAlias = Literal["sqlite", "postgres"]
T = TypeVar("T")

FOLDER = Path(__file__).parent


class Query(NamedTuple):
    """A statement; `names` tells which parameter each $n of Postgres is."""

    sql: str
    names: tuple[str, ...] = ()

    def arguments(self, parameters: Parameters) -> tuple[Parameter, ...]:
        return tuple(parameters[name] for name in self.names)


class Migration(NamedTuple):
    version: int
    sql: str


@cache
def queries(dialect: Dialect) -> Mapping[str, Query]:
    """The statements of queries.sql by name."""
    text = _for_dialect((FOLDER / "queries.sql").read_text("utf-8"), dialect)
    parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)[1:]
    read = numbered if dialect == "postgres" else Query
    return {name: read(sql.strip()) for name, sql in zip(parts[::2], parts[1::2], strict=True)}


def migrations(dialect: Dialect, version: int) -> tuple[Migration, ...]:
    """What is missing in a database of that version. Raises SchemaTooNew."""
    files = sorted((FOLDER / "migrations").glob("[0-9]*.sql"))
    newest = int(files[-1].name[:4])
    if version > newest:
        raise SchemaTooNew(
            f"the database has schema version {version}, made by a newer moot; this one knows versions up to {newest}. "
            "Upgrade moot or use another database; nothing was changed"
        )
    missing = ((int(file.name[:4]), file) for file in files if int(file.name[:4]) > version)
    return tuple(Migration(number, _for_dialect(file.read_text("utf-8"), dialect)) for number, file in missing)


_TOKEN = re.compile(r"'[^']*'|--[^\n]*|/\*.*?\*/|::|:([a-z_]+)", re.DOTALL)


def numbered(sql: str) -> Query:
    """Turn `:name` into Postgres's `$n`, but not in strings, comments and `::casts`."""
    numbers: dict[str, int] = {}

    def number(token: re.Match[str]) -> str:
        name = token[1]
        return f"${numbers.setdefault(name, len(numbers) + 1)}" if name else token[0]

    return Query(_TOKEN.sub(number, sql), tuple(numbers))


def _for_dialect(sql: str, dialect: Dialect) -> str:
    return re.sub(rf"/\*{dialect}\b(.*?)\*/", r"\1", sql, flags=re.DOTALL)


# Rows


def parameters_of(stored: object, /, **others: Parameter) -> dict[str, Parameter]:
    """The fields of a dataclass, but for those that are stored in another way."""
    return {field.name: getattr(stored, field.name) for field in fields(stored)} | others  # type: ignore[arg-type]


def debate_parameters(record: Record) -> dict[str, Parameter]:
    """What a new debate is stored with; a run sets the rest."""
    return {
        "id": record.id,
        "format": record.format,
        "format_version": record.format_version,
        "topic": record.topic,
        "search_text": record.topic.casefold(),
        "settings": to_json(record.settings),
        "seats": to_json(record.seats),
        "status": record.status.value,
        "origin_debate": record.origin.debate if record.origin else None,
        "origin_position": record.origin.position if record.origin else None,
    }


def turn_parameters(debate_id: str, turn: Turn) -> dict[str, Parameter]:
    data = None if turn.data is None else to_json(turn.data)
    json = {"data": data, "usage": to_json(turn.usage), "marks": to_json(turn.marks)}
    return parameters_of(turn, debate_id=debate_id, **json)


def list_parameters(
    limit: int,
    status: Status | None,
    format: str | None,
    words: str,
    after: tuple[float, str] | None,
    about: Sequence[str] = (),
) -> dict[str, Parameter]:
    """Which debates a list has, and behind which one it begins."""
    created_at, id = after or (None, None)
    found = {"pattern": pattern(words) if words else None, "about": to_json([*map(pattern, about)]) if about else None}
    return {"limit": limit, "status": status, "format": format, **found, "created_at": created_at, "id": id}


def pattern(words: str) -> str:
    """What `LIKE … ESCAPE '!'` finds these words with, as they stand and in any case."""
    return "%" + re.sub("[!%_]", r"!\g<0>", words.casefold()) + "%"


def read(kind: Callable[..., T], row: Row, /, **others: object) -> T:
    """A dataclass of a row's columns, but for those fields that are stored in another way."""
    values = {name: convert(row[name]) for name, convert in _columns(kind) if name not in others}
    return kind(**values, **others)


@cache
def _columns(kind: Any) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    # SQLite has no booleans, and JSON no floats that are whole.
    converts = {
        "bool": bool,
        "float": float,
        "float | None": lambda value: None if value is None else float(value),
    }
    return tuple((field.name, converts.get(str(field.type), lambda value: value)) for field in fields(kind))


def record_from(row: Row) -> Record:
    seats = {seat: SeatSettings(**chosen) for seat, chosen in orjson.loads(row["seats"]).items()}
    origin = None if row["origin_debate"] is None else Origin(row["origin_debate"], row["origin_position"])
    return read(
        Record,
        row,
        settings=orjson.loads(row["settings"]),
        seats=seats,
        status=Status(row["status"]),
        outcome=_object(row["outcome"]),
        origin=origin,
    )


def turn_from(row: Row) -> Turn:
    usage, marks = Usage(**orjson.loads(row["usage"])), tuple(orjson.loads(row["marks"]))
    return read(Turn, row, data=_object(row["data"]), usage=usage, marks=marks)


def usage_from(usages: str | None) -> Usage:
    """The sum of usages that were put together with commas."""
    return sum((Usage(**each) for each in orjson.loads(f"[{usages or ''}]")), NO_USAGE)


def stored_from(record: Record, whole: Row) -> StoredDebate:
    ratings = [read(Rating, row) for row in whole["ratings"]]
    workflows = [read(Workflow, row) for row in whole["workflows"]]
    return StoredDebate(
        record,
        tuple(map(turn_from, whole["turns"])),
        tuple(read(Failure, row) for row in whole["failures"]),
        ratings[0] if ratings else None,
        workflows[0] if workflows else None,
        tuple(read(Notice, row) for row in whole["deliveries"]),
    )


def to_json(value: object) -> str:
    return orjson.dumps(value).decode()


def _object(text: str | None) -> Any:
    if text is None:
        return None
    value = orjson.loads(text)
    return value if isinstance(value, dict) else {"stored": value}  # which no version of moot has written

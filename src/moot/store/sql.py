"""The SQL files and the rows: what both databases share. Knows no connection and runs nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import orjson

from moot.core.debate import (
    Failure,
    HumanReply,
    JsonObject,
    Origin,
    Rating,
    Record,
    SeatSettings,
    Status,
    Turn,
    Usage,
    Workflow,
)
from moot.core.notices import Notice
from moot.errors import SchemaTooNew

Dialect: TypeAlias = Literal["sqlite", "postgres"]
Parameter: TypeAlias = str | int | float | None
Parameters: TypeAlias = Mapping[str, Parameter]

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


class Row(Protocol):
    def __getitem__(self, column: str, /) -> Any: ...


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


def debate_parameters(record: Record) -> Parameters:
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


def pattern(words: str) -> str:
    """What `LIKE … ESCAPE '!'` finds these words with, as they stand and in any case."""
    return "%" + re.sub("[!%_]", r"!\g<0>", words.casefold()) + "%"


def turn_parameters(debate_id: str, turn: Turn) -> Parameters:
    return {
        "debate_id": debate_id,
        "position": turn.position,
        "seat": turn.seat,
        "kind": turn.kind,
        "round": turn.round,
        "content": turn.content,
        "data": None if turn.data is None else to_json(turn.data),
        "usage": to_json(turn.usage),
        "model": turn.model,
        "marks": to_json(turn.marks),
        "started_at": turn.started_at,
        "finished_at": turn.finished_at,
        "run": turn.run,
        "event_id": turn.event_id,
    }


def failure_parameters(debate_id: str, failure: Failure) -> Parameters:
    return {"debate_id": debate_id, **asdict(failure)}


def record_from(row: Row) -> Record:
    return Record(
        id=row["id"],
        format=row["format"],
        format_version=row["format_version"],
        topic=row["topic"],
        settings=orjson.loads(row["settings"]),
        seats={seat: SeatSettings(**chosen) for seat, chosen in orjson.loads(row["seats"]).items()},
        created_at=row["created_at"],
        status=Status(row["status"]),
        stop_reason=row["stop_reason"],
        error=row["error"],
        outcome=_object(row["outcome"]),
        finished_at=row["finished_at"],
        run=row["run"],
        owner=row["owner"],
        lease_until=row["lease_until"],
        concluding=bool(row["concluding"]),
        tries_from=row["tries_from"],
        origin=_origin(row),
    )


def _origin(row: Row) -> Origin | None:
    return None if row["origin_debate"] is None else Origin(row["origin_debate"], row["origin_position"])


def turn_from(row: Row) -> Turn:
    return Turn(
        position=row["position"],
        seat=row["seat"],
        kind=row["kind"],
        round=row["round"],
        content=row["content"],
        data=_object(row["data"]),
        usage=Usage(**orjson.loads(row["usage"])),
        model=row["model"],
        marks=tuple(orjson.loads(row["marks"])),
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        run=row["run"],
        event_id=row["event_id"],
    )


def failure_from(row: Row) -> Failure:
    return Failure(
        position=row["position"],
        seat=row["seat"],
        kind=row["kind"],
        round=row["round"],
        partial=row["partial"],
        code=row["code"],
        message=row["message"],
        at=row["at"],
        run=row["run"],
    )


def said_from(row: Row) -> HumanReply:
    return HumanReply(row["action"], row["text"], row["position"], row["at"])


def rating_from(row: Row) -> Rating:
    return Rating(row["stars"], row["comment"], row["at"])


def workflow_from(row: Row) -> Workflow:
    return Workflow(
        id=row["id"],
        title=row["title"],
        body=row["body"],
        created_at=row["created_at"],
        delivered=bool(row["delivered"]),
        attempts=row["attempts"],
        result=row["result"],
    )


def notice_parameters(notice: Notice) -> Parameters:
    """What a new notice is stored with; attempts set the rest."""
    return {
        "id": notice.id,
        "debate_id": notice.debate_id,
        "run": notice.run,
        "event": notice.event,
        "hook": notice.hook,
        "payload": notice.payload,
        "next_at": notice.next_at,
    }


def notice_from(row: Row) -> Notice:
    return Notice(**{field.name: row[field.name] for field in fields(Notice)})


def to_json(value: object) -> str:
    return orjson.dumps(value).decode()


def _object(text: str | None) -> JsonObject | None:
    return None if text is None else orjson.loads(text)

"""The SQL files and their parameters: what both databases share. Knows no connection and runs nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import orjson

from moot.core.changes import Wish
from moot.core.record import Record, Status, Turn
from moot.errors import SchemaTooNew
from moot.store.database import Parameter, Parameters

if TYPE_CHECKING:
    from moot.core.engine import RunResult

Dialect: TypeAlias = Literal["sqlite", "postgres"]

FOLDER = Path(__file__).parent


class Query(NamedTuple):
    """A statement; `names` tells which parameter each $n of Postgres is."""

    sql: str
    names: tuple[str, ...] = ()

    def arguments(self, parameters: Parameters) -> tuple[Parameter, ...]:
        return tuple(kept(parameters[name]) for name in self.names)


def kept(value: Parameter) -> Parameter:
    """The parameter as a Postgres takes it, to which no text has a NUL."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


class Migration(NamedTuple):
    version: int
    sql: str


@cache
def queries(dialect: Dialect) -> Mapping[str, Query]:
    """The statements of queries.sql by name."""
    text = _for_dialect((FOLDER / "queries.sql").read_text("utf-8"), dialect)
    parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)[1:]
    read = numbered if dialect == "postgres" else Query
    named = dict(zip(parts[::2], parts[1::2], strict=True))
    return {name: read(sql.strip()) for name, sql in {**named, **_of_list(named["list_debates"])}.items()}


def _of_list(listed: str) -> dict[str, str]:
    """The list from a place to its newer end, and how many it would have in all: under the same conditions."""
    newer = listed.replace("created_at < :created_at", "created_at > :created_at").replace("id > :id", "id < :id")
    found = listed[listed.index("FROM debates\nWHERE") : listed.index("ORDER BY created_at")]
    return {
        "list_newer": newer.replace("ORDER BY created_at DESC, id ", "ORDER BY created_at, id DESC "),
        "count_found": f"SELECT count(*) AS count {found}",
    }


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


# Parameters


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


def end_parameters(ending: RunResult) -> dict[str, Parameter]:
    """How a run ended; a debate is found by the words of its restated question and of its claims too."""
    found = [(ending.outcome or {}).get("title"), *_claimed((ending.outcome or {}).get("ledger"))]
    restated = "".join(f"\n{text.casefold()}" for text in found if isinstance(text, str) and text)
    outcome = None if ending.outcome is None else to_json(ending.outcome)
    return parameters_of(ending, outcome=outcome, restated=restated)


def _claimed(ledger: object) -> Iterator[object]:
    """The texts of claims and the words they were made in, each once."""
    claims = ledger.get("claims") if isinstance(ledger, dict) else None
    for claim in claims if isinstance(claims, list) else ():
        yield from dict.fromkeys([claim.get("text"), claim.get("quote")]) if isinstance(claim, dict) else ()


def turn_parameters(debate_id: str, turn: Turn) -> dict[str, Parameter]:
    data = None if turn.data is None else to_json(turn.data)
    json = {"data": data, "usage": to_json(turn.usage), "marks": to_json(turn.marks)}
    return parameters_of(turn, debate_id=debate_id, **json)


def wish_parameters(debate_id: str, wish: Wish) -> dict[str, Parameter]:
    text = to_json({"content": wish.content, "data": wish.data})
    return {"debate_id": debate_id, "position": None, "action": "change", "text": text, "who": ""}


def list_parameters(
    limit: int,
    status: Status | None,
    format: str | None,
    words: str,
    after: tuple[float, str] | None,
    about: Sequence[str],
    hidden: bool = False,
    at_rest: bool = False,
) -> dict[str, Parameter]:
    """Which debates a list has, and behind which one it begins."""
    created_at, id = after or (None, None)
    if created_at is not None and created_at <= 0.0:  # stands for any damaged time before 1970, which a list ends with
        created_at = -math.inf
    found = {"pattern": pattern(words) if words else None, "about": to_json([*map(pattern, about)]) if about else None}
    chosen: dict[str, Parameter] = {"status": status, "format": format, "hidden": hidden, "at_rest": at_rest}
    return {"limit": limit, **chosen, **found, "created_at": created_at, "id": id}


def pattern(words: str) -> str:
    """What `LIKE … ESCAPE '!'` finds these words with, as they stand and in any case."""
    return "%" + re.sub("[!%_]", r"!\g<0>", words.casefold()) + "%"


def to_json(value: object) -> str:
    return orjson.dumps(value).decode()

"""Many debates for data work: a file with one trace a line, and a manifest that says what is in it.

Written as a stream, one debate at a time. The folder appears whole or not at all, and never over anything; the same
debates make the same bytes.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import shutil
from collections import Counter
from collections.abc import AsyncIterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import orjson
from pydantic import TypeAdapter
from typing_extensions import TypedDict

from moot.core.debate import JsonObject, Status
from moot.core.record import iso
from moot.core.trace import Trace
from moot.errors import InvalidInput

DATA, MANIFEST = "debates.jsonl", "manifest.json"
VERSION = 2
"""Since 2, what has another shape in each format is text in a line, so that a column has one type."""
FREE = ("settings", "outcome")


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which debates are wanted; None stands for any."""

    status: Status | None = Status.FINISHED
    format: str | None = None
    since: float | None = None
    """Created at this time or later, in seconds since 1970."""


class Manifest(TypedDict):
    """What a bundle holds. `version` is raised when a field changes its meaning or goes."""

    version: int
    made_with: str
    file: str
    sha256: str
    bytes: int
    debates: int
    chosen: dict[str, str | None]
    statuses: dict[str, int]
    formats: dict[str, int]
    """Name and version → debates."""
    models: dict[str, int]
    """Name → debates in which it filled a seat."""
    trace_versions: dict[str, int]
    first_created_at: str | None
    last_created_at: str | None
    fields: JsonObject
    """The JSON schema of a line."""


async def write_bundle(folder: Path, traces: AsyncIterable[Trace], chosen: Chosen) -> Manifest:
    """Make a new folder, or fill an empty one, with these debates in their order."""
    try:
        being_made = await asyncio.to_thread(_begin, folder)
        try:
            tally = await _write_all(being_made / DATA, traces)
            manifest = _manifest(tally, chosen)
            await asyncio.to_thread(_finish, being_made, folder, manifest)
        except BaseException:
            shutil.rmtree(being_made)
            raise
    except OSError as error:
        raise InvalidInput(f"cannot write debates to {str(folder)!r}: {error.strerror}; name a new folder") from None
    return manifest


def moment(text: str) -> float:
    """A date or a time as people write it, in seconds since 1970; UTC unless it says otherwise."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"{text!r} is no date or time; write one like 2026-01-31 or 2026-01-31T18:00:00+01:00"
        ) from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


@dataclass(slots=True, kw_only=True)
class _Tally:
    """What was written so far."""

    digest: Any = field(default_factory=hashlib.sha256)
    size: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    formats: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    versions: Counter[str] = field(default_factory=Counter)
    first: str | None = None
    last: str | None = None

    def count(self, trace: Trace, line: bytes) -> None:
        self.digest.update(line)
        self.size += len(line)
        self.statuses[str(trace["status"])] += 1
        self.formats[f"{trace['format']} {trace['format_version']}"] += 1
        self.models.update(set(trace["models"].values()))
        self.versions[str(trace["version"])] += 1
        at = trace["created_at"]
        self.first, self.last = min(self.first or at, at), max(self.last or at, at)


async def _write_all(path: Path, traces: AsyncIterable[Trace]) -> _Tally:
    tally = _Tally()
    with await asyncio.to_thread(path.open, "xb") as file:
        async for trace in traces:
            line = orjson.dumps(_line(trace), option=orjson.OPT_APPEND_NEWLINE)
            tally.count(trace, line)
            await asyncio.to_thread(file.write, line)
        await asyncio.to_thread(_sync, file)
    return tally


def _line(trace: Trace) -> dict[str, Any]:
    """A trace whose free parts are JSON in a text: tools that read columns want one type for each."""
    whole: dict[str, Any] = {**trace}
    turns = [{**turn, "data": _text(turn["data"])} for turn in trace["turns"]]
    return whole | {name: _text(whole[name]) for name in FREE} | {"turns": turns}


def _text(part: JsonObject | None) -> str | None:
    return None if part is None else orjson.dumps(part).decode()


def _fields() -> JsonObject:
    """The JSON schema of a line."""
    schema: dict[str, Any] = TypeAdapter(Trace).json_schema()
    text = {"anyOf": [{"type": "string", "contentMediaType": "application/json"}, {"type": "null"}]}
    schema["properties"] |= dict.fromkeys(FREE, text)
    schema["$defs"]["TurnTrace"]["properties"]["data"] = text
    return schema


def _manifest(tally: _Tally, chosen: Chosen) -> Manifest:
    return {
        "version": VERSION,
        "made_with": f"moot {version('moot')}",
        "file": DATA,
        "sha256": tally.digest.hexdigest(),
        "bytes": tally.size,
        "debates": tally.statuses.total(),
        "chosen": {
            "status": chosen.status and chosen.status.value,
            "format": chosen.format,
            "since": None if chosen.since is None else iso(chosen.since),
        },
        "statuses": _sorted(tally.statuses),
        "formats": _sorted(tally.formats),
        "models": _sorted(tally.models),
        "trace_versions": _sorted(tally.versions),
        "first_created_at": tally.first,
        "last_created_at": tally.last,
        "fields": _fields(),
    }


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items()))


def _begin(folder: Path) -> Path:
    """A hidden folder beside the one that is wanted."""
    if folder.is_dir() and any(folder.iterdir()):
        raise InvalidInput(f"{str(folder)!r} is not empty; name a new folder for the debates")
    beside = folder.absolute().parent
    beside.mkdir(parents=True, exist_ok=True)
    made = beside / f".{folder.name}.{secrets.token_hex(4)}"
    made.mkdir()
    return made


def _finish(being_made: Path, folder: Path, manifest: Manifest) -> None:
    """Give the folder its name, which only works while there is nothing under it."""
    with (being_made / MANIFEST).open("xb") as file:
        file.write(orjson.dumps(manifest, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
        _sync(file)
    being_made.rename(folder)


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())

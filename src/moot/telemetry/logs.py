"""The log of a server or a worker: one line for each event, as JSON or as text, that says which debate it is about.

Whatever a line holds, no secret of the environment or the settings is in it, and no character that steers a terminal.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from moot.telemetry.log_context import About, here
from moot.text.plain import hiding, secrets_of

if TYPE_CHECKING:
    from moot.settings import AppSettings

FIELDS = (
    "debate",
    "run",
    "format",
    "seat",
    "kind",
    "round",
    "position",
    "status",
    "reason",
    "duration_ms",
    "provider",
    "model",
    "input_tokens",
    "output_tokens",
    "code",
    "error",
    "retry_in",
    "running",
    "concurrency",
)
"""What a line may say beside its event; whatever else a library adds to its records stays out."""


def begin(settings: AppSettings, environ: Mapping[str, str], worker: str) -> None:
    """Write the log to stderr where the settings want that; otherwise leave it where it is."""
    if settings.log == "file":
        return
    hide = hiding(secrets(settings, environ))
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines({"worker": worker}, hide) if settings.log == "json" else TextLines(hide))
    logging.basicConfig(handlers=[handler], level=settings.log_level.upper(), force=True)
    if settings.log_level != "debug":
        logging.getLogger("asyncpg").setLevel(logging.ERROR)  # that the database is away we say ourselves, and once


class JsonLines(logging.Formatter):
    """One JSON object in each line, all of it ASCII."""

    def __init__(self, always: About, hide: Callable[[str], str]) -> None:
        super().__init__()
        self._always = always
        self._hide = hide

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "logger": record.name,
            **self._always,
            **_about(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return self._hide(json.dumps(line, default=str))


class TextLines(logging.Formatter):
    """A line to read: when, how bad, what, and what about; only a traceback takes more than one."""

    def __init__(self, hide: Callable[[str], str]) -> None:
        super().__init__()
        self._hide = hide

    def format(self, record: logging.LogRecord) -> str:
        event = record.getMessage().replace("\n", " ")
        about = "".join(f" {name}={json.dumps(value, ensure_ascii=False)}" for name, value in _about(record).items())
        text = f"{_time(record)} {record.levelname} {event}{about}"
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return _plain(self._hide(text))


def secrets(settings: AppSettings, environ: Mapping[str, str]) -> Iterator[str]:
    """What must never be read in a log."""
    if settings.token:
        yield settings.token.get_secret_value()
    yield from secrets_of(environ)
    try:
        password = urlsplit(settings.database_url).password or ""
    except ValueError:  # it names no server, so there is no password for one
        return
    yield from {password, unquote(password)}


def _about(record: logging.LogRecord) -> dict[str, object]:
    given = {**here(), **vars(record)}
    return {name: given[name] for name in FIELDS if given.get(name) is not None}


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _plain(text: str) -> str:
    """Text whose invisible characters are written out, so that none of them can do anything."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter == "\n" else f"\\u{ord(letter):04x}" for letter in text)

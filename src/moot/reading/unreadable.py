"""What can still be read of a debate whose format has changed since, or is not installed any more. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from pydantic import model_validator

from moot.core.debate import JsonObject, Outcome, Record, Seat, Settings
from moot.core.format import USE_ITS_VERSION, AnyFormat, Format
from moot.core.replay import CHANGED, log_fault
from moot.core.script import Debate
from moot.core.table import Rows
from moot.errors import ScriptChanged

UNREADABLE = "The outcome was written by another version of the format and cannot be read"


class UnreadableOutcome(Outcome):
    """Stands for an outcome of any shape: says that it cannot be read, and keeps the texts that most have."""

    summary: str = ""
    stored_headline: str = ""

    @model_validator(mode="before")
    @classmethod
    def _texts(cls, stored: JsonObject) -> JsonObject:
        texts = {name: value for name, value in stored.items() if isinstance(value, str)}
        return {"summary": texts.get("summary", ""), "stored_headline": texts.get("headline", "")}

    def headline(self) -> str:
        return f"{self.stored_headline} ({UNREADABLE})" if self.stored_headline else UNREADABLE

    def table(self) -> Rows:
        return ()


def read_outcome(record: Record, format: AnyFormat) -> Outcome | None:
    if record.outcome is None:
        return None
    try:
        outcome = format.outcome.model_validate(record.outcome)
        _ = outcome.headline(), outcome.table()
    except CHANGED as error:
        log_fault(record.id, error)
        return UnreadableOutcome.model_validate(record.outcome)
    return outcome


def format_of(formats: Mapping[str, AnyFormat], record: Record) -> AnyFormat:
    """The format to read a debate with: its own, or one that knows no more than what is stored."""
    if record.format in formats:
        return formats[record.format].as_of(record.format_version)
    return Format(
        name=record.format,
        version=record.format_version,
        summary="",
        settings=_AnySettings,
        seats=tuple(
            Seat(name, name.replace("_", " ").capitalize(), name, max_tokens=chosen.max_tokens)
            for name, chosen in record.seats.items()
        ),
        outcome=UnreadableOutcome,
        script=_no_script,
        folder=Path(),
    )


class _AnySettings(Settings, extra="allow"):
    pass


def _no_script(debate: Debate[Any]) -> NoReturn:
    raise ScriptChanged(f"the format of {debate.id} is not installed; {USE_ITS_VERSION}")

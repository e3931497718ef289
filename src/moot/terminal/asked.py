"""A debate as the command line describes it: the words and options it was asked for with."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import orjson
from pydantic import JsonValue
from rich.console import Console

from moot.app import App
from moot.core.format import AnyFormat
from moot.errors import InvalidInput
from moot.formats import find
from moot.terminal.tables import say


class Asked(NamedTuple):
    """A debate as the command line describes it."""

    question: str | None
    format: str
    options: Mapping[str, JsonValue]
    model_for: Sequence[str]
    set: Sequence[str]
    sources: Sequence[str] = ()
    unattended: bool = False
    """Whether no person is to be asked."""

    def topic(self) -> str:
        if self.question is None:
            raise InvalidInput("nothing to debate: give a QUESTION, --resume ID or --list (moot debate --help)")
        return self.question

    async def in_format(self, app: App) -> Asked:
        """In the usual format where none was named."""
        return self if self.format else self._replace(format=await app.drafts.usual_format(self._given()))

    def _given(self) -> dict[str, JsonValue]:
        options = {name: value for name, value in self.options.items() if value is not None}
        return options | dict(map(_key_value, self.set))

    async def settings(self, formats: Mapping[str, AnyFormat]) -> dict[str, JsonValue]:
        return await asyncio.to_thread(self._settings, formats)  # sources may be long

    def _settings(self, formats: Mapping[str, AnyFormat]) -> dict[str, JsonValue]:
        chosen: dict[str, JsonValue] = dict(find(formats, self.format).unattended) if self.unattended else {}
        chosen |= self._given()
        if self.model_for:
            chosen["models"] = dict(map(_pair, self.model_for))
        if self.sources:
            chosen["sources"] = self._read_sources()
        return chosen

    def _read_sources(self) -> list[JsonValue]:
        """What is left out is said on stderr."""
        from moot.retrieval.sources import read_all

        read = read_all(self.sources)
        if read.left_out:
            say(Console(stderr=True), read.left_out, "yellow")
        return [source.model_dump() for source in read.sources]


def _key_value(text: str) -> tuple[str, JsonValue]:
    """KEY=VALUE, the value read as JSON where it is JSON."""
    key, value = _pair(text)
    with suppress(orjson.JSONDecodeError):
        return key, orjson.loads(value)
    return key, value


def _pair(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    if not key or not value:
        raise InvalidInput(f"{text!r} is not of the form KEY=VALUE")
    return key, value

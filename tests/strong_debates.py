"""Debates of a strong model, sincere and dishonest: played again as they were recorded, or in the same words by the
rules of today. The files are in tests/strong: recordings of version 1, and the words of later debates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
from pydantic import JsonValue

from moot.app import build
from moot.core.debate import JsonObject
from moot.llm.recording import Recording
from moot.settings import AppSettings

FOLDER = Path(__file__).parent / "strong"


def calls(name: str) -> Iterator[dict[str, Any]]:
    return (call for line in (FOLDER / name).read_bytes().splitlines() if "request" in (call := orjson.loads(line)))


def words(name: str) -> list[str]:
    """What the model said, call by call."""
    return [call["completion"]["text"] or "".join(text for _, text in call["chunks"]) for call in calls(name)]


def spoken(name: str) -> tuple[str, list[str]]:
    """The topic of a debate that is kept as its words alone, and what was said, call by call."""
    kept = orjson.loads((FOLDER / name).read_bytes())
    return kept["topic"], kept["replies"]


async def replayed(name: str, format: str, topic: str, settings: Mapping[str, JsonValue], folder: Path) -> JsonObject:
    """The outcome of a recorded debate, asked for exactly as it was then, or `NotRecorded` is raised."""
    first = next(calls(name))
    model = f"{first['provider']}#{first['request']['model']}"
    stored = AppSettings(database_url=f"sqlite:///{folder}/moot.db")
    async with build(stored, {}, tape=Recording.load(FOLDER / name)) as app:
        record = await app.create(format, topic, {"model": model, **settings})
        ending = await app.run(record.id, lambda event: None)
        assert ending.outcome is not None, ending.error
        return ending.outcome

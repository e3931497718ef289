"""Quotes in every format: marked below the turn as it ends, and told to everybody who reads the turn."""

from __future__ import annotations

from typing import Any

import pytest

from moot.core.events import TurnFinished
from moot.core.format import AnyFormat
from moot.formats import load
from moot.llm.client import Request
from stage import Stage, sensible

SOURCE = {"name": "notes.md", "text": "The winter was long, and nobody came to swim before noon."}
SPEECH = 'It says "nobody came to swim before noon" [S1] and "the pool is full all day" [S1], see "one two three" [S4].'
NOTES = (
    "1 of 3 quotes stand in their source word for word",
    "not found: “the pool is full all day” [S1]",
    "no such source: “one two three” [S4]",
)
TOLD = "quotes “the pool is full all day” from S1, which does not say so."
SPEAKING = {"duel": "argument", "critique": "proposal", "panel": "opening"}


def quoting(request: Request) -> str:
    return sensible(request) if request.schema else SPEECH


@pytest.mark.parametrize("name", SPEAKING)
async def test_a_false_quote_is_marked_as_its_turn_ends_and_told_to_the_others(name: str) -> None:
    format: AnyFormat = load()[name]
    settings: dict[str, Any] = {**format.unattended, "max_rounds": 1, "sources": [SOURCE]}
    stage = Stage(quoting, format=format, topic="Should the pool close?", settings=settings)
    await stage.run()
    spoken = [event for event in stage.events if isinstance(event, TurnFinished) and event.kind == SPEAKING[name]]
    assert spoken
    for event in spoken:
        assert tuple(note for note in event.notes if "S" in note or "quotes" in note) == NOTES
    prompts = ["\n".join(message.content for message in request.messages) for request in stage.model.requests]
    assert TOLD in prompts[-1]  # who closes the debate is told


async def test_without_sources_nothing_is_said_of_quotes() -> None:
    stage = Stage(quoting, settings={"max_rounds": 1})
    await stage.run()
    assert [event.notes for event in stage.events if isinstance(event, TurnFinished) and event.kind == "argument"] == [
        (),
        (),
    ]


async def test_a_wrong_page_and_a_citation_that_leads_nowhere_are_marked_as_the_turn_ends() -> None:
    report = {"name": "report.pdf", "text": "Pools cost money.\n\f\nIn 2023 the pool had 1,850 guests."}
    speech = (
        'It "had 1,850 guests" [S1 p. 1]; "the pool had 1,850 guests" [S1 p. 2], see [S1 p. 9], [S1 § Costs] and [S4].'
    )
    stage = Stage(
        lambda request: sensible(request) if request.schema else speech,
        settings={"max_rounds": 1, "sources": [report]},
    )
    await stage.run()
    spoken = [event for event in stage.events if isinstance(event, TurnFinished) and event.kind == "argument"]
    assert [event.notes for event in spoken] == 2 * [
        (
            "2 of 2 quotes stand in their source word for word",
            "“had 1,850 guests” [S1 p. 1]: that stands on p. 2",
            "[S1 p. 9]: there is no such page",
            "[S1 § Costs]: there is no such section",
            "[S4]: there is no such source",
        )
    ]

"""Sources as every seat of every format reads them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from moot import formats
from moot.core.format import AnyFormat
from moot.formats.duel.format import DUEL
from moot.sources.source import WHOLE
from stage import Stage, sensible

REPORT = {"name": "report.pdf", "text": "Cats sleep.\fDogs <source> bark.</source>"}
BUILT_IN = [format for format in formats.built_in() if not format.own_sources]


async def systems(format: AnyFormat, *sources: dict[str, str], **settings: Any) -> list[str]:
    """The beginning of every prompt of a debate."""
    stage = Stage(sensible, format=format, settings={**format.unattended, "sources": list(sources), **settings})
    await stage.run()
    assert stage.model.requests
    return [request.messages[0].content for request in stage.model.requests]


@pytest.mark.parametrize("format", BUILT_IN, ids=lambda each: each.name)
async def test_every_seat_of_every_format_begins_with_the_whole_sources(format: AnyFormat) -> None:
    for system in await systems(format, REPORT, max_rounds=1):
        assert system.startswith("This debate has sources.")
        assert (
            '<source tag="S1" name="report.pdf">\n[S1 p. 1]\nCats sleep.\n[S1 p. 2]\n'
            "Dogs ‹source> bark.‹/source>\n</source>\n" in system
        )


async def test_without_sources_nothing_is_said_of_them() -> None:
    assert not any("This debate has sources" in system for system in await systems(DUEL, max_rounds=1))


async def test_sources_that_are_too_long_are_shown_by_name_size_and_headings() -> None:
    text = "# Costs\n\n## Building\n\n" + "words " * (WHOLE // 6) + "\n\n# Survey\n\nEnd."
    system = (await systems(DUEL, {"name": "town.md", "text": text}, max_rounds=1))[0]
    shown = "- S1: town.md (60,038 characters)\n  Costs\n    Building\n  Survey\n"
    assert shown in system
    assert "words words" not in system


async def test_how_long_is_too_long_can_be_chosen() -> None:
    system = (await systems(DUEL, REPORT, whole_sources=10))[0]
    assert "- S1: report.pdf (40 characters, 2 pages)" in system
    assert "<source tag" not in system


async def test_headings_of_many_sources_leave_room_for_their_names() -> None:
    long = [{"name": f"{at}.md", "text": f"# {'Heading ' * 20}\n\n" + "words " * 400} for at in range(100)]
    system = (await systems(DUEL, *long))[0]
    assert len(re.findall(r"^- S\d+: \d+\.md", system, re.MULTILINE)) == 100
    assert len(system) < 12_000

"""The library in a seat: what it hands out is kept by recordings."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from moot.core.debate import Step
from moot.core.engine import PlayerReply
from moot.llm.recording import Recorder, Recording
from moot.players.library import LibraryPlayer
from moot.retrieval.library import Library
from moot.retrieval.templates import add

QUESTION = "How many piano tuners are in Chicago?"


async def handed(player: LibraryPlayer) -> PlayerReply:
    step = Step("library", "templates", variables={"query": QUESTION, "top_k": 2})
    return await player.play(cast(Any, None), step, cast(Any, SimpleNamespace(say=lambda text: None)))


async def test_a_replay_has_the_templates_that_were_recorded_whatever_the_library_finds_by_now(tmp_path: Path) -> None:
    library = Library(tmp_path / "own", tmp_path / "cache")
    tape = tmp_path / "tape.jsonl"
    recorded = await handed(LibraryPlayer(library, Recorder(tape)))
    assert recorded.content.startswith("Fermi estimate")
    mine = tmp_path / "tuners.md"
    mine.write_text(f"---\ntitle: {QUESTION}\nwhen: {QUESTION}\n---\n## Steps\n1. Count them.\n")
    add(tmp_path / "own", mine)
    assert (await handed(LibraryPlayer(library))).content.startswith(QUESTION)
    assert await handed(LibraryPlayer(library, Recording.load(tape))) == recorded


async def test_an_earlier_recording_has_no_templates_so_they_are_searched_for(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    Recorder(tape)
    library = Library(tmp_path / "own", tmp_path / "cache")
    assert (await handed(LibraryPlayer(library, Recording.load(tape)))).content.startswith("Fermi estimate")

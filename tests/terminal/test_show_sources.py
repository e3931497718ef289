"""The sources of a debate in the terminal: what became of them, and their text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from in_process import moot
from model_server import ModelServer
from program import run
from replies import Request, answers, kind_of

TEXT = "The winter was long.\nNobody came to swim before noon, in none of its weeks.\n"
SPEECH = 'It says "nobody came to swim before noon" [S1], "all was well" [S1], and [S7].'


def cited(request: Request) -> str:
    return answers(request) if kind_of(request) else SPEECH


@pytest.fixture
def debated(tmp_path: Path) -> str:
    Path("notes.md").write_text(TEXT)
    Path("unread.txt").write_text("Nothing of this is read.")
    with ModelServer(cited).running() as server:
        asked = ["debate", "Should the pool close?", "--max-rounds", "1", "--no-checkpoints", "--json"]
        ran = run(*asked, "--source", "notes.md", "--source", "unread.txt", "--model", server.model)
    assert ran.code == 0
    return str(ran.events[0]["debate"])


def test_a_debate_shows_what_became_of_its_sources_and_their_text(
    debated: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = moot(capsys, "show", debated).out
    assert "Cited: S1 notes.md\nNever used: S2 unread.txt\nCitations that lead nowhere: " in shown
    told = moot(capsys, "show", debated, "--sources").out
    assert "S1 notes.md (76 characters): cited, turn " in told
    assert "  “Nobody came to swim before noon” (turn " in told
    assert "“all was well” [S1] – the source does not say so" in told
    assert "[S7] – there is no such source" in told
    assert moot(capsys, "show", debated, "--source", "S1").out == TEXT
    whole = json.loads(moot(capsys, "show", debated, "--sources", "--json").out)
    assert [each["use"] for each in whole["sources"]] == ["cited", "unused"]
    assert json.loads(moot(capsys, "show", debated, "--json").out)["sources"] == whole
    assert json.loads(moot(capsys, "show", debated, "--source", "s1", "--json").out)["text"] == TEXT
    refused = moot(capsys, "show", debated, "--source", "S9")
    assert (refused.code, refused.err) == (1, f"moot: {debated} has no source S9; it has: S1, S2\n")

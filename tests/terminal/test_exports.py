"""Exports from the terminal: argument maps, and many debates at once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from in_process import moot
from moot.app import App, build
from moot.core.debate import Status
from moot.settings import AppSettings
from moot.testing import ScriptedModel
from stage import sensible


async def make(*formats: str) -> list[str]:
    """Finished debates of these formats, the newest last."""
    settings = AppSettings(model="scripted:model")
    async with build(settings, {}, {"scripted": ScriptedModel(sensible)}) as app:
        return [await finished(app, format) for format in formats]


async def finished(app: App, format: str) -> str:
    settings = {"checkpoints": False} if format == "panel" else {}
    record = await app.create(format, f"A topic for a {format}", {"max_rounds": 1, **settings})
    ending = await app.run(record.id, lambda event: None)
    assert ending.status is Status.FINISHED, ending
    return record.id


def lines(folder: Path) -> list[str]:
    return [json.loads(line)["id"] for line in (folder / "debates.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("format", ["duel", "panel", "critique", "evaluation"])
def test_a_debate_of_every_format_has_an_argument_map(capsys: pytest.CaptureFixture[str], format: str) -> None:
    (debate_id,) = asyncio.run(make(format))
    ran = moot(capsys, "export", debate_id, "--as", "argdown")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f'===\ntitle: "A topic for a {format}"\ndebate: "{debate_id}"\nformat: "{format}"\n')
    assert "\n  +> [" in ran.out


def test_many_debates_are_chosen_by_format_status_and_time(capsys: pytest.CaptureFixture[str]) -> None:
    first, second, third = asyncio.run(make("duel", "critique", "duel"))
    cases = {
        "all": ([], [third, second, first]),
        "duels": (["--format", "duel"], [third, first]),
        "failed": (["--status", "failed"], []),
        "any": (["--status", "any", "--since", "2020-01-01"], [third, second, first]),
        "future": (["--since", "2999-01-01"], []),
    }
    for name, (options, found) in cases.items():
        ran = moot(capsys, "export", "--all", "--as", "jsonl", "--output", name, *options)
        assert ran == (0, "", f"{len(found)} debates written to {name}\n")
        assert lines(Path(name)) == found
    assert moot(capsys, "export", "--all", "--as", "jsonl", "--output", "all").err == (
        "moot: 'all' is not empty; name a new folder for the debates\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name a debate, or give --all for many"),
        (["--all"], "many debates are written as JSON lines: moot export --all --as jsonl --output DIR"),
        (
            ["--all", "--as", "jsonl", "--output", "x", "--status", "done"],
            "no status named 'done'; known: any, created, queued, running, waiting, stopping, stopped, finished, "
            "failed",
        ),
        (
            ["--all", "--as", "jsonl", "--output", "x", "--format", "dule"],
            "no format named 'dule', did you mean duel? known: critique, duel, evaluation, panel, poll",
        ),
        (
            ["--all", "--as", "jsonl", "--output", "x", "--since", "soon"],
            "'soon' is no date or time; write one like 2026-01-31 or 2026-01-31T18:00:00+01:00",
        ),
    ],
)
def test_what_cannot_be_exported_says_what_to_write(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert moot(capsys, "export", *words) == (2, "", f"moot: {message}\n")

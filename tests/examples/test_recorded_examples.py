"""The examples end as they were recorded: with today's prompts, forms and code.

When a prompt or a form has changed on purpose, record the examples anew. When only the outcome is put differently, look
at the difference that `REWRITE_SNAPSHOTS=1 uv run pytest tests/examples` makes.
"""

from __future__ import annotations

import os
from pathlib import Path

import orjson
import pytest

from moot.app import build
from moot.errors import Missing
from moot.examples.catalog import Example, examples, find
from moot.llm.recording import Recording
from moot.settings import AppSettings

FOLDER = Path(__file__).parent


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
async def test_an_example_replays_to_exactly_the_outcome_that_is_kept(example: Example, tmp_path: Path) -> None:
    tape = Recording.load(example.recording)
    async with build(AppSettings(database_url=f"sqlite:///{tmp_path}/moot.db"), {}, tape=tape) as app:
        record = await app.create(example.format, example.topic, example.settings())
        ending = await app.run(record.id, lambda event: None)
        stored = await app.load(record.id)
    assert (ending.status, ending.error, tape.unused(), stored.failures) == ("finished", None, (), ())
    kept = FOLDER / f"{example.name}.json"
    if os.environ.get("REWRITE_SNAPSHOTS"):
        kept.write_bytes(orjson.dumps(ending.outcome, option=orjson.OPT_INDENT_2) + b"\n")
    assert ending.outcome == orjson.loads(kept.read_bytes())


def test_examples_name_no_model_and_no_machine() -> None:
    for example in examples():
        tape = Recording.load(example.recording)
        asked = {(call.provider, call.request.model) for call in tape.unused()} - {("library", "templates")}
        assert asked == {("recorded", "a large model")}


def test_the_examples_are_small_enough_to_ship() -> None:
    assert sum(example.recording.stat().st_size for example in examples()) < 100_000


def test_an_example_is_found_by_its_name() -> None:
    assert [find(example.name) for example in examples()] == [*examples()]
    with pytest.raises(Missing, match="no example named 'cats'; known: caching, backup, parts-shelf, four-day-week"):
        find("cats")

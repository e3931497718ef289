"""The app: what a new debate keeps, which model sits where, and a run that is left or taken over."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from pydantic import Field

from moot.app import App
from moot.core.debate import Status
from moot.core.events import TurnFinished
from moot.core.prompts import Prompts
from moot.errors import Fenced, InvalidInput, NotFound
from moot.formats import by_name
from moot.formats.duel.format import DUEL, DuelSettings
from moot.llm.models import Models
from moot.retrieval.folders import MAX_FILES
from moot.settings import AppSettings
from moot.testing import MemoryStore, ScriptedModel, scripted_app
from stage import sensible


class Hasty(DuelSettings):
    """The duel's settings in a later version."""

    max_rounds: int = Field(1)


async def test_a_time_limit_that_nobody_set_may_be_extended_and_one_that_was_set_is_kept() -> None:
    app = scripted_app(ScriptedModel([]))
    unset, by_hand = await app.create("duel", "Cats?"), await app.create("duel", "Cats?", {"max_runtime_seconds": 600})
    chosen = AppSettings(model="scripted:model", formats={"duel": {"max_runtime_seconds": 600}})
    configured = App(chosen, MemoryStore(), lambda: app.models, app.formats, Prompts)
    asked = await app.create("duel", "Cats?", {"max_runtime_seconds": 600, "extend_runtime": True})
    in_file = await configured.create("duel", "Cats?")
    fork = await app.fork(unset.id, 0, {"max_runtime_seconds": 60})
    found = [each.settings["extend_runtime"] for each in (unset, by_hand, asked, in_file, fork)]
    assert found == [True, False, True, False, False]


async def test_a_debate_keeps_the_defaults_it_was_created_with() -> None:
    store = MemoryStore()
    record = await scripted_app(ScriptedModel(sensible), store).create("duel", "Cats or dogs?")
    assert record.settings == DuelSettings(depth="quick", extend_runtime=True).model_dump(mode="json")
    later = scripted_app(ScriptedModel(sensible), store, by_name([replace(DUEL, settings=Hasty, version=2)]))
    await later.run(record.id, lambda event: None)
    assert len((await later.load(record.id)).turns) == 11


@pytest.mark.parametrize(
    ("topic", "said"),
    [
        ("  \n", "the topic is empty: write the question to debate"),
        ("x" * 4001, "the topic has 4001 characters; at most 4000 are allowed"),
    ],
)
async def test_a_topic_that_cannot_be_debated_is_refused(topic: str, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await scripted_app(ScriptedModel([])).create("duel", topic)
    assert str(caught.value) == said


async def test_a_topic_keeps_nothing_that_a_database_cannot() -> None:
    record = await scripted_app(ScriptedModel([])).create("duel", " Cats\0 or \ud800 dogs? ")
    assert record.topic == "Cats\ufffd or ? dogs?"


@pytest.mark.parametrize("format", ["panel", "duel", "critique", "evaluation"])
async def test_every_format_takes_as_many_sources_as_are_read(format: str) -> None:
    sources = [{"name": f"{number}.md", "text": "words"} for number in range(MAX_FILES)]
    record = await scripted_app(ScriptedModel([])).create(format, "Cats?", {"sources": sources})
    assert record.settings["sources"] == sources


async def test_a_seat_the_format_does_not_have_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        await scripted_app(ScriptedModel([])).create("duel", "Cats?", {"models": {"moderator": "scripted:m"}})
    seats = "debater_a, debater_b, judge, judge_2, judge_3, scribe, voter"
    assert str(caught.value) == f"duel has no seat 'moderator'; its seats: {seats}"


@pytest.mark.parametrize(
    ("settings", "models"),
    [
        ({}, ["deepseek:chat", "deepseek:chat", "deepseek:thinker"]),
        ({"model_debater": "fast"}, ["deepseek:fast", "deepseek:fast", "deepseek:thinker"]),
        ({"model_judge": "openai:gpt"}, ["deepseek:chat", "deepseek:chat", "openai:gpt"]),
    ],
)
async def test_deepseek_s_variables_choose_the_models_unless_the_debate_does(
    settings: dict[str, str], models: list[str]
) -> None:
    environ = {
        "DEEPSEEK_API_KEY": "k",
        "OPENAI_API_KEY": "k",
        "DEEPSEEK_MODEL_DEBATER": "chat",
        "DEEPSEEK_MODEL_JUDGE": "thinker",
    }
    app = App(AppSettings(), MemoryStore(), lambda: Models(environ), by_name([DUEL]), Prompts)
    record = await app.create("duel", "Cats?", settings)  # type: ignore[arg-type]
    assert [seat.model for seat in record.seats.values()] == models


async def test_a_run_whose_events_nobody_reads_any_more_is_left_for_others_to_resume() -> None:
    app = scripted_app(ScriptedModel(sensible))
    record = await app.create("duel", "Cats?")
    events = app.stream(record.id)
    async for event in events:
        if isinstance(event, TurnFinished) and event.position == 1:
            break
    await events.aclose()
    left = await app.load(record.id)
    assert (left.record.status, left.record.stop_reason, left.record.owner) == (Status.STOPPED, "interrupted", None)
    assert [event.type async for event in app.stream(record.id)][-1] == "debate_finished"
    assert [turn.position for turn in (await app.load(record.id)).turns] == list(range(11))


async def test_a_run_that_finds_itself_taken_over_gives_up() -> None:
    store = MemoryStore()
    speaking = asyncio.Event()

    async def for_ever() -> None:
        speaking.set()
        await asyncio.Event().wait()

    app = scripted_app(ScriptedModel(sensible, pace=for_ever), store)
    app.settings.heartbeat_seconds = 0.001
    record = await app.create("duel", "Cats?")
    running = asyncio.create_task(app.run(record.id, lambda event: None))
    await speaking.wait()
    await store.release(record.id, 1)
    await store.take(record.id, "another", 30)
    with pytest.raises(Fenced):
        await running
    assert (await app.load(record.id)).record.owner == "another"


async def test_a_debate_of_a_format_that_is_not_installed_fails_and_is_free() -> None:
    store = MemoryStore()
    record = await scripted_app(ScriptedModel([]), store).create("duel", "Cats?")
    without = scripted_app(ScriptedModel([]), store, by_name([replace(DUEL, name="other")]))
    with pytest.raises(NotFound):
        await without.run(record.id, lambda event: None)
    kept = (await store.load(record.id)).record
    assert (kept.status, kept.error, kept.owner) == (Status.FAILED, "no format named 'duel'; known: other", None)


async def test_statistics_count_all_finished_debates_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moot.app.traces.PAGE", 2)
    app = scripted_app(ScriptedModel(sensible))
    for number in range(5):
        record = await app.create("duel", f"Cats {number}?", {"max_rounds": 1})
        await app.run(record.id, lambda event: None)
    await app.create("duel", "Dogs?")

    (row,) = await app.stats()

    assert (row.format, row.debates, row.rounds) == ("duel", 5, 1.0)


async def test_research_is_refused_where_nothing_could_be_looked_up() -> None:
    app = scripted_app(ScriptedModel([]))
    with pytest.raises(InvalidInput, match=r"name servers under `research` in moot.yaml"):
        await app.create("duel", "Cats?", {"research": True, "sources": [{"name": "a", "text": "short"}]})
    long = await app.create("duel", "Cats?", {"research": True, "sources": [{"name": "a", "text": "long " * 20_000}]})
    assert long.settings["research"]
    with pytest.raises(InvalidInput, match="is for debaters, and a poll has none"):
        await app.create("poll", "Cats?", {"research": True})


async def test_sources_are_shown_whole_as_far_as_the_smallest_known_window_holds_them() -> None:
    app, long = scripted_app(ScriptedModel([])), {"name": "a.md", "text": "words " * 2000}

    async def whole(**settings: Any) -> Any:
        return (await app.drafts.new("duel", "Cats?", settings)).settings["whole_sources"]

    assert await whole(sources=[long]) == 60_000
    assert await whole(sources=[long], model_judge="local:smollm2") == 8192
    assert await whole(sources=[long], model_judge="local:smollm2", whole_sources=20_000) == 20_000
    assert await whole(model_judge="local:smollm2") == 60_000


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("whole_sources", 10**20),
        ("token_budget_per_round", 10**20),
        ("max_runtime_seconds", 1e300),
        ("checkpoint_timeout_seconds", 1e300),
        ("max_cost", 1e300),
    ],
)
async def test_a_number_that_no_database_and_no_calendar_knows_is_refused(setting: str, value: float) -> None:
    app = scripted_app(ScriptedModel([]), MemoryStore())
    with pytest.raises(InvalidInput, match=f"^panel settings: {setting}: at most 1,000,000,000$"):
        await app.create("panel", "Cats?", {setting: value})

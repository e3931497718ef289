"""Settings changed on the way: other models, checkpoints and higher limits, as a turn that the replay reads."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from moot.app import App
from moot.core.debate import Status, Turn
from moot.core.events import Event, StepRetrying
from moot.core.replay import next_steps
from moot.errors import InvalidInput, ScriptChanged, WrongStatus
from moot.settings import Price
from moot.store.store import Store
from moot.testing import ScriptedModel, scripted_app
from stage import Mortal, Overloaded, Panelists

SOONER = 50.0
"""Seconds, less than the minute for which a provider pauses."""


def ignore(event: object) -> None:
    pass


async def run(app: App, debate_id: str) -> Status:
    return (await app.run(debate_id, ignore)).status


async def begun(app: App, format: str = "duel", **settings: Any) -> str:
    record = await app.create(format, "Cats?", {"max_rounds": 2, **settings})
    await app.run(record.id, ignore)
    return record.id


def kinds(turns: tuple[Turn, ...]) -> list[tuple[str, str]]:
    return [(turn.seat, turn.kind) for turn in turns]


ARGUED = [("debater_a", "argument"), ("debater_b", "argument")]
CHANGED = ("human", "settings")
JUDGED = ("judge", "verdict")


async def test_a_debate_whose_model_died_goes_on_with_another_from_the_step_it_died_at(store: Store) -> None:
    model = Mortal()
    app = scripted_app(model, store)
    debate_id = await begun(app, models={"debater_b": "scripted:dead"})
    assert (await app.load(debate_id)).record.status is Status.FAILED
    changed = await app.change(debate_id, {"models": {"debater_b": "scripted:new"}})
    assert (changed.status, changed.stop_reason) == (Status.STOPPED, "settings_changed")
    assert await run(app, debate_id) is Status.FINISHED
    stored = await app.load(debate_id)
    assert kinds(stored.turns) == [ARGUED[0], CHANGED, ARGUED[1], *ARGUED, JUDGED]
    assert stored.turns[1].content == "Settings changed: Debater B is scripted:new instead of scripted:dead."
    assert model.models() == ["model", "new", "model", "new", "model"]
    assert [turn.event_id for turn in stored.turns] == sorted({turn.event_id for turn in stored.turns})
    reading = app.reading(stored)
    assert reading.record.seats["debater_b"].model == reading.trace["models"]["debater_b"] == "scripted:new"
    assert stored.record.seats["debater_b"].model == "scripted:dead"
    assert "Settings changed: Debater B is scripted:new instead of scripted:dead." in await app.export(debate_id, "md")


async def test_no_model_reads_that_settings_were_changed() -> None:
    model = Mortal()
    app = scripted_app(model)
    debate_id = await begun(app, models={"debater_b": "scripted:dead"})
    await app.change(debate_id, {"model": "scripted:new"})
    await run(app, debate_id)
    assert not any("Settings changed" in str(request.messages) for request in model.requests)


async def test_one_of_several_who_speak_at_once_gets_another_model_and_the_others_keep_their_turns() -> None:
    model = Mortal(Panelists())
    app = scripted_app(model)
    debate_id = await begun(
        app, "panel", checkpoints=False, perspectives=3, models={"debater_2": "scripted:dead"}, max_rounds=1
    )
    before = await app.load(debate_id)
    assert [turn.position for turn in before.turns] == [0, 1, 2, 4]
    await app.change(debate_id, {"models": {"debater_2": "scripted:new"}})
    calls = len(model.requests)
    assert [step.seat for step in next_steps(*(await app.load(debate_id))[:2], app.formats["panel"])] == ["debater_2"]
    assert await run(app, debate_id) is Status.FINISHED
    stored = await app.load(debate_id)
    assert [turn.seat for turn in stored.turns[2:6]] == ["debater_1", "debater_2", "debater_3", "human"]
    assert model.models()[calls] == "new"
    assert [stored.turns[at] for at in (0, 1, 2, 4)] == list(before.turns)


async def test_a_higher_limit_adds_rounds_even_when_only_the_judge_was_missing() -> None:
    app = scripted_app(Mortal())
    debate_id = await begun(app, models={"judge": "scripted:dead"})
    await app.change(debate_id, {"max_rounds": 3, "model": "scripted:model"})
    assert await run(app, debate_id) is Status.FINISHED
    stored = await app.load(debate_id)
    assert kinds(stored.turns) == [*ARGUED * 2, CHANGED, *ARGUED, JUDGED]
    told = "Settings changed: Judge is scripted:model instead of scripted:dead; max_rounds 3 instead of 2."
    assert stored.turns[4].content == told
    assert app.reading(stored).trace["settings"]["max_rounds"] == 3


async def test_an_open_question_is_not_asked_any_more_without_checkpoints_and_asked_again_with_another_model() -> None:
    app = scripted_app(ScriptedModel(Panelists()))
    debate_id = await begun(app, "panel")
    asked = (await app.read(debate_id)).question
    assert asked
    await app.change(debate_id, {"model": "scripted:new"})
    assert await run(app, debate_id) is Status.WAITING
    again = (await app.read(debate_id)).question
    assert again
    assert (again.question, again.position) == (asked.question, asked.position + 1)
    with pytest.raises(WrongStatus):
        await app.reply(debate_id, "continue", position=asked.position)
    await app.change(debate_id, {"checkpoints": False})
    assert await run(app, debate_id) is Status.FINISHED
    stored = await app.load(debate_id)
    assert [turn.content for turn in stored.turns if turn.seat == "human"] == [
        "Settings changed: scripted:new in every seat instead of scripted:model.",
        "Settings changed: checkpoints off instead of on.",
    ]


async def test_a_debate_killed_after_each_turn_replays_a_change_alike() -> None:
    app = scripted_app(Mortal())
    debate_id = await begun(app, models={"judge": "scripted:dead"})
    await app.change(debate_id, {"max_rounds": 3, "models": {"judge": "scripted:new"}})
    await run(app, debate_id)
    whole = await app.load(debate_id)
    for there in range(5, len(whole.turns)):
        steps = next_steps(whole.record, whole.turns[:there], app.formats["duel"])
        assert [(step.seat, step.kind) for step in steps] == kinds(whole.turns[there : there + 1])
    assert next_steps(whole.record, whole.turns, app.formats["duel"]) == ()


async def test_the_same_settings_again_change_nothing() -> None:
    app = scripted_app(Mortal())
    debate_id = await begun(app, models={"judge": "scripted:dead"})
    before = await app.load(debate_id)
    await app.change(debate_id, {"max_rounds": 2, "models": {"judge": "scripted:dead"}})
    assert await app.load(debate_id) == before


async def test_a_limit_that_a_debate_was_stored_without_is_raised_from_the_usual_one() -> None:
    app = scripted_app(Mortal())
    new = await app.create("duel", "Cats?", {"max_rounds": 1})
    settings = {name: value for name, value in new.settings.items() if not name.startswith("max_r")}
    older = await app.store.create(replace(new, id="DEB-older234", settings=settings))
    with pytest.raises(
        InvalidInput, match=r"max_runtime_seconds of .* is 600 and can only be raised, not set to 60; .*"
    ):
        await app.change(older.id, {"max_runtime_seconds": 60.0})
    await app.change(older.id, {"max_runtime_seconds": 6000.0, "max_rounds": 6})
    (turn,) = (await app.load(older.id)).turns
    assert turn.content == "Settings changed: max_rounds 6 instead of 5; max_runtime_seconds 6000 instead of 600."


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"max_rounds": 1}, "max_rounds of .* is 2 and can only be raised, not set to 1; moot conclude .*"),
        ({"max_cost": 1.0}, "max_cost .* is none and can only be raised, not set to 1; .*"),
        ({"stance_a": "con"}, "stance_a of .* cannot be changed any more, .*: only models, .* moot fork .*"),
        ({"max_rounds": 0}, "duel settings: max_rounds: .*"),
        ({"size": 3}, "duel settings: size: .*"),
        (
            {"sources": [{"name": "a", "text": "b", "rounds": 1}]},
            "duel settings: sources.0.rounds: not known; known: name, text",
        ),
        ({"models": {"jury": "scripted:x"}}, "duel has no seat 'jury'; .*"),
        ({"model": "nobody:x"}, "no provider in 'nobody:x': .*"),
    ],
    ids=str,
)
async def test_what_cannot_be_changed_is_refused_with_the_reason(settings: dict[str, Any], said: str) -> None:
    app = scripted_app(
        Mortal(), prices={"scripted:model": Price(input=1, output=1), "scripted:dead": Price(input=1, output=1)}
    )
    debate_id = await begun(app, models={"judge": "scripted:dead"})
    before = await app.load(debate_id)
    with pytest.raises(InvalidInput, match=said):
        await app.change(debate_id, settings)
    assert await app.load(debate_id) == before


async def test_a_higher_limit_is_refused_when_the_rounds_are_over() -> None:
    app = scripted_app(ScriptedModel(Panelists()))
    debate_id = await begun(app, "panel", max_rounds=1)
    assert (await app.read(debate_id)).question
    with pytest.raises(InvalidInput, match=r"the rounds of .* are over, .* moot fork"):
        await app.change(debate_id, {"max_rounds": 3})


async def test_a_debate_that_is_over_is_not_changed_and_one_that_runs_only_in_its_models(store: Store) -> None:
    app = scripted_app(Mortal(), store)
    with pytest.raises(WrongStatus, match=r"is through; .* moot fork"):
        await app.change(await begun(app), {"model": "scripted:new"})
    debate_id = await begun(app, models={"judge": "scripted:dead"})
    await store.take(debate_id, "process 1 on another machine", 100)
    with pytest.raises(WrongStatus, match="only its models can be changed now, not max_rounds; stop it first"):
        await app.change(debate_id, {"max_rounds": 4, "model": "scripted:new"})
    assert (await app.change(debate_id, {"model": "scripted:new"})).status is Status.RUNNING
    with pytest.raises(WrongStatus, match="has another change to take over first"):
        await app.change(debate_id, {"model": "scripted:other"})
    await store.release(debate_id, (await app.load(debate_id)).record.run)
    assert await run(app, debate_id) is Status.FINISHED  # its next run has heard it
    assert kinds((await app.load(debate_id)).turns) == [*ARGUED * 2, CHANGED, JUDGED]


async def until_retrying(app: App, debate_id: str) -> tuple[asyncio.Task[Any], list[Event]]:
    """A run in progress, one of whose calls waits to be made again."""
    events: list[Event] = []
    retrying = asyncio.Event()

    def hear(event: Event) -> None:
        events.append(event)
        if isinstance(event, StepRetrying):
            retrying.set()

    running = asyncio.create_task(app.run(debate_id, hear))
    async with asyncio.timeout(SOONER):
        await retrying.wait()
    return running, events


async def test_a_seat_that_is_being_retried_gets_another_model_while_the_debate_runs(store: Store) -> None:
    model = Overloaded()
    app = scripted_app(model, store)
    debate_id = (await app.create("duel", "Cats?", {"max_rounds": 1, "models": {"debater_b": "scripted:dead"}})).id
    running, events = await until_retrying(app, debate_id)
    await app.change(debate_id, {"models": {"debater_b": "scripted:new"}})
    async with asyncio.timeout(SOONER):
        assert (await running).status is Status.FINISHED
    stored = await app.load(debate_id)
    assert kinds(stored.turns) == [ARGUED[0], CHANGED, ARGUED[1], JUDGED]
    assert stored.turns[1].content == "Settings changed: Debater B is scripted:new instead of scripted:dead."
    assert [turn.model for turn in stored.turns] == ["scripted:model", None, "scripted:new", "scripted:model"]
    assert [failure.code for failure in stored.failures] == ["rate_limited"]
    assert len([event for event in events if isinstance(event, StepRetrying)]) == 1
    fork = await app.fork(debate_id, 3, {"models": {"judge": "scripted:other"}})
    assert await run(app, fork.id) is Status.FINISHED


async def test_who_speaks_beside_a_seat_that_gets_another_model_is_heard_to_the_end() -> None:
    model = Overloaded(Panelists())
    app = scripted_app(model)
    chosen = {"checkpoints": False, "perspectives": 3, "models": {"debater_2": "scripted:dead"}, "max_rounds": 1}
    debate_id = (await app.create("panel", "Cats?", chosen)).id
    running, _ = await until_retrying(app, debate_id)
    await app.change(debate_id, {"models": {"debater_2": "scripted:new"}})
    async with asyncio.timeout(SOONER):
        assert (await running).status is Status.FINISHED
    stored = await app.load(debate_id)
    assert [turn.seat for turn in stored.turns[2:6]] == ["debater_1", "debater_2", "debater_3", "human"]
    assert stored.turns[3].model == "scripted:new"


async def test_a_call_that_waits_is_made_at_once_when_a_person_wants_it() -> None:
    model = Overloaded()
    app = scripted_app(model)
    debate_id = (await app.create("duel", "Cats?", {"max_rounds": 1, "models": {"debater_b": "scripted:dead"}})).id
    running, _ = await until_retrying(app, debate_id)
    model.dead = set()
    assert (await app.try_now(debate_id)).status is Status.RUNNING
    async with asyncio.timeout(SOONER):
        assert (await running).status is Status.FINISHED
    with pytest.raises(WrongStatus, match="is finished, so no call of it waits"):
        await app.try_now(debate_id)


async def held(app: App) -> tuple[Any, tuple[asyncio.Task[Any], list[Event]]]:
    """A debate whose model is overloaded, and another that nobody refused, but has to wait for the same provider."""
    refused = await app.create("duel", "Cats?", {"max_rounds": 1, "model": "scripted:dead"})
    first, _ = await until_retrying(app, refused.id)
    other = await app.create("duel", "Dogs?", {"max_rounds": 1, "model": "scripted:model"})
    return (first, other.id), await until_retrying(app, other.id)


async def test_readers_are_told_that_a_debate_waits_for_a_provider_which_another_has_overloaded() -> None:
    model = Overloaded()
    app = scripted_app(model)
    (first, other), (running, events) = await held(app)
    (told,) = (event for event in events if isinstance(event, StepRetrying))
    assert (told.seat, told.model, told.code) == ("debater_a", "scripted:model", "rate_limited")
    assert (told.error, told.attempt, told.attempts) == ("overloaded, come back in a minute", 1, 6)
    assert 60 - SOONER < told.seconds < 60
    assert model.models() == []
    model.dead = set()
    await app.try_now(other)
    async with asyncio.timeout(SOONER):
        assert (await running).status is Status.FINISHED
    stored = await app.load(other)
    assert (kinds(stored.turns), stored.failures) == ([*ARGUED, JUDGED], ())
    first.cancel()


async def test_a_seat_that_waits_for_a_provider_can_get_another_model() -> None:
    app = scripted_app(Overloaded())
    (first, other), (running, _) = await held(app)
    await app.change(other, {"model": "scripted:new"})
    async with asyncio.timeout(SOONER):
        assert (await running).status is Status.FINISHED
    assert {turn.model for turn in (await app.load(other)).turns} == {None, "scripted:new"}
    first.cancel()


async def test_an_answer_that_waits_to_be_heard_is_not_lost() -> None:
    app = scripted_app(ScriptedModel(Panelists()))
    debate_id = await begun(app, "panel")
    await app.reply(debate_id, "continue")
    with pytest.raises(WrongStatus, match="has an answer to hear first"):
        await app.change(debate_id, {"model": "scripted:new"})


async def test_a_fork_of_a_changed_debate_has_its_changes_and_its_own_choice_counts() -> None:
    model = Mortal()
    app = scripted_app(model)
    debate_id = await begun(app, models={"debater_b": "scripted:dead"})
    await app.change(debate_id, {"models": {"debater_b": "scripted:new"}, "max_rounds": 3})
    await run(app, debate_id)
    for settings, expected, rounds in (({}, "new", 3), ({"model": "scripted:other", "max_rounds": 4}, "other", 4)):
        made = await app.fork(debate_id, 3, settings)
        calls = len(model.requests)
        assert await run(app, made.id) is Status.FINISHED
        assert model.models()[calls + 1] == expected
        reading = await app.read(made.id)
        assert reading.record.settings["max_rounds"] == reading.trace["total_rounds"] == rounds


async def test_a_price_is_needed_for_a_new_model_when_the_cost_is_limited() -> None:
    prices = {"scripted:dead": Price(input=1, output=1), "scripted:model": Price(input=1, output=1)}
    app = scripted_app(Mortal(), prices=prices)
    debate_id = await begun(app, models={"debater_b": "scripted:dead"}, max_cost=5)
    with pytest.raises(InvalidInput, match="max_cost needs a price for scripted:free"):
        await app.change(debate_id, {"model": "scripted:free"})
    await app.change(debate_id, {"model": "scripted:model", "max_cost": None})
    assert await run(app, debate_id) is Status.FINISHED


async def test_a_stored_change_that_nobody_understands_is_said() -> None:
    app = scripted_app(Mortal())
    debate_id = await begun(app, models={"debater_b": "scripted:dead"})
    await app.change(debate_id, {"model": "scripted:new"})
    stored = await app.load(debate_id)
    odd = replace(stored.turns[-1], data={"settings": {"colour": "red"}, "seats": {}})
    with pytest.raises(ScriptChanged, match=r"the settings that turn 1 of .* chose are not known here"):
        next_steps(stored.record, (*stored.turns[:-1], odd), app.formats["duel"])
    assert json.dumps(app.reading(stored).trace)

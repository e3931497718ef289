"""What every queue promises, asked of the one in this process (memory, SQLite) and the one on Postgres alike."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from at_work import (
    PATIENCE,
    Gate,
    app_with,
    contents,
    created,
    duel_app,
    followed,
    reading,
    record,
    shown,
    status,
    types,
    working,
)

from moot.app import App
from moot.core.debate import HumanReply, Status
from moot.core.engine import RunResult
from moot.core.events import DebateFinished, StepRetrying, TurnFinished, TurnStarted, Waiting
from moot.errors import NotFound, WrongStatus
from moot.runs import follow as following
from moot.runs.queue import Load, Queue
from moot.store.store import Store
from moot.testing import ScriptedModel
from stage import Overloaded, Panelists

TURN = ["turn_started", "turn_finished"]
BEGINNING = ["debate_started", "round_started"]


def panel_app(store: Store) -> App:
    return app_with(ScriptedModel(Panelists()), store)


async def idle(queue: Queue) -> None:
    """Wait until the queue has nothing to do."""
    async with asyncio.timeout(PATIENCE):
        while await queue.load() != Load(0, 0, 1):  # noqa: ASYNC110 (nobody tells)
            await asyncio.sleep(0)


# Order


async def test_debates_are_run_in_the_order_in_which_they_were_queued(store: Store) -> None:
    app = duel_app(store)
    ids = await created(app, 5)
    queued = [ids[2], ids[0], ids[4], ids[1], ids[3]]
    for debate_id in queued:
        await store.enqueue(debate_id)
    async with working(app, at_once=1) as queue:
        await idle(queue)  # to follow one would put it first
    turns = [turn for each in queued for turn in (await app.load(each)).turns]
    assert turns == sorted(turns, key=lambda turn: turn.started_at)
    assert len(turns) == 15


async def test_no_more_than_the_bound_run_at_once_and_the_others_when_there_is_room(store: Store) -> None:
    gate = Gate()
    app = duel_app(store, gate)
    ids = await created(app, 5)
    async with working(app, at_once=2) as queue:
        for debate_id in ids:
            await queue.enqueue(debate_id)
        await gate.reached(2)
        assert await queue.load() == Load(2, 3, 1)
        assert [await status(app, each) for each in ids] == [Status.RUNNING] * 2 + [Status.QUEUED] * 3
        await gate.let()
        for debate_id in ids:
            await followed(queue, debate_id)
        await idle(queue)
    assert gate.most == 2


async def test_fifty_requests_make_one_run(store: Store) -> None:
    app = duel_app(store)
    (debate_id,) = await created(app, 1)
    async with working(app) as queue:
        await asyncio.gather(*(queue.enqueue(debate_id) for _ in range(50)))
        await followed(queue, debate_id)
        with pytest.raises(WrongStatus, match="is finished; there is nothing left to run"):
            await queue.enqueue(debate_id)
    assert (await record(app, debate_id)).run == 1


async def test_a_queued_debate_that_is_stopped_is_not_run(store: Store) -> None:
    gate = Gate()
    app = duel_app(store, gate)
    first, second, third = await created(app, 3)
    async with working(app, at_once=1) as queue:
        for debate_id in (first, second, third):
            await queue.enqueue(debate_id)
        await gate.reached()
        assert (await app.stop(second)).status is Status.STOPPED
        await gate.let()
        await followed(queue, third)
    assert [(await record(app, each)).run for each in (first, second, third)] == [1, 0, 1]
    assert await status(app, second) is Status.STOPPED


async def test_a_debate_that_fails_leaves_room_for_the_next(store: Store) -> None:
    app = duel_app(store)
    first, second = await created(app, 2)
    whole = await record(app, first)
    seats = {name: replace(seat, model="dule:m") for name, seat in whole.seats.items()}
    broken = await app.store.create(replace(whole, id="DEB-broken", seats=seats))
    async with working(app, at_once=1) as queue:
        for debate_id in (broken.id, second):
            await queue.enqueue(debate_id)
        await followed(queue, second)
        async with asyncio.timeout(PATIENCE):  # what is followed goes first
            while not (left := await record(app, broken.id)).error:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    assert (left.status, (left.error or "").partition(":")[0]) == (Status.FAILED, "no provider in 'dule")


async def test_what_is_not_there_is_neither_queued_nor_followed(store: Store) -> None:
    async with working(duel_app(store)) as queue:
        with pytest.raises(NotFound, match="no debate 'DEB-none'"):
            await queue.enqueue("DEB-none")
        with pytest.raises(NotFound, match="no debate 'DEB-none'"):
            await followed(queue, "DEB-none")


async def test_what_was_queued_before_the_queue_began_is_run(store: Store) -> None:
    app = duel_app(store)
    ids = [(await app.create("duel", "Cats?", {"max_rounds": 1}, start=True)).id for _ in range(3)]
    async with working(app) as queue:
        for debate_id in ids:
            await followed(queue, debate_id)
    assert [await status(app, each) for each in ids] == [Status.FINISHED] * 3


# People


async def test_a_debate_that_waits_holds_nothing_and_goes_on_when_it_is_answered(store: Store) -> None:
    app = panel_app(store)
    async with working(app, at_once=1) as queue:
        waiting, other = [(await app.create("panel", "Redis?", {"max_rounds": 1})).id for _ in range(2)]
        for debate_id in (waiting, other):
            await queue.enqueue(debate_id)
        assert isinstance((await followed(queue, other))[-1], Waiting)
        await idle(queue)
        with pytest.raises(WrongStatus, match="it goes on when the person it asks has replied"):
            await queue.enqueue(waiting)
        await app.reply(waiting, "approve")
        with suppress(WrongStatus):  # workers may have gone on, to its end, before they are told
            await queue.enqueue(waiting)
        assert isinstance((await followed(queue, waiting))[-1], DebateFinished)
    assert await status(app, other) is Status.WAITING


class Quick:
    """A store on which the person has answered just before the run begins to wait."""

    def __init__(self, store: Store, said: HumanReply) -> None:
        self._store = store
        self._said = said

    async def end(self, debate_id: str, run: int, ending: RunResult) -> None:
        if ending.status is Status.WAITING:
            turns = (await self._store.load(debate_id)).turns
            await self._store.say(debate_id, replace(self._said, position=len(turns)))
        await self._store.end(debate_id, run, ending)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


async def test_an_answer_that_comes_while_the_debate_is_about_to_wait_is_heard(store: Store) -> None:
    quick: Any = Quick(store, HumanReply("approve"))
    app = panel_app(quick)
    async with working(app) as queue:
        debate_id = (await app.create("panel", "Redis?", {"max_rounds": 1})).id
        async with reading(queue, debate_id, through_waits=True) as reader:
            await queue.enqueue(debate_id)
            assert isinstance((await reader.to_the_end())[-1], DebateFinished)
    assert (await record(app, debate_id)).run == 2


# The end


async def test_a_drain_lets_the_step_in_progress_end_and_the_next_start_goes_on_from_there(store: Store) -> None:
    gate = Gate()
    app = duel_app(store, gate)
    (debate_id,) = await created(app, 1)
    async with working(app) as queue:
        await queue.enqueue(debate_id)
        await gate.reached()
        draining = asyncio.create_task(queue.drain(PATIENCE))
        await asyncio.sleep(0)
        await gate.let()
        await draining
        left = await app.load(debate_id)
        assert (left.record.status, left.record.stop_reason) == (Status.QUEUED, "interrupted")
        assert [turn.position for turn in left.turns] == [0]
    async with working(app) as queue:
        assert types(await followed(queue, debate_id))[-1] == "debate_finished"
    assert [turn.run for turn in (await app.load(debate_id)).turns] == [1, 2, 2]


async def test_what_takes_longer_than_the_grace_is_interrupted_and_plays_its_step_again(store: Store) -> None:
    gate = Gate()
    app = duel_app(store, gate)
    (debate_id,) = await created(app, 1)
    async with working(app, grace_seconds=0.01) as queue:
        await queue.enqueue(debate_id)
        await gate.let(2)
        await gate.reached()
    left = await app.load(debate_id)
    assert (left.record.status, left.turns) == (Status.QUEUED, ())
    await gate.let()
    async with working(app) as queue:
        assert types(await followed(queue, debate_id))[-1] == "debate_finished"


async def test_what_was_asked_to_stop_is_stopped_by_the_end_of_the_process(store: Store) -> None:
    gate = Gate()
    app = duel_app(store, gate)
    (debate_id,) = await created(app, 1)
    async with working(app, grace_seconds=0.01) as queue:
        await queue.enqueue(debate_id)
        await gate.reached()
        assert (await app.stop(debate_id)).status is Status.STOPPING
    left = await record(app, debate_id)
    assert (left.status, left.stop_reason) == (Status.STOPPED, "stopped")


async def test_a_queue_that_drains_begins_nothing_new(store: Store) -> None:
    app = duel_app(store)
    (debate_id,) = await created(app, 1)
    async with working(app) as queue:
        await queue.drain(0)
        assert (await queue.enqueue(debate_id)).status is Status.QUEUED
        assert (await queue.load())[:1] == (0,)
    assert (await record(app, debate_id)).run == 0


# Following


async def test_a_debate_is_followed_from_its_beginning_with_every_word(store: Store) -> None:
    gate = Gate()
    app = duel_app(store, gate)
    (debate_id,) = await created(app, 1)
    async with working(app) as queue, reading(queue, debate_id) as reader:
        await queue.enqueue(debate_id)
        for position in range(2):
            await gate.let(4)
            await reader.until(lambda events, at=position: len(shown(events, at).split()) == 4)
            await gate.let(2)
            await reader.until(
                lambda events, at=position: types(events[-1:]) == ["turn_started"] and at in contents(events)
            )
        await gate.let()
        events = await reader.to_the_end()
    assert types(events) == [*BEGINNING, *TURN * 2, "limit_reached", *TURN, "debate_finished"]
    assert [event.id for event in events] == sorted({event.id for event in events})
    assert contents(events) == {turn.position: turn.content for turn in (await app.load(debate_id)).turns}


async def test_a_debate_is_followed_from_where_a_reader_had_come(store: Store) -> None:
    app = duel_app(store)
    (debate_id,) = await created(app, 1)
    async with working(app) as queue:
        await queue.enqueue(debate_id)
        everything = await followed(queue, debate_id)
        told = [event for event in everything if isinstance(event, TurnFinished)]
        assert [event.position for event in told] == [0, 1, 2]
        assert await followed(queue, debate_id, told[1].id) == [told[2], *await followed(queue, debate_id, told[2].id)]
        assert [event.id for event in await followed(queue, debate_id, told[2].id)] == [everything[-1].id]


async def test_a_finished_debate_is_told_again(store: Store) -> None:
    app = duel_app(store)
    (debate_id,) = await created(app, 1)
    async with working(app) as queue:
        await queue.enqueue(debate_id)
        await followed(queue, debate_id)
        events = await followed(queue, debate_id)
    assert types(events) == ["turn_finished"] * 3 + ["debate_finished"]
    assert contents(events) == {turn.position: turn.content for turn in (await app.load(debate_id)).turns}


async def test_a_debate_that_waits_is_followed_up_to_its_question_or_through_it(store: Store) -> None:
    app = panel_app(store)
    debate_id = (await app.create("panel", "Redis?", {"max_rounds": 1})).id
    async with working(app) as queue, reading(queue, debate_id, through_waits=True) as reader:
        await queue.enqueue(debate_id)
        asked = (await followed(queue, debate_id))[-1]
        assert isinstance(asked, Waiting)
        assert asked.actions == ("approve", "guide", "reject")
        assert (await followed(queue, debate_id))[-1] == replace(asked, at=(await followed(queue, debate_id))[-1].at)
        await reader.until(lambda events: events and isinstance(events[-1], Waiting))
        await app.reply(debate_id, "approve")
        await queue.enqueue(debate_id)
        events = await reader.to_the_end()
    assert [type(event) for event in events if isinstance(event, Waiting | DebateFinished)] == [Waiting, DebateFinished]
    assert [event.id for event in events] == sorted({event.id for event in events})
    assert sorted(contents(events)) == [turn.position for turn in (await app.load(debate_id)).turns]


async def test_a_reader_who_joins_in_the_middle_of_a_turn_gets_the_text_so_far(store: Store) -> None:
    gate = Gate()
    app = duel_app(store, gate)
    (debate_id,) = await created(app, 1)
    async with working(app) as queue:
        await queue.enqueue(debate_id)
        await gate.let(4)
        await gate.reached()
        async with reading(queue, debate_id) as reader:
            await reader.until(lambda events: len(shown(events, 0).split()) == 4)
            await gate.let()
            events = await reader.to_the_end()
    assert [event.position for event in events if isinstance(event, TurnStarted)][:1] == [0]
    turns = (await app.load(debate_id)).turns
    assert turns[0].content.startswith(shown(events, 0))
    assert contents(events) == {turn.position: turn.content for turn in turns}


async def test_who_follows_a_debate_that_waits_hears_at_once_that_it_is_stopped_or_deleted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = panel_app(store)
    async with working(app) as queue:
        app.queue = queue
        stopped, deleted = [(await app.create("panel", "Redis?", start=True)).id for _ in range(2)]
        async with (
            reading(queue, stopped, through_waits=True) as one,
            reading(queue, deleted, through_waits=True) as two,
        ):
            for reader in (one, two):
                await reader.until(lambda events: types(events)[-1:] == ["waiting"])
            monkeypatch.setattr(following, "LOOK_SECONDS", 1000.0)
            await asyncio.sleep(following.ANSWER_SECONDS)  # nothing of what came before is still under way
            await app.stop(stopped)
            await app.delete(deleted)
            assert types(await one.to_the_end())[-2:] == ["waiting", "debate_stopped"]
            with pytest.raises(NotFound):
                await two.to_the_end()


# Retries


def retried(events: list[Any]) -> list[tuple[str, int]]:
    return [(event.error, event.attempt) for event in events if isinstance(event, StepRetrying)]


async def test_a_call_that_is_to_be_made_again_is_heard_of_also_late_and_made_when_a_person_wants_it(
    store: Store,
) -> None:
    model = Overloaded()
    app = app_with(model, store)
    (debate_id,) = await created(app, 1, models={"debater_b": "scripted:dead"})
    async with working(app) as queue:
        await queue.enqueue(debate_id)
        async with reading(queue, debate_id) as reader:
            await reader.until(lambda events: retried(events) == [("overloaded, come back in a minute", 2)])
            async with reading(queue, debate_id) as late:
                await late.until(lambda events: retried(events) == [("overloaded, come back in a minute", 2)])
            model.dead = set()
            await queue.hurry(debate_id)
            assert types(await reader.to_the_end())[-1] == "debate_finished"
    assert model.models() == ["model", "dead", "model"]

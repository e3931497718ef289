"""Debates as tasks of this process: how many at once, in which order, after a crash, and without an answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from moot.app import App, open_store
from moot.engine import Control, Ending
from moot.errors import NotFound, StoreError, WrongKey, WrongStatus
from moot.events import DebateFailed, DebateFinished, DebateStarted, DebateStopped, Event, TurnFinished, Waiting
from moot.model import Record, Status, Turn
from moot.owner import this_process
from moot.queue.embedded import EmbeddedQueue
from moot.store.store import Store, Unfinished
from moot.testing import MemoryStore, ScriptedModel, scripted_app
from stage import Panelists, sensible

PATIENCE = 20
DEAD = re.sub(r"^process \d+", "process 4194303", this_process())
"""A process of this machine that is not there."""


class Heard:
    """What the queue tells, and who waits for it."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.paused: list[Record] = []
        self._more = asyncio.Event()

    def hear(self, event: Event) -> None:
        self.events.append(event)
        self._more.set()

    def hear_paused(self, record: Record) -> None:
        self.paused.append(record)
        self._more.set()

    def of(self, kind: type[Event]) -> list[str]:
        return [event.debate for event in self.events if isinstance(event, kind)]

    async def until(self, true: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not true():
                self._more.clear()
                await self._more.wait()


class Gate:
    """A model's pace that stops at the beginning of each turn until somebody lets it speak."""

    def __init__(self) -> None:
        self.waiting = 0
        self.open = asyncio.Semaphore(0)

    async def __call__(self) -> None:
        self.waiting += 1
        await self.open.acquire()

    def let(self, words: int) -> None:
        for _ in range(words):
            self.open.release()


class Working:
    def __init__(self, app: App, queue: EmbeddedQueue, heard: Heard) -> None:
        self.app = app
        self.queue = queue
        self.heard = heard

    async def status(self, debate_id: str) -> Status:
        return (await self.app.load(debate_id)).record.status


@asynccontextmanager
async def working(app: App, grace_seconds: float = 0) -> AsyncIterator[Working]:
    heard = Heard()
    queue = EmbeddedQueue(app, heard.hear, heard.hear_paused)
    await queue.start()
    yield Working(app, queue, heard)
    await queue.drain(grace_seconds)


def duel_app(store: Store | None = None, pace: Gate | None = None, max_running: int = 20) -> App:
    app = scripted_app(ScriptedModel(sensible, pace=pace), store)
    app.settings.max_running = max_running
    return app


async def created(app: App, count: int) -> list[str]:
    return [(await app.create("duel", f"Cats {number}?", {"max_rounds": 1})).id for number in range(count)]


# Order


async def test_no_more_than_the_bound_run_at_once_and_the_others_follow_in_their_order() -> None:
    gate = Gate()
    app = duel_app(pace=gate, max_running=2)
    ids = await created(app, 5)
    async with working(app) as here:
        for debate_id in ids:
            await here.queue.enqueue(debate_id)
        await here.heard.until(lambda: len(here.heard.of(DebateStarted)) == 2)
        assert (here.queue.running, here.queue.queued) == (2, 3)
        assert [await here.status(each) for each in ids] == [Status.RUNNING] * 2 + [Status.QUEUED] * 3
        gate.let(10_000)
        await here.heard.until(lambda: len(here.heard.of(DebateFinished)) == 5)
        assert here.heard.of(DebateStarted) == ids


async def test_fifty_requests_make_one_run() -> None:
    app = duel_app()
    (debate_id,) = await created(app, 1)
    async with working(app) as here:
        await asyncio.gather(*(here.queue.enqueue(debate_id) for _ in range(50)))
        await here.heard.until(lambda: here.heard.of(DebateFinished))
        assert here.heard.of(DebateStarted) == [debate_id]
        with pytest.raises(WrongStatus, match="is finished; there is nothing left to run"):
            await here.queue.enqueue(debate_id)


async def test_a_queued_debate_that_is_stopped_is_not_run() -> None:
    gate = Gate()
    app = duel_app(pace=gate, max_running=1)
    first, second, third = await created(app, 3)
    async with working(app) as here:
        for debate_id in (first, second, third):
            await here.queue.enqueue(debate_id)
        assert (await app.stop(second)).status is Status.STOPPED
        gate.let(10_000)
        await here.heard.until(lambda: len(here.heard.of(DebateFinished)) == 2)
        assert here.heard.of(DebateStarted) == [first, third]
        assert await here.status(second) is Status.STOPPED


async def test_a_debate_that_fails_leaves_room_for_the_next() -> None:
    app = duel_app(max_running=1)
    first, second = await created(app, 2)
    broken = await app.store.create(replace((await app.load(first)).record, id="DEB-broken", format="dule"))
    async with working(app) as here:
        for debate_id in (broken.id, second):
            await here.queue.enqueue(debate_id)
        await here.heard.until(lambda: here.heard.of(DebateFinished))
        assert (await app.load(broken.id)).record.error == "no format named 'dule'; known: " + ", ".join(
            sorted(app.formats)
        )


async def test_what_is_not_there_is_not_queued() -> None:
    async with working(duel_app()) as here:
        with pytest.raises(NotFound):
            await here.queue.enqueue("DEB-none")


# What an earlier process left


async def test_everything_unfinished_is_picked_up_at_start() -> None:
    store = MemoryStore()
    app = duel_app(store)
    queued, running, stopping, expired, rest = await created(app, 5)
    await store.enqueue(queued)
    await store.take(running, DEAD, 1000)
    await store.take(stopping, DEAD, 1000)
    await store.ask_to_stop(stopping)
    await store.take(expired, "process 1 on another machine", -1)
    async with working(app) as here:
        await here.heard.until(lambda: len(here.heard.of(DebateFinished)) == 3)
        assert set(here.heard.of(DebateFinished)) == {queued, running, expired}
        assert await here.status(stopping) is Status.STOPPED
        assert await here.status(rest) is Status.CREATED


async def test_what_another_machine_runs_is_taken_over_when_its_lease_ends() -> None:
    store = MemoryStore()
    app = duel_app(store)
    (debate_id,) = await created(app, 1)
    await store.take(debate_id, "process 1 on another machine", 0.05)
    async with working(app) as here:
        assert here.queue.running == 0
        await here.heard.until(lambda: here.heard.of(DebateFinished))
        assert (await app.load(debate_id)).record.run == 2


async def test_a_run_left_under_our_own_process_number_is_taken_over_at_once() -> None:
    store = MemoryStore()
    app = duel_app(store)
    (debate_id,) = await created(app, 1)
    await store.take(debate_id, this_process(), 1000)
    async with working(app) as here:
        await here.heard.until(lambda: here.heard.of(DebateFinished))


class Offline(MemoryStore):
    """A store that cannot be used for a while."""

    gone = 0

    async def append(self, debate_id: str, turn: Turn) -> Control:
        self._check()
        return await super().append(debate_id, turn)

    async def end(self, debate_id: str, run: int, ending: Ending) -> None:
        self._check()
        await super().end(debate_id, run, ending)

    async def unfinished(self) -> tuple[Unfinished, ...]:
        self._check()
        return await super().unfinished()

    def _check(self) -> None:
        if self.gone:
            self.gone -= 1
            raise StoreError("the database is away")


async def test_a_debate_goes_on_by_itself_when_its_database_is_back() -> None:
    store = Offline()
    app = duel_app(store)
    (debate_id,) = await created(app, 1)
    heard = Heard()
    queue = EmbeddedQueue(app, heard.hear, retry_seconds=0.01)
    store.gone = 5  # the turn, its failure, and three times what is unfinished
    await queue.enqueue(debate_id)
    await heard.until(lambda: heard.of(DebateFinished))
    await queue.drain(0)
    assert [turn.position for turn in (await app.load(debate_id)).turns] == [0, 1, 2]


async def test_what_has_failed_for_another_reason_is_left_alone() -> None:
    app = scripted_app(ScriptedModel(sensible, faults={1: WrongKey("no")}))
    (debate_id,) = await created(app, 1)
    heard = Heard()
    queue = EmbeddedQueue(app, heard.hear, retry_seconds=0.001)
    await queue.enqueue(debate_id)
    await heard.until(lambda: heard.of(DebateFailed))
    other = (await created(app, 1))[0]
    await queue.enqueue(other)
    await heard.until(lambda: heard.of(DebateFinished))
    await queue.drain(0)
    assert ((await app.load(debate_id)).record.status, heard.of(DebateStarted)) == (Status.FAILED, [debate_id, other])


# People


def panel_app(store: Store | None = None) -> App:
    return scripted_app(ScriptedModel(Panelists()), store)


async def waiting_panel(app: App, timeout: float) -> str:
    """A panel that a process has left waiting."""
    settings = {"max_rounds": 2, "checkpoint_timeout_seconds": timeout}
    record = await app.create("panel", "Redis?", settings)
    assert (await app.run(record.id, lambda event: None)).status is Status.WAITING
    return record.id


async def test_a_debate_that_waits_holds_nothing_and_goes_on_when_it_is_answered() -> None:
    app = panel_app()
    app.settings.max_running = 1
    async with working(app) as here:
        record, other = [await app.create("panel", "Redis?", {"max_rounds": 1}) for _ in range(2)]
        await here.queue.enqueue(record.id)
        await here.queue.enqueue(other.id)
        await here.heard.until(lambda: here.heard.of(Waiting) == [record.id, other.id])
        with pytest.raises(WrongStatus, match="it goes on when the person it asks has replied"):
            await here.queue.enqueue(record.id)
        await app.reply(record.id, "approve")
        await here.queue.enqueue(record.id)
        await here.heard.until(lambda: here.heard.of(DebateFinished))


async def test_an_answer_that_comes_while_the_debate_is_about_to_wait_is_heard() -> None:
    app = panel_app()
    record = await app.create("panel", "Redis?", {"max_rounds": 1})
    heard = Heard()
    answering: list[asyncio.Task[object]] = []

    def answer(event: Event) -> None:
        heard.hear(event)
        if isinstance(event, Waiting):  # nobody tells the queue
            answering.append(asyncio.create_task(app.reply(record.id, "approve")))

    queue = EmbeddedQueue(app, answer)
    await queue.enqueue(record.id)
    await heard.until(lambda: heard.of(DebateFinished))
    await queue.drain(0)


async def test_a_checkpoint_that_nobody_answers_is_paused_in_time_also_after_a_restart() -> None:
    app = panel_app()
    late = await waiting_panel(app, 0.05)
    early = await waiting_panel(app, 1000)
    async with working(app) as here:
        await here.heard.until(lambda: here.heard.paused)
        assert [(record.id, record.stop_reason) for record in here.heard.paused] == [(late, "checkpoint_timeout")]
        assert await here.status(early) is Status.WAITING


async def test_the_time_a_person_has_runs_on_while_no_process_is_there() -> None:
    clock = [1000.0]
    store = MemoryStore(now=lambda: clock[0])
    app = panel_app(store)
    debate_id = await waiting_panel(app, 500)
    clock[0] += 600
    async with working(app) as here:
        await here.heard.until(lambda: here.heard.paused)
        assert (await app.load(debate_id)).record.stop_reason == "checkpoint_timeout"


async def test_a_restored_debate_is_looked_after_again() -> None:
    app = panel_app()
    debate_id = await waiting_panel(app, 0.05)
    await app.delete(debate_id)
    async with working(app) as here:
        assert here.heard.paused == []
        await app.restore(debate_id)
        await here.queue.look_after(debate_id)
        await here.heard.until(lambda: here.heard.paused)


# The end


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await open_store(f"sqlite:///{tmp_path}/moot.db")
    yield store
    await store.close()


async def test_a_drain_lets_the_step_in_progress_end_and_the_next_start_goes_on_from_there(store: Store) -> None:
    gate = Gate()
    app = duel_app(store, gate)
    (debate_id,) = await created(app, 1)
    async with working(app, grace_seconds=PATIENCE) as here:
        await here.queue.enqueue(debate_id)
        gate.let(1)
        await here.heard.until(lambda: len(here.heard.events) > 3)
        draining = asyncio.create_task(here.queue.drain(PATIENCE))
        await asyncio.sleep(0)
        gate.let(5)
        await draining
        left = await app.load(debate_id)
        assert (left.record.status, left.record.stop_reason) == (Status.QUEUED, "interrupted")
        assert [turn.position for turn in left.turns] == [0]
        assert here.heard.of(DebateStopped) == []
    async with working(duel_app(store)) as here:
        await here.heard.until(lambda: here.heard.of(DebateFinished))
        assert here.heard.of(TurnFinished) == [debate_id] * 2
        assert [turn.run for turn in (await app.load(debate_id)).turns] == [1, 2, 2]


async def test_what_takes_longer_than_the_grace_is_interrupted_and_plays_its_step_again(store: Store) -> None:
    gate = Gate()
    app = duel_app(store, gate)
    (debate_id,) = await created(app, 1)
    async with working(app, grace_seconds=0.01) as here:
        await here.queue.enqueue(debate_id)
        gate.let(2)
        await here.heard.until(lambda: len(here.heard.events) > 3)
    left = await app.load(debate_id)
    assert (left.record.status, left.turns) == (Status.QUEUED, ())
    async with working(duel_app(store)) as here:
        await here.heard.until(lambda: here.heard.of(DebateFinished))


async def test_what_was_asked_to_stop_is_stopped_by_the_end_of_the_process(store: Store) -> None:
    gate = Gate()
    app = duel_app(store, gate)
    (debate_id,) = await created(app, 1)
    async with working(app, grace_seconds=0.01) as here:
        await here.queue.enqueue(debate_id)
        gate.let(2)
        await here.heard.until(lambda: len(here.heard.events) > 3)
        assert (await app.stop(debate_id)).status is Status.STOPPING
    left = (await app.load(debate_id)).record
    assert (left.status, left.stop_reason) == (Status.STOPPED, "stopped")


async def test_a_queue_that_drains_begins_nothing_new(store: Store) -> None:
    app = duel_app(store)
    (debate_id,) = await created(app, 1)
    async with working(app) as here:
        await here.queue.drain(0)
        assert (await here.queue.enqueue(debate_id)).status is Status.QUEUED
        assert here.queue.running == 0

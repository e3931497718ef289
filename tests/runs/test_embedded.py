"""Debates as tasks of this process: what a crash has left, a database that was away, a person who does not answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from at_work import created, duel_app

from model_server import PATIENCE
from moot.app import App
from moot.core.debate import Status, Turn
from moot.core.engine import Control, RunResult
from moot.core.events import DebateFailed, DebateFinished, DebateStarted, DebateStopped, Event, Waiting
from moot.errors import StoreError, WrongKey
from moot.runs.embedded import RETRY_SECONDS, EmbeddedQueue
from moot.runs.process import SINCE, this_process
from moot.runs.queue import Load
from moot.runs.retries import TAKEN_OVER
from moot.store.processes import Unfinished
from moot.store.store import Store
from moot.testing import MemoryStore, ScriptedModel, scripted_app
from stage import Panelists, sensible

DEAD = re.sub(r"^process \d+", "process 4194303", this_process())
"""A process of this machine that is not there."""


class Heard:
    """What is heard by somebody who follows debates to their end."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._more = asyncio.Event()
        self._following: list[asyncio.Task[None]] = []

    def follow(self, queue: EmbeddedQueue, *debates: str) -> None:
        self._following += [asyncio.create_task(self._hear(queue, each)) for each in debates]

    def leave(self) -> None:
        for task in self._following:
            task.cancel()

    async def _hear(self, queue: EmbeddedQueue, debate_id: str) -> None:
        async for event in queue.follow(debate_id, through_waits=True):
            self.events.append(event)
            self._more.set()

    @property
    def paused(self) -> list[str]:
        late = [event for event in self.events if isinstance(event, DebateStopped)]
        return [event.debate for event in late if event.stop_reason == "checkpoint_timeout"]

    def of(self, kind: type[Event]) -> list[str]:
        return [event.debate for event in self.events if isinstance(event, kind)]

    async def until(self, true: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not true():
                self._more.clear()
                await self._more.wait()


class Working:
    def __init__(self, app: App, queue: EmbeddedQueue, heard: Heard) -> None:
        self.app = app
        self.queue = queue
        self.heard = heard

    async def status(self, debate_id: str) -> Status:
        return (await self.app.load(debate_id)).record.status


@asynccontextmanager
async def working(app: App, retry_seconds: float = RETRY_SECONDS) -> AsyncIterator[Working]:
    heard = Heard()
    queue = EmbeddedQueue(app.runner, retry_seconds)
    heard.follow(queue, *(record.id for record in await app.list()))
    await queue.start()
    yield Working(app, queue, heard)
    heard.leave()
    await queue.drain(0)


async def lost_runs(app: App, debate_id: str) -> list[int]:
    """The runs that took over from one that had died."""
    return [failure.run for failure in (await app.load(debate_id)).failures if failure.code == TAKEN_OVER]


# What an earlier process left


async def test_a_debate_whose_processes_die_again_and_again_without_a_turn_is_given_up() -> None:
    store = MemoryStore()
    app = duel_app(store)
    (debate_id,) = await created(app, 1)
    for run in range(1, app.settings.max_retries + 3):
        await store.take(debate_id, DEAD, 1000)
        if run <= app.settings.max_retries + 1:
            await app.runner.free(debate_id, run, DEAD)
    async with working(app) as here:
        await here.heard.until(lambda: here.heard.of(DebateFailed))
    error = (await app.load(debate_id)).record.error or ""
    assert error.startswith(f"given up after {app.settings.max_retries + 2} attempts: process 4194303 on ")


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
    assert [await lost_runs(app, each) for each in (queued, running, stopping, expired)] == [[], [2], [], [2]]


async def test_what_another_machine_runs_is_taken_over_when_its_lease_ends() -> None:
    store = MemoryStore()
    app = duel_app(store)
    (debate_id,) = await created(app, 1)
    await store.take(debate_id, "process 1 on another machine", 1)
    async with working(app) as here:
        assert await here.queue.load() == Load(0, 0, 1)
        await here.heard.until(lambda: here.heard.of(DebateFinished))
        assert (await app.load(debate_id)).record.run == 2
        assert await lost_runs(app, debate_id) == [2]


@pytest.mark.parametrize("owner", [DEAD, "process 1 on another machine"], ids=["dead", "elsewhere"])
async def test_what_dies_while_the_queue_works_is_taken_over(owner: str) -> None:
    store = MemoryStore()
    app = duel_app(store)
    (debate_id,) = await created(app, 1)
    async with working(app, retry_seconds=0.02) as here:
        await store.take(debate_id, owner, 1000 if owner == DEAD else 0.05)
        await here.heard.until(lambda: here.heard.of(DebateFinished))
        assert await lost_runs(app, debate_id) == [2]


async def test_what_this_process_runs_beside_the_queue_is_left_to_it() -> None:
    store = Looked()
    app = duel_app(store)
    (debate_id,) = await created(app, 1)
    async with working(app, retry_seconds=0.01):
        await store.take(debate_id, this_process(), 1000)
        await asyncio.wait_for(store.looked_often.wait(), PATIENCE)
    assert (await app.load(debate_id)).record.run == 1


async def test_what_another_process_has_queued_and_left_is_run() -> None:
    store = MemoryStore()
    app = duel_app(store)
    (debate_id,) = await created(app, 1)
    async with working(app, retry_seconds=0.02) as here:
        await store.enqueue(debate_id)
        await here.heard.until(lambda: here.heard.of(DebateFinished))


class Looked(MemoryStore):
    looks = 0

    def __init__(self) -> None:
        super().__init__()
        self.looked_often = asyncio.Event()

    async def unfinished(self) -> tuple[Unfinished, ...]:
        self.looks += 1
        if self.looks > 5:
            self.looked_often.set()
        return await super().unfinished()


async def test_a_run_of_a_dead_process_with_our_number_is_taken_over_at_once() -> None:
    store = MemoryStore()
    app = duel_app(store)
    (debate_id,) = await created(app, 1)
    await store.take(debate_id, this_process().partition(SINCE)[0] + f"{SINCE}1", 1000)
    async with working(app) as here:
        await here.heard.until(lambda: here.heard.of(DebateFinished))


class Offline(MemoryStore):
    """A store that cannot be used for a while."""

    gone = 0

    async def append(self, debate_id: str, turn: Turn) -> Control:
        self._check()
        return await super().append(debate_id, turn)

    async def end(self, debate_id: str, run: int, ending: RunResult) -> None:
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
    queue = EmbeddedQueue(app.runner, retry_seconds=0.01)
    heard.follow(queue, debate_id)
    store.gone = 5  # the turn, its failure, and three times what is unfinished
    await queue.enqueue(debate_id)
    await heard.until(lambda: heard.of(DebateFailed))
    heard.follow(queue, debate_id)
    await heard.until(lambda: heard.of(DebateFinished))
    await queue.drain(0)
    assert [turn.position for turn in (await app.load(debate_id)).turns] == [0, 1, 2]


async def test_what_has_failed_for_another_reason_is_left_alone() -> None:
    app = scripted_app(ScriptedModel(sensible, faults={1: WrongKey("no")}))
    (debate_id,) = await created(app, 1)
    heard = Heard()
    queue = EmbeddedQueue(app.runner, retry_seconds=0.001)
    heard.follow(queue, debate_id)
    await queue.enqueue(debate_id)
    await heard.until(lambda: heard.of(DebateFailed))
    other = (await created(app, 1))[0]
    heard.follow(queue, other)
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


async def test_an_answer_that_comes_while_the_debate_is_about_to_wait_is_heard() -> None:
    app = panel_app()
    record = await app.create("panel", "Redis?", {"max_rounds": 1})
    heard = Heard()
    queue = EmbeddedQueue(app.runner)
    heard.follow(queue, record.id)
    await queue.enqueue(record.id)
    await heard.until(lambda: heard.of(Waiting))
    await app.reply(record.id, "approve")  # nobody tells the queue
    await heard.until(lambda: heard.of(DebateFinished))
    await queue.drain(0)


class StoppedAtOnce(MemoryStore):
    """Somebody stops a debate at the moment its first run begins to wait."""

    async def end(self, debate_id: str, run: int, ending: RunResult) -> None:
        await super().end(debate_id, run, ending)
        if ending.status is Status.WAITING and run == 1:
            await self.ask_to_stop(debate_id)


async def test_a_stop_that_comes_just_after_a_debate_began_to_wait_is_not_undone() -> None:
    app = panel_app(StoppedAtOnce())
    record = await app.create("panel", "Redis?", {"max_rounds": 1})
    async with working(app) as here:
        await here.queue.enqueue(record.id)
        async with asyncio.timeout(PATIENCE):
            while await here.queue.load() != Load(0, 0, 1):  # noqa: ASYNC110 (nobody tells)
                await asyncio.sleep(0)
    stored = (await app.load(record.id)).record
    assert (stored.status, stored.run) == (Status.STOPPED, 1)


async def test_a_checkpoint_that_nobody_answers_is_paused_in_time_also_after_a_restart() -> None:
    app = panel_app()
    late = await waiting_panel(app, 0.05)
    early = await waiting_panel(app, 1000)
    async with working(app) as here:
        await here.heard.until(lambda: here.heard.paused)
        assert here.heard.paused == [late]
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
        here.heard.follow(here.queue, debate_id)
        await here.queue.look_after(debate_id)
        await here.heard.until(lambda: here.heard.paused)

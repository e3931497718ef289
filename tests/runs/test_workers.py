"""Several queues on one Postgres: who runs what, who goes first, what is tried again, and what the dead leave."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast

import asyncpg
import pytest
from at_work import (
    PATIENCE,
    Gate,
    app_with,
    created,
    duel_app,
    followed,
    reading,
    record,
    server_of,
    status,
    types,
    working,
)

from moot.app import App
from moot.core.debate import Failure, HumanReply, Record, Status, Turn
from moot.core.engine import RunResult
from moot.core.events import DebateFailed, DebateStopped, StepRetrying
from moot.core.stored import StoredDebate
from moot.errors import ModelError, StoreBlocked, WrongKey, WrongStatus
from moot.reading.views import whole_debate
from moot.runs import runner, workers
from moot.runs.notify import EVENTS
from moot.runs.process import this_process
from moot.runs.queue import Load, Queue
from moot.store import jobs
from moot.store.database import Job
from moot.store.postgres import STATEMENT_SECONDS, open_postgres
from moot.store.store import Store
from moot.terminal.watch import show_debate
from moot.testing import ScriptedModel
from proxy import proxy
from stage import Overloaded, Panelists, sensible

ELSEWHERE = "process 1 on another machine"
DEAD = re.sub(r"^process \d+", "process 4194303", this_process())
"""A process of this machine that is not there."""
DOWN = ModelError("the model is down")


@pytest.fixture
async def store(open_again: Callable[[], Awaitable[Store]]) -> Store:
    return await open_again()


@pytest.fixture
async def session(postgres_url: str) -> AsyncIterator[Any]:
    session = await asyncpg.connect(postgres_url)
    yield session
    await session.close()


async def until(session: Any, sql: str) -> None:
    """Wait until it is so in the database, and have all workers look at once for what is due."""
    async with asyncio.timeout(PATIENCE):
        while not await session.fetchval(sql):
            await session.execute("NOTIFY moot_jobs")


async def until_logged(caplog: pytest.LogCaptureFixture, words: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while words not in caplog.text:  # noqa: ASYNC110 - a log wakes nobody
            await asyncio.sleep(0.01)


ALL_FAILED = "SELECT bool_and(status = 'failed') FROM debates"
ALL_FINISHED = "SELECT bool_and(status = 'finished') FROM debates"
NO_JOBS = "SELECT NOT EXISTS (SELECT FROM jobs)"


async def queued(app: App, count: int = 1, **settings: Any) -> list[str]:
    ids = await created(app, count, **settings)
    for debate_id in ids:
        await app.store.enqueue(debate_id)
    return ids


# Together


async def test_two_queues_share_the_work_and_each_debate_has_one_owner(
    open_again: Callable[[], Awaitable[Store]],
) -> None:
    gates = Gate(), Gate()
    first, second = [duel_app(await open_again(), gate) for gate in gates]
    ids = await queued(first, 6)
    async with working(first, at_once=2) as here, working(second, at_once=2) as there:
        await gates[0].reached(2)
        await gates[1].reached(2)
        assert await here.load() == await there.load() == Load(4, 2, 2)
        assert len(await second.store.workers(30)) == 2
        for gate in gates:
            await gate.let()
        for debate_id in ids:
            await followed(there, debate_id)
    assert [(await record(first, each)).run for each in ids] == [1] * 6
    assert [len((await first.load(each)).turns) for each in ids] == [3] * 6
    assert await second.store.workers(30) == ()


async def test_a_queue_without_room_of_its_own_runs_nothing_but_enqueues_and_follows(
    open_again: Callable[[], Awaitable[Store]],
) -> None:
    idle, busy = duel_app(await open_again()), duel_app(await open_again())
    (debate_id,) = await created(idle, 1)
    async with working(idle, at_once=0) as here:
        await here.enqueue(debate_id)
        assert await here.load() == Load(0, 1, 0)
        async with working(busy):
            assert types(await followed(here, debate_id))[-1] == "debate_finished"
    assert (await record(idle, debate_id)).run == 1


async def create_watched(app: App, queue: Queue) -> str:
    return (await app.create("duel", "Cats?", {"max_rounds": 1}, start=True, watched=True)).id


async def enqueue_watched(app: App, queue: Queue) -> str:
    (debate_id,) = await created(app, 1)
    await app.store.enqueue(debate_id, watched=True)
    return debate_id


async def queue_and_follow(app: App, queue: Queue) -> str:
    (debate_id,) = await queued(app)
    async with asyncio.timeout(PATIENCE):
        async with asyncio.TaskGroup() as both:
            following = both.create_task(anext(queue.follow(debate_id)))
            session = await asyncpg.connect(server_of(app.store).url)
            await until(session, f"SELECT watched FROM debates WHERE id = '{debate_id}'")
            await session.close()
            following.cancel()
    return debate_id


@pytest.mark.parametrize("watched", [create_watched, enqueue_watched, queue_and_follow])
async def test_a_debate_somebody_watches_goes_first(
    store: Store, session: Any, watched: Callable[[App, Queue], Awaitable[str]]
) -> None:
    gate = Gate()
    app = duel_app(store, gate)
    first, second = await queued(app, 2)
    async with working(app, at_once=1) as queue:
        await gate.reached()
        urgent = await watched(app, queue)
        await gate.let()
        await until(session, ALL_FINISHED)
    turns = [turn for each in (first, urgent, second) for turn in (await app.load(each)).turns]
    assert turns == sorted(turns, key=lambda turn: turn.started_at)
    assert len(turns) == 9


async def share_is_over(session: Any) -> None:
    """Five beats of the only worker: after the fourth it has looked whose share is over."""
    for _ in range(5):
        seen = await session.fetchval("SELECT seen_at FROM workers")
        await until(session, f"SELECT seen_at > {seen!r} FROM workers")


async def test_a_long_run_lets_others_go_first_after_its_share(store: Store, session: Any) -> None:
    gate = Gate()
    app = duel_app(store, gate, share_seconds=0.3, heartbeat_seconds=0.1)
    long, short = await queued(app, 2, max_rounds=2)
    async with working(app, at_once=1):
        await gate.reached()
        await share_is_over(session)
        await gate.let()
        await until(session, ALL_FINISHED)
    turns, others = (await app.load(long)).turns, (await app.load(short)).turns
    assert (turns[0].run, turns[1].run) == (1, 2)
    assert turns[0].finished_at < others[0].started_at < turns[1].started_at
    assert (len(turns), len(others)) == (5, 5)


async def test_a_run_that_somebody_watches_or_that_keeps_nobody_waiting_goes_on(store: Store, session: Any) -> None:
    gate = Gate()
    app = duel_app(store, gate, share_seconds=0.3, heartbeat_seconds=0.1)
    watched = (await app.create("duel", "Cats?", {"max_rounds": 1}, start=True, watched=True)).id
    async with working(app, at_once=1):
        await gate.reached()
        await share_is_over(session)
        (other,) = await queued(app)
        await share_is_over(session)
        await gate.let()
        await until(session, ALL_FINISHED)
    assert [(await record(app, each)).run for each in (watched, other)] == [1, 1]


# Again


async def test_a_debate_whose_model_is_down_is_tried_again_and_again_until_it_is_given_up(
    store: Store, session: Any
) -> None:
    model = ScriptedModel(sensible, faults=dict.fromkeys(range(2, 100), DOWN))
    app = app_with(model, store, max_retries=2, retry_seconds=0.01)
    (debate_id,) = await queued(app)
    async with working(app) as queue:
        await until(session, ALL_FAILED)
        last = (await followed(queue, debate_id))[-1]
    assert isinstance(last, DebateFailed)
    assert last.error == "the model is down"
    stored = await app.load(debate_id)
    assert [failure.run for failure in stored.failures] == [1, 2, 3]
    assert [turn.run for turn in stored.turns] == [1]
    first, second, third = (failure.at for failure in stored.failures)
    assert second - first >= 0.01
    assert third - second >= 0.02


async def test_a_model_that_is_back_in_time_loses_nothing_and_readers_see_one_debate(
    store: Store, session: Any
) -> None:
    model = ScriptedModel(sensible, faults={2: DOWN, 3: DOWN})
    app = app_with(model, store, max_retries=2, retry_seconds=0.01)
    (debate_id,) = await queued(app)
    async with working(app) as queue, reading(queue, debate_id) as reader:
        await until(session, ALL_FINISHED)
        events = await reader.to_the_end()
    assert [kind for kind in types(events) if kind in ("turn_finished", "debate_failed", "debate_finished")] == [
        *["turn_finished"] * 3,
        "debate_finished",
    ]
    assert [turn.run for turn in (await app.load(debate_id)).turns] == [1, 3, 3]


async def test_an_attempt_that_is_due_much_later_is_told_and_made_at_once_by_a_process_that_runs_nothing(
    store: Store, open_again: Callable[[], Awaitable[Store]]
) -> None:
    app = app_with(ScriptedModel(sensible, faults={2: DOWN}), store, max_retries=2, retry_seconds=500.0)
    front = duel_app(await open_again())
    (debate_id,) = await queued(app)
    async with working(app), working(front, at_once=0) as other, reading(other, debate_id) as reader:
        await reader.until(lambda events: events and events[-1].type == "step_retrying")
        told = reader.events[-1]
        assert isinstance(told, StepRetrying)
        assert (told.seat, told.error, told.attempt, told.attempts, told.seconds) == (
            "debater_b",
            "the model is down",
            2,
            3,
            500.0,
        )
        await other.hurry(debate_id)
        assert types(await reader.to_the_end())[-1] == "debate_finished"


async def test_a_seat_gets_another_model_through_a_process_that_does_not_run_the_debate(
    store: Store, open_again: Callable[[], Awaitable[Store]]
) -> None:
    app = app_with(Overloaded(), store)
    front = duel_app(await open_again())
    (debate_id,) = await queued(app, models={"debater_b": "scripted:dead"})
    async with working(app), working(front, at_once=0) as other, reading(other, debate_id) as reader:
        front.queue = other
        await reader.until(lambda events: events and events[-1].type == "step_retrying")
        await front.resume(debate_id, {"models": {"debater_b": "scripted:new"}})
        assert types(await reader.to_the_end())[-1] == "debate_finished"
    turns = (await app.load(debate_id)).turns
    assert [(turn.seat, turn.model) for turn in turns][1:3] == [("human", None), ("debater_b", "scripted:new")]


class SlowToEnqueue:
    """A queue that gets to a debate only when it has ended."""

    def __init__(self, queue: Queue, until_ended: Callable[[], Awaitable[object]]) -> None:
        self._queue, self._until_ended = queue, until_ended

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)

    async def enqueue(self, debate_id: str) -> Record:
        await self._until_ended()
        return await self._queue.enqueue(debate_id)


async def test_a_run_that_takes_other_models_and_ends_at_once_needs_no_further_run(store: Store) -> None:
    app = app_with(Overloaded(), store)
    (debate_id,) = await queued(app, models={"debater_b": "scripted:dead"})
    async with working(app) as queue, reading(queue, debate_id) as reader:
        app.queue = cast(Queue, SlowToEnqueue(queue, reader.to_the_end))
        await reader.until(lambda events: events and events[-1].type == "step_retrying")
        resumed = await app.resume(debate_id, {"models": {"debater_b": "scripted:new"}})
        assert (resumed.status, resumed.run) == (Status.FINISHED, 1)
        with pytest.raises(WrongStatus, match="is finished"):
            await app.resume(debate_id)


async def test_who_resumes_a_debate_that_was_given_up_has_its_attempts_counted_anew(store: Store, session: Any) -> None:
    model = ScriptedModel(sensible, faults=dict.fromkeys(range(1, 4), DOWN))
    app = app_with(model, store, max_retries=1, retry_seconds=0.01)
    (debate_id,) = await queued(app)
    async with working(app) as queue:
        await until(session, ALL_FAILED)
        assert (await record(app, debate_id)).run == 2
        assert (await queue.enqueue(debate_id)).tries_from == 2
        await until(session, ALL_FINISHED)
    assert [turn.run for turn in (await app.load(debate_id)).turns] == [4, 4, 4]


# What the dead leave


def lost(stored: StoredDebate) -> list[Failure]:
    return [failure for failure in stored.failures if failure.code == "taken_over"]


async def test_a_run_whose_process_died_is_gone_on_with_and_counts_as_an_attempt(store: Store, session: Any) -> None:
    app = duel_app(store)
    (debate_id,) = await queued(app)
    await store.take(debate_id, ELSEWHERE, 0.2)
    async with working(app):
        await until(session, ALL_FINISHED)
    stored = await app.load(debate_id)
    assert [turn.run for turn in stored.turns] == [2, 2, 2]
    told = f"{ELSEWHERE} was lost in the middle of a run; another has taken over"
    (failure,) = lost(stored)
    assert failure == Failure(
        position=0,
        seat="moot",
        kind="run",
        round=None,
        partial="",
        code="taken_over",
        message=told,
        at=failure.at,
        run=2,
    )


async def test_what_a_dead_process_of_this_machine_has_left_goes_on_at_once(store: Store) -> None:
    app = duel_app(store, lease_seconds=1000)
    running, stopping = await queued(app, 2)
    for debate_id in (running, stopping):
        await store.take(debate_id, DEAD, 1000)
    await app.stop(stopping)
    async with working(app) as queue:
        assert types(await followed(queue, running))[-1] == "debate_finished"
    assert await status(app, stopping) is Status.STOPPED
    stored = await app.load(running)
    assert [turn.run for turn in stored.turns] == [2, 2, 2]
    assert [(failure.position, failure.run) for failure in lost(stored)] == [(0, 1)]


async def test_what_a_living_process_is_running_is_left_to_it(store: Store, session: Any) -> None:
    gate = Gate()
    app = duel_app(store, gate, heartbeat_seconds=0.05)
    ours, theirs = await queued(app, 2)
    await store.take(theirs, ELSEWHERE, 1000)
    async with working(app):
        await gate.reached()
        await share_is_over(session)
        await gate.let()
        await until(session, "SELECT count(*) = 1 FROM debates WHERE status = 'finished'")
    left = await record(app, theirs)
    assert (left.status, left.owner, left.run) == (Status.RUNNING, ELSEWHERE, 1)
    assert (await record(app, ours)).run == 1


async def test_a_debate_that_kills_every_process_is_given_up(store: Store) -> None:
    app = duel_app(store, max_retries=1)
    (debate_id,) = await queued(app)
    for run in (1, 2):
        await store.take(debate_id, ELSEWHERE, -1)
        if run == 2:
            failure = Failure(
                position=0,
                seat="moot",
                kind="run",
                round=None,
                partial="",
                code="taken_over",
                message="lost once",
                at=1.0,
                run=run,
            )
            await store.add_failure(debate_id, failure)
    async with working(app) as queue:
        last = (await followed(queue, debate_id))[-1]
    assert isinstance(last, DebateFailed)
    error = f"given up after 2 attempts: {ELSEWHERE} was lost in the middle of a run; another has taken over"
    assert ((await record(app, debate_id)).status, last.error) == (Status.FAILED, error)


async def test_a_run_that_was_taken_over_leaves_its_job_for_when_the_other_owner_dies(
    store: Store, session: Any
) -> None:
    gate = Gate()
    app = duel_app(store, gate, heartbeat_seconds=1000)
    (debate_id,) = await queued(app)
    async with working(app):
        await gate.reached()
        await store.heartbeat(debate_id, 1, -1)
        await store.take(debate_id, ELSEWHERE, 0.2)  # which then dies
        await gate.let()
        await until(session, ALL_FINISHED)
    stored = await app.load(debate_id)
    assert [turn.run for turn in stored.turns] == [3, 3, 3]
    assert [failure.run for failure in lost(stored)] == [3]


async def test_what_a_dead_process_was_to_stop_is_stopped(store: Store, session: Any) -> None:
    app = duel_app(store)
    (debate_id,) = await queued(app)
    await store.take(debate_id, ELSEWHERE, 1000)
    assert (await app.stop(debate_id)).status is Status.STOPPING
    await session.execute("UPDATE debates SET lease_until = 0")
    async with working(app):
        await until(session, "SELECT status = 'stopped' FROM debates")
    assert (await record(app, debate_id)).stop_reason == "stopped"


class Held:
    """A store that holds back those who take a debate."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.reached = asyncio.Event()

    async def take(self, *arguments: Any, **more: Any) -> StoredDebate:
        self.reached.set()
        await asyncio.Event().wait()
        return await self._store.take(*arguments, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


async def test_a_run_that_is_interrupted_before_it_has_begun_is_begun_by_the_next(
    open_again: Callable[[], Awaitable[Store]],
) -> None:
    held: Any = Held(await open_again())
    (debate_id,) = await queued(duel_app(held))
    async with working(duel_app(held, lease_seconds=1000)):
        await held.reached.wait()
    app = duel_app(await open_again(), lease_seconds=1000)
    async with working(app) as queue:
        await followed(queue, debate_id)
    assert (await record(app, debate_id)).run == 1


# Jobs that are too many, too late or early


async def test_a_debate_that_has_lost_its_job_gets_one_by_itself(store: Store, session: Any) -> None:
    app = duel_app(store, heartbeat_seconds=0.05)
    first, second = await queued(app, 2)
    await store.take(second, ELSEWHERE, 0.05)
    await session.execute("DELETE FROM jobs")
    async with working(app):
        await until(session, ALL_FINISHED)
        await until(session, NO_JOBS)
    assert (await record(app, first)).run == 1


async def test_a_debate_that_has_a_job_or_is_being_run_gets_no_other(store: Store, session: Any) -> None:
    app = duel_app(store)
    waiting, running = await queued(app, 2)
    await store.take(running, ELSEWHERE, 30)
    await session.execute("DELETE FROM jobs WHERE debate_id = $1", running)
    assert await jobs.put_missing(session) == []
    assert [row[0] for row in await session.fetch("SELECT debate_id FROM jobs")] == [waiting]


REFUSE = """
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no failures today'; END $$;
    CREATE TRIGGER refuse BEFORE UPDATE ON debates FOR EACH ROW WHEN (NEW.status = 'failed') EXECUTE FUNCTION refuse();
"""


async def test_a_failure_that_could_not_be_stored_is_raised_and_its_job_comes_again(
    store: Store, session: Any, caplog: pytest.LogCaptureFixture
) -> None:
    model = ScriptedModel(sensible, faults=dict.fromkeys(range(1, 100), WrongKey("the key is wrong")))
    app = app_with(model, store, heartbeat_seconds=0.05, lease_seconds=0.3)
    await session.execute(REFUSE)
    (debate_id,) = await queued(app)
    async with working(app):
        await until_logged(caplog, "no failures today")
        await session.execute("DROP TRIGGER refuse ON debates")
        await until(session, ALL_FAILED)
    assert "its failure could not be stored: the key is wrong" in caplog.text
    assert (await record(app, debate_id)).run > 1


async def test_debates_whose_table_is_locked_for_longer_than_a_lock_is_waited_for_go_on_afterwards(
    postgres_url: str, session: Any
) -> None:
    store = await open_postgres(f"{postgres_url}&lock_timeout=50")
    gate = Gate()
    app = duel_app(store, gate, heartbeat_seconds=0.1, lease_seconds=0.5)
    ids = await queued(app, 3)
    async with working(app):
        await gate.reached(3)
        async with session.transaction():
            await session.execute("LOCK TABLE debates, turns")
            await gate.let()
            await asyncio.sleep(1.0)  # longer than a lease lasts, and a turn waits before it is stored again
        await until(session, ALL_FINISHED)
    for debate_id in ids:
        stored = await app.load(debate_id)
        assert [turn.position for turn in stored.turns] == [0, 1, 2]
    await store.close()


async def test_a_debate_of_a_newer_version_is_left_to_a_worker_that_knows_it(
    store: Store, session: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "moot.runs.workers")
    app = duel_app(store)
    (debate_id,) = await queued(app)
    version = (await record(app, debate_id)).format_version
    await session.execute("UPDATE debates SET format_version = 99")
    async with working(app):
        await until_logged(caplog, "follows version 99 of duel, newer than this moot knows")
        assert await status(app, debate_id) is Status.QUEUED
        await session.execute("UPDATE debates SET format_version = $1", version)
        await until(session, ALL_FINISHED)


@pytest.mark.parametrize(
    ("column", "newer", "said"),
    [
        (
            "settings",
            '{"max_rounds": 1, "mood": "calm"}',
            "settings that this moot does not know (mood: not known)",
        ),
        ("settings", '{"max_rounds": 1, "depth": "endless"}', "(depth: one of quick, normal, careful, not 'endless')"),
        (
            "seats",
            '{"judge": {"model": "m", "temperature": 0, "max_tokens": 9, "mood": 1}}',
            "its seats cannot be",
        ),
        ("format", "tribunal", "is a tribunal, a format that this moot does not have"),
    ],
)
async def test_a_debate_with_what_only_a_newer_moot_knows_is_left_to_it_and_its_readers_are_told_once(
    store: Store,
    session: Any,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    column: str,
    newer: str,
    said: str,
) -> None:
    monkeypatch.setattr(workers, "POLL_SECONDS", 0.1)
    app = duel_app(store)
    (debate_id,) = await queued(app)
    before = await session.fetchval(f"SELECT {column} FROM debates")
    await session.execute(f"UPDATE debates SET {column} = $1", newer)
    async with working(app):
        await until(session, f"SELECT max(attempts) > {workers.LEFT_OFTEN + 1} FROM jobs")
        waiting = whole_debate(await app.read(debate_id))
        told = [line.getMessage() for line in caplog.records if line.name.startswith("moot.runs")]
        (failure,) = waiting.failures
        assert (told, said in failure.message) == ([f"{debate_id}: {failure.message}"], True)
        why = waiting.error or waiting.held_up  # what cannot be read is shown as failed
        assert why == (waiting.error if column == "seats" else failure.message)
        assert await session.fetchval("SELECT status FROM debates") == "queued"
        show_debate(await app.read(debate_id), as_json=False)
        assert f"{debate_id} is {waiting.status}: {why}" in " ".join(capsys.readouterr().out.split())
        await session.execute(f"UPDATE debates SET {column} = $1", before)
        await until(session, ALL_FINISHED)
    assert (await app.read(debate_id)).held_up is None


async def test_a_worker_whose_database_does_not_answer_any_more_ends_all_the_same(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (runner, workers):
        monkeypatch.setattr(module, "HAND_BACK_SECONDS", 0.1)
    gate = Gate()
    async with proxy(postgres_url) as between:
        store = await open_postgres(between.url)
        app = duel_app(store, gate)
        (debate_id,) = await queued(app)
        async with working(app) as queue:
            await gate.reached()
            between.swallows = True
            await asyncio.wait_for(queue.drain(0), STATEMENT_SECONDS - 5)  # no answer was waited for
            between.swallows = False
        assert await status(app, debate_id) is Status.RUNNING  # until its lease has ended
        await store.close()


async def test_whatever_goes_wrong_at_the_worker_itself_does_not_end_it(
    store: Store, session: Any, caplog: pytest.LogCaptureFixture
) -> None:
    app = duel_app(store, heartbeat_seconds=0.05)
    server = server_of(store)
    async with working(app):
        broken, server.fetch = server.fetch, _broken  # type: ignore[method-assign]
        await until_logged(caplog, "no jobs taken")
        server.fetch = broken  # type: ignore[method-assign]
        await queued(app)
        await until(session, ALL_FINISHED)


async def _broken(*arguments: object) -> Any:
    raise RuntimeError("nobody has thought of this")


async def test_a_job_too_many_does_no_harm(store: Store, session: Any) -> None:
    gate = Gate()
    app = duel_app(store, gate)
    (debate_id,) = await queued(app)
    for number in range(5):
        await jobs.put(session, Job("run", debate_id, f"run {debate_id} more{number}", False, 0.0))
    await jobs.put(session, Job("run", "DEB-none", "run DEB-none 1", False, 0.0))
    await jobs.put(session, Job("pause", debate_id, f"pause {debate_id} 1", False, 0.0))
    async with working(app) as queue:
        await gate.reached()
        await until(session, "SELECT count(*) = 5 FROM jobs WHERE worker IS NULL AND attempts > 0")
        await gate.let()
        await followed(queue, debate_id)
        await session.execute("UPDATE jobs SET due_at = moot_now()")  # not when the lease would have ended
        await until(session, NO_JOBS)
    stored = await app.load(debate_id)
    assert (stored.record.run, [turn.position for turn in stored.turns], stored.failures) == (1, [0, 1, 2], ())


async def test_a_job_of_a_newer_version_is_left_alone_and_the_others_are_done(store: Store, session: Any) -> None:
    app = duel_app(store)
    await session.execute(
        "INSERT INTO jobs (key, kind, debate_id, urgent, due_at) VALUES ('tidy DEB-1', 'tidy', 'DEB-1', true, 0)"
    )
    (debate_id,) = await queued(app)
    async with working(app) as queue:
        await followed(queue, debate_id)
        await until(session, "SELECT count(*) = 1 FROM jobs")
    assert tuple(await session.fetchrow("SELECT kind, worker, attempts FROM jobs")) == ("tidy", None, 0)


async def test_a_debate_that_comes_back_while_its_last_run_is_just_ending_is_run_again(
    store: Store, session: Any
) -> None:
    gate = Gate()
    model = ScriptedModel(sensible, faults={1: DOWN}, pace=gate)
    app = app_with(model, store, retry_seconds=0.01)
    (debate_id,) = await queued(app)
    async with working(app) as queue:
        await gate.reached()
        async with session.transaction():  # the first job cannot be removed meanwhile
            await session.execute("SELECT * FROM jobs FOR UPDATE")
            await gate.let()
            await until(session, "SELECT max(attempts) > 0 FROM jobs")
        await followed(queue, debate_id)
        await until(session, NO_JOBS)
    assert (await record(app, debate_id)).run == 2


async def test_a_debate_that_was_deleted_is_run_when_it_is_restored(store: Store, session: Any) -> None:
    app = duel_app(store)
    (debate_id,) = await queued(app)
    await app.delete(debate_id)
    async with working(app) as queue:
        await until(session, NO_JOBS)
        await app.restore(debate_id)
        assert types(await followed(queue, debate_id))[-1] == "debate_finished"
    assert (await record(app, debate_id)).run == 1


async def test_a_claim_looks_at_no_job_that_is_not_due(store: Store, session: Any) -> None:
    await session.execute("""
        INSERT INTO jobs (key, kind, debate_id, urgent, due_at)
        SELECT 'run ' || i, 'run', 'DEB-' || i, i % 2 = 0, moot_now() + CASE WHEN i < 4990 THEN 1000 ELSE -1000 END
        FROM generate_series(1, 5000) AS i
    """)
    await session.execute("ANALYZE jobs")
    explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {workers.CLAIM}"
    plan = await session.fetchval(explain, "me", 8, 30.0)
    assert sum(map(int, re.findall(r'"Rows Removed by Filter": (\d+)', plan))) == 0
    assert await session.fetch("SELECT urgent, count(*) FROM jobs WHERE worker = 'me' GROUP BY 1 ORDER BY 1") == [
        (False, 2),
        (True, 6),
    ]


async def test_a_heartbeat_keeps_no_job_alive_that_another_has_taken_over(store: Store, session: Any) -> None:
    gate = Gate()
    app = duel_app(store, gate, heartbeat_seconds=0.05)
    await queued(app)
    async with working(app):
        await gate.reached()
        at = await session.fetchval("UPDATE jobs SET worker = 'another', seen_at = moot_now() RETURNING seen_at")
        await session.execute("UPDATE workers SET seen_at = 0")
        for _ in range(2):  # one heartbeat may have been on its way
            await until(session, "SELECT seen_at > 0 FROM workers")
            await session.execute("UPDATE workers SET seen_at = 0")
        assert await session.fetchval("SELECT seen_at FROM jobs") == at
        await gate.let()


async def test_a_question_whose_time_cannot_be_ended_now_keeps_no_other_job_waiting(
    store: Store, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = duel_app(store)
    (asked,) = await created(app, 1)
    await store.take(asked, ELSEWHERE, 30)
    await store.end(asked, 1, RunResult(Status.WAITING, due_in=0.0))
    (other,) = await queued(app)
    monkeypatch.setattr(store, "pause", _locked)
    async with working(app, at_once=2) as queue:
        assert types(await followed(queue, other))[-1] == "debate_finished"
        monkeypatch.undo()
        await until(session, "SELECT bool_or(status = 'stopped') FROM debates")


async def _locked(*arguments: object) -> Any:
    raise StoreBlocked("the table is locked")


# People


async def test_a_person_who_does_not_answer_in_time_is_noticed_though_no_process_held_the_debate(
    open_again: Callable[[], Awaitable[Store]], session: Any
) -> None:
    app = app_with(ScriptedModel(Panelists()), await open_again())
    settings = {"max_rounds": 1, "checkpoint_timeout_seconds": 1.0}
    debate_id = (await app.create("panel", "Redis?", settings, start=True)).id
    async with working(app) as queue:
        assert types(await followed(queue, debate_id))[-1] == "waiting"
    async with working(duel_app(await open_again())) as queue:
        await until(session, "SELECT status = 'stopped' FROM debates")
        last = (await followed(queue, debate_id))[-1]
    assert isinstance(last, DebateStopped)
    assert last.stop_reason == "checkpoint_timeout"


async def test_the_time_for_one_question_does_not_end_the_next(store: Store, session: Any) -> None:
    app = duel_app(store)
    (debate_id,) = await created(app, 1)
    await store.take(debate_id, ELSEWHERE, 30)
    await store.end(debate_id, 1, RunResult(Status.WAITING, due_in=0.0))
    await store.say(debate_id, HumanReply("continue", "", 0))
    await store.take(debate_id, ELSEWHERE, 30)
    await store.append(debate_id, Turn(position=0, seat="human", kind="checkpoint", round=1, content="", run=2))
    await store.end(debate_id, 2, RunResult(Status.WAITING, due_in=1000.0))
    async with working(app):
        await until(session, "SELECT count(*) = 1 FROM jobs")
    assert await status(app, debate_id) is Status.WAITING
    assert await session.fetchval("SELECT key FROM jobs") == f"pause {debate_id} 2"


async def test_jobs_that_end_while_another_is_taken_from_the_queue_are_taken_together(
    store: Store, session: Any
) -> None:
    app, server, deleted = duel_app(store), server_of(store), []
    execute = server.execute
    held = asyncio.Event()

    async def counting(sql: str, *arguments: Any) -> str:
        if "DELETE FROM jobs WHERE" in sql:
            deleted.append(len(arguments[1]))
            await held.wait()
        return await execute(sql, *arguments)

    server.execute = counting  # type: ignore[method-assign]
    await queued(app, 6)
    async with working(app, at_once=6):
        await until(session, ALL_FINISHED)
        held.set()
        await until(session, NO_JOBS)
    assert sum(deleted) == 6
    assert len(deleted) < 6


async def test_a_run_tells_what_it_says_only_where_somebody_follows_it(store: Store, session: Any) -> None:
    app, told = duel_app(store), []
    await session.add_listener(EVENTS, lambda *said: told.append(said[-1]))
    async with working(app):
        await queued(app)
        await until(session, ALL_FINISHED)
        (watched,) = await created(app, 1)
        await app.store.enqueue(watched, watched=True)
        await until(session, ALL_FINISHED)
    await session.execute("SELECT 1")
    assert told
    assert {line.split(" ")[0] for message in told for line in message.split("\n")} == {watched}


async def test_a_worker_with_room_does_not_look_for_jobs_because_some_have_ended(
    store: Store, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "POLL_SECONDS", 2 * PATIENCE)
    app, server, looks = duel_app(store), server_of(store), []
    fetch = server.fetch

    async def counting(sql: str, *arguments: Any) -> Any:
        found = await fetch(sql, *arguments)
        if "SKIP LOCKED" in sql:
            looks.append(len(found))
        return found

    server.fetch = counting  # type: ignore[method-assign]
    await queued(app, 6)
    async with working(app, at_once=20), asyncio.timeout(PATIENCE):
        while not await session.fetchval(NO_JOBS):
            pass
    assert looks == [6]

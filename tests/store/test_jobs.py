"""A job and the change of its debate are one transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from moot.core.debate import HumanReply, Record, Status, Turn
from moot.core.engine import RunResult
from moot.errors import StoreError
from moot.store import jobs as queue
from moot.store.postgres import open_postgres
from moot.store.store import Store

NEW = Record(id="DEB-1", format="duel", format_version=1, topic="Cats?", settings={}, seats={}, created_at=0.0)
TURN = Turn(position=0, seat="debater_a", kind="argument", round=1, content="Because.", run=1)
REFUSE = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no jobs today''; END';
CREATE TRIGGER refuse BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION refuse();
"""

Session = Any


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[Store]:
    store = await open_postgres(postgres_url)
    yield store
    await store.close()


@pytest.fixture
async def session(postgres_url: str) -> AsyncIterator[Session]:
    session = await asyncpg.connect(postgres_url)
    yield session
    await session.close()


async def jobs(session: Session) -> list[tuple[str, str, bool, int]]:
    """Kind, debate, whether it is urgent, and in how many seconds each is due, to the next ten."""
    rows = await session.fetch(
        "SELECT kind, debate_id, urgent, greatest(ceil((due_at - moot_now()) / 10) * 10, 0)::int FROM jobs ORDER BY id"
    )
    return [tuple(row) for row in rows]


async def running(store: Store) -> None:
    await store.create(NEW)
    await store.take("DEB-1", "ann", 30)
    await store.append("DEB-1", TURN)


async def waiting(store: Store) -> None:
    await running(store)
    await store.end("DEB-1", 1, RunResult(Status.WAITING))


async def hidden(store: Store) -> None:
    await store.create(replace(NEW, status=Status.QUEUED))
    await store.delete("DEB-1")


Scene = tuple[Callable[[Store], Awaitable[object]], Callable[[Store], Awaitable[object]]]
SCENES: dict[str, Scene] = {
    "enqueue": (lambda store: store.create(NEW), lambda store: store.enqueue("DEB-1")),
    "say": (waiting, lambda store: store.say("DEB-1", HumanReply("continue", "", 1))),
    "end queued": (running, lambda store: store.end("DEB-1", 1, RunResult(Status.QUEUED))),
    "end waiting": (running, lambda store: store.end("DEB-1", 1, RunResult(Status.WAITING, due_in=9.0))),
    "restore": (hidden, lambda store: store.restore("DEB-1")),
}


async def test_a_debate_whose_workers_cannot_be_told_is_queued_and_has_its_job(
    store: Store, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "WAKE", "SELECT 1 / 0")
    await store.create(NEW)
    assert (await store.enqueue("DEB-1")).status is Status.QUEUED
    assert await jobs(session) == [("run", "DEB-1", False, 0)]


@pytest.mark.parametrize("name", SCENES)
async def test_a_debate_whose_job_cannot_be_put_is_unchanged(store: Store, session: Session, name: str) -> None:
    before, change = SCENES[name]
    await before(store)
    rows = [await session.fetch(f"SELECT * FROM {table}") for table in ("debates", "said", "jobs")]
    await session.execute(REFUSE)

    with pytest.raises(StoreError, match="no jobs today"):
        await change(store)

    assert [await session.fetch(f"SELECT * FROM {table}") for table in ("debates", "said", "jobs")] == rows
    await session.execute("DROP TRIGGER refuse ON jobs")
    await change(store)
    assert await session.fetch("SELECT * FROM debates") != rows[0]


async def test_a_debate_is_not_created_queued_without_its_job(store: Store, session: Session) -> None:
    await session.execute(REFUSE)
    with pytest.raises(StoreError, match="no jobs today"):
        await store.create(replace(NEW, status=Status.QUEUED))
    assert await store.list(limit=9) == ()


async def test_each_time_a_debate_is_queued_there_is_one_job(store: Store, session: Session) -> None:
    await store.create(replace(NEW, status=Status.QUEUED))
    for _ in range(3):
        await store.enqueue("DEB-1")
    assert await jobs(session) == [("run", "DEB-1", False, 0)]
    await store.take("DEB-1", "ann", 30)
    await store.enqueue("DEB-1")
    await store.end("DEB-1", 1, RunResult(Status.QUEUED, due_in=60.0))
    assert await jobs(session) == [("run", "DEB-1", False, 0), ("run", "DEB-1", False, 60)]


async def test_what_only_waits_stops_finishes_or_fails_has_no_job(store: Store, session: Session) -> None:
    for number, status in enumerate((Status.WAITING, Status.STOPPED, Status.FINISHED, Status.FAILED)):
        await store.create(replace(NEW, id=f"DEB-{number}"))
        await store.take(f"DEB-{number}", "ann", 30)
        await store.end(f"DEB-{number}", 1, RunResult(status))
    await store.say("DEB-0", HumanReply("guide", "Go on"))
    await store.watch("DEB-0")
    assert await jobs(session) == []


async def test_a_person_who_may_be_late_has_a_job_that_says_which_run_asks(store: Store, session: Session) -> None:
    await running(store)
    await store.end("DEB-1", 1, RunResult(Status.WAITING, due_in=1800.0))
    assert await jobs(session) == [("pause", "DEB-1", False, 1800)]
    assert await session.fetchval("SELECT key FROM jobs") == "pause DEB-1 1"


async def test_an_answer_that_is_there_needs_no_timer(store: Store, session: Session) -> None:
    await running(store)
    await store.say("DEB-1", HumanReply("continue", "", 1))
    await store.end("DEB-1", 1, RunResult(Status.WAITING, due_in=1800.0))
    assert await jobs(session) == [("run", "DEB-1", False, 0)]


async def test_what_somebody_watches_is_urgent_from_then_on(store: Store, session: Session) -> None:
    await store.create(replace(NEW, status=Status.QUEUED))
    await store.watch("DEB-1")
    assert await jobs(session) == [("run", "DEB-1", True, 0)]
    await store.create(replace(NEW, id="DEB-2", status=Status.QUEUED), watched=True)
    await store.create(replace(NEW, id="DEB-3"))
    await store.enqueue("DEB-3", watched=True)
    await store.take("DEB-1", "ann", 30)
    await store.end("DEB-1", 1, RunResult(Status.QUEUED, due_in=60.0))
    assert await jobs(session) == [
        ("run", "DEB-1", True, 0),
        ("run", "DEB-2", True, 0),
        ("run", "DEB-3", True, 0),
        ("run", "DEB-1", True, 60),
    ]


@pytest.mark.parametrize("stopping", [False, True])
async def test_what_a_dead_run_has_left_is_looked_after_when_it_is_restored(
    store: Store, session: Session, stopping: bool
) -> None:
    await store.create(replace(NEW, status=Status.QUEUED))
    await store.take("DEB-1", "ann", 30)
    if stopping:
        await store.ask_to_stop("DEB-1")
    await store.heartbeat("DEB-1", 1, -1)
    await store.delete("DEB-1")
    await session.execute("DELETE FROM jobs")  # its job has found nothing
    await store.restore("DEB-1")
    assert await jobs(session) == [("run", "DEB-1", False, 0)]


async def test_who_answers_is_there_to_see_what_comes_of_it(store: Store, session: Session) -> None:
    await waiting(store)
    await store.say("DEB-1", HumanReply("continue", "", 1))
    assert await jobs(session) == [("run", "DEB-1", True, 0)]


async def test_a_watcher_does_not_hurry_a_retry(store: Store, session: Session) -> None:
    await running(store)
    await store.end("DEB-1", 1, RunResult(Status.QUEUED, due_in=60.0))
    await store.watch("DEB-1")
    assert await jobs(session) == [("run", "DEB-1", True, 60)]

"""What every store promises about webhooks: what is due is stored with the ending, and taken by one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from moot.core.debate import HumanReply, Record, Status
from moot.core.engine import RunResult
from moot.core.notices import Notice, notices
from moot.errors import Fenced
from moot.store.postgres import open_postgres
from moot.store.sqlite import open_sqlite
from moot.store.store import Store
from moot.testing import MemoryStore

A, B = "a.example 111111", "b.example 222222"
HOOKS = {Status.FINISHED: (A, B), Status.WAITING: (A,), Status.FAILED: (B,)}
NEW = Record(id="DEB-1", format="duel", format_version=1, topic="Züge 🚆?", settings={}, seats={}, created_at=0.0)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def open_hooked(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Awaitable[Store]]:
    async def in_memory() -> Store:
        return MemoryStore(hooks=HOOKS)

    if request.param == "memory":
        return in_memory
    if request.param == "sqlite":
        return lambda: open_sqlite(tmp_path / "moot.db", HOOKS)
    url = request.getfixturevalue("postgres_url")
    return lambda: open_postgres(url, HOOKS)


@pytest.fixture
async def hooked(open_hooked: Callable[[], Awaitable[Store]]) -> AsyncIterator[Store]:
    """A store that notes what webhooks are to be told."""
    store = await open_hooked()
    yield store
    await store.close()


async def ended(store: Store, ending: RunResult, debate_id: str = "DEB-1") -> Record:
    await store.create(replace(NEW, id=debate_id))
    run = (await store.take(debate_id, "ann", 30)).record.run
    await store.end(debate_id, run, ending)
    return (await store.load(debate_id)).record


async def kept(store: Store) -> tuple[Notice, ...]:
    return (await store.load("DEB-1")).notices


@pytest.mark.parametrize(
    "ending",
    [
        RunResult(Status.FINISHED, "completed", outcome={"summary": "Yes.", "winner": "a"}),
        RunResult(Status.FAILED, "failed", error="no model"),
        RunResult(Status.WAITING, question="Go on?"),
    ],
)
async def test_what_webhooks_are_to_be_told_is_stored_with_the_ending(hooked: Store, ending: RunResult) -> None:
    record = await ended(hooked, ending)
    found = await kept(hooked)
    assert found[0].next_at is not None
    assert found == notices(record, found[0].next_at, HOOKS[ending.status], ending.question)


@pytest.mark.parametrize("ending", [RunResult(Status.STOPPED, "stopped"), RunResult(Status.QUEUED, due_in=0.0)])
async def test_nothing_is_told_of_what_goes_on_or_was_stopped(hooked: Store, ending: RunResult) -> None:
    await ended(hooked, ending)
    assert await kept(hooked) == ()


async def test_nothing_is_told_of_a_question_whose_answer_is_there(hooked: Store) -> None:
    await hooked.create(NEW)
    await hooked.take("DEB-1", "ann", 30)
    await hooked.say("DEB-1", HumanReply("continue", position=0))
    await hooked.end("DEB-1", 1, RunResult(Status.WAITING, question="Go on?"))
    assert await kept(hooked) == ()


async def test_nothing_is_told_by_a_run_that_may_not_write(hooked: Store) -> None:
    await ended(hooked, RunResult(Status.STOPPED, "stopped"))
    with pytest.raises(Fenced):
        await hooked.end("DEB-1", 1, RunResult(Status.FINISHED))
    assert await kept(hooked) == ()


async def test_what_is_due_is_taken_once_and_counted(hooked: Store) -> None:
    await ended(hooked, RunResult(Status.FINISHED))
    before = {notice.id: notice for notice in await kept(hooked)}
    taken = await asyncio.gather(*(hooked.due((A, B), 1, 60) for _ in range(4)))
    found = [notice for each in taken for notice in each]
    assert sorted(notice.id for notice in found) == sorted(before)
    assert all(notice == replace(before[notice.id], attempts=1, next_at=notice.next_at) for notice in found)
    assert await hooked.due((A, B), 10, 60) == ()
    assert sorted(found, key=lambda notice: notice.hook) == list(await kept(hooked))


async def test_only_what_concerns_the_webhooks_asked_for_is_taken(hooked: Store) -> None:
    await ended(hooked, RunResult(Status.FINISHED))
    assert [notice.hook for notice in await hooked.due((B,), 10, 60)] == [B]
    assert await hooked.due((), 10, 60) == ()


async def test_a_lease_that_is_over_lets_another_try(hooked: Store) -> None:
    await ended(hooked, RunResult(Status.FAILED))
    (first,) = await hooked.due((B,), 10, 0)
    (second,) = await hooked.due((B,), 10, 60)
    assert (second.id, first.attempts, second.attempts) == (first.id, 1, 2)
    await hooked.note(first, True, "too late", None)
    assert await kept(hooked) == (second,)


async def test_what_an_attempt_came_to_is_kept(hooked: Store) -> None:
    await ended(hooked, RunResult(Status.FAILED))
    (first,) = await hooked.due((B,), 10, 60)
    await hooked.note(first, False, "it answered 500", 0.0)
    (second,) = await hooked.due((B,), 10, 60)
    assert second == replace(first, attempts=2, result="it answered 500", next_at=second.next_at)
    await hooked.note(second, True, "it answered 200 OK", None)
    (done,) = await kept(hooked)
    assert done.delivered_at is not None
    assert done == replace(second, next_at=None, delivered_at=done.delivered_at, result="it answered 200 OK")
    assert await hooked.due((B,), 10, 60) == ()


async def test_what_is_given_up_is_not_due_again(hooked: Store) -> None:
    await ended(hooked, RunResult(Status.FAILED))
    (only,) = await hooked.due((B,), 10, 60)
    await hooked.note(only, False, "given up", None)
    assert await kept(hooked) == (replace(only, next_at=None, result="given up"),)
    assert await hooked.due((B,), 10, 0) == ()

"""What is special about Postgres: its errors, and two sessions at once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import pytest

from moot.core.debate import Record, Status, Turn
from moot.core.engine import RunResult
from moot.errors import StoreError
from moot.store.postgres import open_postgres
from moot.store.sql import queries, turn_parameters
from moot.store.store import Store

NEW = Record(id="DEB-1", format="duel", format_version=1, topic="Why?", settings={}, seats={}, created_at=0.0)
TURN = Turn(position=0, seat="debater_a", kind="argument", round=1, content="Because.", run=1)


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[Store]:
    store = await open_postgres(postgres_url)
    yield store
    await store.close()


@pytest.fixture
async def session(postgres_url: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    session = await asyncpg.connect(postgres_url)
    yield session
    await session.close()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:s3cret@127.0.0.1:1/moot",
        "postgresql://ann:s3cret@no-such-host.invalid/moot",
        "postgresql://ann:x/s3cret@127.0.0.1/moot",
        "postgresql://ann:x:s3cret@127.0.0.1:port/moot",
        "postgresql://ann:[s3cret@127.0.0.1/moot",
        "mysql://ann:s3cret@127.0.0.1/moot",
    ],
)
async def test_a_server_that_cannot_be_reached_is_told_without_the_password(url: str) -> None:
    with pytest.raises(StoreError, match=r"check the server|cannot be read; write postgresql://") as caught:
        await open_postgres(url)

    assert "s3cret" not in str(caught.value)


async def test_a_database_that_does_not_exist_is_named(postgres_url: str) -> None:
    with pytest.raises(StoreError, match='database "no_such" does not exist; check the server'):
        await open_postgres(re.sub(r"moot_test_\d+", "no_such", postgres_url))


async def test_a_lost_connection_is_told_and_replaced(
    store: Store, session: asyncpg.Connection[asyncpg.Record]
) -> None:
    created = await store.create(NEW)
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
    await session.execute("BEGIN; LOCK TABLE debates")
    waiting = asyncio.ensure_future(store.list(limit=1))
    while not await session.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
        assert not waiting.done()
    await session.execute(f"{others} AND pid <> pg_backend_pid()")
    await session.execute("ROLLBACK")

    with pytest.raises(StoreError, match=r"Postgres at .* cannot be used: .*; check the server"):
        await waiting
    assert await store.list(limit=1) == (created,)


async def test_no_run_begins_while_a_turn_of_the_run_before_is_being_stored(
    store: Store, session: asyncpg.Connection[asyncpg.Record]
) -> None:
    await store.create(NEW)
    await store.take("DEB-1", "ann", -1)
    query = queries("postgres")["insert_turn"]
    async with session.transaction():
        await session.execute(query.sql, *query.arguments(turn_parameters("DEB-1", TURN)))
        taking = asyncio.ensure_future(store.take("DEB-1", "bob", 30))
        while not await session.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
            assert not taking.done()

    assert (await taking).turns == (TURN,)


@pytest.mark.parametrize("sql", ["UPDATE turns SET content = ''", "DELETE FROM turns", "TRUNCATE turns"])
async def test_turns_cannot_be_changed(store: Store, session: asyncpg.Connection[asyncpg.Record], sql: str) -> None:
    await store.create(NEW)
    await store.take("DEB-1", "ann", 30)
    await store.append("DEB-1", TURN)

    with pytest.raises(asyncpg.RaiseError, match="turns are written once, never changed"):
        await session.execute(sql)


async def test_what_a_run_does_often_takes_few_round_trips(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []

    def wrap(real: Any) -> Any:
        async def send(connection: Any, sql: str, *arguments: Any, **named: Any) -> Any:
            sent.append(sql)
            return await real(connection, sql, *arguments, **named)

        return send

    for name in ("execute", "fetch", "fetchrow", "fetchval"):
        monkeypatch.setattr(asyncpg.Connection, name, wrap(getattr(asyncpg.Connection, name)))
    finished = RunResult(Status.FINISHED, "completed")
    calls: dict[str, tuple[Callable[[], Awaitable[object]], int]] = {
        "create": (lambda: store.create(NEW), 3),
        "load": (lambda: store.load("DEB-1"), 1),
        "take": (lambda: store.take("DEB-1", "ann", 30), 4),
        "append": (lambda: store.append("DEB-1", TURN), 1),
        "said": (lambda: store.said("DEB-1"), 1),
        "heartbeat": (lambda: store.heartbeat("DEB-1", 1, 30), 1),
        "end": (lambda: store.end("DEB-1", 1, finished), 1),
        "summaries": (lambda: store.summaries(limit=20), 1),
    }
    counted = {}
    for name, (call, _) in calls.items():
        sent.clear()
        await call()
        counted[name] = len(sent)

    assert counted == {name: expected for name, (_, expected) in calls.items()}

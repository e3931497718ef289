"""What is special about Postgres: its errors, and two sessions at once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from moot.core.debate import Record, Status, Turn
from moot.core.engine import RunResult
from moot.errors import StoreAway, StoreBlocked, StoreError
from moot.store import retrying
from moot.store.listing import Listing
from moot.store.postgres import clear_errors, open_postgres
from moot.store.retrying import until_back
from moot.store.sql import queries, turn_parameters
from moot.store.store import Store
from proxy import proxy

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


@pytest.mark.parametrize(
    "error",
    [
        asyncpg.InternalClientError("got result for unknown protocol state 3"),
        asyncpg.exceptions.ProtocolError("unexpected"),
        asyncpg.InterfaceError("connection is closed"),
        asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation"),
        asyncpg.AdminShutdownError("terminating connection due to administrator command"),
        asyncpg.CannotConnectNowError("the database system is starting up"),
        asyncpg.IdleSessionTimeoutError("terminating connection due to idle-session timeout"),
        asyncpg.TooManyConnectionsError("sorry, too many clients already"),
        ConnectionResetError(),
        TimeoutError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_every_error_of_a_connection_that_is_gone_says_that_the_database_is_away(error: Exception) -> None:
    with pytest.raises(StoreAway) as caught, clear_errors("here"):
        raise error
    assert type(caught.value) is StoreAway


@pytest.mark.parametrize(
    "error",
    [
        asyncpg.LockNotAvailableError("canceling statement due to lock timeout"),
        asyncpg.QueryCanceledError("canceling statement due to statement timeout"),
        asyncpg.DeadlockDetectedError("deadlock detected"),
        asyncpg.SerializationError("could not serialize access"),
        asyncpg.DiskFullError("could not extend file: No space left on device"),
        asyncpg.ReadOnlySQLTransactionError("cannot execute INSERT in a read-only transaction"),
        asyncpg.PostgresIOError("could not write"),
        asyncpg.InvalidCachedStatementError("cached plan must not change result type"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_a_server_does_not_do_now_may_be_tried_again(error: Exception) -> None:
    with pytest.raises(StoreBlocked), clear_errors("here"):
        raise error


async def test_what_can_never_be_stored_is_no_reason_to_wait_for_the_database(store: Store) -> None:
    await store.create(NEW)
    await store.take(NEW.id, "somebody", 30)
    with pytest.raises(StoreError) as caught:
        await store.append(NEW.id, replace(TURN, position=2**70))
    assert not isinstance(caught.value, StoreAway)


@pytest.mark.parametrize("setting", ["lock_timeout=50", "statement_timeout=50"])
async def test_a_statement_that_gets_no_lock_in_time_says_so_and_is_done_afterwards(
    postgres_url: str, session: asyncpg.Connection[asyncpg.Record], setting: str
) -> None:
    store = await open_postgres(f"{postgres_url}&{setting}")
    await session.execute("BEGIN; LOCK TABLE debates")
    with pytest.raises(StoreBlocked, match="timeout; check the server"):
        await store.create(NEW)
    await session.execute("COMMIT")
    created = await until_back(lambda: store.create(NEW))  # on a loaded machine it may take as long again
    assert created.id == NEW.id
    await store.close()


async def test_a_database_that_can_only_be_read_is_blocked_until_it_can_be_written_to(
    postgres_url: str, session: asyncpg.Connection[asyncpg.Record]
) -> None:
    store = await open_postgres(postgres_url)
    name = await session.fetchval("SELECT current_database()")
    await session.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    await store.database.pool.expire_connections()  # type: ignore[attr-defined]
    with pytest.raises(StoreBlocked, match="read-only"):
        await store.create(NEW)
    await session.execute(f"SET transaction_read_only = off; ALTER DATABASE {name} RESET default_transaction_read_only")
    assert (await store.create(NEW)).id == NEW.id  # on a new connection, as the old ones still are read-only
    await store.close()


async def test_an_answer_that_vanishes_is_not_waited_for_when_nobody_wants_it_any_more(postgres_url: str) -> None:
    async with proxy(postgres_url) as between:
        store = await open_postgres(between.url)
        between.swallows = True
        for call in (lambda: store.list(limit=1), lambda: store.create(NEW)):
            waiting = asyncio.ensure_future(call())
            await asyncio.wait({waiting}, timeout=0.1)
            waiting.cancel()
            async with asyncio.timeout(9):  # and not until the statement, or its cancellation, runs out of time
                await asyncio.gather(waiting, return_exceptions=True)
            assert waiting.cancelled()
        between.swallows = False
        assert await store.list(limit=1) == ()
        await store.close()


async def test_when_the_first_of_several_servers_is_gone_the_next_is_used(postgres_url: str) -> None:
    async with proxy(postgres_url) as gone, proxy(postgres_url) as there:
        await gone.close()
        store = await open_postgres(there.url.replace("@", f"@127.0.0.1:{gone.port},"))
        assert (await store.create(NEW)).id == NEW.id
        await store.close()


async def test_tables_that_a_newer_moot_has_changed_meanwhile_are_gone_on_with(
    store: Store, session: asyncpg.Connection[asyncpg.Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrying, "AGAIN_SECONDS", 0.0)
    for name in ("DEB-1", "DEB-2"):
        await store.create(replace(NEW, id=name))
    await store.enqueue("DEB-1")
    await session.execute("ALTER TABLE debates ADD COLUMN of_a_newer_moot TEXT")
    assert (await until_back(lambda: store.enqueue("DEB-2"))).status is Status.QUEUED


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
        "listing": (lambda: Listing(store.database).page(), 1),
        "counting": (lambda: Listing(store.database).count(), 1),
    }
    counted = {}
    for name, (call, _) in calls.items():
        sent.clear()
        await call()
        counted[name] = len(sent)

    assert counted == {name: expected for name, (_, expected) in calls.items()}

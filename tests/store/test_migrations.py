"""A database is made and brought up to date when it is opened, by one process of many, wholly or not at all."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import asyncpg
import pytest

from moot.core.debate import HumanReply, Origin, Record, SeatSettings, Status, Turn, Usage
from moot.core.engine import Control
from moot.core.stored import StoredDebate
from moot.errors import SchemaTooNew, StoreError
from moot.store.jobs import put_missing
from moot.store.postgres import PostgresPool, open_postgres
from moot.store.sql import migrations
from moot.store.sqlite import open_sqlite
from moot.store.store import Store

NEWEST = len(migrations("sqlite", 0))


class Database(Protocol):
    """A database as it is without moot."""

    async def open(self) -> Store: ...
    async def run(self, sql: str) -> None: ...
    async def set_version(self, version: int) -> None: ...
    async def make(self, version: int) -> None:
        """Bring an empty one to an old version, as the moot of that time did."""
        ...

    async def schema(self) -> tuple[int, set[str]]:
        """Its version and the names of its tables, but for those of the queue."""
        ...


class SqliteDatabase:
    def __init__(self, path: Path) -> None:
        self.path = path

    async def open(self) -> Store:
        return await open_sqlite(self.path)

    async def run(self, sql: str) -> None:
        with closing(sqlite3.connect(self.path)) as connection:
            connection.execute(sql)
            connection.commit()

    async def set_version(self, version: int) -> None:
        await self.run(f"PRAGMA user_version = {version}")

    async def make(self, version: int) -> None:
        with closing(sqlite3.connect(self.path)) as connection:
            for migration in migrations("sqlite", 0)[:version]:
                connection.executescript(migration.sql)
        await self.set_version(version)

    async def schema(self) -> tuple[int, set[str]]:
        with closing(sqlite3.connect(self.path)) as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        return version, {name for (name,) in tables}


class PostgresDatabase:
    def __init__(self, url: str) -> None:
        self.url = url

    async def open(self) -> Store:
        return await open_postgres(self.url)

    async def run(self, sql: str) -> None:
        connection = await asyncpg.connect(self.url)
        try:
            await connection.execute(sql)
        finally:
            await connection.close()

    async def rows(self, sql: str) -> list[tuple[object, ...]]:
        connection = await asyncpg.connect(self.url)
        try:
            return [tuple(row) for row in await connection.fetch(sql)]
        finally:
            await connection.close()

    async def set_version(self, version: int) -> None:
        await self.run(f"UPDATE moot_schema SET version = {version}")

    async def make(self, version: int) -> None:
        await self.run("CREATE TABLE moot_schema (version INTEGER NOT NULL); INSERT INTO moot_schema VALUES (0)")
        for migration in migrations("postgres", 0)[:version]:
            await self.run(migration.sql)
        await self.set_version(version)

    async def schema(self) -> tuple[int, set[str]]:
        connection = await asyncpg.connect(self.url)
        rows = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        tables = {row["tablename"] for row in rows}
        version = await connection.fetchval("SELECT version FROM moot_schema") if "moot_schema" in tables else 0
        await connection.close()
        return version, {name for name in tables if not name.startswith("moot_")} - {"jobs"}  # which SQLite has not


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    if request.param == "sqlite":
        return SqliteDatabase(tmp_path / "moot.db")
    return PostgresDatabase(request.getfixturevalue("postgres").empty_database())


MIGRATED = (NEWEST, {"debates", "turns", "failures", "said", "ratings", "workflows", "workers", "deliveries", "ticks"})
OLD_COLUMNS = "(entrypoint, dedupe_key, priority, execute_after, status)"
OLD_JOBS = f"""
    CREATE TABLE moot_pgqueuer (
        id SERIAL PRIMARY KEY, entrypoint TEXT, dedupe_key TEXT, priority INT, execute_after TIMESTAMPTZ, status TEXT
    );
    INSERT INTO moot_pgqueuer {OLD_COLUMNS} VALUES
        ('run', 'run DEB-1 2.5', 10, to_timestamp(60), 'picked'),
        ('pause', 'pause DEB-2 1', 0, to_timestamp(90), 'queued');
"""


async def test_a_fresh_database_gets_the_newest_schema(database: Database) -> None:
    await (await database.open()).close()

    assert await database.schema() == MIGRATED


async def test_opening_twice_changes_nothing(database: Database) -> None:
    for _ in range(2):
        store = await database.open()
        assert await store.list(limit=10) == ()
        await store.close()

    assert await database.schema() == MIGRATED


async def test_a_newer_database_is_refused_and_left_alone(database: Database) -> None:
    await (await database.open()).close()
    await database.run("CREATE TABLE from_the_future (x TEXT)")
    await database.set_version(999)

    with pytest.raises(SchemaTooNew, match=f"schema version 999.*knows versions up to {NEWEST}.*nothing was changed"):
        await database.open()

    assert await database.schema() == (999, {*MIGRATED[1], "from_the_future"})


async def test_a_migration_that_fails_leaves_nothing_behind(database: Database) -> None:
    await database.run("CREATE TABLE failures (x TEXT)")

    with pytest.raises(StoreError, match="already exists"):
        await database.open()

    assert await database.schema() == (0, {"failures"})


OLD = """INSERT INTO debates (id, format, format_version, topic, settings, seats, created_at, status, run)
VALUES ('DEB-old', 'duel', 1, 'Züge?', '{"max_rounds": 2}',
    '{"judge": {"model": "x:m", "temperature": 0.2, "max_tokens": 9}}', 12.5, 'waiting', 1)"""
OLD_TURN = """INSERT INTO turns VALUES ('DEB-old', 0, 'judge', 'verdict', NULL, 'So', '{"winner": "a"}',
    '{"output_tokens": 3}', 'x:m', '["cut"]', 1.5, 2.5, 1, 7)"""


async def test_a_database_of_the_first_version_keeps_its_data_and_takes_what_people_say(database: Database) -> None:
    await database.make(1)
    assert await database.schema() == (1, {"debates", "turns", "failures"})
    await database.run(OLD)
    await database.run(OLD_TURN)

    store = await database.open()

    assert await database.schema() == MIGRATED
    seats = {"judge": SeatSettings("x:m", 0.2, 9)}
    record = Record(
        id="DEB-old",
        format="duel",
        format_version=1,
        topic="Züge?",
        settings={"max_rounds": 2},
        seats=seats,
        created_at=12.5,
        status=Status.WAITING,
        run=1,
    )
    usage = Usage(output_tokens=3)
    turn = Turn(
        position=0,
        seat="judge",
        kind="verdict",
        round=None,
        content="So",
        data={"winner": "a"},
        usage=usage,
        model="x:m",
        marks=("cut",),
        started_at=1.5,
        finished_at=2.5,
        run=1,
        event_id=7,
    )
    assert await store.load("DEB-old") == StoredDebate(record, (turn,))
    said = await store.say("DEB-old", HumanReply("guide", "Go on"))
    assert await store.said("DEB-old") == (said,)
    assert await store.append(
        "DEB-old", Turn(position=1, seat="judge", kind="verdict", round=None, content="", run=1)
    ) == Control(remarks=1)
    await store.close()


async def test_a_database_of_the_second_version_keeps_what_people_said_and_its_debates_are_found(
    database: Database,
) -> None:
    await database.make(2)
    await database.run(OLD)
    await database.run("INSERT INTO said (debate_id, position, action, text, at) VALUES ('DEB-old', 0, 'end', '', 3)")

    store = await database.open()

    assert await database.schema() == MIGRATED
    assert await store.said("DEB-old") == (HumanReply("end", "", 0, 3.0),)
    assert [record.id for record in await store.list(limit=9, words="züge")] == ["DEB-old"]
    assert (await store.enqueue("DEB-old")).status is Status.QUEUED
    await store.close()


QUEUED = """INSERT INTO debates (id, format, format_version, topic, settings, seats, created_at, status, run,
    lease_until, search_text, idempotency_key, waiting_since, deleted_at)
VALUES ('DEB-queued', 'duel', 1, 'Züge?', '{}', '{}', 12.5, 'queued', 0, NULL, 'züge?', 'key', 13.5, NULL),
    ('DEB-running', 'duel', 1, 'Züge?', '{}', '{}', 12.5, 'running', 3, 14.5, 'züge?', NULL, NULL, NULL),
    ('DEB-stopped', 'duel', 1, 'Züge?', '{}', '{}', 12.5, 'stopped', 1, NULL, 'züge?', NULL, NULL, NULL),
    ('DEB-hidden', 'duel', 1, 'Züge?', '{}', '{}', 12.5, 'queued', 1, NULL, 'züge?', NULL, 13.5, 15.5)"""


async def test_a_database_of_the_third_version_keeps_its_queue_and_counts_attempts_from_the_beginning(
    database: Database,
) -> None:
    await database.make(3)
    await database.run(QUEUED)

    store = await database.open()

    assert await database.schema() == MIGRATED
    found = await store.unfinished()
    record = Record(
        id="DEB-queued",
        format="duel",
        format_version=1,
        topic="Züge?",
        settings={},
        seats={},
        created_at=12.5,
        status=Status.QUEUED,
    )
    running = Record(
        id="DEB-running",
        format="duel",
        format_version=1,
        topic="Züge?",
        settings={},
        seats={},
        created_at=12.5,
        status=Status.RUNNING,
        run=3,
        lease_until=14.5,
    )
    assert sorted((each.record.id, each.record, each.waiting_since) for each in found) == [
        ("DEB-queued", record, 13.5),
        ("DEB-running", running, None),
    ]
    assert (
        await store.create(
            Record(id="DEB-new", format="duel", format_version=1, topic="?", settings={}, seats={}, created_at=0.0),
            "key",
        )
        == record
    )
    assert (await store.take("DEB-running", "bob", 30, only_queued=True)).record.tries_from == 0
    await store.close()


async def test_a_database_of_the_fifth_version_keeps_its_debates_and_takes_forks_of_them(database: Database) -> None:
    await database.make(5)
    await database.run(OLD)
    await database.run(OLD_TURN)

    store = await database.open()

    assert await database.schema() == MIGRATED
    old = await store.load("DEB-old")
    assert (old.record.origin, len(old.turns)) == (None, 1)
    origin = Origin("DEB-old", 1)
    fork = await store.create(replace(old.record, id="DEB-fork", status=Status.CREATED, origin=origin), turns=old.turns)
    assert await store.load("DEB-fork") == StoredDebate(fork, (replace(old.turns[0], run=0, event_id=1),))
    assert (await store.load("DEB-fork")).record.origin == origin
    await store.close()


async def test_what_was_queued_or_running_before_there_were_workers_is_theirs(postgres: Any) -> None:
    database = PostgresDatabase(postgres.empty_database())
    await database.make(3)
    await database.run(QUEUED)

    for _ in range(2):
        store = await database.open()
        assert isinstance(store.database, PostgresPool)
        async with store.database.connected() as connection:
            await put_missing(connection)
        await store.close()

    jobs = "SELECT kind, key, worker, due_at <= moot_now() FROM jobs ORDER BY id"
    assert await database.rows(jobs) == [
        ("run", "run DEB-queued 13.5", None, True),
        ("run", "run DEB-running None", None, True),
    ]


async def test_jobs_of_the_queue_before_are_moved_also_those_that_come_later(postgres: Any) -> None:
    database = PostgresDatabase(postgres.empty_database())
    await database.make(9)
    await database.run(OLD_JOBS)
    jobs = "SELECT key, kind, debate_id, urgent, due_at, worker FROM jobs ORDER BY id"
    first = [
        ("run DEB-1 2.5", "run", "DEB-1", True, 60.0, None),
        ("pause DEB-2 1", "pause", "DEB-2", False, 90.0, None),
    ]

    await (await database.open()).close()
    assert await database.rows(jobs) == first

    await database.run(f"""
        INSERT INTO moot_pgqueuer {OLD_COLUMNS} VALUES
            ('run', 'run DEB-1 2.5', 0, 'epoch', 'queued'), ('run', 'run DEB-3 1', 0, 'epoch', 'queued')
    """)
    for _ in range(2):
        await (await database.open()).close()
    assert await database.rows(jobs) == [*first, ("run DEB-3 1", "run", "DEB-3", False, 0.0, None)]
    assert await database.rows("SELECT * FROM moot_pgqueuer") == []


async def test_what_was_said_is_neither_changed_nor_deleted(database: Database) -> None:
    store = await database.open()
    await store.create(
        Record(id="DEB-1", format="duel", format_version=1, topic="Züge?", settings={}, seats={}, created_at=0.0)
    )
    said = await store.say("DEB-1", HumanReply("guide", "Go on"))

    for sql in ("UPDATE said SET text = 'Stop'", "DELETE FROM said"):
        with pytest.raises((sqlite3.IntegrityError, asyncpg.RaiseError), match="written once, never changed"):
            await database.run(sql)

    assert await store.said("DEB-1") == (said,)
    await store.close()


async def test_a_database_opened_by_many_at_once_is_made_once(database: Database) -> None:
    stores = await asyncio.gather(*(database.open() for _ in range(8)))
    for store in stores:
        assert await store.list(limit=10) == ()
        await store.close()

    assert await database.schema() == MIGRATED


OPEN_WHEN_TOLD = """
import asyncio, sys
from pathlib import Path
from moot.store.sqlite import open_sqlite

async def main():
    print("ready", flush=True)
    sys.stdin.readline()
    await (await open_sqlite(Path(sys.argv[1]))).close()

asyncio.run(main())
"""


async def test_a_file_opened_by_many_processes_at_once_is_made_once(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    path = tmp_path / "moot.db"
    processes = [start(OPEN_WHEN_TOLD, path) for _ in range(6)]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        print(file=process.stdin, flush=True)

    assert [process.wait(30) for process in processes] == [0] * 6
    assert await SqliteDatabase(path).schema() == MIGRATED

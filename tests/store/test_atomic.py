"""Every write of a store is done wholly or not at all: whichever of its statements fails, nothing of it is stored.

The database drivers are wrapped from outside. All calls that the store marks as writing are tried, on both databases.
"""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import asyncpg
import pytest

from moot.core.changes import Wish
from moot.core.debate import Failure, HumanReply, Origin, Rating, Record, Status, Tick, Turn, Workflow
from moot.core.engine import RunResult
from moot.errors import StoreError
from moot.store.postgres import open_postgres
from moot.store.processes import Worker
from moot.store.sqlite import open_sqlite
from moot.store.store import Store

NEW = Record(id="DEB-1", format="duel", format_version=1, topic="Cats?", settings={}, seats={}, created_at=0.0)
TURN = Turn(position=0, seat="debater_a", kind="argument", round=1, content="Because.", run=1, event_id=1_000_000_001)
FAILURE = Failure(position=1, seat="judge", kind="verdict", round=1, partial="", code="c", message="m", at=1.0, run=1)
HOOKS = {Status.FINISHED: ("one", "two"), Status.WAITING: ("one",)}
TABLES = ("debates", "turns", "failures", "said", "ratings", "workflows", "workers", "deliveries", "ticks")

Step = Callable[[Store], Awaitable[object]]


class Scene(NamedTuple):
    """What a store went through, and what it does then."""

    before: Sequence[Step]
    call: Step


def created(store: Store) -> Awaitable[object]:
    return store.create(NEW)


def queued(store: Store) -> Awaitable[object]:
    return store.create(replace(NEW, status=Status.QUEUED))


def taken(store: Store) -> Awaitable[object]:
    return store.take("DEB-1", "ann", 30)


def appended(store: Store) -> Awaitable[object]:
    return store.append("DEB-1", TURN)


def ending(status: Status, **more: Any) -> Step:
    return lambda store: store.end("DEB-1", 1, RunResult(status, **more))


def answer(store: Store) -> Awaitable[object]:
    return store.say("DEB-1", HumanReply("continue", "", 1))


RUNNING = (created, taken, appended)
WAITING = (*RUNNING, ending(Status.WAITING))
WORKFLOW = Workflow(id="WFL-1", title="Do it", body="")
WORKER = Worker("w", "p", 1)
SCENES: Mapping[str, Scene] = {
    "create": Scene((), created),
    "create queued": Scene((), queued),
    "create fork": Scene(
        (), lambda store: store.create(replace(NEW, status=Status.QUEUED, origin=Origin("DEB-0", 1)), turns=(TURN,))
    ),
    "enqueue": Scene((created,), lambda store: store.enqueue("DEB-1")),
    "watch": Scene((queued,), lambda store: store.watch("DEB-1")),
    "delete": Scene((created,), lambda store: store.delete("DEB-1")),
    "restore": Scene((queued, lambda store: store.delete("DEB-1")), lambda store: store.restore("DEB-1")),
    "take": Scene((created,), taken),
    "append": Scene((created, taken), appended),
    "add_failure": Scene(RUNNING, lambda store: store.add_failure("DEB-1", FAILURE)),
    "heartbeat": Scene(RUNNING, lambda store: store.heartbeat("DEB-1", 1, 60)),
    "end finished": Scene(RUNNING, ending(Status.FINISHED, outcome={"summary": "So"})),
    "end queued": Scene(RUNNING, ending(Status.QUEUED)),
    "end waiting": Scene(RUNNING, ending(Status.WAITING, due_in=9.0)),
    "end waiting answered": Scene((*RUNNING, answer), ending(Status.WAITING)),
    "end failed": Scene(RUNNING, ending(Status.FAILED, error="no")),
    "release": Scene(RUNNING, lambda store: store.release("DEB-1", 1)),
    "ask_to_stop": Scene(RUNNING, lambda store: store.ask_to_stop("DEB-1")),
    "ask_to_conclude": Scene(RUNNING, lambda store: store.ask_to_conclude("DEB-1")),
    "pause": Scene(WAITING, lambda store: store.pause("DEB-1")),
    "say": Scene(WAITING, answer),
    "wish": Scene(RUNNING, lambda store: store.wish("DEB-1", Wish("Settings changed.", {}))),
    "tick": Scene((created,), lambda store: store.tick("DEB-1", Tick(0, True, "Anna"))),
    "rate": Scene((created,), lambda store: store.rate("DEB-1", Rating(5))),
    "add_workflow": Scene((created,), lambda store: store.add_workflow("DEB-1", WORKFLOW)),
    "take_workflow": Scene(
        (created, lambda store: store.add_workflow("DEB-1", WORKFLOW, -1.0)),
        lambda store: store.take_workflow(60.0),
    ),
    "note_delivery": Scene(
        (created, lambda store: store.add_workflow("DEB-1", WORKFLOW)),
        lambda store: store.note_delivery("DEB-1", replace(WORKFLOW, delivered=True, attempts=1)),
    ),
    "note_worker": Scene((), lambda store: store.note_worker(WORKER)),
    "remove_worker": Scene((lambda store: store.note_worker(WORKER),), lambda store: store.remove_worker("w")),
    "due": Scene(WAITING, lambda store: store.due(["one"], 9, 60.0)),
    "note": Scene(WAITING, lambda store: _noted(store)),
}


async def _noted(store: Store) -> None:
    (notice,) = (await store.load("DEB-1")).notices
    await store.note(notice, True, "200", None)


class Faulty(Protocol):
    """A database whose driver can be told to fail."""

    store: Store

    def fail_at(self, number: int | None) -> None:
        """Refuse the nth statement from now on, the first being 1."""
        ...

    async def content(self) -> list[list[tuple[Any, ...]]]: ...


class Counted:
    """Counts statements, but for those that begin and end a transaction, and refuses one."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.count = itertools.count(1)

    def fail_at(self, number: int | None) -> None:
        self.number, self.count = number, itertools.count(1)

    def sent(self, sql: str) -> bool:
        """Whether this one is to fail."""
        control = sql.lstrip().startswith(("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "PRAGMA"))
        return not control and self.number is not None and next(self.count) == self.number


class FaultySqlite(Counted):
    store: Store

    async def open(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> Faulty:
        counted, self.path = self, path

        class Connection(sqlite3.Connection):
            def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
                if counted.sent(sql):
                    raise sqlite3.OperationalError("refused")
                return super().execute(sql, *parameters)

        connect = sqlite3.connect
        monkeypatch.setattr(sqlite3, "connect", lambda *args, **kwargs: connect(*args, factory=Connection, **kwargs))
        self.store = await open_sqlite(path, HOOKS)
        return self

    async def content(self) -> list[list[tuple[Any, ...]]]:
        self.fail_at(None)
        with closing(sqlite3.connect(self.path)) as connection:
            return [connection.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES]


class FaultyPostgres(Counted):
    store: Store

    async def open(self, url: str, monkeypatch: pytest.MonkeyPatch) -> Faulty:
        self.url = url
        self.store = await open_postgres(url, HOOKS)
        for name in ("fetch", "fetchrow", "fetchval", "execute"):
            self.wrap(name, monkeypatch)
        return self

    def wrap(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        real = getattr(asyncpg.Connection, name)

        async def send(connection: Any, sql: str, *arguments: Any, **named: Any) -> Any:
            if self.sent(sql):
                raise asyncpg.DataError("refused")
            return await real(connection, sql, *arguments, **named)

        monkeypatch.setattr(asyncpg.Connection, name, send)

    async def content(self) -> list[list[tuple[Any, ...]]]:
        self.fail_at(None)
        connection = await asyncpg.connect(self.url)
        try:
            return [
                [tuple(row) for row in await connection.fetch(f"SELECT * FROM {table}")] for table in (*TABLES, "jobs")
            ]
        finally:
            await connection.close()


@pytest.fixture(params=["sqlite", "postgres"])
def opened(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], Awaitable[Faulty]]:
    if request.param == "sqlite":
        return lambda: FaultySqlite().open(tmp_path / "moot.db", monkeypatch)
    url = request.getfixturevalue("postgres_url")
    return lambda: FaultyPostgres().open(url, monkeypatch)


@pytest.fixture
async def faulty(opened: Callable[[], Awaitable[Faulty]]) -> AsyncIterator[Faulty]:
    faulty = await opened()
    yield faulty
    await faulty.store.close()


@pytest.mark.parametrize("name", SCENES)
async def test_a_write_of_which_a_statement_fails_leaves_nothing_behind(faulty: Faulty, name: str) -> None:
    before, call = SCENES[name]
    for step in before:
        await step(faulty.store)
    as_it_was = await faulty.content()

    for number in itertools.count(1):
        faulty.fail_at(number)
        (result,) = await asyncio.gather(call(faulty.store), return_exceptions=True)
        if not isinstance(result, Exception):
            break
        assert isinstance(result, StoreError)
        assert "refused" in str(result)
        assert await faulty.content() == as_it_was

    assert number > 1
    assert await faulty.content() != as_it_was


def test_every_writing_call_is_tried() -> None:
    code = {name: getattr(call, "__code__", None) for name, call in vars(Store).items()}
    writing = {name for name, each in code.items() if each and "write" in each.co_names}
    assert writing == {scene.partition(" ")[0] for scene in SCENES}

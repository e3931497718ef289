"""Debates in one SQLite file. One thread writes, committing all that waits together; reads go beside it.

Safe for several processes on one file; not for a file on a network drive, where SQLite's locks do not hold.
"""

from __future__ import annotations

import asyncio
import atexit
import sqlite3
import time
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from glob import escape
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple, TypeVar

from moot.core.record import Status
from moot.errors import StoreError
from moot.store.database import PARTS, Job, Operation, Request, Row, Statement, Whole, ask
from moot.store.sql import migrations, queries
from moot.store.store import Store
from moot.text.files import private_file, private_folder

T = TypeVar("T")

BUSY_SECONDS = 60
READERS = 2
CACHE_KB = 256
"""Of each connection; the operating system keeps the file's pages too, once for all of them."""
ADVICE = {
    "SQLITE_FULL": "the disk is full; free some space, then resume the debate",
    "SQLITE_IOERR": "the disk is full or failing; check it, then resume the debate",
    "SQLITE_BUSY": f"another process has held the database for over {BUSY_SECONDS} s; end it, then resume the debate",
    "SQLITE_READONLY": "make the file and its folder writable",
    "SQLITE_CANTOPEN": "check that its folder can be written and the path is no folder itself",
    "SQLITE_NOTADB": "this file is no moot database; choose another path",
    "SQLITE_CORRUPT": "the file is damaged; restore it from a backup",
}


async def open_sqlite(path: Path, hooks: Mapping[Status, Sequence[str]] | None = None) -> Store:
    """Open the file, making it and its folder when they are missing. Raises StoreError, SchemaTooNew."""
    return Store(_File(path, await asyncio.to_thread(_open, path)), hooks)


class _File:
    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._writer = _Writer(path, connection)
        self._readers = ThreadPoolExecutor(READERS, "moot-sqlite-reader")
        self._idle: deque[sqlite3.Connection] = deque()
        self._closed = False

    async def close(self) -> None:
        """Finish what was begun, then let go of the file."""
        if not self._closed:
            self._closed = True
            await asyncio.to_thread(self._close)

    async def write(self, operation: Operation[T]) -> T:
        self._check_open()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._writer.submit(_Write(operation, next(operation), loop, future))
        return await future

    async def read(self, operation: Operation[T]) -> T:
        self._check_open()
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read_now, operation)

    def _read_now(self, operation: Operation[T]) -> T:
        with _clear_errors(self._path), self._reader() as connection:
            connection.execute("BEGIN")  # one snapshot for all statements of the operation
            return _run(connection, operation, next(operation))

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = _connect(self._path)
        try:
            yield connection
        finally:
            connection.rollback()
            self._idle.append(connection)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self._path} has been closed; open the store again")

    def _close(self) -> None:
        self._readers.shutdown()
        for connection in self._idle:
            connection.close()
        self._writer.close()


class Memory:
    """A database that is gone with whoever holds it. It answers at once, in the caller's thread."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.connection = _connect(":memory:", now)
        self._lock = Lock()
        _template().backup(self.connection)
        weakref.finalize(self, self.connection.close)

    async def write(self, operation: Operation[T]) -> T:
        with self._lock, _clear_errors("the database in memory"), _transaction(self.connection):
            return _run(self.connection, operation, next(operation))

    async def read(self, operation: Operation[T]) -> T:
        with self._lock, _clear_errors("the database in memory"):
            return _run(self.connection, operation, next(operation))

    async def close(self) -> None:
        """Nothing: what was stored can be read for as long as anyone holds it."""


@cache
def _template() -> sqlite3.Connection:
    """An empty database, migrated once for all that are in memory."""
    connection = _connect(":memory:")
    atexit.register(connection.close)
    _migrate(connection)
    return connection


class _Write(NamedTuple):
    operation: Operation[Any]
    first: Request
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]


class _Writer:
    """One thread which takes all that is waiting, commits it together, and then answers the callers."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection
        self._jobs: SimpleQueue[_Write | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name="moot-sqlite-writer", daemon=True)
        self._thread.start()

    def submit(self, job: _Write) -> None:
        self._jobs.put(job)

    def close(self) -> None:
        self._jobs.put(None)
        self._thread.join()
        self._connection.close()

    def _work(self) -> None:
        closing = False
        while not closing:
            waiting = [self._jobs.get()]
            while not self._jobs.empty():
                waiting.append(self._jobs.get())
            closing = None in waiting
            if batch := [job for job in waiting if job]:
                _answer(batch, self._commit(batch))

    def _commit(self, batch: Sequence[_Write]) -> Sequence[object]:
        """The result or the error of each job. None is stored when the commit fails."""
        try:
            with _transaction(self._connection):
                return [self._attempt(job) for job in batch]
        except sqlite3.Error as error:
            return [_store_error(self._path, error) for _ in batch]

    def _attempt(self, job: _Write) -> object:
        try:
            alone = isinstance(job.first, Statement) and job.first.alone  # a statement is undone whole when it fails
            with nullcontext() if alone else _savepoint(self._connection):
                return _run(self._connection, job.operation, job.first)
        except sqlite3.Error as error:
            if not self._connection.in_transaction:
                raise  # SQLite has undone the whole batch (disk full, I/O error), not this statement alone
            return _store_error(self._path, error)
        except Exception as error:  # one caller's error must not end the writer
            return error


def _answer(batch: Sequence[_Write], results: Sequence[object]) -> None:
    """Wake the callers, each loop once."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], object]]] = defaultdict(list)
    for job, result in zip(batch, results, strict=True):
        loops[job.loop].append((job.future, result))
    for loop, answers in loops.items():
        with suppress(RuntimeError):  # that loop is closed: nobody waits for the answer
            loop.call_soon_threadsafe(_resolve, answers)


def _resolve(answers: Sequence[tuple[asyncio.Future[Any], object]]) -> None:
    for future, result in answers:
        if future.done():  # its caller was cancelled meanwhile
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)


def _run(connection: sqlite3.Connection, operation: Operation[T], request: Request) -> T:
    try:
        while True:
            request = operation.send(_rows(connection, request))
    except StopIteration as end:
        result: T = end.value
        return result


def _rows(connection: sqlite3.Connection, request: Request) -> Sequence[Row]:
    match request:
        case Statement(query, parameters):
            return connection.execute(queries("sqlite")[query].sql, parameters).fetchall()
        case Whole(debate_id):
            return [{part: _rows(connection, ask(query, debate_id=debate_id)) for part, query in PARTS.items()}]
        case Job():
            return ()  # who works on this database sees the debates' statuses


def _open(path: Path) -> sqlite3.Connection:
    """The writer's connection, to a database that is up to date."""
    with _clear_errors(path):
        try:
            private_folder(path.parent)
        except OSError as error:
            raise StoreError(f"{path}: {error}; choose another path for the database") from error
        with suppress(OSError):  # why it cannot be opened is said below
            private_file(path)  # what SQLite writes beside it gets the same mode
            for beside in path.parent.glob(f"{escape(path.name)}-*"):  # by an earlier version
                private_file(beside)
        connection = _connect(path)
        try:
            _migrate(connection)
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
        return connection


def _connect(path: Path | str, now: Callable[[], float] = time.time) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    try:
        connection.execute(f"PRAGMA cache_size = -{CACHE_KB}")
    except BaseException:
        connection.close()
        raise
    connection.create_function("moot_now", 0, now)
    return connection


def _migrate(connection: sqlite3.Connection) -> None:
    missing = migrations("sqlite", _version(connection))
    if not missing:
        return
    _use_wal(connection)
    for migration in missing:
        with _transaction(connection):
            if _version(connection) < migration.version:  # else another process was faster
                for statement in _statements(migration.sql):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {migration.version}")


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch the file to WAL, for good. SQLite does not wait by itself when another process does so right now."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _statements(script: str) -> Iterator[str]:
    """Split a migration; `executescript` would commit in between."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.rollback()
        raise


@contextmanager
def _savepoint(connection: sqlite3.Connection) -> Iterator[None]:
    """One operation of those that are committed together: when it fails, nothing of it is stored."""
    connection.execute("SAVEPOINT operation")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK TO operation")
        raise
    finally:
        if connection.in_transaction:
            connection.execute("RELEASE operation")


@contextmanager
def _clear_errors(path: Path | str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise _store_error(path, error) from error


def _store_error(path: Path | str, error: sqlite3.Error) -> StoreError:
    name = getattr(error, "sqlite_errorname", "")
    advice = next((advice for known, advice in ADVICE.items() if name.startswith(known)), "run `moot doctor`")
    return StoreError(f"{path}: {error}; {advice}")

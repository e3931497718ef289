"""Debates in Postgres, for several processes on several machines."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

import asyncpg
import orjson

from moot.core.record import Status
from moot.errors import MootError, StoreAway, StoreBlocked, StoreError
from moot.store import jobs
from moot.store.database import PARTS, Job, Operation, Request, Row, Statement, Whole
from moot.store.sql import kept, migrations, queries
from moot.store.store import Store

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

    Pool: TypeAlias = asyncpg.Pool[asyncpg.Record]
    Connection: TypeAlias = PoolConnectionProxy[asyncpg.Record]

T = TypeVar("T")

log = logging.getLogger(__name__)

CONNECTIONS = 10
CONNECT_SECONDS = 10
STATEMENT_SECONDS = 20
"""After so long an answer is taken for lost; a lease lasts longer."""
MIGRATION_SECONDS = 600
MIGRATING = 0x6D6F6F74
"""The key of the advisory lock under which one process migrates while others wait."""
SCHEMA_TABLE = """
    CREATE TABLE IF NOT EXISTS moot_schema (version INTEGER NOT NULL);
    INSERT INTO moot_schema SELECT 0 WHERE NOT EXISTS (SELECT FROM moot_schema);
"""
GONE = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.IdleSessionTimeoutError,
    asyncpg.TooManyConnectionsError,
)
"""There is no connection, or not any more; another may be had in a moment."""
BLOCKED = (
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.TransactionRollbackError,
    asyncpg.InsufficientResourcesError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.PostgresSystemError,
    asyncpg.InvalidCachedStatementError,
)
"""The server answers, and may do in a moment what it does not do now: it is locked, full, read-only."""


async def open_postgres(url: str, hooks: Mapping[Status, Sequence[str]] | None = None) -> Store:
    """Connect to a database and bring its schema up to date. Raises StoreError, SchemaTooNew."""
    place = _place(url)
    with clear_errors(place):
        pool = await _connect(url)
        try:
            async with pool.acquire() as connection:
                await _migrate(connection)
        except BaseException:
            pool.terminate()
            raise
    return Store(PostgresPool(url, pool, place), hooks)


class PostgresPool:
    """A Postgres with moot's tables."""

    def __init__(self, url: str, pool: Pool, place: str) -> None:
        self.url = url
        self.pool = pool
        self.place = place
        self._away_since: float | None = None

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Errors become moot's own; that the database is away, and that it is back, is logged once."""
        try:
            with clear_errors(self.place):
                yield
        except StoreAway as error:
            if self._away_since is None:
                self._away_since = time.monotonic()
                log.warning("database away: %s", error)
            raise
        if self._away_since is not None:
            away, self._away_since = time.monotonic() - self._away_since, None
            log.warning("database back after %.1f s", away)

    async def close(self) -> None:
        """Finish what was begun, then disconnect; what is not answered is not waited for for long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CONNECT_SECONDS):
                await self.pool.close()

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Connection]:
        """A connection; what goes wrong with it becomes moot's own error."""
        with self.asked():
            async with self.pool.acquire() as connection:
                try:
                    yield connection
                except (TimeoutError, asyncio.CancelledError):
                    _drop(connection)
                    raise
                except asyncpg.ReadOnlySQLTransactionError:
                    await self.pool.expire_connections()  # another server may have become the one to write to
                    raise
                except Exception as error:
                    if isinstance(error, MootError) or not _is_gone(connection):
                        raise
                    raise ConnectionError(f"the connection was lost: {error!r}") from error

    async def fetch(self, sql: str, *arguments: object) -> list[asyncpg.Record]:
        async with self.connected() as connection:
            return await connection.fetch(sql, *arguments)

    async def execute(self, sql: str, *arguments: object) -> str:
        async with self.connected() as connection:
            return await connection.execute(sql, *arguments)

    async def write(self, operation: Operation[T]) -> T:
        first = next(operation)
        async with self.connected() as connection:
            if isinstance(first, Statement) and first.alone:
                return await _run(connection, operation, first)
            put: list[Job] = []
            async with _transaction(connection):
                result = await _run(connection, operation, first, put)
            if any(job.after_seconds <= 0 for job in put):
                await _wake_workers(connection)
            return result

    async def read(self, operation: Operation[T]) -> T:
        """What a read returns is of one statement, and so of one moment without a transaction."""
        first = next(operation)
        async with self.connected() as connection:
            return await _run(connection, operation, first)


@asynccontextmanager
async def _transaction(connection: Connection) -> AsyncIterator[None]:
    """asyncpg's own would wait for the answer to its ROLLBACK where there was none to the statement before."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        yield
    except (TimeoutError, asyncio.CancelledError):
        _drop(connection)
        raise
    except BaseException:
        if not _is_gone(connection):
            await transaction.rollback()
        raise
    await transaction.commit()


def _is_gone(connection: Connection) -> bool:
    try:
        return connection.is_closed()
    except asyncpg.InterfaceError:  # the pool has taken it back already
        return True


def _drop(connection: Connection) -> None:
    """Use a connection no more: nobody waits until its last statement is answered, or cancelled."""
    with suppress(asyncpg.InterfaceError):
        connection.terminate()


async def _wake_workers(connection: Connection) -> None:
    """What was written stays so, whether they hear of it or not: then they find it by themselves."""
    with suppress(asyncpg.PostgresError, *GONE):
        await connection.execute(jobs.WAKE)


async def _run(connection: Connection, operation: Operation[T], request: Request, put: list[Job] | None = None) -> T:
    """`put` gets the jobs that were put into the queue."""
    try:
        while True:
            if put is not None and isinstance(request, Job):
                put.append(request)
            request = operation.send(await _rows(connection, request))
    except StopIteration as end:
        result: T = end.value
        return result


async def _rows(connection: Connection, request: Request) -> Sequence[Row]:
    match request:
        case Statement(query, parameters):
            known = queries("postgres")[query]
            return await connection.fetch(known.sql, *known.arguments(parameters))
        case Whole(debate_id):
            (row,) = await connection.fetch(_whole(), kept(debate_id))
            return [{part: orjson.loads(rows) if rows else () for part, rows in row.items()}]
        case Job():
            await jobs.put(connection, request)
            return ()


@cache
def _whole() -> str:
    """All parts of a debate in one statement, whose only parameter is the debate's id."""
    columns = (
        f"(SELECT json_agg(part) FROM ({queries('postgres')[query].sql.rstrip(';')}) AS part) AS {part}"  # noqa: S608 (our own statements)
        for part, query in PARTS.items()
    )
    return f"SELECT {', '.join(columns)}"


async def _connect(url: str) -> Pool:
    try:
        pool = await asyncpg.create_pool(
            url,
            **_which(url),
            min_size=0,  # else the pool itself keeps trying to connect, and logs that it cannot
            max_size=CONNECTIONS,
            timeout=CONNECT_SECONDS,
            command_timeout=STATEMENT_SECONDS,
            reset=_keep,
        )
        async with pool.acquire():  # connects, and so reads the whole URL
            return pool
    except ValueError:  # its message may quote the password
        raise StoreError(
            "the database URL cannot be read; write postgresql://user:password@host:5432/name, "
            "with the special characters of the password percent-encoded"
        ) from None


async def connect(url: str) -> asyncpg.Connection[asyncpg.Record]:
    """A connection of one's own."""
    return await asyncpg.connect(url, **_which(url), timeout=CONNECT_SECONDS, command_timeout=STATEMENT_SECONDS)


def _which(url: str) -> dict[str, Any]:
    """Of several servers that an address names, the one that can be written to, if it does not say otherwise."""
    several = "," in urlsplit(url).netloc or "," in urlsplit(url).query
    return {"target_session_attrs": "read-write"} if several and "target_session_attrs" not in url else {}


async def _keep(connection: object) -> None:
    """Reset nothing between two uses of a connection: we leave nothing behind, and it is a round trip each time."""


async def _migrate(connection: Connection) -> None:
    for migration in migrations("postgres", await _version(connection)):
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", MIGRATING, timeout=MIGRATION_SECONDS)
            await connection.execute(SCHEMA_TABLE)
            if await _version(connection) < migration.version:  # else another process was faster
                await connection.execute(migration.sql, timeout=MIGRATION_SECONDS)
                await connection.execute("UPDATE moot_schema SET version = $1", migration.version)
    await jobs.move(connection)


async def _version(connection: Connection) -> int:
    try:
        return int(await connection.fetchval("SELECT version FROM moot_schema"))
    except asyncpg.UndefinedTableError:
        return 0


def _place(url: str) -> str:
    """Where the database is, without anything that could be part of a password."""
    try:
        return urlsplit(url).hostname or "the local socket"
    except ValueError:
        return "an unknown host"


@contextmanager
def clear_errors(place: str) -> Iterator[None]:
    try:
        yield
    except (asyncpg.PostgresError, *GONE) as error:
        reason = str(error) or ("it does not answer" if isinstance(error, TimeoutError) else type(error).__name__)
        told = f"Postgres at {place} cannot be used: {reason}; check the server, then try again"
        raise _kind(error)(told) from error


def _kind(error: Exception) -> type[StoreError]:
    if isinstance(error, ValueError):  # a parameter that cannot be stored will never be
        return StoreError
    return StoreAway if isinstance(error, GONE) else StoreBlocked if isinstance(error, BLOCKED) else StoreError

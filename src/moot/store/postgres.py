"""Debates in Postgres, for several processes on several machines."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, TypeAlias, TypeVar
from urllib.parse import urlsplit

import asyncpg
import orjson

from moot.core.debate import Status
from moot.errors import StoreAway, StoreError
from moot.store import jobs
from moot.store.database import PARTS, Job, Operation, Request, Row, Statement, Whole
from moot.store.sql import migrations, queries
from moot.store.store import Store

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

    Pool: TypeAlias = asyncpg.Pool[asyncpg.Record]
    Connection: TypeAlias = PoolConnectionProxy[asyncpg.Record]

T = TypeVar("T")

log = logging.getLogger(__name__)

CONNECTIONS = 10
CONNECT_SECONDS = 10
STATEMENT_SECONDS = 60
MIGRATING = 0x6D6F6F74
"""The key of the advisory lock under which one process migrates while others wait."""
SCHEMA_TABLE = """
    CREATE TABLE IF NOT EXISTS moot_schema (version INTEGER NOT NULL);
    INSERT INTO moot_schema SELECT 0 WHERE NOT EXISTS (SELECT FROM moot_schema);
"""
AWAY = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
)
"""What may be over in a moment."""


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
        """Finish what was begun, then disconnect."""
        await self.pool.close()

    async def write(self, operation: Operation[T]) -> T:
        first = next(operation)
        with self.asked():
            async with self.pool.acquire() as connection:
                if isinstance(first, Statement) and first.alone:
                    return await _run(connection, operation, first)
                async with connection.transaction():
                    return await _run(connection, operation, first)

    async def read(self, operation: Operation[T]) -> T:
        """Each read is one statement, and so sees one moment without a transaction."""
        first = next(operation)
        with self.asked():
            async with self.pool.acquire() as connection:
                return await _run(connection, operation, first)


async def _run(connection: Connection, operation: Operation[T], request: Request) -> T:
    try:
        while True:
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
            (row,) = await connection.fetch(_whole(), debate_id)
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


async def _keep(connection: object) -> None:
    """Reset nothing between two uses of a connection: we leave nothing behind, and it is a round trip each time."""


async def _migrate(connection: Connection) -> None:
    for migration in migrations("postgres", await _version(connection)):
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", MIGRATING)
            await connection.execute(SCHEMA_TABLE)
            if await _version(connection) < migration.version:  # else another process was faster
                await connection.execute(migration.sql)
                await connection.execute("UPDATE moot_schema SET version = $1", migration.version)
    await jobs.install(connection)


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
    except (asyncpg.PostgresError, *AWAY) as error:
        kind = StoreAway if isinstance(error, AWAY) else StoreError
        reason = str(error) or type(error).__name__
        raise kind(f"Postgres at {place} cannot be used: {reason}; check the server, then try again") from error

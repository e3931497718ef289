"""Debates in Postgres, for several processes on several machines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias, TypeVar
from urllib.parse import urlsplit

import asyncpg

from moot.engine import Control, Ending
from moot.errors import StoreError
from moot.model import Failure, Rating, Record, Said, Status, Turn, Workflow
from moot.store import operations
from moot.store.operations import AlreadyThere, Operation
from moot.store.sql import migrations, queries
from moot.store.store import Place, Stored, Unfinished

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

    Pool: TypeAlias = asyncpg.Pool[asyncpg.Record]
    Connection: TypeAlias = PoolConnectionProxy[asyncpg.Record]

T = TypeVar("T")

CONNECTIONS = 10
CONNECT_SECONDS = 10
STATEMENT_SECONDS = 60
MIGRATING = 0x6D6F6F74
"""The key of the advisory lock under which one process migrates while others wait."""
SCHEMA_TABLE = """
    CREATE TABLE IF NOT EXISTS moot_schema (version INTEGER NOT NULL);
    INSERT INTO moot_schema SELECT 0 WHERE NOT EXISTS (SELECT FROM moot_schema);
"""


class PostgresStore:
    @classmethod
    async def open(cls, url: str) -> PostgresStore:
        """Connect to a database and bring its schema up to date. Raises StoreError, SchemaTooNew."""
        place = _place(url)
        with _clear_errors(place):
            pool = await _connect(url)
            try:
                async with pool.acquire() as connection:
                    await _migrate(connection)
            except BaseException:
                pool.terminate()
                raise
        return cls(pool, place)

    def __init__(self, pool: Pool, place: str) -> None:
        self._pool = pool
        self._place = place

    async def create(self, record: Record, key: str | None = None) -> Record:
        return await self._run(operations.create(record, key))

    async def load(self, debate_id: str) -> Stored:
        with _clear_errors(self._place):
            async with (
                self._pool.acquire() as connection,
                connection.transaction(isolation="repeatable_read", readonly=True),
            ):
                return await _run(connection, operations.load(debate_id))

    async def list(
        self,
        *,
        limit: int,
        status: Status | None = None,
        format: str | None = None,
        words: str = "",
        after: Place | None = None,
    ) -> tuple[Record, ...]:
        return await self._run(operations.list_debates(limit, status, format, words, after))

    async def unfinished(self) -> tuple[Unfinished, ...]:
        return await self._run(operations.unfinished())

    async def enqueue(self, debate_id: str) -> Record:
        return await self._run(operations.enqueue(debate_id))

    async def delete(self, debate_id: str) -> None:
        await self._run(operations.delete(debate_id))

    async def restore(self, debate_id: str) -> Record:
        return await self._run(operations.restore(debate_id))

    async def append(self, debate_id: str, turn: Turn) -> Control:
        return await self._run(operations.append(debate_id, turn))

    async def add_failure(self, debate_id: str, failure: Failure) -> None:
        await self._run(operations.add_failure(debate_id, failure))

    async def take(self, debate_id: str, owner: str, lease_seconds: float, *, only_queued: bool = False) -> Stored:
        # From here on only this run can append, so its turns can be read afterwards.
        record = await self._run(operations.take(debate_id, owner, lease_seconds, only_queued))
        return (await self.load(debate_id))._replace(record=record)

    async def heartbeat(self, debate_id: str, run: int, lease_seconds: float) -> None:
        await self._run(operations.heartbeat(debate_id, run, lease_seconds))

    async def end(self, debate_id: str, run: int, ending: Ending) -> None:
        await self._run(operations.end(debate_id, run, ending))

    async def release(self, debate_id: str, run: int) -> bool:
        return await self._run(operations.release(debate_id, run))

    async def ask_to_stop(self, debate_id: str) -> Record:
        return await self._run(operations.ask_to_stop(debate_id))

    async def ask_to_conclude(self, debate_id: str) -> Record:
        return await self._run(operations.ask_to_conclude(debate_id))

    async def pause(self, debate_id: str) -> Record:
        return await self._run(operations.pause(debate_id))

    async def say(self, debate_id: str, said: Said) -> Said:
        return await self._run(operations.say(debate_id, said))

    async def said(self, debate_id: str) -> tuple[Said, ...]:
        return await self._run(operations.said(debate_id))

    async def rate(self, debate_id: str, rating: Rating) -> Rating:
        return await self._run(operations.rate(debate_id, rating))

    async def add_workflow(self, debate_id: str, workflow: Workflow) -> Workflow:
        return await self._run(operations.add_workflow(debate_id, workflow))

    async def note_delivery(self, debate_id: str, workflow: Workflow) -> Workflow:
        return await self._run(operations.note_delivery(debate_id, workflow))

    async def close(self) -> None:
        """Finish what was begun, then disconnect."""
        await self._pool.close()

    async def _run(self, operation: Operation[T]) -> T:
        with _clear_errors(self._place):
            async with self._pool.acquire() as connection:
                return await _run(connection, operation)


async def _run(connection: Connection, operation: Operation[T]) -> T:
    known = queries("postgres")
    try:
        statement = next(operation)
        while True:
            query = known[statement.query]
            try:
                rows = await connection.fetch(query.sql, *query.arguments(statement.parameters))
            except asyncpg.UniqueViolationError:
                statement = operation.throw(AlreadyThere())
            else:
                statement = operation.send(rows)
    except StopIteration as end:
        result: T = end.value
        return result


async def _connect(url: str) -> Pool:
    try:
        return await asyncpg.create_pool(
            url,
            min_size=1,
            max_size=CONNECTIONS,
            timeout=CONNECT_SECONDS,
            command_timeout=STATEMENT_SECONDS,
            reset=_keep,
        )
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
def _clear_errors(place: str) -> Iterator[None]:
    try:
        yield
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        reason = str(error) or type(error).__name__
        raise StoreError(f"Postgres at {place} cannot be used: {reason}; check the server, then try again") from error

"""PgQueuer's tables beside moot's own: a job is put there in the transaction that changes its debate."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from moot.store.database import Job, run_of

if TYPE_CHECKING:
    from pgqueuer.adapters.persistence.qb import QueryBuilderEnvironment, QueryQueueBuilder, QuerySchedulerBuilder
    from pgqueuer.ports.driver import Driver
    from pgqueuer.queries import Queries

URGENT = 10
INSTALLING = 0x6D6F6F75
"""The key of the advisory lock under which one process sets the queue up while others wait."""
INSTALLED = """
    CREATE TABLE IF NOT EXISTS moot_queue (version TEXT NOT NULL);
    INSERT INTO moot_queue SELECT '' WHERE NOT EXISTS (SELECT FROM moot_queue);
"""
MISSING = """
    SELECT * FROM debates
    WHERE deleted_at IS NULL AND status IN ('queued', 'running', 'stopping')
        AND (lease_until IS NULL OR lease_until < moot_now())
        AND NOT EXISTS (
            SELECT FROM {} AS job
            WHERE job.entrypoint = 'run'
                AND substring(job.payload FROM 1 FOR octet_length(debates.id)) = convert_to(debates.id, 'UTF8')
        )
"""
LEFT = "SELECT * FROM debates WHERE deleted_at IS NULL AND status IN ('queued', 'running', 'stopping')"
"""What a moot without this queue was running, or was about to run."""


def queries(driver: Driver) -> Queries:
    """PgQueuer's statements over tables named moot_pgqueuer…"""
    from pgqueuer.queries import Queries

    return Queries(driver, *_builders())


@cache
def _builders() -> tuple[QueryBuilderEnvironment, QueryQueueBuilder, QuerySchedulerBuilder]:
    """Made once: PgQueuer's settings take as long as several statements."""
    from pgqueuer.adapters.persistence import qb
    from pgqueuer.domain.settings import DBSettings

    names = DBSettings(prefix="moot_")
    return qb.QueryBuilderEnvironment(names), qb.QueryQueueBuilder(names), qb.QuerySchedulerBuilder(names)


async def put(connection: Any, job: Job) -> None:
    """Add a job; when there is one with its key already, that becomes as urgent as this one.

    Its payload is the debate's id and, after a space, what else the key says: when it was queued, or which run asks.
    """
    from pgqueuer.db import AsyncpgDriver

    await queries(AsyncpgDriver(connection)).enqueue(
        job.kind,
        job.key.partition(" ")[2].encode(),
        URGENT if job.urgent else 0,
        timedelta(seconds=job.after_seconds),
        job.key,
        on_conflict="update_priority",
    )


async def put_missing(connection: Any) -> list[str]:
    """Give every debate a job that should have one and has none, whatever became of it; their ids."""
    table = _builders()[0].qualified.queue_table
    rows = await connection.fetch(MISSING.format(table))
    for row in rows:
        await put(connection, run_of(row))
    return [row["id"] for row in rows]


async def install(connection: Any) -> None:
    """Set the queue's tables up, or bring them to the version of PgQueuer that is here."""
    here = version("pgqueuer")
    if await _installed(connection) == here:
        return
    from pgqueuer.db import AsyncpgDriver

    known = queries(AsyncpgDriver(connection))
    await connection.execute("SELECT pg_advisory_lock($1)", INSTALLING)
    try:
        await connection.execute(INSTALLED)
        if await known.schema_is_installed():
            await known.upgrade()
        else:
            await known.install()
        for row in await connection.fetch(LEFT):
            await put(connection, run_of(row))
        await connection.execute("UPDATE moot_queue SET version = $1", here)
    finally:
        await connection.execute("SELECT pg_advisory_unlock($1)", INSTALLING)


async def _installed(connection: Any) -> str:
    there: Mapping[str, bool] = await connection.fetchrow("SELECT to_regclass('moot_queue') IS NOT NULL AS there")
    return str(await connection.fetchval("SELECT version FROM moot_queue")) if there["there"] else ""

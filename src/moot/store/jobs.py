"""PgQueuer's tables beside moot's own: a job is put there in the transaction that changes its debate."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from moot.store.database import Job, run_of

if TYPE_CHECKING:
    from pgqueuer.domain.settings import DBSettings

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


@cache
def names() -> DBSettings:
    """What PgQueuer's tables and its channel are called here: moot_pgqueuer…"""
    from pgqueuer.domain.settings import DBSettings

    return DBSettings(prefix="moot_")


@cache
def _enqueue() -> str:
    from pgqueuer.adapters.persistence.qb import QueryQueueBuilder

    return QueryQueueBuilder(names()).build_enqueue_query("update_priority")


async def put(connection: Any, job: Job) -> None:
    """Add a job; when there is one with its key already, that becomes as urgent as this one.

    Its payload is the debate's id and, after a space, what else the key says: when it was queued, or which run asks.
    """
    priority, after = URGENT if job.urgent else 0, timedelta(seconds=job.after_seconds)
    payload = job.key.partition(" ")[2].encode()
    await connection.execute(_enqueue(), [priority], [job.kind], [payload], [after], [job.key], [None])


async def put_missing(connection: Any) -> list[str]:
    """Give every debate a job that should have one and has none, whatever became of it; their ids."""
    rows = await connection.fetch(MISSING.format(names().qualified.queue_table))
    for row in rows:
        await put(connection, run_of(row))
    return [row["id"] for row in rows]


async def install(connection: Any) -> None:
    """Set the queue's tables up, or bring them to the version of PgQueuer that is here."""
    here = version("pgqueuer")
    if await _installed(connection) == here:
        return
    from pgqueuer.adapters.persistence import qb
    from pgqueuer.db import AsyncpgDriver
    from pgqueuer.queries import Queries

    builders = qb.QueryBuilderEnvironment(names()), qb.QueryQueueBuilder(names()), qb.QuerySchedulerBuilder(names())
    known = Queries(AsyncpgDriver(connection), *builders)
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

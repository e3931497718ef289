"""The queue in Postgres: a job is put there in the transaction that changes its debate."""

from __future__ import annotations

from typing import Any

from moot.store.database import Job, run_of

CHANNEL = "moot_jobs"
"""On which workers hear that there is something to do."""
PUT = """
    INSERT INTO jobs (key, kind, debate_id, urgent, due_at) VALUES ($1, $2, $3, $4, moot_now() + $5)
    ON CONFLICT (key) DO UPDATE SET urgent = jobs.urgent OR excluded.urgent
"""
WAKE = f"SELECT pg_notify('{CHANNEL}', '')"
"""Said when the jobs are committed: commits with a NOTIFY in them reach the disk one after the other, not together. A
worker that does not hear it looks by itself."""
MISSING = """
    SELECT * FROM debates
    WHERE deleted_at IS NULL AND status IN ('queued', 'running', 'stopping')
        AND (lease_until IS NULL OR lease_until < moot_now())
        AND NOT EXISTS (SELECT FROM jobs WHERE kind = 'run' AND debate_id = debates.id)
"""
MOVE = """
    WITH job AS (DELETE FROM moot_pgqueuer RETURNING *)
    INSERT INTO jobs (key, kind, debate_id, urgent, due_at)
    SELECT dedupe_key, entrypoint, split_part(dedupe_key, ' ', 2), priority > 0, extract(epoch FROM execute_after)
    FROM job WHERE dedupe_key IS NOT NULL ORDER BY id
    ON CONFLICT (key) DO NOTHING
"""


async def put(connection: Any, job: Job) -> None:
    """Add a job; when there is one with its key already, that becomes as urgent as this one."""
    await connection.execute(PUT, job.key, job.kind, job.debate_id, job.urgent, job.after_seconds)


async def put_missing(connection: Any) -> list[str]:
    """Give every debate a job that should have one and has none, whatever became of it; their ids."""
    rows = await connection.fetch(MISSING)
    for row in rows:
        await put(connection, run_of(row))
    if rows:
        await connection.execute(WAKE)
    return [row["id"] for row in rows]


async def move(connection: Any) -> None:
    """Take over what an earlier moot has put into the queue that it used, and may still be putting there."""
    if await connection.fetchval("SELECT to_regclass('moot_pgqueuer') IS NOT NULL"):
        await connection.execute(MOVE)

"""Who runs debates when nobody watches."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moot.runs.queue import Queue
    from moot.runs.runner import Runner
    from moot.runs.workers import PostgresQueue


def postgres_queue(runner: Runner, concurrency: int = 0) -> PostgresQueue | None:
    """The queue that all processes on a runner's database share, if that is a Postgres."""
    from moot.store.sql_store import SqlStore

    if not isinstance(runner.store, SqlStore) or not runner.settings.database_url.startswith("postgres"):
        return None
    from moot.runs.workers import PostgresQueue
    from moot.store.postgres import Server

    server = runner.store.database
    return PostgresQueue(runner, server, concurrency) if isinstance(server, Server) else None


def open_queue(runner: Runner) -> Queue:
    """A queue that works in this process: on a Postgres together with all others, otherwise alone."""
    from moot.runs.embedded import EmbeddedQueue

    return postgres_queue(runner, runner.settings.max_running) or EmbeddedQueue(runner)

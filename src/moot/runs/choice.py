"""Which queue runs debates in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moot.errors import InvalidInput

if TYPE_CHECKING:
    from moot.runs.queue import Queue
    from moot.runs.runner import Runner
    from moot.settings import AppSettings
    from moot.store.postgres import PostgresPool
    from moot.store.store import Store


def shared_server(settings: AppSettings, store: Store) -> PostgresPool | None:
    """The Postgres that all processes on a database share, if it is one."""
    if not settings.database_url.startswith("postgres"):
        return None
    from moot.store.postgres import PostgresPool

    server = store.database
    return server if isinstance(server, PostgresPool) else None


def open_queue(runner: Runner, concurrency: int) -> Queue:
    """A queue that runs so many debates at once: on a Postgres together with all others, otherwise alone.

    With a concurrency of 0 this process leaves them to the workers on the Postgres.
    """
    if server := shared_server(runner.settings, runner.store):
        from moot.runs.workers import PostgresQueue

        return PostgresQueue(runner, server, concurrency)
    if not concurrency:
        raise InvalidInput("without a Postgres there are no workers to leave the debates to; set MOOT_DATABASE_URL")
    from moot.runs.embedded import EmbeddedQueue

    return EmbeddedQueue(runner)

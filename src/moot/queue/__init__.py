"""Who runs debates when nobody watches."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moot.app import App
    from moot.queue.postgres import PostgresQueue
    from moot.queue.queue import Queue


def postgres_queue(app: App, concurrency: int = 0) -> PostgresQueue | None:
    """The queue that all processes on the app's database share, if that is a Postgres."""
    from moot.store.sql_store import SqlStore

    if not isinstance(app.store, SqlStore) or not app.settings.database_url.startswith("postgres"):
        return None
    from moot.queue.postgres import PostgresQueue
    from moot.store.postgres import Server

    server = app.store.database
    return PostgresQueue(app, server, concurrency) if isinstance(server, Server) else None


def open_queue(app: App) -> Queue:
    """A queue that works in this process: on a Postgres together with all others, otherwise alone."""
    from moot.queue.embedded import EmbeddedQueue

    return postgres_queue(app, app.settings.max_running) or EmbeddedQueue(app)

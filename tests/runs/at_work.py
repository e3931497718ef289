"""Queues of both kinds at work on debates of a scripted model, and a gate that holds the model back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg

from model_server import PATIENCE
from moot.app import App
from moot.core.debate import Record, Status
from moot.core.events import Event, TurnChunk, TurnFinished, TurnStarted
from moot.runs.embedded import EmbeddedQueue
from moot.runs.queue import Queue
from moot.runs.workers import PostgresQueue
from moot.store.postgres import PostgresPool
from moot.store.store import Store
from moot.testing import ScriptedModel, scripted_app
from stage import sensible


class Gate:
    """A model's pace that lets words through, none at first."""

    def __init__(self) -> None:
        self.waiting = 0
        self.most = 0
        """So many have waited at once."""
        self._left = 0
        self._changed = asyncio.Condition()

    async def __call__(self) -> None:
        async with self._changed:
            self.waiting += 1
            self.most = max(self.most, self.waiting)
            self._changed.notify_all()
            try:
                await self._changed.wait_for(lambda: self._left)
                self._left -= 1
            finally:
                self.waiting -= 1

    async def let(self, words: int = 1_000_000) -> None:
        async with self._changed:
            self._left += words
            self._changed.notify_all()

    async def reached(self, count: int = 1) -> None:
        """Wait until so many stand before the closed gate."""
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(lambda: self.waiting == count and not self._left)


def duel_app(store: Store | None = None, pace: Gate | None = None, **settings: Any) -> App:
    return app_with(ScriptedModel(sensible, pace=pace), store, **settings)


def app_with(model: ScriptedModel, store: Store | None = None, **settings: Any) -> App:
    app = scripted_app(model, store)
    for name, value in settings.items():
        setattr(app.settings, name, value)
    return app


async def created(app: App, count: int, **settings: Any) -> list[str]:
    """Duels of three turns."""
    chosen = {"max_rounds": 1, **settings}
    return [(await app.create("duel", f"Cats {number}?", chosen)).id for number in range(count)]


@asynccontextmanager
async def working(app: App, at_once: int = 20, grace_seconds: float = 0.0) -> AsyncIterator[Queue]:
    """A queue that works and hears; it drains with the end of the block."""
    queue: Queue
    if isinstance(server := _database(app.store), PostgresPool):
        queue = PostgresQueue(app.runner, server, at_once)
        await queue.start()
        await until_heard(server, 1)
    else:
        app.settings.max_running = at_once
        queue = EmbeddedQueue(app.runner)
        await queue.start()
    try:
        yield queue
    finally:
        await queue.drain(grace_seconds)


def _database(store: Any) -> object:
    return getattr(store, "database", None)


def server_of(store: Store) -> PostgresPool:
    assert isinstance(store, Store)
    assert isinstance(store.database, PostgresPool)
    return store.database


LISTENING = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE 'SELECT pg_notify%AS debate_id'
"""
"""Those that have asked for what they follow, which is the last thing they do before they only listen."""


async def until_heard(server: PostgresPool, ears: int) -> None:
    """Wait until so many processes listen to all channels."""
    connection = await asyncpg.connect(server.url)
    try:
        async with asyncio.timeout(PATIENCE):
            while await connection.fetchval(LISTENING) < ears:
                pass
    finally:
        await connection.close()


@dataclass
class Reader:
    """Somebody who follows a debate."""

    events: list[Event]
    task: asyncio.Task[None]
    more: asyncio.Condition

    async def until(self, true: Callable[[list[Event]], object]) -> None:
        async with asyncio.timeout(PATIENCE), self.more:
            await self.more.wait_for(lambda: true(self.events))

    async def to_the_end(self) -> list[Event]:
        async with asyncio.timeout(PATIENCE):
            await self.task
        return self.events


@asynccontextmanager
async def reading(queue: Queue, debate_id: str, after: int = 0, through_waits: bool = False) -> AsyncIterator[Reader]:
    events: list[Event] = []
    more = asyncio.Condition()

    async def read() -> None:
        async with aclosing(queue.follow(debate_id, after, through_waits)) as followed:
            async for event in followed:
                async with more:
                    events.append(event)
                    more.notify_all()

    task = asyncio.create_task(read())
    try:
        yield Reader(events, task, more)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def followed(queue: Queue, debate_id: str, after: int = 0) -> list[Event]:
    """All that is told of a debate, to its end or until it waits."""
    async with reading(queue, debate_id, after) as reader:
        return await reader.to_the_end()


def shown(events: list[Event], position: int) -> str:
    """What a reader has seen of a turn in progress, who takes each chunk to be the next."""
    text = ""
    for event in events:
        if isinstance(event, TurnStarted) and event.position == position:
            text = ""
        elif isinstance(event, TurnChunk) and event.position == position:
            assert event.offset == len(text), "a hole in the text"
            text += event.text
    return text


def types(events: list[Event]) -> list[str]:
    return [event.type for event in events if not isinstance(event, TurnChunk)]


def contents(events: list[Event]) -> dict[int, str]:
    return {event.position: event.content for event in events if isinstance(event, TurnFinished)}


async def status(app: App, debate_id: str) -> Status:
    return (await record(app, debate_id)).status


async def record(app: App, debate_id: str) -> Record:
    return (await app.load(debate_id)).record

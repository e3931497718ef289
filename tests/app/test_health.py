"""Whether the database can be worked with is told in time, whatever it does; and one that is away is waited for."""

from __future__ import annotations

import asyncio
import logging

import asyncpg
import pytest

from model_server import PATIENCE
from moot.app import build
from moot.app import health as healths
from moot.app.health import health
from moot.errors import StoreAway, StoreBlocked
from moot.runs.queue import Load
from moot.settings import AppSettings
from proxy import Proxy, proxy


async def test_a_database_whose_answers_vanish_is_told_in_time_and_healthy_when_they_come_again(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with proxy(postgres_url) as between, build(AppSettings(database_url=between.url), {}) as app:
        assert await health(app) == Load(0, 0, 0)
        between.swallows = True
        monkeypatch.setattr(healths, "SECONDS", 0.1)
        for _ in range(11):  # more than there are connections
            async with asyncio.timeout(PATIENCE):
                with pytest.raises(StoreAway, match=r"has not answered within 0\.1 s; check the server"):
                    await health(app)
        between.swallows = False
        monkeypatch.setattr(healths, "SECONDS", PATIENCE)
        assert await health(app) == Load(0, 0, 0)


async def test_a_database_that_can_only_be_read_is_not_healthy(postgres_url: str) -> None:
    async with build(AppSettings(database_url=postgres_url), {}) as app:
        session = await asyncpg.connect(postgres_url)
        name = await session.fetchval("SELECT current_database()")
        await session.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        await app.store.database.pool.expire_connections()  # type: ignore[attr-defined]
        with pytest.raises(StoreBlocked, match="the database is read-only; make it writable"):
            await health(app)
        await session.close()


async def test_a_healthy_file_is_told_as_that() -> None:
    async with build(AppSettings(database_url="sqlite:///moot.db"), {}) as app, app.working():
        assert await health(app) == Load(0, 0, 1)


async def test_who_starts_while_the_database_is_away_waits_for_it(
    postgres_url: str,
) -> None:
    between = Proxy(postgres_url)
    await between.open()
    await between.close()
    waiting = Waiting()
    logging.getLogger("moot.store.retrying").addHandler(waiting)

    async def start() -> Load:
        async with build(AppSettings(database_url=between.url), {}, patience=PATIENCE) as app:
            return await health(app)

    starting = asyncio.create_task(start())
    await asyncio.wait_for(waiting.seen.wait(), PATIENCE)
    await between.open()
    assert await asyncio.wait_for(starting, PATIENCE) == Load(0, 0, 0)
    await between.close()


class Waiting(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.seen = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.set()

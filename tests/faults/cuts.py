"""Connections to a Postgres that are cut at random beneath a server and a worker, with a reader for each debate."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from itertools import cycle, islice
from typing import Any, NamedTuple

import aiohttp
import asyncpg
from scenes import SCENES, create, finished
from sweeps import Place, lost
from troupe import until

CUT_OFF = "moot_cut_off"
"""The name under which those connect whose connections are cut."""
CUT = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = $1 ORDER BY random() LIMIT $2
"""
READ_SECONDS = 20.0
"""So long after the last debate has ended a reader may still wait for its last event."""


class Cuts(NamedTuple):
    """What became of the debates."""

    cuts: int
    health: set[int]
    slowest_health: float
    hanging: int
    """Readers who were not told the end."""
    lost: int
    doubled: int
    alive: bool


def named(url: str) -> str:
    """The address of a database for those whose connections are cut."""
    return f"{url}{'&' if '?' in url else '?'}application_name={CUT_OFF}"


async def cut(place: Place, url: str, seconds: float, debates: int, word_seconds: float) -> Cuts:
    """Cut connections for so long while debates of all formats begin and end."""
    web = place.troupe.start("web", "serve", "--port", "0", machine="web")
    address = (await web.ready()).split()[3]
    worker = place.start("worker")
    await worker.ready()
    place.server.word_seconds = word_seconds
    names = list(islice(cycle(SCENES), debates))
    health: list[tuple[int, float]] = []
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(None)) as session:
        async with _cutting(url) as count, _beside(_probe(session, address, health)):
            ids, reading = [], []
            for name in names:
                ids.append(await create(place.app, SCENES[name]))
                reading.append(asyncio.create_task(_read(session, f"{address}/api/debates/{ids[-1]}/events")))
                await asyncio.sleep(seconds / debates)
        place.server.word_seconds = 0.0
        for debate_id in ids:
            await until(lambda debate_id=debate_id: finished(place.app, debate_id), 120)
        _, hanging = await asyncio.wait(reading, timeout=READ_SECONDS)
        for reader in hanging:
            reader.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
    turns = [(await place.app.load(debate_id)).turns for debate_id in ids]
    expected = [place.expected[name] for name in names]
    return Cuts(
        count[0],
        {status for status, _ in health},
        max(took for _, took in health),
        len(hanging),
        sum(lost(each, (), whole) for each, whole in zip(turns, expected, strict=True)),
        sum(map(len, turns)) - sum(map(len, expected)),
        web.alive and worker.alive,
    )


@asynccontextmanager
async def _cutting(url: str) -> AsyncIterator[list[int]]:
    """Cut one or a few connections several times a second; how many by now."""
    session, count = await asyncpg.connect(url), [0]

    async def go_on() -> None:
        while True:
            count[0] += len(await session.fetch(CUT, CUT_OFF, random.choice((1, 1, 1, 2, 5))))
            await asyncio.sleep(random.uniform(0.02, 0.3))

    try:
        async with _beside(go_on()):
            yield count
    finally:
        await session.close()


@asynccontextmanager
async def _beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _probe(session: aiohttp.ClientSession, address: str, seen: list[tuple[int, float]]) -> None:
    while True:
        began = time.monotonic()
        async with session.get(f"{address}/api/health") as response:
            seen.append((response.status, time.monotonic() - began))
        await asyncio.sleep(0.1)


async def _read(session: aiohttp.ClientSession, url: str) -> None:
    """Read a debate's events to its end; who is sent away comes back, as a browser does."""
    while True:
        async with session.get(url) as response:
            if response.status == 200 and b"event: debate_finished\n" in await response.read():
                return
        await asyncio.sleep(0.2)

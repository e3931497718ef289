"""Databases that go away in the middle of debates, and come back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import aiohttp
import asyncpg
from scenes import SCENES, create, finished
from sweeps import Place, lost
from troupe import Cluster, Disk, Standby, until

from moot.core.debate import Turn
from moot.errors import StoreError
from proxy import Proxy

WORD_SECONDS = 0.05


class Trouble(NamedTuple):
    """What befalls a database, and how it ends."""

    begin: Callable[[], Awaitable[object]]
    end: Callable[[], Awaitable[object]]
    health: int = 503
    """What a server says of itself meanwhile."""


def crash(cluster: Cluster) -> Trouble:
    return Trouble(partial(asyncio.to_thread, cluster.crash), partial(asyncio.to_thread, cluster.start))


def fail_over(cluster: Cluster, standby: Standby) -> Trouble:
    """The server is gone for good, and another takes its place."""
    return Trouble(partial(asyncio.to_thread, cluster.crash), partial(asyncio.to_thread, cluster.promote, standby))


def read_only(cluster: Cluster) -> Trouble:
    def turn(state: str) -> None:
        cluster.psql(
            f"SET default_transaction_read_only = off; ALTER SYSTEM SET default_transaction_read_only = {state}"
        )
        cluster.psql("SELECT pg_reload_conf()")

    return Trouble(partial(asyncio.to_thread, turn, "on"), partial(asyncio.to_thread, turn, "off"))


def fill(disk: Disk) -> Trouble:
    """Nothing has room any more, but in what files there are."""
    return Trouble(partial(asyncio.to_thread, disk.fill), partial(asyncio.to_thread, disk.filler.unlink), health=200)


def lock(url: str) -> Trouble:
    """Nobody can write to the debates; they can be read."""
    sessions: list[asyncpg.Connection[asyncpg.Record]] = []

    async def begin() -> None:
        sessions.append(await asyncpg.connect(url))
        await sessions[0].execute("BEGIN; LOCK TABLE debates, turns IN EXCLUSIVE MODE")

    return Trouble(begin, lambda: sessions[0].close(), health=200)


def vanish(between: Proxy) -> Trouble:
    """Whatever is sent, either way, is never heard of again."""

    async def swallow(swallows: bool) -> None:
        between.swallows = swallows

    return Trouble(partial(swallow, True), partial(swallow, False))


class Outage(NamedTuple):
    """What became of the debates while their database was away."""

    health: list[int]
    """What the server said of itself: before, meanwhile, and after."""
    alive: bool
    """All processes."""
    lost: int
    doubled: int
    repeated: int
    going_again: float
    """Seconds from the database's return to the next stored turn."""


async def outage(place: Place, trouble: Trouble, seconds: float) -> Outage:
    """Trouble the Postgres below a server and two workers that run a debate of each format."""
    web = place.troupe.start("web", "serve", "--no-work", "--port", "0")
    address = (await web.ready()).split()[3]
    processes = [web, place.start("first"), place.start("second")]
    place.server.word_seconds = WORD_SECONDS
    ids = [await create(place.app, scene) for scene in SCENES.values()]
    await until(lambda: _stored(place, ids, 4))
    before = [(await place.app.load(debate_id)).turns for debate_id in ids]
    health = [await _health(address)]
    await trouble.begin()
    stopped = time.monotonic()
    await until(lambda: _says(address, trouble.health))
    await asyncio.sleep(max(0.0, seconds - (time.monotonic() - stopped)))
    health.append(await _health(address))
    await trouble.end()
    back, held = time.monotonic(), [await _turns(place, debate_id) for debate_id in ids]
    await until(lambda: _stored(place, ids, sum(map(len, held)) + 1))
    going_again = time.monotonic() - back
    place.server.word_seconds = 0.0
    for debate_id in ids:
        await until(lambda debate_id=debate_id: finished(place.app, debate_id))
    await until(lambda: _says(address, 200))
    health.append(await _health(address))
    after = [(await place.app.load(debate_id)).turns for debate_id in ids]
    expected = [place.expected[name] for name in SCENES]
    return Outage(
        health,
        all(process.alive for process in processes),
        sum(lost(*each) for each in zip(after, before, expected, strict=True)),
        sum(map(len, after)) - sum(map(len, expected)),
        place.server.repeated(),
        going_again,
    )


async def _stored(place: Place, ids: list[str], turns: int) -> bool:
    return sum([len((await place.app.load(debate_id)).turns) for debate_id in ids]) >= turns


async def _turns(place: Place, debate_id: str) -> tuple[Turn, ...]:
    """What is stored of a debate, as soon as that can be asked."""
    while True:
        with suppress(StoreError):
            return (await place.app.load(debate_id)).turns


async def _says(address: str, status: int) -> bool:
    return await _health(address) == status


async def _health(address: str) -> int:
    async with aiohttp.ClientSession() as session, session.get(f"{address}/api/health") as response:
        return response.status

"""Debates and processes that are asked to stop while workers run them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import asyncpg
import pytest
from scenes import SCENES, create, told
from sweeps import Place, place
from troupe import until

from model_server import PATIENCE
from moot.core.debate import Status

STREAMS = 100
LONG = {f"MOOT_{what}_SECONDS": str(10 * PATIENCE) for what in ("GRACE", "HEARTBEAT", "LEASE", "SHARE")}
"""All that could be waited for takes longer than a test waits."""


@pytest.fixture
async def here(postgres_url: str, tmp_path: Path) -> AsyncIterator[Place]:
    async with place(postgres_url, tmp_path, LONG) as opened:
        yield opened


async def let_its_lease_end(url: str) -> None:
    """What a worker holds is free for others, as if half a minute had passed."""
    session = await asyncpg.connect(url)
    await session.execute("UPDATE debates SET lease_until = 0; UPDATE jobs SET seen_at = 0")
    await session.close()


async def test_a_debate_stopped_during_a_step_keeps_that_step_and_calls_nobody_any_more(here: Place) -> None:
    here.server.pause_in(2)
    worker = here.start("worker")
    debate_id = await create(here.app, SCENES["duel"])
    await until(lambda: here.server.held)
    assert (await here.app.stop(debate_id)).status is Status.STOPPING
    here.server.go_on()
    await until(lambda: _is(here, debate_id, Status.STOPPED))
    stored = await here.app.load(debate_id)
    assert told(stored.turns) == here.expected["duel"][:2]
    worker.signal(signal.SIGTERM)
    await worker.ended()
    assert worker.exit_code == 0
    assert len(here.server.requests) == 2


async def test_a_worker_told_again_to_end_while_a_step_is_in_progress_ends_at_once_and_another_goes_on(
    here: Place, postgres_url: str
) -> None:
    here.server.pause_in(2)
    worker = here.start("worker")
    debate_id = await create(here.app, SCENES["duel"])
    await until(lambda: here.server.held)
    worker.signal(signal.SIGTERM)
    with pytest.raises(TimeoutError):
        await worker.ended(0.5)
    worker.signal(signal.SIGTERM)
    await worker.ended()
    assert worker.exit_code == 128 + signal.SIGTERM
    await let_its_lease_end(postgres_url)
    here.start("other")
    await until(lambda: len(here.server.requests) > 2)
    here.server.go_on()
    await until(lambda: _is(here, debate_id, Status.FINISHED))
    stored = await here.app.load(debate_id)
    assert told(stored.turns) == here.expected["duel"]
    assert [failure.code for failure in stored.failures] == ["taken_over"]


async def test_a_server_without_work_and_a_hundred_open_streams_ends_at_once(here: Place) -> None:
    web = here.troupe.start("web", "serve", "--no-work", "--port", "0")
    address = (await web.ready()).split()[3]
    debate_id = await create(here.app, SCENES["duel"])
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        where = f"{address}/api/debates/{debate_id}/events"
        streams = await asyncio.gather(*(session.get(where) for _ in range(STREAMS)))
        web.signal(signal.SIGTERM)
        await web.ended()
        assert web.exit_code == 0
        assert [await stream.read() for stream in streams] == [b""] * STREAMS


async def _is(place: Place, debate_id: str, status: Status) -> bool:
    return (await place.app.load(debate_id)).record.status is status

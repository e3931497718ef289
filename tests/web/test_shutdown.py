"""The server as a process of its own: SIGTERM with streams open, with a step in progress, and twice."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from forkserver import ForkedPopen
from model_server import PATIENCE

SERVE = """
import asyncio, sys
from pathlib import Path
from moot.runs.embedded import EmbeddedQueue
from moot.settings import AppSettings
from moot.testing import ScriptedModel
from moot.web.server import serve
from stage import sensible

folder, words, grace = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])

async def pace():
    global words
    words -= 1
    if words == 0:
        print("stuck", flush=True)
        while not (folder / "go on").exists():
            await asyncio.sleep(0.01)

drain = EmbeddedQueue.drain

async def told(self, grace_seconds):
    asyncio.get_running_loop().call_soon(lambda: print("leaving", flush=True))  # as soon as it has begun to
    await drain(self, grace_seconds)

EmbeddedQueue.drain = told
clients = {"scripted": ScriptedModel(sensible, pace=pace)}
settings = AppSettings(database_url=f"sqlite:///{folder}/moot.db", model="scripted:m", grace_seconds=grace)
asyncio.run(serve(settings, port=0, ready=lambda address: print(address, flush=True), clients=clients))
"""
NEVER = 10_000_000
SHORT, LONG = 1, 10 * PATIENCE
"""Seconds that a server gives a step in progress: these pass, and these nobody waits for."""


class Running:
    def __init__(self, process: subprocess.Popen[str], url: str, session: aiohttp.ClientSession) -> None:
        self.process = process
        self.url = url
        self.session = session

    async def create(self) -> str:
        body = {"format": "duel", "topic": "Cats?", "settings": {"max_rounds": 1}}
        async with self.session.post(f"{self.url}/api/debates", json=body) as response:
            return str((await response.json())["id"])

    async def show(self, debate_id: str) -> Any:
        async with self.session.get(f"{self.url}/api/debates/{debate_id}") as response:
            return await response.json()

    async def events(self, debate_id: str) -> aiohttp.ClientResponse:
        return await self.session.get(f"{self.url}/api/debates/{debate_id}/events")

    async def said(self) -> str:
        """The process's next line."""
        assert self.process.stdout
        return (await asyncio.to_thread(self.process.stdout.readline)).strip()

    async def end(self) -> float:
        """Seconds until it has ended, which is soon, whatever it could wait for."""
        start = time.monotonic()
        await asyncio.to_thread(self.process.wait, PATIENCE)
        return time.monotonic() - start


@asynccontextmanager
async def running(folder: Path, words: int = NEVER, grace: float = LONG) -> AsyncIterator[Running]:
    command = [sys.executable, "-c", SERVE, str(folder), str(words), str(grace)]
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    with ForkedPopen(command, stdout=subprocess.PIPE, text=True, env=environ) as process:
        try:
            assert process.stdout
            url = (await asyncio.to_thread(process.stdout.readline)).strip()
            connector = aiohttp.TCPConnector(limit=0)
            async with aiohttp.ClientSession(connector=connector) as session:
                yield Running(process, url, session)
        finally:
            process.kill()


async def test_an_idle_server_with_a_hundred_open_streams_ends_at_once(tmp_path: Path) -> None:
    async with running(tmp_path) as server:
        body = {"format": "duel", "topic": "Cats?", "start": False}
        async with server.session.post(f"{server.url}/api/debates", json=body) as response:
            debate_id = (await response.json())["id"]
        streams = await asyncio.gather(*(server.events(debate_id) for _ in range(100)))
        server.process.send_signal(signal.SIGTERM)
        await server.end()
        assert server.process.returncode == 0
        assert [await stream.read() for stream in streams] == [b""] * 100


async def test_a_step_in_progress_ends_before_the_server_and_the_next_start_goes_on(tmp_path: Path) -> None:
    async with running(tmp_path, words=8) as server:
        debate_id = await server.create()
        assert await server.said() == "stuck"
        stream = await server.events(debate_id)
        server.process.send_signal(signal.SIGTERM)
        assert b"debate_finished" not in await stream.read()
        assert await server.said() == "leaving"
        (tmp_path / "go on").touch()
        await server.end()
        assert server.process.returncode == 0
    async with running(tmp_path) as server:
        text = await (await server.events(debate_id)).text()
        last = json.loads(text.rstrip("\n").rpartition("data: ")[2])
        assert last["type"] == "debate_finished"
        turns = (await server.show(debate_id))["turns"]
        assert [turn["position"] for turn in turns] == [0, 1, 2]
        assert turns[-1]["event_id"] > 2_000_000_000


async def test_a_step_that_takes_too_long_is_played_again_by_the_next_start(tmp_path: Path) -> None:
    async with running(tmp_path, words=3, grace=SHORT) as server:
        debate_id = await server.create()
        assert await server.said() == "stuck"
        server.process.send_signal(signal.SIGTERM)
        assert await server.end() > SHORT / 2
        assert server.process.returncode == 0
    async with running(tmp_path) as server:
        await (await server.events(debate_id)).text()
        whole = await server.show(debate_id)
        assert (whole["status"], len(whole["turns"])) == ("finished", 3)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_a_server_that_ends_at_once_loses_nothing(tmp_path: Path, how: signal.Signals) -> None:
    async with running(tmp_path, words=8) as server:
        debate_id = await server.create()
        assert await server.said() == "stuck"
        stream = await server.events(debate_id)
        server.process.send_signal(signal.SIGTERM)
        await stream.read()  # it has heard the first
        server.process.send_signal(how)
        await server.end()
        assert server.process.returncode != 0
    async with running(tmp_path) as server:
        await (await server.events(debate_id)).text()
        turns = (await server.show(debate_id))["turns"]
        assert [turn["position"] for turn in turns] == [0, 1, 2]
        assert turns[0]["event_id"] < 2_000_000_000 < turns[1]["event_id"]


async def test_a_port_that_is_taken_is_told_in_a_line(tmp_path: Path) -> None:
    from moot.errors import InvalidInput
    from moot.settings import AppSettings
    from moot.web.server import listening, serve

    with listening("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        settings = AppSettings(database_url=f"sqlite:///{tmp_path}/moot.db")
        with pytest.raises(InvalidInput, match=f"cannot listen on 127.0.0.1 port {port}: .*; choose another --port"):
            await serve(settings, port=port)
        with pytest.raises(InvalidInput, match=r"listening on 0\.0\.0\.0 lets others in: set MOOT_TOKEN"):
            await serve(settings, host="0.0.0.0", port=0)

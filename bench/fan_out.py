"""How many readers one process can serve: `python bench/fan_out.py [--readers 1000] [--seconds 10]`.

A server in this process tells one debate's events, 50 a second, to readers in another process that counts what arrives.
Then all readers come and go ten times, and what is left of them is counted.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import resource
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import uvloop

from moot.core.emitter import Emitter
from moot.core.events import EVENTS_PER_RUN, DebateStarted, Event, TurnChunk, TurnStarted
from moot.runs.follow import follow
from moot.runs.live import Heard, Live
from moot.testing import ScriptedModel, scripted_app
from moot.web.server import Uvicorn, build_app, listening
from moot.web.stream.hub import Hub

EVENTS_PER_SECOND = 50
ROUNDS = 10
WORD = "word "


class NoAnswer(NamedTuple):
    """What a process holds."""

    kilobytes: int
    objects: int
    tasks: int
    files: int
    readers: int


class Publisher:
    """Tells a debate word by word."""

    def __init__(self, debate_id: str) -> None:
        self._live = Live()
        self._emitter = Emitter(debate_id, 1, self._live.emit, time.time)
        self._offset = 0
        self._emitter.emit(DebateStarted(format="duel", topic="Cats?", run=1))
        self._emitter.emit(TurnStarted(seat="debater_a", kind="argument", round=1, position=0))

    def listening(self, debate_id: str) -> AbstractContextManager[Heard]:
        return self._live.listening(debate_id)

    async def speak(self, seconds: float) -> int:
        """Keeps to its pace whatever the load; how many events were told."""
        start = time.monotonic()
        count = round(seconds * EVENTS_PER_SECOND)
        for number in range(count):
            await asyncio.sleep(max(0.0, start + number / EVENTS_PER_SECOND - time.monotonic()))
            self._emitter.emit(
                TurnChunk(seat="debater_a", kind="argument", round=1, position=0, offset=self._offset, text=WORD)
            )
            self._offset += len(WORD)
        return count


async def serve(readers: int, seconds: float) -> None:
    app = scripted_app(ScriptedModel([]))
    record = await app.create("duel", "Cats?")
    teller = Publisher(record.id)

    def followed(debate_id: str, *, through_waits: bool) -> AsyncGenerator[Event, None]:
        return follow(app.store, app.formats, debate_id, teller.listening(debate_id), is_heard=lambda _: True)

    hub = Hub(followed)
    with listening("127.0.0.1", 0) as listener:
        server = Uvicorn(build_app(app, hub), hub.close)
        started = asyncio.Event()
        server.ready = started.set
        running = asyncio.create_task(server.serve([listener]))
        await started.wait()
        port, path = listener.getsockname()[1], f"/api/debates/{record.id}/events"
        await _measure(hub, teller, readers, seconds, port, path)
        await _come_and_go(hub, readers, port, path)
        server.should_exit = True
        hub.close()
        await running
    await app.close()


async def _measure(hub: Hub, teller: Publisher, readers: int, seconds: float, port: int, path: str) -> None:
    before = left(hub)
    async with Readers(hub, readers, port, path) as process:
        connected = left(hub)
        cpu, start = time.process_time(), time.monotonic()
        told = await teller.speak(seconds)
        await asyncio.sleep(0.2)  # the last flush
        cpu, wall = time.process_time() - cpu, time.monotonic() - start
        alive = hub.readers
    heard = int(process.out)
    delivered = told * readers
    print(f"readers              {readers}, {alive} alive at the end")
    print(f"events               {delivered} sent, {heard} heard, {delivered / wall:,.0f} a second")
    print(f"CPU                  {cpu / delivered * 1e6:.2f} µs per event, {cpu / wall:.2f} of a core")
    print(f"memory per reader    {(connected.kilobytes - before.kilobytes) / readers:.1f} kB")


async def _come_and_go(hub: Hub, readers: int, port: int, path: str) -> None:
    for number in range(ROUNDS + 1):
        async with Readers(hub, readers, port, path):
            pass
        while hub.readers:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        gc.collect()
        if number == 0:
            first = left(hub)
    last = left(hub)
    for when, held in (("after the first round", first), (f"after {ROUNDS} more", last)):
        print(f"{when:21}  {', '.join(f'{number} {name}' for name, number in held._asdict().items())}")


class Readers:
    """Another process that reads, from the moment all its readers are connected to the end of the block."""

    def __init__(self, hub: Hub, count: int, port: int, path: str) -> None:
        self._hub, self._count = hub, count
        self._command = [sys.executable, __file__, "--read", f"{port} {path}", "--readers", str(count)]
        self.out = ""

    async def __aenter__(self) -> Readers:
        self._process = await asyncio.create_subprocess_exec(
            *self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        while self._hub.readers < self._count:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.out = (await self._process.communicate(b"\n"))[0].decode()


async def read(port: int, path: str, readers: int) -> None:
    """Count the chunks that all readers get, those of the text so far not included, until told to end."""
    heard = 0

    async def one() -> None:
        nonlocal heard
        stream, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {path}?after={EVENTS_PER_RUN + 2} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        while data := await stream.read(65536):
            heard += data.count(b"event: turn_chunk")

    tasks = [asyncio.create_task(one()) for _ in range(readers)]
    await asyncio.to_thread(sys.stdin.readline)
    print(heard, flush=True)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def left(hub: Hub) -> NoAnswer:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    files = len(os.listdir("/proc/self/fd"))
    kilobytes, objects = pages * resource.getpagesize() // 1024, len(gc.get_objects())
    return NoAnswer(kilobytes, objects, len(asyncio.all_tasks()), files, hub.readers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--read", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 65536), most))
    if chosen.read:
        port, path = chosen.read.split()
        uvloop.run(read(int(port), path, chosen.readers))
    else:
        uvloop.run(serve(chosen.readers, chosen.seconds))


if __name__ == "__main__":
    main()

"""What strangers' connections cost the others: `python bench/connections.py [--connections 500] [--seconds 3]`.

A real `moot serve` is asked for its health all the while that each kind of bad connection is open against it. Ends with
1 when an answer took longer than 200 ms, unless it did with nobody there: then the machine is too busy to tell.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import aiohttp

LIMIT = 0.2
HEAD = b"GET /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\n"
POST = b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"


async def half_open(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD)
    await asyncio.sleep(3600)


async def endless_header(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"x: ")
    while True:
        writer.write(b"y" * 100_000)
        await writer.drain()


async def many_headers(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"a: b\r\n" * 20_000 + b"\r\n")
    await writer.drain()
    await asyncio.sleep(0.1)


async def slow_header(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD)
    while True:
        writer.write(b"a: b\r\n")
        await asyncio.sleep(0.5)


async def slow_body(writer: asyncio.StreamWriter) -> None:
    writer.write(POST + b"Content-Length: 9000\r\n\r\n")
    while True:
        writer.write(b"x")
        await asyncio.sleep(0.5)


# How many of them at once: those that send without pause share this machine's processors with the server.
KINDS = {half_open: 1.0, slow_header: 1.0, slow_body: 1.0, endless_header: 0.02, many_headers: 0.02}


@asynccontextmanager
async def attack(port: int, kind: Callable[..., object], number: int) -> AsyncIterator[None]:
    async def one() -> None:
        while True:
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                try:
                    await kind(writer)  # type: ignore[misc]
                finally:
                    writer.transport.abort()
            await asyncio.sleep(0.05)

    tasks = [asyncio.create_task(one()) for _ in range(number)]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def slowest_answer(port: int, seconds: float) -> float:
    slowest, end = 0.0, time.monotonic() + seconds
    async with aiohttp.ClientSession() as session:
        while (asked := time.monotonic()) < end:
            async with session.get(f"http://127.0.0.1:{port}/api/health") as response:
                assert response.status == 200
                await response.read()
            slowest = max(slowest, time.monotonic() - asked)
            await asyncio.sleep(0.02)
    return slowest


async def measure(port: int, connections: int, seconds: float) -> bool:
    quiet = await slowest_answer(port, seconds)
    print(f"{'nobody':16} {0:5}  slowest answer {quiet * 1000:6.1f} ms")
    fine = True
    for kind, share in KINDS.items():
        number = max(1, round(connections * share))
        async with attack(port, kind, number):
            slowest = await slowest_answer(port, seconds)
        print(f"{kind.__name__:16} {number:5}  slowest answer {slowest * 1000:6.1f} ms")
        fine = fine and slowest < max(LIMIT, quiet)
    return fine


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--connections", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=3.0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environ = {**os.environ, "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder, "MOOT_TOKEN": "a long random text"}
        command = [sys.executable, "-m", "moot", "serve", "--port", "0"]
        server = subprocess.Popen(command, env=environ, cwd=folder, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout
            found = re.search(r":(\d+)", server.stdout.readline())
            assert found, "the server did not start"
            return 0 if asyncio.run(measure(int(found[1]), chosen.connections, chosen.seconds)) else 1
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    sys.exit(main())

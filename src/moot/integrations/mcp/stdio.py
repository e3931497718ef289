"""The MCP server over stdin and stdout, for the process that started it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress

from moot.app import build
from moot.integrations.mcp.server import build_server
from moot.llm.client import Client
from moot.settings import AppSettings

SECONDS_TO_LEAVE = 1.0
"""A client that has closed stdin kills a process that is still there after two seconds."""


async def serve(settings: AppSettings, clients: Mapping[str, Client] | None) -> None:
    grace_seconds = min(SECONDS_TO_LEAVE, settings.grace_seconds)
    async with build(settings, clients=clients) as app, app.working(grace_seconds=grace_seconds):
        serving = asyncio.create_task(build_server(app).run_stdio_async())
        leaving = asyncio.create_task(_signalled())
        await asyncio.wait({serving, leaving}, return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
    if not serving.done():
        os._exit(0)  # a thread waits for a line of stdin, and nothing else would end it
    await serving


async def _signalled() -> None:
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):
            loop.add_signal_handler(name, asked.set)
    await asked.wait()

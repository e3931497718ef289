"""The commands that go on until they are told to end: a server, a worker, tools for assistants; and what they need."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from rich.console import Console

from moot import settings
from moot.app import START_SECONDS, App, build
from moot.errors import InvalidInput
from moot.formats import built_in
from moot.runs.process import this_process
from moot.terminal.command import refuse_unused
from moot.terminal.doing import Command
from moot.terminal.tables import say

if TYPE_CHECKING:
    from moot.telemetry.metrics import Metrics


async def serve(host: str | None, port: int | None, work: bool) -> None:
    from moot.web import server

    _import_what_debates_need()
    chosen = settings.load()
    _log_as_wanted(chosen)
    await server.serve(chosen, host, port, _say_ready, works=work)


def _say_ready(address: str) -> None:
    say(Console(), f"moot is at {address} (Ctrl-C ends it)")
    sys.stdout.flush()


async def worker(concurrency: int | None, metrics_port: int | None) -> None:
    _import_what_debates_need()
    chosen = settings.load()
    _log_as_wanted(chosen)
    port = chosen.metrics_port if metrics_port is None else metrics_port
    async with build(chosen, metrics=_metrics(port), patience=START_SECONDS) as app:
        if not app.is_shared:
            raise InvalidInput(
                "workers share a Postgres: set MOOT_DATABASE_URL=postgresql://…; with SQLite, moot serve runs debates"
            )
        at_once = concurrency or chosen.max_running
        async with app.working(at_once), _beside(app, port) as serving_metrics:
            say(Console(), f"Working on {chosen.database_name}: {at_once} debates at once.{serving_metrics}")
            sys.stdout.flush()
            await _signalled()


def _metrics(port: int | None) -> Metrics | None:
    if port is None:
        return None
    from moot.telemetry.metrics import Metrics

    return Metrics()


@asynccontextmanager
async def _beside(app: App, port: int | None) -> AsyncIterator[str]:
    """Tell the worker's numbers for as long as it works, if it has a port for that."""
    if port is None:
        yield ""
        return
    from moot.web.worker_endpoint import serving_metrics

    async with serving_metrics(app, port) as address:
        yield f" Metrics are at {address}/metrics."


def mcp(http: bool, host: str | None, port: int | None) -> Command:
    if not http:
        refuse_unused("without --http", ["host", "port"])
    return _mcp(http, host, port)


async def _mcp(http: bool, host: str | None, port: int | None) -> None:
    from moot.integrations.mcp.serve import serve_http, serve_stdio

    _import_what_debates_need()
    if http:
        await serve_http(settings.load(), host, port, _say_ready)
    else:
        await serve_stdio(settings.load())


def _import_what_debates_need() -> None:
    """Before anybody is served: the first debate would hold up all others meanwhile."""
    import moot.llm.ollama
    import moot.llm.openai_api  # noqa: F401 - both, as all that is imported with them

    built_in()


async def upgrade() -> None:
    chosen = settings.load()
    async with build(chosen):
        say(Console(), f"{chosen.database_name} is up to date.")


async def _signalled() -> None:
    """Wait for SIGTERM or SIGINT; the second one ends the process at once."""
    loop, asked = asyncio.get_running_loop(), asyncio.Event()

    def leave(number: int) -> None:
        if asked.is_set():
            os._exit(128 + number)  # whatever was being done is done again by others
        asked.set()

    for name in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):
            loop.add_signal_handler(name, leave, name)
    await asked.wait()


def _log_as_wanted(chosen: settings.AppSettings) -> None:
    from moot.telemetry import logs

    logs.begin(chosen, os.environ, this_process().partition(" (")[0])

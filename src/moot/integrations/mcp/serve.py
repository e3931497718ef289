"""The MCP server with all it offers: over stdin and stdout for the process that started it, or over streamable HTTP."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from mcp.server.mcpserver import MCPServer
from mcp.server.request_state import RequestStateSecurity
from mcp.server.transport_security import TransportSecuritySettings

from moot.app import START_SECONDS, App, build
from moot.app.health import health as find_health
from moot.errors import StoreError
from moot.integrations.mcp.faults import PlainServer
from moot.integrations.mcp.reading import add_prompts, add_resources
from moot.integrations.mcp.tools import add_tools
from moot.integrations.mcp.views import QUOTES
from moot.llm.client import Client
from moot.settings import AppSettings
from moot.web.guard import Access, Guard
from moot.web.server import Uvicorn, opened

INSTRUCTIONS = (
    "moot has language models debate a question under fixed rules, and gives a decision with its reasons. Start a "
    "debate with start_debate; it runs by itself. Wait for it with wait_for_debate. Some debates ask a person in "
    f"between: show them the question, pass on their answer with answer_checkpoint. {QUOTES}"
)
SECONDS_TO_ANSWER = 24 * 60 * 60.0
"""So long a client may take to bring the answer to a question."""
SECONDS_TO_LEAVE = 1.0
"""A client that has closed stdin kills a process that is still there after two seconds."""


async def serve_stdio(settings: AppSettings, clients: Mapping[str, Client] | None = None) -> None:
    """Serve the process that started this one, until it closes stdin; stdout carries the protocol alone.

    `clients` are model clients of the caller's own, by provider name.
    """
    grace_seconds = min(SECONDS_TO_LEAVE, settings.grace_seconds)
    async with build(settings, clients=clients) as app, app.working(grace_seconds=grace_seconds):
        serving = asyncio.create_task(build_server(app).run_stdio_async())
        leaving = asyncio.create_task(_signalled())
        await asyncio.wait({serving, leaving}, return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
    if not serving.done():
        os._exit(0)  # a thread waits for a line of stdin, and nothing else would end it
    await serving


async def serve_http(
    settings: AppSettings,
    host: str | None = None,
    port: int | None = None,
    ready: Callable[[str], None] = lambda address: None,
    clients: Mapping[str, Client] | None = None,
) -> None:
    """Serve /mcp and /health until SIGTERM or SIGINT; the second one ends the process at once.

    `ready` is told the address.
    """
    with opened(settings, host or settings.host, settings.port if port is None else port) as (listener, who, address):
        async with build(settings, clients=clients, patience=START_SECONDS) as app, app.working():
            server = Uvicorn(build_web(app, who), lambda: None)
            server.ready = lambda: ready(f"{address}/mcp")
            await server.serve([listener])


def build_server(app: App) -> MCPServer[None]:
    server = PlainServer(
        "moot",
        app.formats.values(),
        title="moot",
        description="Debates between language models.",
        instructions=INSTRUCTIONS,
        version=version("moot"),
        log_level="WARNING",
        request_state_security=RequestStateSecurity.ephemeral(ttl=SECONDS_TO_ANSWER),
    )
    add_tools(server, app)
    add_resources(server, app)
    add_prompts(server, app)
    return server


def build_web(app: App, who: Access) -> FastAPI:
    """The web application; the guard checks the names and origins that the SDK would check otherwise."""
    server = build_server(app)
    trusting = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    routes = server.streamable_http_app(transport_security=trusting).routes

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with server.session_manager.run():
            yield

    web = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, lifespan=lifespan, routes=routes)

    @web.get("/health")
    async def health() -> JSONResponse:
        try:
            await find_health(app)
        except StoreError as error:
            return JSONResponse({"status": str(error)}, 503)
        return JSONResponse({"status": "ok", "version": version("moot")})

    web.add_middleware(Guard, access=who)
    return web


async def _signalled() -> None:
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):
            loop.add_signal_handler(name, asked.set)
    await asked.wait()

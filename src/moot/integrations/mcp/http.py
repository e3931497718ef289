"""The MCP server over streamable HTTP: /mcp and /health, nothing else, behind the guard of the web server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from mcp.server.transport_security import TransportSecuritySettings

from moot.app import App, build
from moot.errors import StoreError
from moot.integrations.mcp.server import build_server
from moot.llm.client import Client
from moot.settings import AppSettings
from moot.web.guard import Access, Guard
from moot.web.server import Uvicorn, opened


async def serve(
    settings: AppSettings,
    host: str | None,
    port: int | None,
    ready: Callable[[str], None],
    clients: Mapping[str, Client] | None,
) -> None:
    with opened(settings, host or settings.host, settings.port if port is None else port) as (listener, who, address):
        async with build(settings, clients=clients) as app, app.working():
            server = Uvicorn(build_web(app, who), lambda: None)
            server.ready = lambda: ready(f"{address}/mcp")
            await server.serve([listener])


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
            await app.list(limit=1)
        except StoreError as error:
            return JSONResponse({"status": str(error)}, 503)
        return JSONResponse({"status": "ok", "version": version("moot")})

    web.add_middleware(Guard, access=who)
    return web

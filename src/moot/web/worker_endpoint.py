"""What a worker tells over HTTP: its metrics and its health, behind the same guard as a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from fastapi import FastAPI

from moot.app import App
from moot.web.api import WebState, health
from moot.web.guard import Access
from moot.web.metrics import add_metrics
from moot.web.server import Uvicorn, guarded, opened
from moot.web.stream.hub import Hub


@asynccontextmanager
async def serving_metrics(app: App, port: int) -> AsyncIterator[str]:
    """Answer for as long as the block lasts; it is given the address. Raises InvalidInput."""
    with opened(app.settings, app.settings.metrics_host, port) as (listener, who, address):
        server = _Beside(build_beside(app, who), lambda: None)
        ready = asyncio.Event()
        server.ready = ready.set
        serving = asyncio.create_task(server.serve([listener]))
        try:
            await ready.wait()
            yield address
        finally:
            server.should_exit = True
            await serving


def build_beside(app: App, who: Access) -> FastAPI:
    web = FastAPI(title="moot worker", openapi_url=None)
    web.state.server = WebState(app, Hub(app.follow))
    web.add_api_route("/api/health", health)
    add_metrics(web, app)
    return guarded(web, who)


class _Beside(Uvicorn):
    """Leaves the signals to the worker."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

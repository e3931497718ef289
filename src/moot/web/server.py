"""The server: the API and whatever pages there are behind one guard, with the queue working beside it."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from types import FrameType
from typing import TYPE_CHECKING, Annotated, get_args

import uvicorn
from fastapi import FastAPI, Form, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Match

from moot import errors
from moot.app import START_SECONDS, App, build
from moot.llm.client import Client
from moot.runs.choice import open_queue
from moot.settings import AppSettings
from moot.telemetry.metrics import Metrics
from moot.text.plain import printable
from moot.web.api import WebState, routes
from moot.web.guard import COOKIE, Access, Guard, Page, access, wants_page
from moot.web.looks import looks
from moot.web.metrics import add_metrics
from moot.web.openai import endpoint as openai_server
from moot.web.pages.routes import add_pages
from moot.web.protocol import MAX_HEAD, PIECE, BoundedProtocol
from moot.web.statuses import status_of
from moot.web.stream.hub import Hub

if TYPE_CHECKING:
    from pydantic import BaseModel

CODES = {404: "not_found", 405: "method_not_allowed"}
SECONDS_IDLE = 60
"""A connection stays open for its next request; longer than the 5 s for which clients such as httpx would use it again:
one that both give up at the same moment is a request that nobody answers."""
SECONDS_FOR_REQUESTS = 3
"""What requests in progress get when the server ends; event streams end at once."""


def build_app(app: App, hub: Hub, who: Access | None = None) -> FastAPI:
    """The web application; debates run in the background during its lifespan."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with app.working():
            yield
            hub.close()

    who = who or Access()
    web = FastAPI(
        title="moot",
        version=version("moot"),
        summary="Debates between language models.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    web.state.server = WebState(app, hub)
    web.state.access = who
    web.include_router(routes)
    web.include_router(looks)
    web.include_router(openai_server.routes(app, hub.closed))
    pages = add_pages(web, web.state.server)
    add_metrics(web, app, hub)
    web.add_api_route("/login", log_in, methods=["POST"], include_in_schema=False)
    return guarded(web, who, pages.refused)


def guarded(web: FastAPI, who: Access, page: Page | None = None) -> FastAPI:
    """Behind the guard, compressed, and with errors told as all of them are: to people on a page, if there are any."""
    web.state.page = page
    web.exception_handler(errors.MootError)(_moot_error)
    web.exception_handler(RequestValidationError)(_invalid_request)
    web.exception_handler(HTTPException)(_http_error)
    web.add_middleware(GZipMiddleware, compresslevel=5)
    web.add_middleware(Guard, access=who, page=page)
    return web


async def log_in(request: Request, token: Annotated[str, Form()]) -> RedirectResponse:
    """Exchange the token for a cookie, for browsers."""
    who: Access = request.app.state.access
    if not who.knows(token.strip()):
        await who.wrong_tokens.wait()
        if "text/html" in request.headers.get("accept", ""):
            return RedirectResponse("/login?wrong", status_code=303)
        raise HTTPException(401, "this is not the server's token")
    response = RedirectResponse("/", status_code=303)
    secure = "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))  # which a proxy says
    response.set_cookie(COOKIE, who.session, httponly=True, samesite="strict", secure=secure)
    return response


async def serve(
    settings: AppSettings,
    host: str | None = None,
    port: int | None = None,
    ready: Callable[[str], None] = lambda address: None,
    clients: Mapping[str, Client] | None = None,
    works: bool = True,
) -> None:
    """Serve until SIGTERM or SIGINT; the second one ends the process at once. `ready` is told the address.

    `clients` are model clients of the caller's own, by provider name. A server that does not work itself leaves all
    debates to the workers on its Postgres.
    """
    _log_plainly()
    with opened(settings, host or settings.host, settings.port if port is None else port) as (listener, who, address):
        async with build(settings, clients=clients, metrics=Metrics(), patience=START_SECONDS) as app:
            app.queue = open_queue(app.runner, settings.max_running if works else 0)
            hub = Hub(app.follow)
            server = Uvicorn(build_app(app, hub, who), hub.close)
            server.ready = lambda: ready(address)
            await server.serve([listener])


@contextmanager
def opened(settings: AppSettings, host: str, port: int) -> Iterator[tuple[socket.socket, Access, str]]:
    """Where to listen, who may ask there, and its address. Raises InvalidInput."""
    who = access(host, settings.token.get_secret_value() if settings.token else None, settings.allowed_hosts)
    with listening(host, port) as listener:
        yield listener, who, f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


class Uvicorn(uvicorn.Server):
    """uvicorn, which by itself would wait for open event streams for ever when it is to end."""

    def __init__(self, web: FastAPI, end_streams: Callable[[], None]) -> None:
        config = uvicorn.Config(
            web,
            loop="none",
            lifespan="on",
            http=partial(BoundedProtocol, {}),  # type: ignore[arg-type]
            h11_max_incomplete_event_size=MAX_HEAD + PIECE,
            ws="none",
            log_config=None,
            log_level=logging.CRITICAL,  # the guard logs what goes wrong
            access_log=False,
            server_header=False,
            proxy_headers=False,  # who is trusted as a proxy is asked the address that is really there
            timeout_keep_alive=SECONDS_IDLE,
            timeout_graceful_shutdown=SECONDS_FOR_REQUESTS,
        )
        super().__init__(config)
        self.ready: Callable[[], None] = lambda: None
        self._end_streams = end_streams
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        self.ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            os._exit(128 + sig)  # whatever was being done is done again at the next start
        self.should_exit = True
        if self._loop:
            self._loop.call_soon_threadsafe(self._end_streams)


class Plain(logging.Formatter):
    """Another formatter's lines without characters that would steer a terminal."""

    def __init__(self, inner: logging.Formatter | None) -> None:
        super().__init__()
        self._inner = inner or logging.Formatter()

    def format(self, record: logging.LogRecord) -> str:
        return printable(self._inner.format(record))


def _log_plainly() -> None:
    for handler in logging.getLogger().handlers:
        handler.setFormatter(Plain(handler.formatter))


def listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small pieces without delay only where the protocol is named.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere it would let two servers have one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        return listener
    except OSError as error:
        listener.close()
        told = f"cannot listen on {host} port {port}: {error.strerror}; choose another --port"
        raise errors.InvalidInput(told) from None


async def _moot_error(request: Request, error: errors.MootError) -> Response:
    return _problem(request, status_of(error), error.code, str(error))


async def _invalid_request(request: Request, error: RequestValidationError) -> Response:
    return _problem(request, 422, errors.InvalidInput.code, errors.faults(error.errors(), _body(request)))


def _body(request: Request) -> type[BaseModel] | None:
    """What an address takes."""
    bodies = request.scope["route"].dependant.body_params if "route" in request.scope else ()
    kinds = (kind for body in bodies for kind in (body.field_info.annotation, *get_args(body.field_info.annotation)))
    return next((kind for kind in kinds if hasattr(kind, "model_fields")), None)


async def _http_error(request: Request, error: HTTPException) -> Response:
    status, path, headers = error.status_code, request.url.path, dict(error.headers or {})
    detail = error.detail
    if status in CODES and path.startswith(openai_server.PREFIX):
        detail = openai_server.no_route(request.method, path)
    elif status == 405:
        headers["Allow"] = ", ".join(sorted(_methods(request)))
        detail = f"{path} takes {headers['Allow']}, not {request.method}"
    elif status == 404 and detail == HTTPStatus.NOT_FOUND.phrase:
        listed = "; /api/openapi.json says what there is" if path.startswith("/api/") else ""
        detail = f"there is nothing at {path[:200]}{listed}"
    return _problem(request, status, CODES.get(status, "http_error"), detail, headers)


def _methods(request: Request) -> set[str]:
    """What an address takes, over all routes that have it; Starlette names those of the first."""
    all_routes = (*request.app.routes, *routes.routes, *looks.routes)
    known = (route for route in all_routes if route.matches(request.scope)[0] is not Match.NONE)
    return {method for route in known for method in getattr(route, "methods", None) or ()}


def _problem(
    request: Request, status: int, code: str, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    if request.url.path.startswith(openai_server.PREFIX):
        return openai_server.problem(status, code, message, headers)
    if request.app.state.page and wants_page(request.url.path, request.headers):
        return HTMLResponse(request.app.state.page(status, message), status, headers)
    return JSONResponse({"error": {"code": code, "message": message}}, status, headers)

"""Who may ask, from where, and how much: checked before anything else sees a request.

Pure ASGI, so that streams pass through unbuffered. Every answer gets the headers that keep a browser from running or
loading what it should not.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias
from urllib.parse import urlsplit

import orjson
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moot.errors import InvalidInput
from moot.retrieval.sources import MAX_FILE
from moot.text.plain import whole_number
from moot.web.openai import endpoint as openai_server
from moot.web.openai.answers import fault

log = logging.getLogger(__name__)

MAX_BODY = 256 * 1024
MAX_DEBATE = MAX_FILE * 4 // 3 + MAX_BODY
"""A new debate may bring its sources along: the largest file in base64, or as many characters as are read."""
MOST_DRAINED = 10 * MAX_FILE
"""Bytes of a form that is too large."""
PATH_OF_FILES = "/api/sources"
PATHS_OF_DEBATES = frozenset(
    {"/api/debates", "/api/estimate", "/new", "/new/estimate", "/mcp", openai_server.CHAT, openai_server.RESPONSES}
)
COOKIE = "moot_session"
FIRST_SECONDS, MOST_SECONDS = 0.1, 5.0
"""What the first wrong token waits for its answer, and any other at most."""
FORGET_SECONDS = 60.0
OPEN_PATHS = frozenset({"/api/health", "/login"})
OPEN_FOLDER = "/static/"
"""What the page to log in is made with; the same on every server."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
)


Page: TypeAlias = Callable[[int, str], bytes]
"""A page that tells a person what went wrong: its status and what to do."""


class RefusedRequest(NamedTuple):
    status: int
    code: str
    message: str


@dataclass(slots=True)
class WrongTokens:
    """Slows whoever guesses: the answer to each wrong token takes twice as long as the last one's, until none comes,
    and those that come at once wait one after the other.

    The right one is answered at once, so nobody can keep others out.
    """

    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    now: Callable[[], float] = time.monotonic
    _recent: int = 0
    _last: float = -math.inf
    _free: float = -math.inf
    """When all that wait have been answered."""

    async def wait(self) -> None:
        now = self.now()
        self._recent = self._recent + 1 if now - self._last < FORGET_SECONDS else 0
        self._last = now
        pause = min(MOST_SECONDS, FIRST_SECONDS * 2.0 ** min(self._recent, 10))
        self._free = min(max(now, self._free) + pause, now + FORGET_SECONDS)
        await self.sleep(self._free - now)


@dataclass(frozen=True, slots=True)
class Access:
    """Who may use a server, and under which names it is called."""

    hosts: frozenset[str] = LOOPBACK_NAMES
    token: str | None = None
    wrong_tokens: WrongTokens = field(default_factory=WrongTokens)

    @property
    def session(self) -> str:
        """What the cookie of somebody who has shown the token holds."""
        return hmac.new((self.token or "").encode(), b"moot session", hashlib.sha256).hexdigest()

    def knows(self, token: str) -> bool:
        return self.token is None or hmac.compare_digest(token.encode(), self.token.encode())


def access(host: str, token: str | None, allowed_hosts: Iterable[str]) -> Access:
    """Raises InvalidInput for a server that would be open to others."""
    if not token and not is_loopback(host):
        raise InvalidInput(
            f"listening on {host} lets others in: set MOOT_TOKEN to a long random text they must know, "
            "or listen on 127.0.0.1"
        )
    return Access(LOOPBACK_NAMES | {host.lower()} | {name.lower() for name in allowed_hosts}, token or None)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@dataclass(frozen=True, slots=True)
class Guard:
    """Refuses what must not be answered, and keeps what goes wrong inside from the outside."""

    app: ASGIApp
    access: Access
    page: Page | None = None
    """How a person is told; programs get JSON."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        answer = _Answer(scope, receive, send, self.page if wants_page(scope["path"], headers) else None)
        if refusal := self._refusal(scope, headers):
            await self._refuse(refusal, scope, receive, answer)
        elif scope["method"] in SAFE_METHODS:
            await self._answer(scope, receive, answer)
        else:
            await self._take(scope, receive, answer)

    async def _refuse(self, refusal: RefusedRequest, scope: Scope, receive: Receive, answer: _Answer) -> None:
        """Who shows a wrong token waits; a browser without one gets the page to log in."""
        headers = Headers(scope=scope)
        if refusal.status == 401 and ("authorization" in headers or COOKIE in Request(scope).cookies):
            await self.access.wrong_tokens.wait()
        if refusal.status == 401 and scope["method"] == "GET" and wants_page(scope["path"], headers):
            await self._answer({**scope, "path": "/login", "raw_path": b"/login"}, receive, answer)
        else:
            await answer.refuse(refusal)

    async def _take(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        """Answer what comes with a body, once that is whole and not too large."""
        headers, path, largest = Headers(scope=scope), scope["path"], _largest(scope)
        try:
            body = await _body(receive, headers, largest)
        except ClientDisconnect:
            return  # half a request is none, and nobody is left to tell
        if body is None and path == "/new":
            await _drained(receive)
            form = {**scope, "method": "GET", "query_string": b"too_large=1"}
            await self._answer(form, _replaying(b"", receive), answer)
        elif body is None:
            await answer.refuse(RefusedRequest(413, "too_large", f"the body is over {largest // 1024} kB; send less"))
        elif body and _is_api(path) and path != PATH_OF_FILES and not _is_json(headers):
            await answer.refuse(RefusedRequest(415, "not_json", "send the body as application/json"))
        else:
            await self._answer(scope, _replaying(body, receive), answer)

    async def _answer(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        try:
            await self.app(scope, receive, answer)
        except Exception as error:  # the server must survive one request's failure
            log.exception("%s %r failed", scope["method"], scope["path"])
            if answer.begun:
                raise
            what = f"something went wrong inside ({type(error).__name__}); the server's log tells more"
            await answer.refuse(RefusedRequest(500, "internal_error", what))

    def _refusal(self, scope: Scope, headers: Headers) -> RefusedRequest | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1:
            return RefusedRequest(400, "bad_host", "send exactly one Host header")
        if _name(hosts[0]) not in self.access.hosts:
            return RefusedRequest(
                421, "unknown_host", "this server has another name; add this one to MOOT_ALLOWED_HOSTS"
            )
        if scope["method"] not in SAFE_METHODS and _is_foreign(hosts[0], headers):
            return RefusedRequest(403, "cross_site", "requests from other sites are refused")
        if not self._may_enter(scope, headers):
            return RefusedRequest(401, "unauthorized", "send the header Authorization: Bearer TOKEN, or log in")
        return None

    def _may_enter(self, scope: Scope, headers: Headers) -> bool:
        if self.access.token is None or scope["path"] in OPEN_PATHS or scope["path"].startswith(OPEN_FOLDER):
            return True
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.access.knows(token.strip()):
            return True
        return hmac.compare_digest(Request(scope).cookies.get(COOKIE, "").encode(), self.access.session.encode())


@dataclass(slots=True)
class _Answer:
    """Sends a response on, with the headers every response has."""

    scope: Scope
    receive: Receive
    send: Send
    page: Page | None
    begun: bool = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            message["headers"] = [*message.get("headers", ()), *HEADERS]
        await self.send(message)

    async def refuse(self, refusal: RefusedRequest) -> None:
        told = {"error": {"code": refusal.code, "message": refusal.message}}
        body = orjson.dumps(fault(*refusal) if self.scope["path"].startswith(openai_server.PREFIX) else told)
        kind = "application/json"
        if self.page:
            body, kind = self.page(refusal.status, refusal.message), "text/html"
        # The rest of a body that is too large is not read.
        headers = {401: {"www-authenticate": "Bearer"}, 413: {"connection": "close"}}.get(refusal.status)
        await Response(body, refusal.status, headers, kind)(self.scope, self.receive, self)


def _replaying(body: bytes, receive: Receive) -> Receive:
    """Hands on a body that has been read, then whatever comes."""
    unread = [body]

    async def message() -> Message:
        return {"type": "http.request", "body": unread.pop(), "more_body": False} if unread else await receive()

    return message


async def _body(receive: Receive, headers: Headers, largest: int) -> bytes | None:
    """The whole body; None when it is too large. Raises ClientDisconnect when it ends early."""
    length = headers.get("content-length", "0")
    if length.isdecimal() and ((said := whole_number(length)) is None or said > largest):
        return None
    parts: list[bytes] = []
    size = 0
    while size <= largest:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if not message.get("more_body"):
            return b"".join(parts) if size <= largest else None
    return None


async def _drained(receive: Receive) -> None:
    """Read what a browser still sends, within reason: it shows no answer before it has sent all."""
    size = 0
    while size < MOST_DRAINED:
        message = await receive()
        size += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            return


def _largest(scope: Scope) -> int:
    sends_files = scope["path"] == "/new" and Headers(scope=scope).get("content-type", "").startswith("multipart/")
    if sends_files or scope["path"] == PATH_OF_FILES:
        return MAX_FILE
    return MAX_DEBATE if scope["path"] in PATHS_OF_DEBATES else MAX_BODY


def wants_page(path: str, headers: Headers) -> bool:
    """Whether it is a person's browser that asks; without the token it gets the page to log in."""
    return not _is_api(path) and "text/html" in headers.get("accept", "")


def _is_api(path: str) -> bool:
    return path.startswith(("/api/", openai_server.PREFIX))


def _is_json(headers: Headers) -> bool:
    return headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


def _is_foreign(host: str, headers: Headers) -> bool:
    """Whether a browser says that another site's page sends this."""
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return True
    origin = headers.get("origin")
    return origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower())


def _name(host: str) -> str:
    """The name in a Host header, without the port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""

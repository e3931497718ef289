"""A server of models over aiohttp: sending, deadlines, size bounds, and errors that hold no secret.

Knows no dialect. One call per `complete`; whether and when to try again is the caller's business, with two
exceptions: parts of a request that a model refuses are left out, and a kept-alive connection that the server had
closed is replaced.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Generic, Protocol, Self, TypeVar

import aiohttp
import orjson
from yarl import URL

from moot.core.debate import JsonObject
from moot.errors import (
    BadReply,
    InvalidInput,
    ModelError,
    ModelTimeout,
    ReplyCut,
    UnknownModel,
    Unreachable,
    WrongKey,
    meant,
)
from moot.llm.client import Completion, Request, Timeouts
from moot.llm.faults import Refusal, fault
from moot.llm.proxies import Proxy, why_unreachable
from moot.llm.stream import StreamedReply, StreamFormat
from moot.text.plain import hiding

_MAX_BODY = 16_000_000
_MAX_MESSAGE = 360
_USAGE_WAIT = 5.0  # seconds for the usage after the finish reason
_END_WAIT = 0.25  # seconds for the end of the stream after [DONE], so that the connection can be kept

T = TypeVar("T")


class Capabilities(Protocol):
    """What a model takes of a dialect."""

    def body(self, request: Request) -> JsonObject: ...

    def without(self, complaint: str, request: Request) -> Self | None:
        """What to try after this complaint; None when it names nothing that can be left out."""
        ...

    def dropped(self, first: Self, request: Request) -> tuple[str, ...]: ...


CapabilitiesT = TypeVar("CapabilitiesT", bound=Capabilities)


@dataclass(slots=True, kw_only=True)
class Call(Generic[CapabilitiesT]):
    request: Request
    on_text: Callable[[str], None]
    wire: StreamFormat
    first: CapabilitiesT
    """What the model is thought to take before anything was refused."""
    takes: CapabilitiesT
    learned: dict[str, CapabilitiesT]
    """Where it is put down, by model, what was taken."""
    started: float = field(default_factory=lambda: _now())
    reply: StreamedReply = field(init=False)


def new_session() -> aiohttp.ClientSession:
    """The session that clients share; whoever makes it closes it."""
    tracing = aiohttp.TraceConfig()
    tracing.on_connection_reuseconn.append(_note_reuse)
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=30),
        timeout=aiohttp.ClientTimeout(total=None, connect=Timeouts().connect),
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        trace_configs=[tracing],
    )


@dataclass(slots=True, kw_only=True, eq=False, repr=False)  # as a repr would show the key
class ModelServer:
    """`session` comes from `new_session`; `name`, `key_hint`, `api` and `model_hint` are for messages."""

    session: aiohttp.ClientSession
    base_url: str
    api_key: str | None
    name: str
    key_hint: str
    timeouts: Timeouts
    proxy: Proxy | None = None
    api: str = "a chat-completions API"
    model_hint: str = "`moot models` shows what there is"
    _url: URL = field(init=False)
    _timeout: aiohttp.ClientTimeout = field(init=False)
    _reached: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._url = _address(self.base_url, self.name)
        self._timeout = aiohttp.ClientTimeout(total=None, connect=self.timeouts.connect)
        self.api_key = (self.api_key or "").strip()

    async def complete(
        self, call: Call[CapabilitiesT], list_models: Callable[[], Awaitable[Iterable[str]]]
    ) -> Completion:
        call.reply = StreamedReply(self.name, call.request.max_tokens, call.wire)
        try:
            await self._receive(call)
            call.reply.check()
            return _completion(call)
        except (ModelError, aiohttp.ClientError, TimeoutError) as problem:
            error = self._safe_error(problem, self._slowness(call), call.reply.text)
        if isinstance(error, UnknownModel):
            with suppress(ModelError):  # who lists none names none
                name = f"{call.request.model!r}"
                near = meant(call.request.model, await list_models())
                error.args = (self._clean(str(error).replace(f"{name};", f"{name}{near or ';'}", 1)),)
        raise error  # not within `except`: what aiohttp raises holds the request's headers, and so the key

    async def fetch(
        self,
        path: str,
        read: Callable[[Any], T],
        *,
        does: str,
        within: float | None = None,
        body: JsonObject | None = None,
        model: str = "",
    ) -> T:
        """Ask for one JSON object and `read` it; "NAME does not `does`" is the message when it is none of the kind."""
        within = self.timeouts.connect if within is None else within
        method = "GET" if body is None else "POST"
        try:
            async with asyncio.timeout(within), await self._send(method, path, body) as response:
                if response.status == 404 and not model:
                    raise self._not_an_api(f"does not {does}")
                if response.status != 200:
                    raise self._fault(await _refusal(response), model)
                return read(orjson.loads(await self._whole_body(response)))
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
            error = self._safe_error(self._not_an_api(f"does not {does}"), "", "")
        except (ModelError, aiohttp.ClientError, TimeoutError) as problem:
            error = self._safe_error(problem, f"{self.name} did not {does} within {within:g} s", "")
        raise error

    async def _receive(self, call: Call[CapabilitiesT]) -> None:
        """Fill the call's reply, leaving out of the request what the server will not take."""
        try:
            async with asyncio.timeout_at(self._due(call, call.started + self.timeouts.first_token)) as deadline:
                while refusal := await self._ask(call, deadline):
                    call.takes = self._simpler(call, refusal)
        except (TimeoutError, aiohttp.ClientError):
            if not call.reply.complete:  # all that can be missing after the finish reason is the usage
                raise

    def _simpler(self, call: Call[CapabilitiesT], refusal: Refusal) -> CapabilitiesT:
        if refusal.status in (400, 422) and not refusal.too_long:
            other = call.takes.without(refusal.complaint, call.request)
            if other is not None:
                return other
        raise self._fault(refusal, call.request.model)

    async def _ask(self, call: Call[CapabilitiesT], deadline: asyncio.Timeout) -> Refusal | None:
        async with await self._send("POST", call.wire.path, call.takes.body(call.request)) as response:
            if response.status != 200:
                return await _refusal(response)
            call.learned[call.request.model] = call.takes
            if response.content_type == "application/json":
                if text := call.reply.feed_whole(await self._whole_body(response)):
                    call.on_text(text)
            elif response.content_type == call.wire.content_type:
                await self._read_text(response.content, call, deadline)
                await self._read_tail(response.content, call, deadline)
            else:
                raise self._not_an_api(f"answers with {response.content_type}")
        return None

    async def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> aiohttp.ClientResponse:
        """Send a request, again if it went out on a kept-alive connection that the server had already closed."""
        # A copy, as orjson's own bytes keep a buffer of several times their length for as long as they live.
        data = None if body is None else bytes(memoryview(orjson.dumps(body)))
        while True:
            connection = SimpleNamespace(reused=False)
            try:
                response = await self.session.request(
                    method,
                    self._url / path,
                    data=data,
                    headers=self._headers(),
                    timeout=self._timeout,
                    allow_redirects=False,
                    trace_request_ctx=connection,
                    proxy=self.proxy and self.proxy.url,
                    proxy_headers=self.proxy and self.proxy.login,
                )
                self._reached = True
                return response
            except aiohttp.ClientConnectionError:
                if not connection.reused:
                    raise

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self.api_key and self._url.user is None:  # else the address says who asks
            if not (self.api_key.isascii() and self.api_key.isprintable()):
                raise WrongKey(f"the key for {self.name} holds characters that no key has: check {self.key_hint}")
            headers["Authorization"] = f"Bearer {self.api_key}"
        if self.proxy and self._url.scheme == "http":  # which the proxy reads itself; else it gets a request of its own
            headers |= self.proxy.login
        return headers

    async def _read_text(
        self, content: aiohttp.StreamReader, call: Call[CapabilitiesT], deadline: asyncio.Timeout
    ) -> None:
        """The path of every token. The deadline moves at most once in `slack`, as moving it costs a timer."""
        reply, on_text, between = call.reply, call.on_text, self.timeouts.between_tokens
        slack = min(1.0, between / 10)
        move_at, size = 0.0, 0
        read, feed, clock = content.readany, reply.feed, asyncio.get_running_loop().time
        while not reply.complete and (data := await read()):
            if text := feed(data):
                on_text(text)
            if (now := clock()) >= move_at and reply.size > size and reply.begun:
                move_at, size = now + slack, reply.size
                deadline.reschedule(self._due(call, now + between + slack))
        if text := reply.end():
            on_text(text)

    async def _read_tail(
        self, content: aiohttp.StreamReader, call: Call[CapabilitiesT], deadline: asyncio.Timeout
    ) -> None:
        """The answer is there; the usage may follow, and a stream read to its end leaves its connection usable."""
        reply = call.reply
        if not reply.complete or reply.over_cap:
            return
        if not reply.done:
            deadline.reschedule(_now() + min(_USAGE_WAIT, self.timeouts.between_tokens))
        while not reply.done and (data := await content.readany()):
            if text := reply.feed(data):
                call.on_text(text)
        if not content.at_eof():
            deadline.reschedule(_now() + _END_WAIT)
        while await content.readany():
            pass

    async def _whole_body(self, response: aiohttp.ClientResponse) -> bytes:
        body = await _read_up_to(response, _MAX_BODY)
        if len(body) > _MAX_BODY:
            raise BadReply(f"{self.name} sent more than {_MAX_BODY} bytes")
        return body

    def _due(self, call: Call[CapabilitiesT], moment: float) -> float:
        return min(moment, call.started + self.timeouts.total)

    def _slowness(self, call: Call[CapabilitiesT]) -> str:
        if _now() - call.started >= self.timeouts.total:
            return f"{self.name} took longer than {self.timeouts.total:g} s in all"
        if not call.reply.begun:
            return f"{self.name} sent no token within {self.timeouts.first_token:g} s"
        return f"{self.name} fell silent for {self.timeouts.between_tokens:g} s between tokens"

    def _fault(self, refusal: Refusal, model: str) -> ModelError:
        if self.proxy and refusal.status == 407:
            return Unreachable(self.proxy.refusal(407))
        return fault(
            refusal,
            name=self.name,
            key_hint=self.key_hint,
            has_key=bool(self.api_key),
            model=model,
            model_hint=self.model_hint.format(model=model),
            now=time.time(),
        )

    def _not_an_api(self, what: str) -> BadReply:
        return BadReply(f"{self.name} {what}: is {self._shown_url} the address of {self.api}?")

    def _safe_error(self, problem: Exception, slowness: str, partial: str) -> ModelError:
        """The error as it leaves this module: with the text so far, without the key, control characters or a past."""
        error = self._as_model_error(problem, slowness)
        error.args = (self._clean(str(error)),)
        error.partial = partial
        error.__context__ = None
        if isinstance(error, Unreachable):
            error.reached_before = self._reached
        return error

    def _as_model_error(self, problem: Exception, slowness: str) -> ModelError:
        url = self._shown_url
        match problem:
            case ModelError():
                return problem
            case aiohttp.ConnectionTimeoutError():
                return ModelTimeout(f"no connection to {url} within {self.timeouts.connect:g} s")
            case TimeoutError():
                return ModelTimeout(slowness)
            case aiohttp.ClientResponseError() if not isinstance(problem, aiohttp.ClientHttpProxyError):
                return self._not_an_api("does not speak HTTP")
            case aiohttp.ClientError() if why := why_unreachable(problem, url, self.proxy):
                return Unreachable(why)
        return ReplyCut(f"{self.name} closed the connection before its reply was complete")

    @property
    def _shown_url(self) -> str:
        return str(self._url.with_user(None)) if self._url.absolute else str(self._url)

    def _clean(self, message: str) -> str:
        printable = "".join(letter if letter.isprintable() else " " for letter in message)
        return hiding([self.api_key or ""], "[key]")(printable)[:_MAX_MESSAGE].strip()


def prompt_characters(request: Request) -> int:
    return sum(len(message.content) for message in request.messages)


def _completion(call: Call[CapabilitiesT]) -> Completion:
    return Completion(
        text=call.reply.text,
        finish_reason=call.reply.outcome(),
        usage=call.reply.usage(prompt_characters(call.request)),
        reasoning=call.reply.reasoning,
        dropped=call.takes.dropped(call.first, call.request),
    )


async def _note_reuse(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: object) -> None:
    if context.trace_request_ctx is not None:  # a request of ours, not another user's of the session
        context.trace_request_ctx.reused = True


async def _refusal(response: aiohttp.ClientResponse) -> Refusal:
    return Refusal(response.status, response.headers, await _read_up_to(response, 64_000))


async def _read_up_to(response: aiohttp.ClientResponse, size: int) -> bytes:
    """The body, or its beginning with at least one byte more than `size`."""
    body = bytearray()
    while len(body) <= size and (data := await response.content.readany()):
        body += data
    return bytes(body)


def _address(base_url: str, name: str) -> URL:
    try:
        return URL(base_url.rstrip("/")).with_query(None)
    except ValueError:
        raise InvalidInput(f"the address of {name} is not one: it should look like http://host:port/v1") from None


def _now() -> float:
    return asyncio.get_running_loop().time()

"""Debates as models of OpenAI's API: the rounds are the reasoning, the outcome is the answer.

Knows the dialects and the app, no format and no page. A client that hangs up ends nothing: the queue runs the debate.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from moot.app import App
from moot.core.events import DebateFailed
from moot.core.format import AnyFormat
from moot.errors import DebateEnded, NotFound
from moot.text.plain import whole_number
from moot.web.openai import requests, words
from moot.web.openai.answers import About, DebateAnswer, Playing, fault
from moot.web.openai.chat import Chat
from moot.web.openai.debates import Attempt, begin
from moot.web.openai.responses import Responses
from moot.web.openai.words import ReasoningText
from moot.web.stream.hub import BEAT, BEAT_SECONDS, UNBUFFERED

PREFIX = "/v1/"
OWNER = "moot"
CHAT, RESPONSES, MODELS = f"{PREFIX}chat/completions", f"{PREFIX}responses", f"{PREFIX}models"
ROUTES = (f"GET {MODELS}", f"GET {MODELS}/NAME", f"POST {CHAT}", f"POST {RESPONSES}")
FINAL = frozenset({409, 500, 502})
"""Statuses after which clients would ask again by themselves, and so begin another debate."""


def routes(app: App, ending: asyncio.Event, beat_seconds: float = BEAT_SECONDS) -> APIRouter:
    """What is at `/v1`; its document is OpenAI's own, so it is not in ours.

    When the server is `ending`, no answer is waited for any more.
    """
    router = APIRouter()
    beginning: WeakValueDictionary[bytes, asyncio.Lock] = WeakValueDictionary()

    async def list_models(request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [_model(format) for format in app.formats.values()]})

    async def show_model(request: Request) -> Response:
        return JSONResponse(_model(_format(app, request.path_params["name"])))

    async def complete(request: Request) -> Response:
        return await answer(request, requests.read_chat(await request.body()), Chat)

    async def respond(request: Request) -> Response:
        wanted = requests.read_response(await request.body())
        return await answer(request, wanted, lambda about, with_usage: Responses(about))

    async def answer(
        request: Request, wanted: requests.Request, dialect: Callable[[About, bool], Chat | Responses]
    ) -> Response:
        format = _format(app, wanted.model)
        sent = hashlib.sha256(await request.body()).digest()
        async with beginning.setdefault(sent, asyncio.Lock()):  # who asks again finds what is just being made
            begun = await begin(app, format, wanted, _attempt(request))
        url = f"{request.base_url}debates/{begun.debate}"
        about = About(begun, wanted.model, url, int(time.time()), wanted.as_json)
        told = dialect(about, wanted.with_usage)
        playing = _unless(ending, _play(app, format, about), about)
        if not wanted.stream:
            return await _whole(playing, told)
        frames = with_heartbeat(told.frames(playing), beat_seconds)
        return StreamingResponse(frames, headers=UNBUFFERED, media_type="text/event-stream")

    router.add_route(MODELS, list_models, methods=["GET"])
    router.add_route(f"{MODELS}/{{name:path}}", show_model, methods=["GET"])
    router.add_route(CHAT, complete, methods=["POST"])
    router.add_route(RESPONSES, respond, methods=["POST"])
    return router


def problem(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """An error as the dialect tells it, with a word to clients that would ask again by themselves."""
    final = {"x-should-retry": "false"} if status in FINAL else {}
    return JSONResponse(fault(status, code, message), status, {**(headers or {}), **final})


def no_route(method: str, path: str) -> str:
    return f"there is no {method} {path} here; there are {', '.join(ROUTES)}"


def _attempt(request: Request) -> Attempt:
    retries = whole_number(request.headers.get("x-stainless-retry-count", ""))
    return Attempt(request.headers.get("idempotency-key"), bool(retries))


def _format(app: App, model: str) -> AnyFormat:
    owner, _, name = model.partition("/")
    if owner != OWNER or name not in app.formats:
        known = ", ".join(f"{OWNER}/{name}" for name in sorted(app.formats))
        raise NotFound(f"no model named {model!r}; known: {known}")
    return app.formats[name]


def _model(format: AnyFormat) -> dict[str, Any]:
    return {
        "id": f"{OWNER}/{format.name}",
        "object": "model",
        "created": 0,
        "owned_by": OWNER,
        "description": format.summary,
    }


# What is told of a debate


async def _play(app: App, format: AnyFormat, about: About) -> Playing:
    """The debate's text as it is spoken, then the answer. Raises DebateEnded when it has failed."""
    telling, last = ReasoningText(format), None
    async with aclosing(app.follow(about.begun.debate, about.begun.after)) as events:
        async for last in events:
            if text := telling.tell(last):
                yield text
    if isinstance(last, DebateFailed):
        failed = DebateEnded(f"{about.begun.debate} failed: {last.error}; it can be resumed at {about.url}")
        failed.code = last.code
        raise failed
    reading = await app.read(about.begun.debate)
    told = partial(words.as_json, reading, last) if about.as_json else partial(words.answer, reading, last, about)
    content = await asyncio.to_thread(told)
    yield DebateAnswer(content, reading.usage, reading.record.status)


async def _unless(ending: asyncio.Event, playing: Playing, about: About) -> Playing:
    """What is played; raises DebateEnded when the server ends before it."""
    ended = asyncio.create_task(ending.wait())
    async with aclosing(playing):
        try:
            while True:
                coming = asyncio.ensure_future(anext(playing, None))
                await asyncio.wait({coming, ended}, return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    coming.cancel()
                    await asyncio.gather(coming, return_exceptions=True)
                    raise DebateEnded(f"the server ends, {about.begun.debate} does not: read on at {about.url}")
                if (piece := coming.result()) is None:
                    return
                yield piece
        finally:
            ended.cancel()


async def _whole(playing: Playing, told: Chat | Responses) -> Response:
    try:
        pieces = [piece async for piece in playing]
    except DebateEnded as error:
        return problem(502, error.code, str(error))
    reasoning = "".join(piece for piece in pieces if isinstance(piece, str))
    (answer,) = (piece for piece in pieces if isinstance(piece, DebateAnswer))
    return JSONResponse(told.whole(reasoning, answer))


async def with_heartbeat(frames: AsyncGenerator[bytes, None], seconds: float) -> AsyncIterator[bytes]:
    """The frames as they come, and a sign of life whenever none has come for so long."""
    coming = asyncio.ensure_future(anext(frames, None))
    try:
        while True:
            if not (await asyncio.wait({coming}, timeout=seconds))[0]:
                yield BEAT
            elif (frame := coming.result()) is None:
                return
            else:
                yield frame
                coming = asyncio.ensure_future(anext(frames, None))
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)
        await frames.aclose()

"""Debates as models of OpenAI's chat API: the rounds are the reasoning, the outcome is the answer.

Knows the dialect and the app, no format and no page. A client that hangs up ends nothing: the queue runs the debate.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson
from fastapi import APIRouter
from pydantic import JsonValue
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from moot.app import App
from moot.core.debate import Status, Usage
from moot.core.events import DebateFailed, DebateStopped, Event, Waiting
from moot.core.format import AnyFormat
from moot.core.stored import StoredDebate
from moot.errors import DebateEnded, InvalidInput, MootError, NotFound
from moot.llm.addresses import refuse_addresses
from moot.reading.debate import Reading
from moot.reading.history import events_of, open_question
from moot.web.openai import words
from moot.web.openai.words import ChatRequest, ReasoningText
from moot.web.stream.hub import BEAT, BEAT_SECONDS

PREFIX = "/v1/"
OWNER = "moot"
MAX_KEY = 200
MAX_EARLIER = 4
"""Debates of the same conversation of which a new one is told."""
FINAL = frozenset({409, 500, 502})
"""Statuses after which clients would ask again by themselves, and so begin another debate."""


def routes(app: App, ending: asyncio.Event, beat_seconds: float = BEAT_SECONDS) -> APIRouter:
    """`/v1/models` and `/v1/chat/completions`; their document is OpenAI's own, so they are not in ours.

    When the server is `ending`, no answer is waited for any more.
    """
    router = APIRouter()

    async def list_models(request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [_model(format) for format in app.formats.values()]})

    async def show_model(request: Request) -> Response:
        return JSONResponse(_model(_format(app, request.path_params["name"])))

    async def complete(request: Request) -> Response:
        wanted = words.read(await request.body())
        format = _format(app, wanted.model)
        begun = await _begin(app, format, wanted, request.headers.get("idempotency-key"))
        shapes = Shapes(begun.debate, wanted.model, f"{request.base_url}debates/{begun.debate}", int(time.time()))
        playing = _unless(ending, _play(app, format, begun, shapes.url), shapes)
        if not wanted.stream:
            return await _whole(playing, shapes)
        options = wanted.stream_options
        frames = _frames(playing, shapes, begun.status, bool(options and options.include_usage))
        unbuffered = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(
            with_heartbeat(frames, beat_seconds), headers=unbuffered, media_type="text/event-stream"
        )

    router.add_route(f"{PREFIX}models", list_models, methods=["GET"])
    router.add_route(f"{PREFIX}models/{{name:path}}", show_model, methods=["GET"])
    router.add_route(f"{PREFIX}chat/completions", complete, methods=["POST"])
    return router


def problem(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """An error as the dialect tells it, with a word to clients that would ask again by themselves."""
    final = {"x-should-retry": "false"} if status in FINAL else {}
    return JSONResponse(fault(status, code, message), status, {**(headers or {}), **final})


def fault(status: int, code: str, message: str) -> dict[str, dict[str, str | None]]:
    kinds = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
    kind = kinds.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


# Which debate it is


class Begun(NamedTuple):
    """A debate that runs or will run, and the last event that the client need not be told."""

    debate: str
    status: Status
    after: int = 0


async def _begin(app: App, format: AnyFormat, wanted: ChatRequest, key: str | None) -> Begun:
    """Go on with the debate that the conversation is about, or create one that knows what the last ones came to."""
    said = words.conversation(wanted.messages)
    settings = dict(wanted.moot)
    chosen = settings.pop("debate", None)
    earlier = await _earlier(app, said.debates, chosen)
    last = earlier[-1] if earlier else None
    if last and last.record.format == format.name and last.record.status is not Status.FINISHED:
        return await _go_on(app, format, last, said.question)
    return await _create(app, format, words.topic(said, _outcomes(app, earlier)), settings, key)


async def _create(app: App, format: AnyFormat, topic: str, settings: dict[str, JsonValue], key: str | None) -> Begun:
    refuse_addresses(settings)
    if key is not None and not 1 <= len(key) <= MAX_KEY:
        raise InvalidInput(f"the Idempotency-Key has {len(key)} characters; send 1 to {MAX_KEY}")
    chosen = {**format.unattended, **settings}  # most who ask a model want one answer
    record = await app.create(format.name, topic, chosen, start=True, key=key, watched=True)
    return Begun(record.id, record.status)


async def _go_on(app: App, format: AnyFormat, stored: StoredDebate, message: str) -> Begun:
    """Let a debate hear the message, as the answer to its question or as guidance, and run on."""
    record = stored.record
    asked = open_question(stored, format)
    action, text = words.heard(message, asked.actions if asked else words.ANYTIME)
    if asked:
        await app.reply(record.id, action, text, asked.position)
    elif action != "continue" or text:
        await app.reply(record.id, "guide" if action == "continue" else action, text)
    after = max((event.id for event in events_of(stored, format)), default=0)
    return Begun(record.id, (await app.resume(record.id)).status, after)


async def _earlier(app: App, named: tuple[str, ...], chosen: JsonValue) -> list[StoredDebate]:
    """The debates of a conversation that there are; one that the client chose must be there."""
    found = []
    for debate_id in named[-MAX_EARLIER:]:
        with suppress(NotFound):  # deleted since, or never ours
            found.append(await app.load(debate_id))
    if chosen is not None:
        if not isinstance(chosen, str) or not re.fullmatch("[A-Za-z0-9-]{1,40}", chosen):
            raise InvalidInput(f"moot.debate: {chosen!r} is no debate's id; those are DEB- and 8 characters")
        found.append(await app.load(chosen))
    return found


def _outcomes(app: App, debates: Iterable[StoredDebate]) -> dict[str, str]:
    """What these debates came to, as far as that can be read."""
    found = {stored.record.id: words.in_short(app.reading(stored)) for stored in debates}
    return {debate_id: text for debate_id, text in found.items() if text}


def _format(app: App, model: str) -> AnyFormat:
    owner, _, name = model.partition("/")
    if owner != OWNER or name not in app.formats:
        known = ", ".join(f"{OWNER}/{name}" for name in sorted(app.formats))
        raise NotFound(f"no model named {model!r}; known: {known}")
    return app.formats[name]


# What is told of it


class ChatAnswer(NamedTuple):
    content: str
    usage: Usage
    status: Status


async def _play(app: App, format: AnyFormat, begun: Begun, url: str) -> AsyncGenerator[str | ChatAnswer, None]:
    """The debate's text as it is spoken, then the answer. Raises DebateEnded when it has failed."""
    telling, last = ReasoningText(format), None
    async with aclosing(app.follow(begun.debate, begun.after)) as events:
        async for last in events:
            if text := telling.tell(last):
                yield text
    if isinstance(last, DebateFailed):
        failed = DebateEnded(f"{begun.debate} failed: {last.error}; it can be resumed at {url}")
        failed.code = last.code
        raise failed
    reading = await app.read(begun.debate)
    content = f"{_content(reading, last)}\n\n{words.signature(begun.debate, url)}"
    yield ChatAnswer(content, reading.usage, reading.record.status)


async def _unless(
    ending: asyncio.Event, playing: AsyncGenerator[str | ChatAnswer, None], shapes: Shapes
) -> AsyncGenerator[str | ChatAnswer, None]:
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
                    raise DebateEnded(f"the server ends, {shapes.debate} does not: read on at {shapes.url}")
                if (piece := coming.result()) is None:
                    return
                yield piece
        finally:
            ended.cancel()


def _content(reading: Reading, last: Event | None) -> str:
    match last:
        case Waiting():
            return words.asked(last)
        case DebateStopped():
            return words.stopped(last, reading.format)
        case _:
            return words.concluded(reading)


async def _whole(playing: AsyncGenerator[str | ChatAnswer, None], shapes: Shapes) -> Response:
    try:
        pieces = [piece async for piece in playing]
    except DebateEnded as error:
        return problem(502, error.code, str(error))
    reasoning = "".join(piece for piece in pieces if isinstance(piece, str))
    (answer,) = (piece for piece in pieces if isinstance(piece, ChatAnswer))
    return JSONResponse(shapes.whole(reasoning, answer))


async def _frames(
    playing: AsyncGenerator[str | ChatAnswer, None], shapes: Shapes, status: Status, with_usage: bool
) -> AsyncGenerator[bytes, None]:
    yield _frame(shapes.piece({"role": "assistant", "content": ""}, with_usage, status=status))
    try:
        async with aclosing(playing):
            async for piece in playing:
                if isinstance(piece, str):
                    yield _frame(shapes.piece(_thought(piece), with_usage))
                    continue
                yield _frame(shapes.piece({"content": piece.content}, with_usage))
                yield _frame(shapes.piece({}, with_usage, "stop", piece.status))
                if with_usage:
                    yield _frame({**shapes.piece({}, with_usage), "choices": [], "usage": usage(piece.usage)})
    except MootError as error:
        yield _frame(fault(502, error.code, str(error)))
    yield b"data: [DONE]\n\n"


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


# How it is told


@dataclass(frozen=True, slots=True)
class Shapes:
    """The pieces of one answer, and what all of them carry."""

    debate: str
    model: str
    url: str
    created: int

    def whole(self, reasoning: str, answer: ChatAnswer) -> dict[str, Any]:
        message = {"role": "assistant", "content": answer.content, "refusal": None, **_thought(reasoning)}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return {
            **self._shared("chat.completion", answer.status),
            "choices": [choice],
            "usage": usage(answer.usage),
        }

    def piece(
        self,
        delta: Mapping[str, str],
        with_usage: bool,
        finish_reason: str | None = None,
        status: Status | None = None,
    ) -> dict[str, Any]:
        """A chunk; those that come before the usage say that it is not there yet."""
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        return {
            **self._shared("chat.completion.chunk", status),
            "choices": [choice],
            **({"usage": None} if with_usage else {}),
        }

    def _shared(self, kind: str, status: Status | None) -> dict[str, Any]:
        about = {"debate": self.debate, "status": status, "url": self.url}
        return {
            "id": f"chatcmpl-{self.debate}",
            "object": kind,
            "created": self.created,
            "model": self.model,
            **({"moot": about} if status else {}),
        }


def usage(spent: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": spent.input_tokens,
        "completion_tokens": spent.output_tokens,
        "total_tokens": spent.input_tokens + spent.output_tokens,
        "prompt_tokens_details": {"cached_tokens": spent.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": spent.reasoning_tokens},
    }


def _thought(text: str) -> dict[str, str]:
    """Under both of its names: clients read the one or the other."""
    return {"reasoning_content": text, "reasoning": text}


def _model(format: AnyFormat) -> dict[str, Any]:
    return {
        "id": f"{OWNER}/{format.name}",
        "object": "model",
        "created": 0,
        "owned_by": OWNER,
        "description": format.summary,
    }


def _frame(piece: Mapping[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(piece) + b"\n\n"

"""Model servers that behave: one of the OpenAI dialect, one of Ollama's, each remembering what it was asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

Body = dict[str, Any]


class Fake:
    """A server of one dialect that remembers what it was asked."""

    def __init__(self, reply: Callable[[Body], str] = lambda body: "Hello") -> None:
        self.reply = reply
        self.asked: list[tuple[str, Body | None]] = []
        self.url = ""

    def bodies(self, path: str) -> list[Body]:
        return [body for asked, body in self.asked if asked == path and body is not None]

    @asynccontextmanager
    async def serving(self, routes: Mapping[str, Callable[[web.Request], Any]]) -> AsyncIterator[Fake]:
        app = web.Application()
        for path, handler in routes.items():
            app.router.add_route("*", path, handler)
        app.router.add_route("*", "/{other:.*}", self._unknown)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            await runner.cleanup()

    async def take(self, request: web.Request) -> Body:
        body: Body = await request.json() if request.can_read_body else {}
        self.asked.append((request.path, body))
        return body

    async def _unknown(self, request: web.Request) -> web.Response:
        await self.take(request)
        raise web.HTTPNotFound


async def streams(request: web.Request, kind: str, parts: list[str]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": kind})
    await response.prepare(request)
    for part in parts:
        await response.write(part.encode())
    await response.write_eof()
    return response


@asynccontextmanager
async def chat_completions(
    reply: Callable[[Body], str] = lambda body: "Hello", path: str = "/chat/completions"
) -> AsyncIterator[Fake]:
    fake = Fake(reply)

    async def chat(request: web.Request) -> web.StreamResponse:
        body = await fake.take(request)
        chunks: list[object] = [
            {"choices": [{"delta": {"content": word + " "}}]} for word in fake.reply(body).split(" ")
        ]
        chunks.append(
            {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 5, "completion_tokens": 4}}
        )
        return await streams(
            request, "text/event-stream", [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"]
        )

    async with fake.serving({path: chat}):
        yield fake


@asynccontextmanager
async def ollama(reply: Callable[[Body], str] = lambda body: "Hello") -> AsyncIterator[Fake]:
    fake = Fake(reply)

    async def chat(request: web.Request) -> web.StreamResponse:
        body = await fake.take(request)
        lines: list[object] = [
            {"message": {"content": word + " "}, "done": False} for word in fake.reply(body).split(" ")
        ]
        lines.append(
            {"message": {"content": ""}, "done": True, "done_reason": "stop", "prompt_eval_count": 5, "eval_count": 4}
        )
        return await streams(request, "application/x-ndjson", [json.dumps(item) + "\n" for item in lines])

    async def show(request: web.Request) -> web.Response:
        await fake.take(request)
        return web.json_response({"model_info": {"qwen3.context_length": 40_960}})

    async def tags(request: web.Request) -> web.Response:
        return web.json_response({"models": [{"name": "nomic-embed-text:latest"}, {"name": "qwen3:8b"}]})

    async with fake.serving({"/api/chat": chat, "/api/show": show, "/api/tags": tags}):
        yield fake

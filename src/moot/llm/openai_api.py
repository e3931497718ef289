"""The OpenAI chat-completions dialect: DeepSeek, OpenAI, OpenRouter, vLLM, llama.cpp and their like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moot.core.debate import Usage
from moot.llm.client import Completion, Request
from moot.llm.dialect import Dialect
from moot.llm.http import Call, ModelServer
from moot.llm.stream import StreamedReply, StreamFormat, count


class OpenAIClient:
    """A server that speaks the dialect."""

    def __init__(self, server: ModelServer, takes: Callable[[str], Dialect] = lambda model: Dialect()) -> None:
        """`takes` says what a model takes of the dialect, as far as that is known before it is asked."""
        self._server = server
        self._takes = takes
        self._learned: dict[str, Dialect] = {}

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        first = self._takes(request.model)
        takes = self._learned.get(request.model, first)
        call = Call(request=request, on_text=on_text, wire=WIRE, first=first, takes=takes, learned=self._learned)
        return await self._server.complete(call, self.list_models)

    async def list_models(self) -> tuple[str, ...]:
        return await self._server.fetch(
            "models", lambda body: tuple(str(model["id"]) for model in body["data"]), does="list its models"
        )


def _take(reply: StreamedReply, chunk: Any) -> None:
    """The path of every token."""
    if choices := chunk.get("choices"):
        choice = choices[0]
        if reason := choice.get("finish_reason"):
            reply.finish(str(reason))
        if delta := choice.get("delta") or choice.get("message"):
            if text := delta.get("content"):
                reply.say(text)
            if text := delta.get("reasoning_content") or delta.get("reasoning"):
                reply.think(text)
    if usage := chunk.get("usage"):
        reply.count(usage)


def _count(usage: Any) -> Usage:
    prompt = usage.get("prompt_tokens_details") or {}
    output = usage.get("completion_tokens_details") or {}
    return Usage(
        input_tokens=count(usage.get("prompt_tokens")),
        cached_tokens=count(prompt.get("cached_tokens")) or count(usage.get("prompt_cache_hit_tokens")),
        cache_written_tokens=count(prompt.get("cache_write_tokens")),
        output_tokens=count(usage.get("completion_tokens")),
        reasoning_tokens=count(output.get("reasoning_tokens")),
        calls=1,
    )


WIRE = StreamFormat("chat/completions", "text/event-stream", b"data:", _take, _count)

"""Ollama's native API, for what its OpenAI-compatible one cannot say: the context's size, and not to think.

Ollama cuts a prompt that is longer than its context, from the front and without a word, and the context is 4096 tokens
unless the request says otherwise. So every request says how much it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from moot.core.debate import JsonObject, Usage
from moot.errors import ModelError
from moot.llm.client import Completion, Request
from moot.llm.dialect import JsonMode, dropped_modes, simpler
from moot.llm.http import Call, ModelServer, prompt_characters
from moot.llm.stream import StreamedReply, StreamFormat, count

MIN_CONTEXT = 4096
MAX_CONTEXT = 131_072
"""When the model does not say what it can read."""
KEEP_ALIVE = "10m"
"""A debate comes back to its model after the other seats have spoken; loading it again takes longer than that."""

_CHARACTERS_PER_TOKEN = 3  # few, as a context that is too small costs the beginning of the prompt
_MARGIN = 512


@dataclass(frozen=True, slots=True)
class OllamaTakes:
    """What a model takes of the dialect."""

    context: int = MIN_CONTEXT
    json_mode: JsonMode = "schema"
    think: bool = True
    """That it can be told whether to think."""

    def body(self, request: Request) -> JsonObject:
        body: JsonObject = {
            "model": request.model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            "stream": True,
            "keep_alive": KEEP_ALIVE,
            "truncate": False,
            "options": {
                "num_ctx": self.context,
                "num_predict": request.max_tokens,
                "temperature": request.temperature,
            },
        }
        if self.think:
            body["think"] = request.think
        if request.schema and self.json_mode != "none":
            body["format"] = request.schema.schema if self.json_mode == "schema" else "json"
        return body

    def without(self, complaint: str, request: Request) -> OllamaTakes | None:
        complaint = complaint.lower()
        if self.think and "think" in complaint:
            return replace(self, think=False)
        if request.schema and self.json_mode != "none" and any(word in complaint for word in _FORMAT_WORDS):
            return replace(self, json_mode=simpler(self.json_mode))
        return None

    def dropped(self, first: OllamaTakes, request: Request) -> tuple[str, ...]:
        modes = dropped_modes(first.json_mode, self.json_mode) if request.schema else ()
        return (*modes, *(() if self.think else ("think",)))


_FORMAT_WORDS = ("format", "schema", "grammar")


class OllamaClient:
    """An Ollama server."""

    def __init__(self, server: ModelServer) -> None:
        self._server = replace(
            server,
            base_url=server.base_url.rstrip("/").removesuffix("/v1"),  # people give the OpenAI-compatible address too
            api="an Ollama server",
            model_hint="get it with: ollama pull {model}",
        )
        self._learned: dict[str, OllamaTakes] = {}
        self._contexts: dict[str, int] = {}
        self._largest: dict[str, int] = {}

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        context = await self._context(request)
        takes = replace(self._learned.get(request.model, OllamaTakes()), context=context)
        call = Call(
            request=request, on_text=on_text, wire=WIRE, first=OllamaTakes(), takes=takes, learned=self._learned
        )
        return await self._server.complete(call, self.list_models)

    async def list_models(self) -> tuple[str, ...]:
        return await self._server.fetch(
            "api/tags", lambda body: tuple(str(model["name"]) for model in body["models"]), does="list its models"
        )

    async def embed(self, model: str, texts: Sequence[str]) -> list[list[float]]:
        return await self._server.fetch(
            "api/embed",
            lambda body: [[float(number) for number in vector] for vector in body["embeddings"]],
            does="embed text",
            within=self._server.timeouts.first_token,
            body={"model": model, "input": list(texts), "keep_alive": KEEP_ALIVE},
            model=model,
        )

    async def _context(self, request: Request) -> int:
        """The context to ask for. It never shrinks, as Ollama loads a model anew to change it."""
        model, largest = request.model, await self.largest_context(request.model)
        wanted = needed_context(prompt_characters(request), request.max_tokens)
        self._contexts[model] = max(self._contexts.get(model, 0), min(wanted, largest))
        return self._contexts[model]

    async def largest_context(self, model: str) -> int:
        """How many tokens a model can read at most."""
        if model not in self._largest:
            self._largest[model] = await self._asked_context(model)
        return self._largest[model]

    async def _asked_context(self, model: str) -> int:
        with suppress(ModelError):  # what is wrong will be said by the call itself
            return await self._server.fetch(
                "api/show", _context_length, does="describe its models", body={"model": model}, model=model
            )
        return MAX_CONTEXT


def needed_context(characters: int, max_tokens: int) -> int:
    """Tokens for a prompt and its answer, as a power of two, so that a growing prompt seldom needs another one."""
    needed = characters // _CHARACTERS_PER_TOKEN + max_tokens + _MARGIN
    return max(MIN_CONTEXT, 1 << (needed - 1).bit_length())


def _context_length(body: Any) -> int:
    lengths = [count(value) for name, value in body["model_info"].items() if name.endswith(".context_length")]
    return max(lengths, default=0) or MAX_CONTEXT


def _take(reply: StreamedReply, chunk: Any) -> None:
    if message := chunk.get("message"):
        if text := message.get("thinking"):
            reply.think(text)
        if text := message.get("content"):
            reply.say(text)
    if chunk.get("done"):
        reply.counted = chunk
        reply.finish(str(chunk.get("done_reason") or "stop"))
        reply.done = True


def _count(chunk: Any) -> Usage:
    return Usage(
        input_tokens=count(chunk.get("prompt_eval_count")), output_tokens=count(chunk.get("eval_count")), calls=1
    )


WIRE = StreamFormat("api/chat", "application/x-ndjson", b"", _take, _count)

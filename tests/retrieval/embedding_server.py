"""An Ollama that embeds: texts with words in common get vectors in a similar direction, the same ones every time."""

from __future__ import annotations

import re
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from moot.llm.client import Timeouts
from moot.llm.http import ModelServer, new_session
from moot.llm.ollama import OllamaClient
from moot.retrieval.embed import OllamaEmbedder


class EmbeddingServer:
    """Remembers what it was asked; `answer` replaces its next replies."""

    def __init__(self) -> None:
        self.dimension = 512
        self.requests: list[dict[str, Any]] = []
        self.answer: object | None = None
        self.embedder: OllamaEmbedder

    def texts(self, prefix: str) -> list[str]:
        """What was to be embedded with this prefix, without it."""
        inputs = [text for request in self.requests for text in request["input"]]
        return [text.removeprefix(prefix) for text in inputs if text.startswith(prefix)]

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.requests.append(body)
        vectors = [self._vector(text) for text in body["input"]]
        return web.json_response({"embeddings": vectors} if self.answer is None else self.answer)

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * self.dimension
        for word in re.findall(r"\w+", text.lower()):
            vector[zlib.crc32(word.encode()) % self.dimension] += 1
        return vector


@asynccontextmanager
async def embedding_server() -> AsyncIterator[EmbeddingServer]:
    server = EmbeddingServer()
    app = web.Application()
    app.router.add_post("/api/embed", server.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        async with new_session() as session:
            client = OllamaClient(
                ModelServer(
                    session=session, base_url=url, api_key=None, name="ollama", key_hint="", timeouts=Timeouts()
                )
            )
            server.embedder = OllamaEmbedder(client)
            yield server
    finally:
        await runner.cleanup()

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from embedding_server import EmbeddingServer, embedding_server

from moot.retrieval.embed import WordLlamaEmbedder


@pytest.fixture(scope="session")
def wordllama() -> WordLlamaEmbedder:
    return WordLlamaEmbedder()


@pytest.fixture
async def ollama() -> AsyncIterator[EmbeddingServer]:
    async with embedding_server() as server:
        yield server

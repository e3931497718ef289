"""How often a question finds the reasoning template it needs: python bench/retrieval.py

With WordLlama on both stores, and with Ollama's nomic-embed-text if a server answers at OLLAMA_HOST.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple

import yaml

from moot.errors import ModelError
from moot.llm.client import Timeouts
from moot.llm.http import ModelServer, new_session
from moot.llm.ollama import OllamaClient
from moot.retrieval.builtin import BuiltinStore
from moot.retrieval.chroma import ChromaStore
from moot.retrieval.embed import Embedder, OllamaEmbedder, WordLlamaEmbedder
from moot.retrieval.retriever import Retriever, VectorStore
from moot.retrieval.templates import collection, documents

FOLDER = Path(__file__).parent.parent / "tests" / "retrieval"
SETS = ("queries", "held_out")
STORES: dict[str, Callable[[Path], VectorStore]] = {"builtin": BuiltinStore, "chroma": ChromaStore}


class Question(NamedTuple):
    query: str
    expects: str


def questions(name: str) -> list[Question]:
    return [Question(**row) for row in yaml.safe_load((FOLDER / f"{name}.yaml").read_text())]


async def ranks(retriever: Retriever, asked: list[Question]) -> dict[Question, int]:
    """Where the expected template came, from 1."""
    templates = collection(Path("none of my own"))
    await retriever.index(documents(templates.values()))
    found = {}
    for question in asked:
        names = [hit.id for hit in await retriever.search(question.query, len(templates))]
        found[question] = names.index(question.expects) + 1
    return found


async def embedders() -> AsyncIterator[Embedder]:
    yield WordLlamaEmbedder()
    host = os.environ.get("OLLAMA_HOST", "127.0.0.1:11434")
    url = host if "://" in host else f"http://{host}"
    async with new_session() as session:
        client = OllamaClient(
            ModelServer(session=session, base_url=url, api_key=None, name="ollama", key_hint="", timeouts=Timeouts())
        )
        ollama = OllamaEmbedder(client)
        try:
            await ollama.embed(["ready?"], "query")
        except ModelError as error:
            print(f"without Ollama: {error}")
        else:
            yield ollama


async def measure(embedder: Embedder, store: str, name: str) -> dict[Question, int]:
    with tempfile.TemporaryDirectory() as folder:
        retriever = Retriever(embedder, STORES[store](Path(folder)))
        await ranks(retriever, questions(name))  # loads the model and fills the index
        began = time.perf_counter()
        found = await ranks(retriever, questions(name))
        each = (time.perf_counter() - began) / len(found) * 1000
    first, third = (f"{sum(rank <= top for rank in found.values())} of {len(found)}" for top in (1, 3))
    print(f"| {embedder.name} | {store} | {name} | {first} | {third} | {each:.1f} |")
    return found


async def main() -> None:
    print("| embedder | store | questions | hit@1 | hit@3 | ms for each |\n|---|---|---|---|---|---|")
    found: dict[Question, int] = {}
    async for embedder in embedders():
        for store in STORES:
            for name in SETS:
                found |= await measure(embedder, store, name)
    for question, rank in found.items():
        if rank > 3:
            print(f"at rank {rank}: {question.query} → {question.expects}")


asyncio.run(main())

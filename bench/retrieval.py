"""How often a question finds the reasoning template it needs, or none where none fits: python bench/retrieval.py

With WordLlama on both stores, and with Ollama's nomic-embed-text if a server answers at OLLAMA_HOST.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import yaml

from moot.errors import ModelError
from moot.llm.client import Timeouts
from moot.llm.http import ModelServer, new_session
from moot.llm.ollama import OllamaClient
from moot.retrieval.embed import Embedder, OllamaEmbedder, WordLlamaEmbedder
from moot.retrieval.library import Library, StoreName

FOLDER = Path(__file__).parent.parent / "tests" / "retrieval"
SETS = ("queries", "development", "held_out", "new", "fresh", "blind")
TUNED = SETS[:2]
"""What is missed of these is shown; of the others only the number, so that nobody chooses anything by them."""
STORES: tuple[StoreName, ...] = ("builtin", "chroma")


class Question(NamedTuple):
    query: str
    expects: str


def questions(name: str) -> list[Question]:
    return [Question(**row) for row in yaml.safe_load((FOLDER / f"{name}.yaml").read_text())]


class Handed(NamedTuple):
    """What the library hands out for a question, the best first; nothing is right where nothing fits."""

    question: Question
    names: list[str]

    def right(self, top: int) -> bool:
        return self.question.expects in (self.names[:top] or ["none"])


async def handed(library: Library, asked: list[Question]) -> list[Handed]:
    found = [(question, await library.find(question.query, 3)) for question in asked]
    return [Handed(question, [each.template.name for each in hits]) for question, hits in found]


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


async def measure(embedder: Embedder, store: StoreName, name: str) -> list[Handed]:
    async def connect() -> Embedder:
        return embedder

    with tempfile.TemporaryDirectory() as folder:
        library = Library(Path(folder) / "none of my own", Path(folder) / "cache", store, connect)
        await handed(library, questions(name))  # loads the model and fills the index
        began = time.perf_counter()
        found = await handed(library, questions(name))
        each = (time.perf_counter() - began) / len(found) * 1000
    first, third = (f"{sum(one.right(top) for one in found)} of {len(found)}" for top in (1, 3))
    fitting = [one for one in found if one.question.expects != "none"]
    missed = f"{sum(not one.names for one in fitting)} of {len(fitting)}"
    noise = f"{sum(bool(one.names) for one in found if one not in fitting)} of {len(found) - len(fitting)}"
    print(f"| {embedder.name} | {store} | {name} | {first} | {third} | {missed} | {noise} | {each:.1f} |")
    return found


async def main() -> None:
    print("| embedder | store | questions | first is right | right in three | none though one fits |", end="")
    print(" one though none fits | ms for each |\n|---|---|---|---|---|---|---|---|")
    wrong: dict[Question, list[str]] = {}
    async for embedder in embedders():
        for store in STORES:
            for name in SETS:
                found = await measure(embedder, store, name)
                wrong |= {one.question: one.names for one in found if name in TUNED and not one.right(3)}
    for question, names in wrong.items():
        print(f"{question.query} → {question.expects}, not {', '.join(names) or 'none'}")


asyncio.run(main())

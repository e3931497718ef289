"""The library of a process: the reasoning templates and what finds them, opened when first used."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from moot.errors import StoreError
from moot.retrieval import templates
from moot.retrieval.builtin import BuiltinStore
from moot.retrieval.embed import Embedder, WordLlamaEmbedder
from moot.retrieval.retriever import Retriever, VectorStore
from moot.retrieval.search import Excerpt, Search, indexed
from moot.retrieval.shared_words import shared_words
from moot.retrieval.templates import Template
from moot.trust.novelty import SAME_MEANING

MAX_SEARCHES = 4
"""Sources of so many debates are kept ready, the latest."""
StoreName = Literal["builtin", "chroma"]


@dataclass(frozen=True, slots=True)
class Found:
    """A template that suits a question; the nearer to 1 the better."""

    template: Template
    score: float


class Evidence(NamedTuple):
    """What each seat is handed, and how many passages the sources have."""

    passages: Mapping[str, tuple[Excerpt, ...]]
    total: int


@dataclass(eq=False)
class Library:
    own_templates: Path
    cache: Path
    store: StoreName = "builtin"
    connect: Callable[[], Awaitable[Embedder]] | None = None
    """Opens the embedder; without it, it is the built-in one."""
    _builtin: WordLlamaEmbedder = field(default_factory=WordLlamaEmbedder)
    _embedder: Embedder | None = None
    _retriever: Retriever | None = None
    _searches: dict[str, Search] = field(default_factory=dict)

    async def embedder(self) -> Embedder:
        if self._embedder is None:
            self._embedder = await self.connect() if self.connect else self._builtin
        return self._embedder

    def templates(self) -> Mapping[str, Template]:
        return templates.collection(self.own_templates)

    async def find(self, query: str, top_k: int) -> tuple[Found, ...]:
        """The templates that suit a question best, the best first; none that hardly does."""
        known = self.templates()
        embedder = await self.embedder()
        if not embedder.reads(query):
            return ()
        documents = templates.documents(known.values())
        with _damage_named(self.cache):
            retriever = await self._open()
            await retriever.index(documents)
            hits = await retriever.search(query, len(documents))
        shared = shared_words(query, documents)
        # Another debate of this process may have indexed other templates in the meantime.
        found = (Found(known[hit.id], hit.score + shared[hit.id]) for hit in hits if hit.id in known)
        ranked = sorted(found, key=lambda each: -each.score)[:top_k]
        suits = bool(ranked) and ranked[0].score >= embedder.floor
        return tuple(each for each in ranked if suits and each.score >= embedder.floor / 2)

    async def excerpts(self, texts: Mapping[str, str], query: str, top_k: int) -> tuple[Excerpt, ...]:
        """The passages of these texts, by tag, that matter most to a question, in the order they stand in."""
        search = await self._search(texts)
        return await search.best([query], characters=sum(map(len, texts.values())), at_most=top_k)

    async def evidence(
        self,
        texts: Mapping[str, str],
        queries: Mapping[str, Sequence[str]],
        had: Mapping[str, Collection[str]],
        characters: int,
    ) -> Evidence:
        """For each seat the passages that its queries find, at most so many characters, and none that it has had."""
        search = await self._search(texts)
        found = {seat: await search.best(asked, characters, had.get(seat, ())) for seat, asked in queries.items()}
        return Evidence(found, len(search.index.excerpts))

    async def repeated(self, said: Sequence[str], before: Sequence[str]) -> float:
        """The share of sentences that mean what one before did, as the built-in embedder has it: each has its scale."""
        if not self._builtin.reads(" ".join(said)):
            return 0.0
        now, earlier = [await self._builtin.embed(texts, "document") for texts in (said, before)]
        return float(((now @ earlier.T).max(axis=1) >= SAME_MEANING).mean())

    async def nearness(self, pairs: Sequence[tuple[str, str]], question: str) -> float | None:
        """How near the nearest two are in meaning, from -1 to 1; None where the built-in embedder does not read their
        language, which they may be too short to tell without the question."""
        if not self._builtin.reads(" ".join([question, *dict.fromkeys(text for pair in pairs for text in pair)])):
            return None
        ones, others = [await self._builtin.embed(texts, "document") for texts in zip(*pairs, strict=True)]
        return round(float((ones * others).sum(axis=1).max()), 3)

    async def _search(self, texts: Mapping[str, str]) -> Search:
        """Kept for the next round of the same debate."""
        key = await asyncio.to_thread(_fingerprint, texts)
        search = self._searches.pop(key, None) or await indexed(await self.embedder(), texts)
        self._searches[key] = search
        while len(self._searches) > MAX_SEARCHES:
            del self._searches[next(iter(self._searches))]
        return search

    def add(self, file: Path) -> Template:
        return templates.add(self.own_templates, file)

    def remove(self, name: str) -> None:
        templates.remove(self.own_templates, name)

    async def _open(self) -> Retriever:
        if self._retriever is None:
            embedder = await self.embedder()
            folder = self.cache / embedder.name.replace(":", "-").replace("/", "-")
            self._retriever = Retriever(embedder, _vector_store(self.store, folder))
        return self._retriever


def _fingerprint(texts: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(list(texts.items())).encode()).hexdigest()


def _vector_store(name: StoreName, folder: Path) -> VectorStore:
    if name == "chroma":
        from moot.retrieval.chroma import ChromaStore

        return ChromaStore(folder)
    return BuiltinStore(folder)


@contextmanager
def _damage_named(folder: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith("chromadb"):  # which is slow to import, and seldom there
            raise
        told = " ".join(str(error).split())
        raise StoreError(f"the index of templates in {folder} cannot be used: {told}; remove that folder") from None

"""The library of a process: the reasoning templates and what finds them, opened when first used."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from moot.errors import StoreError
from moot.retrieval import templates
from moot.retrieval.builtin import BuiltinStore
from moot.retrieval.embed import Embedder, WordLlamaEmbedder
from moot.retrieval.passages import Passage, cut, relevant
from moot.retrieval.retriever import Retriever, VectorStore
from moot.retrieval.shared_words import shared_words
from moot.retrieval.templates import Template

StoreName = Literal["builtin", "chroma"]


@dataclass(frozen=True, slots=True)
class Found:
    """A template that suits a question; the nearer to 1 the better."""

    template: Template
    score: float


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A passage of a source, by the source's tag."""

    tag: str
    text: str


class Library:
    def __init__(
        self,
        own_templates: Path,
        cache: Path,
        store: StoreName = "builtin",
        connect: Callable[[], Awaitable[Embedder]] | None = None,
    ) -> None:
        """`connect` opens the embedder; without it, it is the built-in one."""
        self._own_templates = own_templates
        self._cache = cache
        self._store = store
        self._connect = connect
        self._embedder: Embedder | None = None
        self._retriever: Retriever | None = None

    async def embedder(self) -> Embedder:
        if self._embedder is None:
            self._embedder = await self._connect() if self._connect else WordLlamaEmbedder()
        return self._embedder

    def templates(self) -> Mapping[str, Template]:
        return templates.collection(self._own_templates)

    async def find(self, query: str, top_k: int) -> tuple[Found, ...]:
        """The templates that suit a question best, the best first; none that hardly does."""
        known = self.templates()
        embedder = await self.embedder()
        if not embedder.reads(query):
            return ()
        documents = templates.documents(known.values())
        with _damage_named(self._cache):
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
        """The passages of these texts, by tag, that matter most to a question, in the order they stand in.

        Every text has its share, unless there are more texts than passages wanted.
        """
        embedder = await self.embedder()
        found: dict[Passage, str] = {}
        begin = 0
        for tag, text in texts.items():
            share = max(1, top_k // len(texts))
            for passage in await relevant(embedder, cut(text), query, share):
                found[replace(passage, start=begin + passage.start)] = tag
            begin += len(text)
        best = await relevant(embedder, tuple(found), query, top_k)
        return tuple(Excerpt(found[passage], passage.text) for passage in best)

    def add(self, file: Path) -> Template:
        return templates.add(self._own_templates, file)

    def remove(self, name: str) -> None:
        templates.remove(self._own_templates, name)

    async def _open(self) -> Retriever:
        if self._retriever is None:
            embedder = await self.embedder()
            folder = self._cache / embedder.name.replace(":", "-").replace("/", "-")
            self._retriever = Retriever(embedder, _vector_store(self._store, folder))
        return self._retriever


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


def names(found: Sequence[Found]) -> str:
    return ", ".join(each.template.title for each in found)

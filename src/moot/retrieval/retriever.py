"""Documents found by meaning, whatever store keeps their vectors: embedded once, searched often."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from moot.retrieval.embed import Embedder, Vectors


@dataclass(frozen=True, slots=True)
class Document:
    """A text to be found; its id is its own among those indexed."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    id: str
    score: float
    """The cosine between query and document, 1 for the same direction."""


class Origin(NamedTuple):
    """What vectors were made of; those of another origin are of no use."""

    embedder: str
    content: str


class VectorStore(Protocol):
    """Where vectors are kept from one start to the next. Its methods block."""

    def load(self, origin: Origin) -> Vectors | None:
        """What is stored, if it is whole and of this origin."""
        ...

    def save(self, vectors: Vectors, origin: Origin) -> None: ...


class Retriever:
    """Compares a query with every document."""

    def __init__(self, embedder: Embedder, store: VectorStore) -> None:
        self._embedder = embedder
        self._store = store
        self._documents: tuple[Document, ...] = ()
        self._vectors: Vectors | None = None
        self._indexing = asyncio.Lock()

    async def index(self, documents: Sequence[Document]) -> None:
        """Make these the documents that are searched. They are embedded only if they or the embedder changed."""
        wanted = tuple(documents)
        async with self._indexing:
            if self._vectors is None or self._documents != wanted:
                stored = await asyncio.to_thread(self._store.load, self._origin(wanted))
                usable = stored is not None and len(stored) == len(wanted)
                self._documents, self._vectors = wanted, stored if usable else await self._build(wanted)

    async def search(self, query: str, top_k: int) -> tuple[Hit, ...]:
        """The closest ids, best first; none for a query without a word."""
        if top_k < 1 or not query.strip():
            return ()
        async with self._indexing:
            if self._vectors is None or not self._documents:
                return ()
            (vector,) = await self._embedder.embed([query], "query")
            if self._vectors.shape[1] != len(vector):  # another model now goes by the embedder's name
                self._vectors = await self._build(self._documents)
            scores = (self._vectors @ vector).tolist()
            return best(map(Hit, (document.id for document in self._documents), scores), top_k)

    async def _build(self, documents: tuple[Document, ...]) -> Vectors:
        vectors = await self._embedder.embed([document.text for document in documents], "document")
        await asyncio.to_thread(self._store.save, vectors, self._origin(documents))
        return vectors

    def _origin(self, documents: tuple[Document, ...]) -> Origin:
        return Origin(self._embedder.name, content_hash(documents))


def content_hash(documents: Sequence[Document]) -> str:
    digest = hashlib.sha256()
    for document in documents:
        for part in (document.id, document.text):
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def best(hits: Iterable[Hit], top_k: int) -> tuple[Hit, ...]:
    """Best first; equal scores in the order of ids."""
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.id))[:top_k])

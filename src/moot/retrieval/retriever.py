"""The port to a store of vectors: index documents, search them by meaning. Knows no store and no embedder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

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


class Retriever(Protocol):
    async def index(self, documents: Sequence[Document]) -> None:
        """Make these the documents that are searched. They are embedded only if they or the embedder changed."""
        ...

    async def search(self, query: str, top_k: int) -> tuple[Hit, ...]:
        """The closest ids, best first; none for a query without a word."""
        ...


def content_hash(documents: Sequence[Document]) -> str:
    digest = hashlib.sha256()
    for document in documents:
        for part in (document.id, document.text):
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


async def embed_documents(embedder: Embedder, documents: Sequence[Document]) -> Vectors:
    return await embedder.embed([document.text for document in documents], "document")


def best(hits: Iterable[Hit], top_k: int) -> tuple[Hit, ...]:
    """Best first; equal scores in the order of ids."""
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.id))[:top_k])

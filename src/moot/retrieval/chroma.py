"""ChromaDB as the store of vectors, for those who have one: `moot[chroma]`.

The vectors are moot's; Chroma's own embedder, which would be downloaded, and its telemetry stay off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from moot.errors import InvalidInput
from moot.retrieval.embed import Embedder, Vectors
from moot.retrieval.retriever import Document, Hit, best, content_hash, embed_documents

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

COLLECTION = "moot"
_MISSING = "ChromaDB is not installed: pip install 'moot[chroma]', or use the built-in store"
_DOCUMENTS_PER_CALL = 1000


@dataclass(frozen=True, slots=True)
class _Index:
    documents: tuple[Document, ...]
    collection: Collection

    def hits(self, query: Vectors, top_k: int) -> list[Hit]:
        found = self.collection.query(query_embeddings=query[None, :], n_results=top_k, include=["distances"])
        numbers, distances = found["ids"][0], (found["distances"] or [[]])[0]
        return [Hit(self.documents[int(n)].id, 1 - far) for n, far in zip(numbers, distances, strict=True)]


class ChromaRetriever:
    """A collection in a folder; it tells of which embedder and documents it was made only when it is whole."""

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self._embedder = embedder
        self._folder = folder
        self._client: ClientAPI | None = None
        self._index: _Index | None = None
        self._indexing = asyncio.Lock()

    async def index(self, documents: Sequence[Document]) -> None:
        wanted = tuple(documents)
        async with self._indexing:
            if self._index and self._index.documents == wanted:
                return
            client = await self._opened()
            stored = await asyncio.to_thread(_find, client, self._made_of(wanted))
            self._index = _Index(wanted, stored) if stored else await self._build(client, wanted)

    async def search(self, query: str, top_k: int) -> tuple[Hit, ...]:
        if top_k < 1 or not query.strip():
            return ()
        async with self._indexing:
            if not self._client or not self._index or not self._index.documents:
                return ()
            (vector,) = await self._embedder.embed([query], "query")
            if not await asyncio.to_thread(_takes, self._index.collection, len(vector)):
                self._index = await self._build(self._client, self._index.documents)
            return best(await asyncio.to_thread(self._index.hits, vector, top_k), top_k)

    async def _opened(self) -> ClientAPI:
        if self._client is None:
            self._client = await asyncio.to_thread(_open, self._folder)
        return self._client

    def _made_of(self, documents: tuple[Document, ...]) -> dict[str, str]:
        return {"embedder": self._embedder.name, "content": content_hash(documents)}

    async def _build(self, client: ClientAPI, documents: tuple[Document, ...]) -> _Index:
        vectors = await embed_documents(self._embedder, documents)
        collection = await asyncio.to_thread(_fill, client, vectors, self._made_of(documents))
        return _Index(documents, collection)


def _open(folder: Path) -> ClientAPI:
    try:
        import chromadb
        from chromadb.config import Settings
    except ImportError:
        raise InvalidInput(_MISSING) from None
    folder.mkdir(parents=True, exist_ok=True)
    return chromadb.PersistentClient(path=folder, settings=Settings(anonymized_telemetry=False))


def _find(client: ClientAPI, made_of: dict[str, str]) -> Collection | None:
    """The stored collection, if it was made of this."""
    from chromadb.errors import NotFoundError

    try:
        collection = client.get_collection(COLLECTION, embedding_function=None)
    except NotFoundError:
        return None
    told = collection.metadata or {}
    return collection if all(told.get(name) == value for name, value in made_of.items()) else None


def _takes(collection: Collection, dimension: int) -> bool:
    """Not when another model now goes by the embedder's name, nor when another process replaced the collection."""
    from chromadb.errors import NotFoundError

    try:
        collection.count()
    except NotFoundError:
        return False
    return bool((collection.metadata or {}).get("dimension") == dimension)


def _fill(client: ClientAPI, vectors: Vectors, made_of: dict[str, str]) -> Collection:
    from chromadb.errors import NotFoundError

    with suppress(NotFoundError):
        client.delete_collection(COLLECTION)
    collection = client.create_collection(
        COLLECTION, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    for at in range(0, len(vectors), _DOCUMENTS_PER_CALL):
        rows = vectors[at : at + _DOCUMENTS_PER_CALL]
        collection.add(ids=[str(at + row) for row in range(len(rows))], embeddings=rows)
    collection.modify(metadata={**made_of, "dimension": vectors.shape[1]})
    return collection

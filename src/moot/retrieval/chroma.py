"""ChromaDB as the store of vectors, for those who have one: `moot[chroma]`.

The vectors are moot's; Chroma's own embedder, which would be downloaded, and its telemetry stay off.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from moot.errors import InvalidInput
from moot.retrieval.embed import Vectors
from moot.retrieval.retriever import Document, Hit, Origin

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

    def takes(self, dimension: int) -> bool:
        """Nor when another process replaced the collection."""
        from chromadb.errors import NotFoundError

        try:
            self.collection.count()
        except NotFoundError:
            return False
        return bool((self.collection.metadata or {}).get("dimension") == dimension)

    def hits(self, query: Vectors, top_k: int) -> list[Hit]:
        found = self.collection.query(query_embeddings=query[None, :], n_results=top_k, include=["distances"])
        numbers, distances = found["ids"][0], (found["distances"] or [[]])[0]
        return [Hit(self.documents[int(n)].id, 1 - far) for n, far in zip(numbers, distances, strict=True)]


class ChromaStore:
    """A collection in a folder; it tells of which embedder and documents it was made only when it is whole."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, documents: tuple[Document, ...], origin: Origin) -> _Index | None:
        client = self._client
        from chromadb.errors import NotFoundError

        try:
            collection = client.get_collection(COLLECTION, embedding_function=None)
        except NotFoundError:
            return None
        stored = collection.metadata or {}
        made_of = (stored.get("embedder"), stored.get("content"))
        return _Index(documents, collection) if made_of == origin else None

    def fill(self, documents: tuple[Document, ...], vectors: Vectors, origin: Origin) -> _Index:
        from chromadb.errors import NotFoundError

        with suppress(NotFoundError):
            self._client.delete_collection(COLLECTION)
        collection = self._client.create_collection(
            COLLECTION, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )
        for at in range(0, len(vectors), _DOCUMENTS_PER_CALL):
            rows = vectors[at : at + _DOCUMENTS_PER_CALL]
            collection.add(ids=[str(at + row) for row in range(len(rows))], embeddings=rows)
        collection.modify(metadata={**origin._asdict(), "dimension": vectors.shape[1]})
        return _Index(documents, collection)

    @cached_property
    def _client(self) -> ClientAPI:
        try:
            import chromadb
            from chromadb.config import Settings
        except ImportError:
            raise InvalidInput(_MISSING) from None
        self._folder.mkdir(parents=True, exist_ok=True)
        # Constructed, not read: Chroma would take other servers from a folder's .env and from CHROMA_* variables.
        own = Settings.model_construct(anonymized_telemetry=False)
        return chromadb.PersistentClient(path=self._folder, settings=own)

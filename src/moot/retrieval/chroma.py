"""ChromaDB as the store of vectors, for those who have one: `moot[chroma]`.

The vectors are moot's; Chroma's own embedder, which would be downloaded, and its telemetry stay off.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from moot.errors import InvalidInput
from moot.retrieval.embed import Vectors
from moot.retrieval.retriever import Origin

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

COLLECTION = "moot"
_MISSING = "ChromaDB is not installed: pip install 'moot[chroma]', or use the built-in store"
_DOCUMENTS_PER_CALL = 1000


class ChromaStore:
    """A collection in a folder; it tells of which embedder and documents it was made only when it is whole."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, origin: Origin) -> Vectors | None:
        client = self._client
        import numpy as np
        from chromadb.errors import NotFoundError

        try:
            collection = client.get_collection(COLLECTION, embedding_function=None)
            made_of = collection.metadata or {}
            if (made_of.get("embedder"), made_of.get("content")) != origin:
                return None
            stored = collection.get(include=["embeddings"])
        except NotFoundError:  # there is none, or another process has just replaced it
            return None
        order = np.argsort([int(number) for number in stored["ids"]])
        return np.array(stored["embeddings"], dtype=np.float32)[order]

    def save(self, vectors: Vectors, origin: Origin) -> None:
        from chromadb.errors import NotFoundError

        with suppress(NotFoundError):
            self._client.delete_collection(COLLECTION)
        collection = self._client.create_collection(
            COLLECTION, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )
        for at in range(0, len(vectors), _DOCUMENTS_PER_CALL):
            rows = vectors[at : at + _DOCUMENTS_PER_CALL]
            collection.add(ids=[str(at + row) for row in range(len(rows))], embeddings=rows)
        collection.modify(metadata=origin._asdict())

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

"""The store of vectors that comes with moot: one numpy array, kept in a file if a folder is given.

The file is a cache: when it is missing, damaged, of another embedder or of other documents, it is made anew.
"""

from __future__ import annotations

import asyncio
import io
import struct
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from moot.retrieval.embed import Embedder, Vectors
from moot.retrieval.retriever import Document, Hit, best, content_hash, embed_documents
from moot.text.files import write_whole

FILE = "index.npz"
_DAMAGE = (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error, struct.error)
"""All that reading a damaged .npz can end in."""


@dataclass(frozen=True, slots=True)
class _Index:
    documents: tuple[Document, ...]
    vectors: Vectors

    def hits(self, query: Vectors) -> list[Hit]:
        scores = self.vectors @ query
        return [Hit(document.id, float(score)) for document, score in zip(self.documents, scores, strict=True)]


class BuiltinRetriever:
    """Compares a query with every document; without a folder it keeps them in memory only."""

    def __init__(self, embedder: Embedder, folder: Path | None = None) -> None:
        self._embedder = embedder
        self._file = folder / FILE if folder else None
        self._index: _Index | None = None
        self._indexing = asyncio.Lock()

    async def index(self, documents: Sequence[Document]) -> None:
        wanted = tuple(documents)
        async with self._indexing:
            if self._index and self._index.documents == wanted:
                return
            stored = await asyncio.to_thread(_load, self._file, self._embedder.name, wanted) if self._file else None
            self._index = stored or await self._build(wanted)

    async def search(self, query: str, top_k: int) -> tuple[Hit, ...]:
        if top_k < 1 or not query.strip():
            return ()
        async with self._indexing:
            if not self._index or not self._index.documents:
                return ()
            (vector,) = await self._embedder.embed([query], "query")
            if self._index.vectors.shape[1] != len(vector):  # another model now goes by the embedder's name
                self._index = await self._build(self._index.documents)
            return best(self._index.hits(vector), top_k)

    async def _build(self, documents: tuple[Document, ...]) -> _Index:
        index = _Index(documents, await embed_documents(self._embedder, documents))
        if self._file:
            with suppress(OSError):  # a full disk or a folder that cannot be written costs time at the next start
                await asyncio.to_thread(_save, self._file, self._embedder.name, index)
        return index


def _save(file: Path, embedder: str, index: _Index) -> None:
    import numpy as np

    data = io.BytesIO()
    np.savez(data, embedder=embedder, content=content_hash(index.documents), vectors=index.vectors)
    write_whole(file, data.getvalue())


def _load(file: Path, embedder: str, documents: tuple[Document, ...]) -> _Index | None:
    """What the file holds, if it is whole and was made by this embedder of these documents."""
    import numpy as np

    try:
        with zipfile.ZipFile(file) as archive:
            if archive.testzip():  # before numpy believes a damaged header and asks for that much memory
                return None
        with np.load(file, allow_pickle=False) as stored:
            vectors = np.asarray(stored["vectors"], dtype=np.float32)
            made_of = (str(stored["embedder"]), str(stored["content"]))
    except _DAMAGE:
        return None
    usable = vectors.ndim == 2 and len(vectors) == len(documents) and np.isfinite(vectors).all()
    return _Index(documents, vectors) if usable and made_of == (embedder, content_hash(documents)) else None

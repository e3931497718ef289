"""The store of vectors that comes with moot: one numpy array, kept in a file if a folder is given.

The file is a cache: when it is missing, damaged, of another embedder or of other documents, it is made anew.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from moot.retrieval.embed import Vectors
from moot.retrieval.retriever import Document, Hit, Origin
from moot.text.files import write_whole

FILE = "index.npz"
_DAMAGE = (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error, struct.error)
"""All that reading a damaged .npz can end in."""


@dataclass(frozen=True, slots=True)
class _Index:
    documents: tuple[Document, ...]
    vectors: Vectors

    def takes(self, dimension: int) -> bool:
        return bool(self.vectors.shape[1] == dimension)

    def hits(self, query: Vectors, top_k: int) -> list[Hit]:
        scores = self.vectors @ query
        return [Hit(document.id, float(score)) for document, score in zip(self.documents, scores, strict=True)]


class BuiltinStore:
    """Compares a query with every document; without a folder it keeps them in memory only."""

    def __init__(self, folder: Path | None = None) -> None:
        self._file = folder / FILE if folder else None

    def find(self, documents: tuple[Document, ...], origin: Origin) -> _Index | None:
        return _load(self._file, documents, origin) if self._file else None

    def fill(self, documents: tuple[Document, ...], vectors: Vectors, origin: Origin) -> _Index:
        import numpy as np

        if self._file:
            data = io.BytesIO()
            np.savez(data, embedder=origin.embedder, content=origin.content, vectors=vectors)
            with suppress(OSError):  # a full disk or a folder that cannot be written costs time at the next start
                write_whole(self._file, data.getvalue())
        return _Index(documents, vectors)


def _load(file: Path, documents: tuple[Document, ...], origin: Origin) -> _Index | None:
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
    return _Index(documents, vectors) if usable and made_of == origin else None

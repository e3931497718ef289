"""The store of vectors that comes with moot: one numpy array, kept in a file if a folder is given.

The file is a cache: when it is missing, damaged, of another embedder or of other documents, it is made anew.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path

from moot.retrieval.embed import Vectors
from moot.retrieval.retriever import Origin
from moot.text.files import write_whole

FILE = "index.npz"
_DAMAGE = (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error, struct.error)
"""All that reading a damaged .npz can end in."""


class BuiltinStore:
    """Without a folder it keeps nothing."""

    def __init__(self, folder: Path | None = None) -> None:
        self._file = folder / FILE if folder else None

    def load(self, origin: Origin) -> Vectors | None:
        import numpy as np

        if self._file is None:
            return None
        try:
            with zipfile.ZipFile(self._file) as archive:
                if archive.testzip():  # before numpy believes a damaged header and asks for that much memory
                    return None
            with np.load(self._file, allow_pickle=False) as stored:
                vectors = np.asarray(stored["vectors"], dtype=np.float32)
                made_of = (str(stored["embedder"]), str(stored["content"]))
        except _DAMAGE:
            return None
        return vectors if vectors.ndim == 2 and np.isfinite(vectors).all() and made_of == origin else None

    def save(self, vectors: Vectors, origin: Origin) -> None:
        import numpy as np

        if self._file is None:
            return
        data = io.BytesIO()
        np.savez(data, embedder=origin.embedder, content=origin.content, vectors=vectors)
        with suppress(OSError):  # a full disk or a folder that cannot be written costs time at the next start
            write_whole(self._file, data.getvalue())

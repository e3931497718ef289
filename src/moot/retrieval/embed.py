"""Texts to vectors: the port, the embedder that comes with moot, and Ollama's.

Importing this loads neither numpy nor a model; the first text to embed does.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import orjson

from moot.errors import BadReply
from moot.retrieval.tokens import Tokenizer
from moot.text.language import seems_english

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

Vectors: TypeAlias = "NDArray[np.float32]"
Purpose = Literal["document", "query"]

OLLAMA_MODEL = "nomic-embed-text"
_PREFIXES: dict[Purpose, str] = {"document": "search_document: ", "query": "search_query: "}
_TEXTS_PER_CALL = 32
_WEIGHTS = Path(__file__).parent / "wordllama"
_TOKENS_AT_ONCE = 4096


class EmbeddingClient(Protocol):
    async def embed(self, model: str, texts: Sequence[str]) -> list[list[float]]: ...


class Embedder(Protocol):
    @property
    def name(self) -> str:
        """Vectors under one name can be compared: `wordllama:l2_256`, `ollama:nomic-embed-text`."""
        ...

    @property
    def floor(self) -> float:
        """When the best scores less, nothing suits the question; what scores less than half of it never does."""
        ...

    def reads(self, text: str) -> bool:
        """Whether it was made for the language of a text; what it finds for another is noise."""
        ...

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """One row of length 1 for each text; a text without a word is all zeros."""
        ...


class WordLlamaEmbedder:
    """WordLlama's vectors, computed in this process; what it needs is loaded once, when first used."""

    name = "wordllama:l2_256"
    floor = 0.26
    """Chosen by tests/retrieval/queries.yaml and development.yaml."""

    def __init__(self) -> None:
        self._model: _WordLlama | None = None
        self._loading = threading.Lock()

    def reads(self, text: str) -> bool:
        return seems_english(text)

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        return await asyncio.to_thread(self._embed, [_encodable(text) for text in texts])

    def _embed(self, texts: list[str]) -> Vectors:
        with self._loading:
            self._model = self._model or _WordLlama()
        return unit_rows([self._model.mean(text) for text in texts])


class _WordLlama:
    """A vector for each token; that of a text is their mean."""

    def __init__(self) -> None:
        import numpy as np

        self._tokenizer = Tokenizer(orjson.loads((_WEIGHTS / "pieces.json").read_bytes()))
        self._weights: NDArray[np.float16] = np.load(_WEIGHTS / "weights.npy", mmap_mode="r")

    def mean(self, text: str) -> Vectors:
        import numpy as np

        ids = self._tokenizer.ids(text)
        total = np.zeros(self._weights.shape[1], dtype=np.float32)
        for at in range(0, len(ids), _TOKENS_AT_ONCE):  # a long text is never in memory as vectors
            total += self._weights[ids[at : at + _TOKENS_AT_ONCE]].sum(axis=0, dtype=np.float32)
        return total / np.float32(max(1, len(ids)))


class OllamaEmbedder:
    """A model of an Ollama server; the prefixes are what nomic-embed-text was trained with."""

    floor = 0.0
    """Each model has a scale of its own."""

    def __init__(self, client: EmbeddingClient, model: str = OLLAMA_MODEL) -> None:
        self._client = client
        self._model = model

    @property
    def name(self) -> str:
        return f"ollama:{self._model}"

    def reads(self, text: str) -> bool:
        return True

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        prefixed = [_PREFIXES[purpose] + _encodable(text) for text in texts]
        rows: list[list[float]] = []
        for at in range(0, len(prefixed), _TEXTS_PER_CALL):
            rows += await self._client.embed(self._model, prefixed[at : at + _TEXTS_PER_CALL])
        self._check(rows, len(texts))
        return unit_rows(rows)

    def _check(self, rows: list[list[float]], expected: int) -> None:
        if len(rows) != expected:
            raise BadReply(f"{self.name} embedded {len(rows)} of {expected} texts")
        if len(sizes := sorted({len(row) for row in rows})) > 1:
            raise BadReply(f"{self.name} gave vectors of different sizes: {', '.join(map(str, sizes))}")
        if sizes == [0]:
            raise BadReply(f"{self.name} gave vectors without a number")


def unit_rows(rows: ArrayLike) -> Vectors:
    """Scale each row to length 1; what is not a number counts as nothing."""
    import numpy as np

    vectors = np.nan_to_num(np.asarray(rows, dtype=np.float64), posinf=0, neginf=0)
    if vectors.size == 0:
        return np.zeros((len(vectors), 0), dtype=np.float32)
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0)
    vectors = vectors / np.where(largest == 0, 1, largest)  # first, so that no square overflows or vanishes
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths == 0, 1, lengths)).astype(np.float32)


def _encodable(text: str) -> str:
    """Half of a surrogate pair, which neither a tokenizer nor JSON takes, becomes a question mark."""
    return text.encode("utf-8", "replace").decode()

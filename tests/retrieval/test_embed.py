from __future__ import annotations

import logging
import subprocess
import sys

import numpy as np
import pytest
from embedding_server import EmbeddingServer
from hypothesis import given
from hypothesis import strategies as st

from moot.errors import BadReply
from moot.retrieval.embed import WordLlamaEmbedder, unit_rows

ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(st.lists(ANY_FLOAT, min_size=3, max_size=3), max_size=5))
def test_rows_have_length_1_or_0_whatever_the_numbers_are(rows: list[list[float]]) -> None:
    lengths = np.linalg.norm(unit_rows(rows), axis=1)
    assert len(lengths) == len(rows)
    assert all(length == pytest.approx(1, abs=1e-5) or length == 0 for length in lengths)


async def test_wordllama_puts_like_meanings_side_by_side_without_a_network(wordllama: WordLlamaEmbedder) -> None:
    cat, kitten, tax = await wordllama.embed(["a cat on the sofa", "a kitten sleeps", "corporate tax law"], "document")
    assert wordllama.name == "wordllama:l2_256"
    assert (cat.dtype, cat.shape) == (np.float32, (256,))
    assert cat @ kitten > cat @ tax


async def test_wordllama_takes_any_text(wordllama: WordLlamaEmbedder) -> None:
    vectors = await wordllama.embed(["", "half \ud800 a pair", "long " * 50_000, "\0"], "query")
    assert [round(float(np.linalg.norm(vector)), 4) for vector in vectors][:3] == [0, 1, 1]
    assert np.isfinite(vectors).all()
    assert (await wordllama.embed([], "query")).shape[0] == 0


async def test_a_text_has_the_same_vector_whatever_is_embedded_beside_it(wordllama: WordLlamaEmbedder) -> None:
    (alone,) = await wordllama.embed(["short"], "document")
    _, beside = await wordllama.embed(["much longer " * 200, "short"], "document")
    np.testing.assert_allclose(alone, beside, atol=1e-6)


def test_importing_retrieval_loads_no_numpy_and_using_it_leaves_logging_alone() -> None:
    script = """
import asyncio, logging, sys
import moot.retrieval.builtin, moot.retrieval.chroma, moot.sources.passages, moot.retrieval.templates
from moot.retrieval.embed import WordLlamaEmbedder
print([name for name in ("numpy", "chromadb", "yaml") if name in sys.modules])
asyncio.run(WordLlamaEmbedder().embed(["x"], "query"))
print(logging.root.handlers, logging.root.level)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["[]", f"[] {logging.WARNING}"]


async def test_ollama_is_told_whether_a_text_is_a_document_or_a_query(ollama: EmbeddingServer) -> None:
    documents = await ollama.embedder.embed(["one", "two words"], "document")
    await ollama.embedder.embed(["one"], "query")
    assert ollama.embedder.name == "ollama:nomic-embed-text"
    assert [request["input"] for request in ollama.requests] == [
        ["search_document: one", "search_document: two words"],
        ["search_query: one"],
    ]
    np.testing.assert_allclose(np.linalg.norm(documents, axis=1), [1, 1], atol=1e-6)


async def test_ollama_gets_many_texts_in_several_calls_and_their_order_is_kept(ollama: EmbeddingServer) -> None:
    texts = [f"text {number}" for number in range(70)]
    vectors = await ollama.embedder.embed(texts, "document")
    assert [len(request["input"]) for request in ollama.requests] == [32, 32, 6]
    for at in (0, 33, 69):
        (alone,) = await ollama.embedder.embed([texts[at]], "document")
        np.testing.assert_allclose(vectors[at], alone, atol=1e-6)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"embeddings": [[1, 2]]}, "ollama:nomic-embed-text embedded 1 of 2 texts"),
        ({"embeddings": [[1, 2], [1]]}, "ollama:nomic-embed-text gave vectors of different sizes: 1, 2"),
        ({"embeddings": [[], []]}, "ollama:nomic-embed-text gave vectors without a number"),
    ],
)
async def test_an_answer_that_does_not_fit_is_said(ollama: EmbeddingServer, answer: object, message: str) -> None:
    ollama.answer = answer
    with pytest.raises(BadReply) as raised:
        await ollama.embedder.embed(["a", "b"], "document")
    assert str(raised.value) == message

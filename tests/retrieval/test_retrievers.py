"""One contract for all stores with all embedders, then what each store promises beyond it."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from embedding_server import EmbeddingServer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moot.errors import BadReply
from moot.retrieval.builtin import FILE, BuiltinStore
from moot.retrieval.chroma import COLLECTION, ChromaStore
from moot.retrieval.embed import Embedder, Purpose, Vectors, WordLlamaEmbedder
from moot.retrieval.retriever import Document, Hit, Retriever, best, content_hash

Store = Callable[[Embedder, Path], Retriever]

ANIMALS = (
    Document("cats", "cats are small animals that purr and hunt mice"),
    Document("tax", "a tax is money that citizens pay to the state"),
    Document("kittens", "kittens are young felines that play with wool"),
    Document("stars", "stars are far away suns that shine at night"),
)
needs_chroma = pytest.mark.skipif(not importlib.util.find_spec("chromadb"), reason="chromadb is not installed")


class Counted:
    """Another embedder, with the texts that it was asked to embed as documents."""

    def __init__(self, embedder: Embedder, name: str | None = None) -> None:
        self._embedder = embedder
        self.name = name or embedder.name
        self.embedded: list[str] = []

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        if purpose == "document":
            self.embedded += texts
        return await self._embedder.embed(texts, purpose)

    def take(self) -> list[str]:
        texts, self.embedded = self.embedded, []
        return texts


@pytest.fixture(params=[BuiltinStore, pytest.param(ChromaStore, marks=needs_chroma)])
def store(request: pytest.FixtureRequest) -> Store:
    return lambda embedder, folder: Retriever(embedder, request.param(folder))


@pytest.fixture(params=["wordllama", "ollama"])
def embedder(request: pytest.FixtureRequest, wordllama: WordLlamaEmbedder, ollama: EmbeddingServer) -> Counted:
    return Counted(wordllama if request.param == "wordllama" else ollama.embedder)


TEXTS = [document.text for document in ANIMALS]


async def test_the_closest_come_first(store: Store, embedder: Counted, tmp_path: Path) -> None:
    retriever = store(embedder, tmp_path)
    await retriever.index(ANIMALS)
    hits = await retriever.search("young felines that play with wool", 3)
    assert (hits[0].id, len(hits)) == ("kittens", 3)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    (exact,) = await retriever.search(ANIMALS[1].text, 1)
    assert (exact.id, exact.score > 0.9) == ("tax", True)


async def test_documents_are_embedded_only_when_they_or_the_embedder_change(
    store: Store, embedder: Counted, tmp_path: Path
) -> None:
    retriever = store(embedder, tmp_path)
    await asyncio.gather(retriever.index(ANIMALS), retriever.index(ANIMALS))
    assert embedder.take() == TEXTS
    again = store(embedder, tmp_path)
    await again.index(ANIMALS)
    assert (await again.search("money that citizens pay", 1))[0].id == "tax"
    assert embedder.take() == []
    await again.index(ANIMALS[:3])
    assert embedder.take() == TEXTS[:3]
    assert {hit.id for hit in await again.search("stars at night", 9)} == {"cats", "tax", "kittens"}
    renamed = Counted(embedder, "another:one")
    await store(renamed, tmp_path).index(ANIMALS[:3])
    assert renamed.take() == TEXTS[:3]


async def test_there_is_nothing_to_find_without_documents_or_words(
    store: Store, embedder: Counted, tmp_path: Path
) -> None:
    retriever = store(embedder, tmp_path)
    assert await retriever.search("cats", 3) == ()
    await retriever.index([])
    assert await retriever.search("cats", 3) == ()
    await retriever.index(ANIMALS)
    assert await retriever.search(" \n", 3) == ()
    assert await retriever.search("cats", 0) == ()


async def test_a_model_of_another_size_under_the_same_name_gets_a_new_index(
    store: Store, ollama: EmbeddingServer, tmp_path: Path
) -> None:
    await store(ollama.embedder, tmp_path).index(ANIMALS)
    ollama.dimension = 300
    embedder = Counted(ollama.embedder)
    retriever = store(embedder, tmp_path)
    await retriever.index(ANIMALS)
    assert embedder.take() == []
    assert (await retriever.search("money that citizens pay", 1))[0].id == "tax"
    assert embedder.take() == TEXTS


async def test_an_index_that_could_not_be_replaced_stays(store: Store, ollama: EmbeddingServer, tmp_path: Path) -> None:
    retriever = store(ollama.embedder, tmp_path)
    await retriever.index(ANIMALS)
    ollama.answer = {"embeddings": []}
    with pytest.raises(BadReply, match="embedded 0 of 2 texts"):
        await retriever.index(ANIMALS[:2])
    ollama.answer = None
    assert (await retriever.search("stars shine at night", 1))[0].id == "stars"


def test_hits_with_equal_scores_stand_in_the_order_of_ids() -> None:
    hits = [Hit("c", 0.5), Hit("b", 0.5), Hit("d", 0.1), Hit("a", 0.9)]
    assert best(hits, 3) == (Hit("a", 0.9), Hit("b", 0.5), Hit("c", 0.5))


def test_documents_that_read_alike_when_put_together_have_different_hashes() -> None:
    pairs = [("a", "bc"), ("ab", "c"), ("a\0", "bc"), ("", "abc"), ("a", "b\ud800")]
    assert len({content_hash([Document(*pair)]) for pair in pairs}) == len(pairs)


async def test_the_built_in_store_works_in_memory(ollama: EmbeddingServer) -> None:
    retriever = Retriever(ollama.embedder, BuiltinStore())
    await retriever.index(ANIMALS)
    assert (await retriever.search("stars shine at night", 1))[0].id == "stars"


async def test_the_built_in_store_keeps_one_file_and_nothing_else(ollama: EmbeddingServer, tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there"
    retriever = Retriever(ollama.embedder, BuiltinStore(folder))
    for documents in (ANIMALS, ANIMALS[:2], ANIMALS):
        await retriever.index(documents)
    assert [path.name for path in folder.iterdir()] == [FILE]


async def test_the_built_in_store_works_where_it_cannot_write(ollama: EmbeddingServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way of a folder")
    retriever = Retriever(ollama.embedder, BuiltinStore(tmp_path / "file"))
    await retriever.index(ANIMALS)
    assert (await retriever.search("stars shine at night", 1))[0].id == "stars"


class Axes:
    """Embeds a text as the axis of its length, so that an index is quick to make."""

    name = "axes"

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        import numpy as np

        return np.eye(8, dtype=np.float32)[[len(text) % 8 for text in texts]]


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
def test_a_damaged_file_is_made_anew(tmp_path: Path, data: st.DataObject) -> None:
    documents = [Document("one", "x"), Document("two", "xx"), Document("three", "xxx")]
    file = tmp_path / FILE
    file.unlink(missing_ok=True)
    asyncio.run(Retriever(Axes(), BuiltinStore(tmp_path)).index(documents))
    whole = file.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    damage = data.draw(st.sampled_from([b"", whole[at : at + 1] * 2, b"\xff", b"\0", bytes([whole[at] ^ 1])]))
    file.write_bytes(whole[:at] + damage + whole[at + 1 :] if data.draw(st.booleans()) else whole[:at])

    async def search() -> tuple[Hit, ...]:
        retriever = Retriever(Axes(), BuiltinStore(tmp_path))
        await retriever.index(documents)
        return await retriever.search("yy", 1)

    assert asyncio.run(search()) == (Hit("two", 1.0),)


@needs_chroma
async def test_a_collection_that_was_left_half_filled_is_made_anew(ollama: EmbeddingServer, tmp_path: Path) -> None:
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(path=tmp_path, settings=Settings(anonymized_telemetry=False))
    client.create_collection(COLLECTION, embedding_function=None).add(ids=["0"], embeddings=[[1.0] * 512])
    retriever = Retriever(ollama.embedder, ChromaStore(tmp_path))
    await retriever.index(ANIMALS)
    assert (await retriever.search("stars shine at night", 1))[0].id == "stars"
    assert ollama.texts("search_document: ") == TEXTS


@needs_chroma
async def test_neither_a_folder_s_env_file_nor_variables_send_chroma_elsewhere(
    ollama: EmbeddingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    elsewhere = {"CHROMA_API_IMPL": "chromadb.api.fastapi.FastAPI", "CHROMA_SERVER_HOST": "127.0.0.1"}
    (tmp_path / ".env").write_text("".join(f"{name}={value}\n" for name, value in elsewhere.items()))
    for attempt in ("file", "variables"):
        retriever = Retriever(ollama.embedder, ChromaStore(tmp_path / attempt))
        await retriever.index(ANIMALS)
        assert (await retriever.search("stars shine at night", 1))[0].id == "stars"
        (tmp_path / ".env").unlink(missing_ok=True)
        for name, value in elsewhere.items():
            monkeypatch.setenv(name, value)


@needs_chroma
async def test_a_collection_that_another_process_replaced_is_made_anew(ollama: EmbeddingServer, tmp_path: Path) -> None:
    ours, theirs = (Retriever(ollama.embedder, ChromaStore(tmp_path)) for _ in range(2))
    await ours.index(ANIMALS)
    await theirs.index([Document("planets", "planets turn around stars")])
    assert (await ours.search("stars shine at night", 1))[0].id == "stars"
    assert (await theirs.search("stars shine at night", 1))[0].id == "planets"


def test_without_chromadb_the_error_says_how_to_get_it(tmp_path: Path) -> None:
    script = """
import asyncio, sys
from pathlib import Path
sys.modules["chromadb"] = None  # what an import finds when it is not installed
from moot.errors import InvalidInput
from moot.retrieval.chroma import ChromaStore
from moot.retrieval.embed import WordLlamaEmbedder
from moot.retrieval.retriever import Retriever
try:
    asyncio.run(Retriever(WordLlamaEmbedder(), ChromaStore(Path(sys.argv[1]))).index([]))
except InvalidInput as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True)
    assert run.stdout == "ChromaDB is not installed: pip install 'moot[chroma]', or use the built-in store\n"

"""The built-in embedder's tokens; tokens.json holds what the `tokenizers` package makes of the same vocabulary."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import moot.retrieval
from moot.retrieval.tokens import SPACE, Tokenizer

PIECES = orjson.loads((Path(moot.retrieval.__file__).parent / "wordllama" / "pieces.json").read_bytes())
RECORDED = json.loads((Path(__file__).parent / "tokens.json").read_text())
TOKENIZER = Tokenizer(PIECES)


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: ascii(row["text"][:20]))
def test_a_text_has_the_tokens_that_its_vectors_were_made_for(row: dict[str, object]) -> None:
    assert TOKENIZER.ids(str(row["text"])) == row["ids"]


@given(st.text() | st.text("ab ▁é中"))
def test_no_character_of_any_text_is_lost(text: str) -> None:
    encodable = text.encode("utf-8", "replace").decode()
    spelled = b"".join(_spelled(PIECES[id]) for id in TOKENIZER.ids(encodable)).decode()
    assert spelled == (SPACE + encodable.replace(" ", SPACE) if encodable else "")


def test_long_texts_without_a_space_are_encoded_too() -> None:
    assert [len(TOKENIZER.ids(text)) for text in ("中文" * 20_000, "x" * 60_000)] == [40_001, 15_001]


def _spelled(piece: str) -> bytes:
    is_byte = len(piece) == 6 and piece.startswith("<0x")
    return bytes.fromhex(piece[3:5]) if is_byte else piece.encode()

"""No text, whoever wrote it, makes a check or an export slow out of proportion; bench/adversarial.py tries more."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adversarial import FUNCTIONS, TEXTS, superlinear
from moot.sources.quotes import check, check_all
from moot.sources.source import Source
from moot.text.plain import normalized

KINDS = (
    "combining marks",
    "two-word sentences",
    "a heading of spaces",
    "emphasis",
    "cited quotes",
    "ellipses",
    "hyphens",
    "letters without spaces",
)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_time_a_function_takes_grows_no_faster_than_its_text(name: str) -> None:
    found = {kind: superlinear(FUNCTIONS[name], TEXTS[kind], longest=16_000) for kind in KINDS}
    assert {kind: growth for kind, growth in found.items() if growth} == {}


@given(st.text(max_size=30))
def test_a_text_without_endless_marks_has_the_normal_form_of_unicode(text: str) -> None:
    assert normalized("NFC", text) == unicodedata.normalize("NFC", text)
    assert normalized("NFKD", text) == unicodedata.normalize("NFKD", text)


def test_of_many_quotes_that_are_not_found_only_the_first_are_looked_for_nearby() -> None:
    said = " ".join(f'"the survey of last fear found {number}" [S1]' for number in range(40))
    found = check_all(said, [Source(name="a", text="The survey of last year found 7 of 9 willing to wait.")])
    assert [quote.verdict for quote in found] == ["near"] * 24 + ["missing"] * 16


def test_a_quote_in_very_many_parts_is_found_word_for_word_or_not_at_all() -> None:
    text = "one is two or three, and four is five, seven is eight or nine, and ten is more: " * 10
    parts = ["one is two or three", "seven is eight or nine"] * 8
    assert check(" … ".join(parts), text).verdict == "verified"
    assert check(" … ".join([*parts, "seven is eight or mine"]), text).verdict == "missing"

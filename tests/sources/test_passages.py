from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.sources.passages import Passage, cut

TEXTS = st.text(st.sampled_from("ab. \n\t!”。é"), max_size=200) | st.text(max_size=100)


@given(TEXTS, st.integers(1, 40))
def test_passages_are_pieces_of_the_text_that_leave_out_only_white_space(text: str, size: int) -> None:
    passages = cut(text, size)
    end = 0
    for passage in passages:
        assert passage.text == text[passage.start : passage.start + len(passage.text)]
        assert 1 <= len(passage.text) <= size or "|" in passage.text
        assert not text[end : passage.start].strip()
        assert passage.start >= end
        end = passage.start + len(passage.text)
    assert not text[end:].strip()


@given(TEXTS.map(lambda text: text.replace("\f", "").replace("#", "").replace("|", "")), st.integers(1, 40))
def test_neighbours_share_a_passage_when_they_fit(text: str, size: int) -> None:
    passages = cut(text, size)
    for one, next in pairwise(passages):
        assert next.start + len(next.text) - one.start > size


def test_a_text_is_cut_between_paragraphs_first() -> None:
    text = "First of all.\n\nSecond one here.\n\nThird."
    assert cut(text, 25) == (Passage(0, "First of all."), Passage(15, "Second one here.\n\nThird."))


def test_a_long_paragraph_is_cut_between_sentences_and_quotes_stay_whole() -> None:
    text = 'He said "no." She left. Nobody 3.5 knew.'
    assert cut(text, 18) == (Passage(0, 'He said "no."'), Passage(14, "She left."), Passage(24, "Nobody 3.5 knew."))


def test_a_long_sentence_is_cut_between_words_and_a_long_word_anywhere() -> None:
    assert cut("one two abcdefgh", 5) == (Passage(0, "one"), Passage(4, "two"), Passage(8, "abcde"), Passage(13, "fgh"))


def test_a_chinese_text_without_spaces_is_cut_after_its_sentences() -> None:
    assert cut("猫喜欢鱼。狗喜欢肉。", 6) == (Passage(0, "猫喜欢鱼。"), Passage(5, "狗喜欢肉。"))


def test_a_text_without_a_word_has_no_passages() -> None:
    assert cut(" \n\n\t ") == ()


@pytest.mark.parametrize(
    "text", [" ", "\n", "\n ", ". ", "a", ".\"'", "a\n\n", "# a\n", "|a\n", "1.1 A\n", "\f", "```\n"]
)
def test_cutting_takes_time_in_proportion_to_the_text(text: str) -> None:
    began = time.process_time()
    cut(text * (400_000 // len(text)) + "x")
    assert time.process_time() - began < 4


# Sections, pages, tables

REPORT = """# Pool

## Visitors

It rained.

| Year | Guests |
| --- | --- |
| 2019 | 281,000 |
| 2020 | 90,000 |

## Staff
### Summer
Four.
```
# no heading
```
"""


def test_passages_end_with_their_section_and_know_its_headings() -> None:
    assert [(passage.headings, passage.text.splitlines()[0]) for passage in cut(REPORT)] == [
        (("Pool", "Visitors"), "# Pool"),
        (("Pool", "Staff", "Summer"), "## Staff"),
    ]


def test_a_table_stays_whole_however_small_passages_are_and_takes_its_announcement_along() -> None:
    (table,) = (passage for passage in cut(REPORT, 40) if "|" in passage.text)
    assert table.text == REPORT[: REPORT.index("\n\n## Staff")]


def test_a_very_long_table_is_cut_between_rows_and_every_part_has_its_head() -> None:
    head = "| Year | Guests |\n| --- | --- |\n"
    text = head + "".join(f"| {year} | {year * 7} |\n" for year in range(1, 1000))
    passages = cut(text)
    assert all(passage.whole.startswith(head) for passage in passages)
    assert "".join(f"{passage.text}\n" for passage in passages) == text


def test_a_passage_ends_with_its_page_and_knows_its_number() -> None:
    assert cut("One.\n\f\n2.1 Pipes\nTwo.\n\f\n\f\nFour.") == (
        Passage(0, "One.", page=1),
        Passage(7, "2.1 Pipes\nTwo.", ("2.1 Pipes",), page=2),
        Passage(26, "Four.", ("2.1 Pipes",), page=4),
    )

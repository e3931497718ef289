from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.retrieval.embed import WordLlamaEmbedder
from moot.retrieval.passages import Passage, cut, relevant

TEXTS = st.text(st.sampled_from("ab. \n\t!”。é"), max_size=200) | st.text(max_size=100)


@given(TEXTS, st.integers(1, 40))
def test_passages_are_pieces_of_the_text_that_leave_out_only_white_space(text: str, size: int) -> None:
    passages = cut(text, size)
    end = 0
    for passage in passages:
        assert passage.text == text[passage.start : passage.start + len(passage.text)]
        assert 1 <= len(passage.text) <= size
        assert not text[end : passage.start].strip()
        assert passage.start >= end
        end = passage.start + len(passage.text)
    assert not text[end:].strip()


@given(TEXTS, st.integers(1, 40))
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


@pytest.mark.parametrize("text", [" ", "\n", "\n ", ". ", "a", ".\"'", "a\n\n"])
def test_cutting_takes_time_in_proportion_to_the_text(text: str) -> None:
    began = time.process_time()
    cut(text * (400_000 // len(text)) + "x")
    assert time.process_time() - began < 4


async def test_the_relevant_passages_stand_in_the_order_of_the_text(wordllama: WordLlamaEmbedder) -> None:
    cats, taxes, stars, kittens = passages = (
        Passage(0, "Cats sleep for most of the day and hunt at night."),
        Passage(60, "The income tax was raised in spring."),
        Passage(99, "A star is born in a cloud of gas."),
        Passage(140, "Kittens are the young of cats and learn to hunt by playing."),
    )
    assert await relevant(wordllama, passages, "how do young cats learn hunting", 2) == (cats, kittens)
    assert await relevant(wordllama, passages, "astronomy of stars and gas", 1) == (stars,)
    assert await relevant(wordllama, passages, "anything", 9) == (cats, taxes, stars, kittens)
    assert await relevant(wordllama, (), "anything", 3) == ()
    assert await relevant(wordllama, passages, "anything", 0) == ()

"""How much of an argument was said before."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.trust.novelty import REPEATS, STALE, SpokenBefore, repetition

QUESTION = "Should we use Redis or PostgreSQL for caching?"
ARGUMENT = (
    "Redis keeps the working set in memory, so a cache read costs a fraction of a millisecond. PostgreSQL must go "
    "through its buffer manager and the planner, even for a lookup by primary key. Under load the difference "
    "decides whether the p99 stays below our promise of fifty milliseconds. Expiry is built in: a key carries its "
    "own time to live, and nobody writes a cleanup job. We accept one more process to run, because the latency "
    "budget leaves no other choice."
)
NEAR_VERBATIM = (
    "Redis keeps the whole working set in memory, so a cache read costs just a fraction of a millisecond. "
    "PostgreSQL has to go through its buffer manager and the planner, even for a lookup by primary key. Under load "
    "this difference decides whether the p99 stays below our promise of fifty milliseconds. Expiry is built in: a "
    "key carries its own time to live, and no one writes a cleanup job. We accept one more process to run, as the "
    "latency budget leaves no other choice."
)
PARAPHRASE = (
    "An in-memory store answers nearly at once. A relational database was never designed for throwaway values and "
    "pays for guarantees nobody asked for. When traffic peaks, slow lookups pile up and customers notice. Stale "
    "entries vanish on their own. Running a second daemon is a price worth paying."
)
OPPONENT = (
    "Every additional daemon must be patched, monitored and restored at three in the morning. Our team has run "
    "PostgreSQL for six years and knows its failure modes by heart. An unlogged table answers in under two "
    "milliseconds, which is well within the promise. Fewer moving parts mean fewer incidents, and incidents cost "
    "more than milliseconds."
)


@pytest.mark.parametrize(
    ("text", "share"),
    [(ARGUMENT, 1.0), (NEAR_VERBATIM, 1.0), (PARAPHRASE, 0.0), (OPPONENT, 0.0), ("", 0.0), ("?!", 0.0)],
)
def test_a_copy_repeats_and_a_paraphrase_or_another_argument_does_not(text: str, share: float) -> None:
    assert repetition(text, ARGUMENT) == share


@pytest.mark.parametrize(
    ("text", "previous", "share"),
    [
        ("One two three four. Five six seven, eight nine ten.", "One two three four!", 0.4),
        ("One two three four, five six seven eight.", "One two three four. Five six seven eight.", 1.0),
        ("One two three. Four five six.", "One two three four five six.", 1.0),
        ("It is fast, and yet we lost a day's orders when the machine was restarted in May.", "It is fast.", 0.0),
        ("今日は良い。明日は雨。", "今日は良い。", 5 / 9),
    ],
)
def test_sentences_are_weighed_by_their_words_however_they_are_cut(text: str, previous: str, share: float) -> None:
    assert repetition(text, previous) == share


def test_more_than_half_of_an_argument_must_be_old_before_it_repeats() -> None:
    assert repetition(f"{ARGUMENT} {OPPONENT}", ARGUMENT) == pytest.approx(0.6, abs=0.05)
    assert repetition(f"{ARGUMENT} {OPPONENT} {PARAPHRASE}", ARGUMENT) < REPEATS


def novelty(text: str, said: list[str], question: str) -> float:
    before = SpokenBefore(question)
    before.add_round(said)
    return before.novelty(text, 2)


@pytest.mark.parametrize(
    ("text", "said", "new"),
    [
        ("one two three four", [], 1.0),
        ("one two three four", ["one two three four"], 0.0),
        ("One, two: THREE four!", ["so one two three", "two three four and"], 0.0),
        ("one two three four", ["one two three five"], 0.5),
        ("one two", ["one two three"], 1.0),
        ("", [], 0.0),
        ("Should we use Redis?", [], 0.0),
        ('one two three "as was said before" four', ["one two three four"], 0.0),
        ("one two three “as was said before” four «and here again»", ["one two three four"], 0.0),
        ("one Redis two caching three or four", ["one two three four"], 0.0),
    ],
)
def test_new_is_the_share_of_word_triples_without_quotes_and_the_question_s_words(
    text: str, said: list[str], new: float
) -> None:
    assert novelty(text, said, QUESTION) == new


def test_a_near_copy_is_stale_and_another_argument_is_new() -> None:
    assert novelty(NEAR_VERBATIM, [OPPONENT, ARGUMENT], QUESTION) < STALE
    assert novelty(PARAPHRASE, [OPPONENT, ARGUMENT], QUESTION) > 0.95
    assert novelty(OPPONENT, [ARGUMENT, PARAPHRASE], QUESTION) > 0.95


@given(st.text(), st.text())
def test_both_are_shares_and_what_was_said_already_is_never_new(text: str, other: str) -> None:
    assert 0 <= repetition(text, other) <= 1
    assert 0 <= novelty(text, [other], other) <= 1
    assert repetition(text, "") == 0
    assert novelty(text, [other, text], other) == 0


@given(st.text(alphabet="ab .!\n", max_size=80))
def test_a_text_repeats_itself_in_full(text: str) -> None:
    assert repetition(text, text) == float("a" in text or "b" in text)


def test_six_hundred_words_take_milliseconds() -> None:
    text = " ".join(f"Word{n} is {n} thing{n % 7} and some more of it." for n in range(67))
    previous = " ".join(f"Other{n} was {n} thing{n % 5} or fewer of that kind." for n in range(60))
    assert len(text.split()) == 603
    before = time.process_time()  # which other programs do not lengthen
    assert repetition(text, previous) == 0
    assert time.process_time() - before < 0.5


def test_what_later_rounds_say_makes_no_earlier_one_less_new() -> None:
    said = SpokenBefore(QUESTION)
    for text in (OPPONENT, ARGUMENT, ARGUMENT):
        said.add_round([text])
    assert [said.novelty(ARGUMENT, round) for round in (1, 2, 3)] == [1, 1, 0]

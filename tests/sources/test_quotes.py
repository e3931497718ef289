"""Quotes: what a text cites, and whether the words stand in the source."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from moot.sources.citations import Citation
from moot.sources.quotes import Checked, Match, check, check_all, cited, contains, words
from moot.sources.source import Source, tags
from quote_attacks import ATTACKS, NOT_TOLD
from quote_cases import HAND, Score, checked, of_debates

SOURCE = """\
# Report
The system is not safe to use. It’s a well-
known pro-
blem — “eﬃcient” caching costs 10–20 % of 10² hits (p < 0.05), at -5 °C.
> Quoted line one
> and **line two** goes on.
After that the team moved everything it had to another data centre in the north, which took three months and a half.
"""
WORDS = [f"word{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]


# What a text cites


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ('It says "one two three" [S1].', "one two three"),
        ('It says "one two three." (S1)', "one two three."),
        ('It says "one two three", [s1: page 4]', "one two three"),
        ('**"one two three"** [S1, p. 4]', "one two three"),
        ("“one two three” — [S1]", "one two three"),
        ("„eins zwei drei“ [S1]", "eins zwei drei"),
        ("« un deux trois » (S1)", "un deux trois"),
        ("»eins zwei drei« [S1]", "eins zwei drei"),
        ('"one\n  two three"\n[S1]', "one two three"),
        ('"今日は良い" [S1]', "今日は良い"),
        ('a "quote never closed and "one two three" [S1]', "one two three"),
        ("a “quote never closed and “one two three” [S1]", "one two three"),
        ('"she said "stop" and left us" [S1]', 'she said "stop" and left us'),
        ("“she said “stop” and left us” [S1]", "she said “stop” and left us"),
        ('"a 5" disk and more" [S1]', 'a 5" disk and more'),
        ('" one two three " [S1]', "one two three"),
        ('"as Figure (S2) shows it" [S1]', "as Figure (S2) shows it"),
        ("'it isn't one of these' [S1]", "it isn't one of these"),
        ('"one two three", as said in [S1].', "one two three"),
        ('[S1]: "one two three"', "one two three"),
        ('As (S1) says: "one two three"', "one two three"),
        ("> one two three\n> four\n\n[S1]", "one two three four"),
    ],
)
def test_words_between_quotation_marks_with_a_tag_behind_or_before_them_are_cited(text: str, quote: str) -> None:
    assert tuple(cited(text)) == (Citation(quote, "S1"),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[S1]",
        '" [S1]',
        "one two three [S1]",
        'one two three" [S1]',
        '"two words" [S1]',
        '"one two three"',
        '"one two three" [S0]',
        '"one two three" [T1]',
        '"one two three" as is said there [S1]',
        f'"{"word " * 500}" [S1]',
    ],
)
def test_anything_else_is_no_citation(text: str) -> None:
    assert tuple(cited(text)) == ()


def test_each_quote_has_the_tag_that_follows_it() -> None:
    text = 'First "one two three" [S2], then “four five six” (S11), and "not this one", but "seven eight nine" [S1].'
    assert tuple(cited(text)) == (
        Citation("one two three", "S2"),
        Citation("four five six", "S11"),
        Citation("seven eight nine", "S1"),
    )


@pytest.mark.parametrize(
    "piece", ['"', '"a ', "“", '" [S1] ', '"a b c" [S1] ', "“a b c” [S1", "a- ", "> ", "...", "[S1"]
)
def test_a_huge_text_takes_no_longer_than_its_length_explains(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    before = time.process_time()
    tuple(cited(text))
    contains("a b c", text)
    assert time.process_time() - before < 30  # with the square of its length it would be hours


def test_a_tag_without_brackets_is_one_if_there_is_such_a_source_or_it_is_said_to_say_so() -> None:
    text = 'S1 says "one two three", "four five six", says S2, and in S3: "seven eight nine".'
    said = (Citation("one two three", "S1"), Citation("four five six", "S2"))
    assert tuple(cited(text)) == tuple(cited(text, {"S1", "S2"})) == said
    assert tuple(cited(text, {"S3"})) == (*said, Citation("seven eight nine", "S3"))


def test_what_a_source_itself_calls_so_is_a_name_unless_it_stands_in_brackets() -> None:
    sources = [Source(name="a", text="We keep files in S3, and nobody else does.")]
    assert check_all('S3 says "access is denied here".', sources) == ()
    assert check_all('S4 says "access is denied here".', sources) == (
        Checked("access is denied here", "S4", "no_source"),
    )
    assert check_all('S3 says "access is denied here" [S3].', sources) == (
        Checked("access is denied here", "S3", "no_source"),
    )


def test_a_quote_of_five_words_needs_no_tag_and_is_looked_for_in_every_source() -> None:
    sources = [Source(name="a", text="One two three four five."), Source(name="b", text="Six seven eight nine ten.")]
    text = (
        'It says "six seven eight nine ten", and "one two three fore five", "so much for all that", "we said all this".'
    )
    assert check_all(text, sources) == ()
    assert check_all(text, sources, said=["So much for all that! And that."]) == (
        Checked("six seven eight nine ten", "S2", "verified"),
        Checked("one two three fore five", "S1", "near", "One two three four five."),
    )
    assert check_all('"who would ever say such things"', sources, said=[]) == (
        Checked("who would ever say such things", "", "missing"),
    )


# Whether it stands there


@pytest.mark.parametrize(
    "quote",
    [
        "is not safe to use",
        "IS NOT SAFE – to use!",
        "It's a well-known problem",
        "a well‑known problem - 'efficient' caching",
        "costs 10-20% of 10² hits",
        "p < 0.05",
        "at −5 °C",
        "Quoted line one and line two goes on",
        "  moved\neverything  ",
        "The system is not safe … the team moved everything",
        "... the team moved [...] another data centre in the north . . .",
    ],
)
def test_a_quote_may_differ_in_case_punctuation_and_white_space(quote: str) -> None:
    assert check(quote, SOURCE) == Match("verified", None)
    assert contains(quote, SOURCE)


@pytest.mark.parametrize(
    ("quote", "passage"),
    [
        ("The system is now safe to use", "The system is not safe to use."),
        ("costs 1020 % of", "costs 10–20 % of"),
        ("of 102 hits", "of 10² hits"),
        ("p > 0.05", "(p < 0.05),"),
        ("at 5 °C. Quoted line one", "at -5 °C.\n> Quoted line one"),
        ("The system is … safe to use", "The system is not safe to use."),
        ("the team moved everything … The system is not safe", "the team moved everything … The system is not safe"),
        (
            "After that the team moved nearly everything it had to another data centre in the north, which took two"
            " months and a half",
            "After that the team moved everything it had to another data centre in the north, which took three months"
            " and a half.",
        ),
    ],
)
def test_what_comes_near_is_shown_as_the_source_has_it_and_never_verified(quote: str, passage: str) -> None:
    assert check(quote, SOURCE) == Match("near", passage)
    assert not contains(quote, SOURCE)


@pytest.mark.parametrize(
    "quote",
    [
        "",
        "…",
        "?!",
        "nobody ever wrote such a thing",
        "is … safe … use",
        "the team moved everything … nobody ever wrote such a thing",
        "nobody ever wrote such a thing " * 10,
        SOURCE * 2,
    ],
)
def test_what_is_like_nothing_in_the_source_is_missing(quote: str) -> None:
    assert check(quote, SOURCE) == Match("missing", None)
    assert not contains(quote, SOURCE)


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("costs 1850 euros", "It costs 1,850 euros."),
        ("costs 1.850 euros", "It costs 1,850 euros."),
        ("kostet 1850 Euro", "Das ist so: Es kostet 1.850 Euro, und das ist nicht viel."),
        ("dauert 3,125 Monate", "Das ist so: Es dauert 3,125 Monate, und das ist nicht viel."),
        ("2 x 1.5 GB", "That is (2 × 1.5 GB)."),
        ("ten times [as] fast", "It is ten times fast."),
        ("[It] is ten times fast", "This is ten times fast."),
        ("cells 120 164 in a row", "cells | 120 | 164 | in a row"),
    ],
)
def test_typography_makes_no_quote_false(quote: str, text: str) -> None:
    assert contains(quote, text)


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("takes 3125 ms", "It takes 3.125 ms, and this is not what we want."),
        ("dauert 3125 Monate", "Das ist so: Es dauert 3,125 Monate, und das ist nicht viel."),
        ("is [not] ten times fast", "It is ten times fast."),
        ("is [10] times fast", "It is times fast."),
    ],
)
def test_another_number_or_an_added_not_does(quote: str, text: str) -> None:
    assert not contains(quote, text)


def test_whether_an_ellipsis_hides_a_negation_is_told_in_languages_moot_has_a_file_for() -> None:
    german = "Das Becken ist heute nicht sicher für alle Badegäste, sagen die Leute."
    assert check("Das Becken ist heute … sicher für alle", german).verdict == "near"
    assert check("Das Becken ist … nicht sicher für alle", german).verdict == "verified"
    french = "Le bassin est loin de jamais être sans danger pour tous"
    assert check("le bassin est … sans danger pour tous", french) == Match("unclear", french)


def test_half_a_word_is_no_match() -> None:
    assert not contains("able to do it", "They are unable to do it.")
    assert not contains("It was not", "It was nothing.")


def test_nothing_stands_in_a_text_without_words() -> None:
    assert check("one two three", "?! …") == Match("missing", None)


@given(
    length=st.integers(3, 22),
    start=st.integers(0, 4),
    at=st.floats(0, 1, exclude_max=True),
    change=st.sampled_from(["replace", "insert", "delete"]),
    word=st.sampled_from(["not", "never", "wordz", "x"]),
)
def test_a_quote_with_one_word_changed_inserted_or_deleted_is_never_verified(
    length: int, start: int, at: float, change: str, word: str
) -> None:
    source = "Before it. " + ", ".join(WORDS[:-1]) + ". After it."
    quote = WORDS[start : min(start + length, len(WORDS) - 1)]
    assert check(" ".join(quote), source) == Match("verified", None)
    inner = 1 + int(at * (len(quote) - 2))  # without its first or last word a quote is shorter and still true
    changed = {
        "replace": [*quote[:inner], word, *quote[inner + 1 :]],
        "insert": [*quote[:inner], word, *quote[inner:]],
        "delete": [*quote[:inner], *quote[inner + 1 :]],
    }[change]
    assert check(" ".join(changed), source).verdict in {"near", "missing"}
    assert not contains(" ".join(changed), source)


@given(st.text(), st.text())
def test_any_text_can_be_checked_against_any_other(quote: str, text: str) -> None:
    found = check(quote, text)
    assert (found.verdict == "verified") == contains(quote, text)
    assert (found.passage is not None) == (found.verdict in ("near", "unclear"))


@given(st.text())
def test_a_text_without_an_ellipsis_stands_in_itself_if_it_has_words(text: str) -> None:
    plain = text.replace("…", "").replace("...", "").replace(". . .", "")
    assert contains(plain, plain) == bool(words(plain))


# All at once


def test_false_quotes_are_found_in_every_form_and_true_ones_left_alone() -> None:
    """The table is printed by bench/quotes.py."""
    for case in (case for case in (*HAND, *ATTACKS) if case.text not in NOT_TOLD):
        verdicts = [quote.verdict for quote in checked(case)]
        assert any(quote.false for quote in checked(case)) == case.false, (case, verdicts)
        assert not case.verdict or case.verdict in verdicts, (case, verdicts)
    debates = sum((score for _, score in of_debates()), Score())
    assert (debates.found, debates.missed, debates.wrongly) == (8, 1, 1)


def test_every_citation_is_checked_in_the_source_its_tag_names() -> None:
    sources = [Source(name="a", text="One two three four five."), Source(name="b", text="Six seven eight nine ten.")]
    text = '"two three four" [S1] "two three four" [S2] "Six seven sight nine" [S2] "two three four" [S3]'
    assert check_all(text, sources) == (
        Checked("two three four", "S1", "verified"),
        Checked("two three four", "S2", "missing"),
        Checked("Six seven sight nine", "S2", "near", "Six seven eight nine"),
        Checked("two three four", "S3", "no_source"),
    )
    assert tags(sources) == {"S1": sources[0], "S2": sources[1]}


@pytest.mark.parametrize("name", ["", "  ", "x" * 121, "a\nb", "<a>", 'a"b', "a\u2028b", "\0"])
def test_a_source_s_name_is_one_short_line_that_ends_no_tag(name: str) -> None:
    with pytest.raises(ValidationError, match="name"):
        Source(name=name, text="words")


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_source_has_text(text: str) -> None:
    with pytest.raises(ValidationError, match="is empty; give the document's text"):
        Source(name="a", text=text)

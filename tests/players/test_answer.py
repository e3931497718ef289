"""Reading a structured answer: what is shown while it arrives is what is stored when it is there."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moot.core.debate import Answer
from moot.players.answer import AnswerStream, SpeechStream, Unreadable, parse, rename
from moot.text.plain import clean

TITLES = {"Amber": "Debater A", "Onyx": "Debater B"}


class Note(Answer):
    shown = "text"

    text: str
    number: int = 0


def shown(raw: str, cuts: list[int]) -> tuple[list[str], str]:
    """The pieces shown of a reply that arrives cut in such places, and the text in the end."""
    pieces: list[str] = []
    stream = AnswerStream("text", TITLES, pieces.append)
    edges = [0, *sorted(cut % (len(raw) + 1) for cut in cuts), len(raw)]
    for start, end in pairwise(edges):
        stream.feed(raw[start:end])
    return pieces, stream.finish(parse(raw, Note).text)


texts = st.lists(
    st.one_of(
        st.sampled_from(["Amber", "Onyx", " ", "\n", "{", "}", '"', "\\", "<", "é", "🚆", "\0", "_", "'s", "Am"]),
        st.text(max_size=5),
    )
).map("".join)


def test_of_an_answer_that_was_cut_what_had_arrived_is_read_if_that_will_do() -> None:
    assert parse('Here: {"text": "Amber leads because', Note, cut=True) == Note(text="Amber leads because")
    with pytest.raises(Unreadable, match="text: Field required"):
        parse('{"number": 4', Note, cut=True)
    with pytest.raises(Unreadable, match="there is no JSON object in it"):
        parse('{"text": "Amber leads because', Note)


@given(text=texts, cuts=st.lists(st.integers(0, 500), max_size=30), ascii=st.booleans(), first=st.booleans())
@example(text="  Amber leads", cuts=list(range(60)), ascii=True, first=True)
@example(text="Amber leads \n", cuts=list(range(60)), ascii=True, first=True)
@example(text="a \0 b", cuts=list(range(60)), ascii=True, first=True)
@example(text="🚆 Onyx 🚆", cuts=list(range(60)), ascii=True, first=True)
def test_the_pieces_shown_join_to_the_readable_text(text: str, cuts: list[int], ascii: bool, first: bool) -> None:
    fields = {"text": text, "number": 3}
    raw = json.dumps(fields if first else dict(reversed(fields.items())), ensure_ascii=ascii)
    pieces, whole = shown(raw, cuts)
    assert whole == rename(str(clean(text)), TITLES).strip()
    assert "".join(pieces) == whole


@pytest.mark.parametrize("around", ["```json\n{}\n```", "Certainly!\n{}\nDone.", "<think>no braces</think>{}"])
def test_what_stands_around_the_answer_is_never_shown(around: str) -> None:
    raw = around.replace("{}", json.dumps({"text": 'Amber said "{no}".', "number": 1}))
    pieces, whole = shown(raw, list(range(len(raw))))
    assert ("".join(pieces), whole) == ('Debater A said "{no}".',) * 2


def test_text_is_shown_word_by_word_before_the_answer_is_complete() -> None:
    pieces: list[str] = []
    stream = AnswerStream("text", TITLES, pieces.append)
    for part in ['{"te', 'xt": "Am', "ber is ri", "ght, On", "yx is"]:
        stream.feed(part)
    assert pieces == ["Debater A is", " right,", " Debater B"]


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        ("", "there is no JSON object in it"),
        ("} {", "there is no JSON object in it"),
        ("{text: 1}", "it is not valid JSON: key must be a string at line 1 column 2"),
        ("{}", "text: Field required"),
        (
            '{"text": 5, "number": "x"}',
            "text: Input should be a valid string; "
            "number: Input should be a valid integer, unable to parse string as an integer",
        ),
    ],
)
def test_what_is_wrong_with_an_answer_is_said_for_the_model_to_mend(reply: str, fault: str) -> None:
    with pytest.raises(Unreadable) as caught:
        parse(reply, Note)
    assert str(caught.value) == fault


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.text(alphabet="\0\ud800a"),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_cleaned_values_can_be_kept_by_every_database(value: object) -> None:
    cleaned = clean(value)  # type: ignore[arg-type]
    assert "\\u0000" not in json.dumps(cleaned)
    json.dumps(cleaned, ensure_ascii=False).encode()
    assert clean(cleaned) == cleaned


# A speech


@given(st.lists(st.text(st.sampled_from("Cedar Slt,.\n")) | st.sampled_from(["Cedar", " Ced", "ar", "Slate's"])))
@example(["C", "e", "d", "a", "r"])
@example(["Ced", "arwood and Cedar"])
def test_a_speech_is_shown_with_titles_however_it_is_cut(chunks: list[str]) -> None:
    titles = {"Cedar": "Debater A", "Slate": "Debater B"}
    shown: list[str] = []
    stream = SpeechStream(titles, shown.append)
    for chunk in chunks:
        stream.feed(chunk)
    stream.finish()
    assert "".join(shown) == rename("".join(chunks), titles)


def test_a_word_that_is_no_name_is_shown_at_once() -> None:
    shown: list[str] = []
    stream = SpeechStream({"Cedar": "Debater A"}, shown.append)
    stream.feed("Hello")
    assert shown == ["Hello"]
    stream.feed(" Ced")
    assert shown == ["Hello", " "]
    stream.feed("ric")
    assert shown == ["Hello", " ", "Cedric"]

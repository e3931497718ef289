"""What a model thinks aloud at the beginning of its answer is reasoning, in both dialects."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from badserver import event, last_line, line
from hypothesis import given
from hypothesis import strategies as st

from moot.llm import ollama, openai_api
from moot.llm.stream import StreamedReply, StreamFormat

DIALECTS = [
    pytest.param(openai_api.WIRE, event, event("", "stop"), id="openai"),
    pytest.param(ollama.WIRE, line, last_line(), id="ollama"),
]
THOUGHT = "<think>\nIs a < b? </thin king>\n</think>\n\nYes, <think>ing of it."


def heard(wire: StreamFormat, *chunks: bytes) -> tuple[str, str, str]:
    """What listeners heard, the reply's text and its reasoning."""
    reply = StreamedReply("acme", 1000, wire)
    said = [reply.feed(chunk) for chunk in chunks]
    said.append(reply.end())
    return "".join(said), reply.text, reply.reasoning


@pytest.mark.parametrize(("wire", "chunk", "end"), DIALECTS)
@given(cuts=st.sets(st.integers(0, len(THOUGHT))))
def test_thinking_aloud_is_reasoning_wherever_it_is_split(wire, chunk, end, cuts) -> None:  # type: ignore[no-untyped-def]
    edges = [0, *sorted(cuts), len(THOUGHT)]
    parts = [THOUGHT[start:stop] for start, stop in pairwise(edges)]
    answer = "Yes, <think>ing of it."
    assert heard(wire, *map(chunk, parts), end) == (answer, answer, "\nIs a < b? </thin king>\n")


@pytest.mark.parametrize(
    ("said", "text", "reasoning"),
    [
        ("Hello", "Hello", ""),
        ("<thinly veiled>", "<thinly veiled>", ""),
        ("<think", "<think", ""),
        (" \n<", " \n<", ""),
        ("\n <think>Hm.</think>Yes", "Yes", "Hm."),
        ("<think></think>Yes", "Yes", ""),
        ("<think>for ever</thi", "", "for ever</thi"),
        ('{"a": "<think>b</think>"}', '{"a": "<think>b</think>"}', ""),
    ],
)
@pytest.mark.parametrize(("wire", "chunk", "end"), DIALECTS)
def test_only_a_whole_tag_at_the_beginning_is_one(wire, chunk, end, said, text, reasoning) -> None:  # type: ignore[no-untyped-def]
    assert heard(wire, *map(chunk, said), end) == (text, text, reasoning)
    assert heard(wire, chunk(said), end) == (text, text, reasoning)


def test_thinking_aloud_in_a_body_that_does_not_stream_is_reasoning_too() -> None:
    reply = StreamedReply("acme", 1000, openai_api.WIRE)
    body = {"choices": [{"message": {"content": "<think>Hm.</think> Yes"}, "finish_reason": "stop"}]}
    assert (reply.feed_whole(json.dumps(body).encode()), reply.reasoning) == ("Yes", "Hm.")


def test_white_space_is_not_held_back_for_ever() -> None:
    reply = StreamedReply("acme", 1000, openai_api.WIRE)
    assert "".join(reply.feed(event(" ")) for _ in range(70)) == " " * 70

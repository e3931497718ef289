"""A server that ignores the cap of a reply is cut off soon after it, and a debate keeps to its limit."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest
from badserver import DONE, STREAM_HEAD, BadServer, event, framed, hangs_after, sends
from calls import REQUEST, ask, client_of
from goodserver import Body, Fake, streams
from hypothesis import given
from hypothesis import strategies as st

from moot.llm import openai_api
from moot.llm.stream import MOST_CHARACTERS_PER_TOKEN, StreamedReply
from moot.testing import scripted_app

CAP = REQUEST.max_tokens


def reported(text: str, tokens: int) -> bytes:
    """A piece from a server that counts tokens with each."""
    chunk = {"choices": [{"delta": {"content": text}}], "usage": {"prompt_tokens": 3, "completion_tokens": tokens}}
    return b"data: %s\n\n" % json.dumps(chunk).encode()


async def test_a_stream_of_tokens_is_cut_at_the_first_after_its_cap(session: aiohttp.ClientSession) -> None:
    async with BadServer(hangs_after(STREAM_HEAD, *[framed(event("word "))] * 300)) as server:
        completion = await client_of(session, server.url).complete(REQUEST, lambda text: None)
        await server.hung_up.wait()
    assert (completion.text, completion.finish_reason) == ("word " * CAP, "over_cap")
    assert (completion.usage.output_tokens, completion.usage.estimated) == (CAP, True)


async def test_a_stream_that_counts_its_tokens_is_cut_by_its_own_count(session: aiohttp.ClientSession) -> None:
    pieces = [framed(reported("two words ", 2 * number)) for number in range(1, 300)]
    completion = await ask(session, hangs_after(STREAM_HEAD, *pieces))
    assert (completion.text, completion.finish_reason) == ("two words " * (CAP // 2 + 1), "over_cap")
    assert (completion.usage.output_tokens, completion.usage.estimated) == (CAP + 2, False)


async def test_thinking_counts_towards_the_cap(session: aiohttp.ClientSession) -> None:
    thinks = [framed(event("<think>")), *[framed(event("hmm, "))] * 30, framed(event("</think>"))]
    completion = await ask(session, hangs_after(STREAM_HEAD, *thinks, *[framed(event("word "))] * 300))
    assert (completion.text, completion.finish_reason) == ("word " * 18, "over_cap")


@pytest.mark.parametrize("pieces", [1, 3, 100])
async def test_a_reply_far_over_its_cap_is_cut_in_however_few_pieces_it_comes(
    session: aiohttp.ClientSession, pieces: int
) -> None:
    text = "word " * (60_000 // pieces)
    stream = await ask(session, sends(STREAM_HEAD + framed(event(text)) * pieces + framed(event("", "stop"))))
    assert len(stream.text) < CAP * (MOST_CHARACTERS_PER_TOKEN + 1)
    assert (stream.finish_reason, stream.usage.output_tokens) == ("over_cap", CAP)


async def test_a_line_that_does_not_end_is_cut_at_the_cap_of_its_text(session: aiohttp.ClientSession) -> None:
    completion = await ask(session, hangs_after(STREAM_HEAD, framed(event("größer " * 300_000))))
    assert completion.finish_reason == "over_cap"
    assert len(completion.text) < CAP * (MOST_CHARACTERS_PER_TOKEN + 1)
    assert completion.text.startswith("größer größer ")


async def test_every_token_of_a_reply_within_its_cap_is_kept_however_long(session: aiohttp.ClientSession) -> None:
    tokens = [framed(event(" extraordinarily"[:7]))] * CAP
    completion = await ask(session, sends(STREAM_HEAD + b"".join(tokens) + framed(event("", "length")) + framed(DONE)))
    assert (len(completion.text), completion.finish_reason) == (7 * CAP, "length")


@given(st.lists(st.text(max_size=60), min_size=1), st.integers(1, 20))
def test_no_reply_is_longer_than_its_cap_allows_and_none_within_is_cut(pieces: list[str], cap: int) -> None:
    reply = StreamedReply("acme", cap, openai_api.WIRE)
    heard = "".join(reply.feed(event(piece)) for piece in pieces) + reply.end()
    whole_text = "".join(pieces).replace("\0", "\ufffd")
    assert len(heard) <= cap * MOST_CHARACTERS_PER_TOKEN + 32
    if len(whole_text) <= cap * 4 and "<think>" not in whole_text:
        assert (heard, reply.over_cap) == (whole_text, False)


class Chatterbox(Fake):
    """A server that knows no cap: whatever it is asked, it answers 64,000 tokens."""

    def __init__(self, pieces: int) -> None:
        super().__init__()
        self._event = event("word " * (64_000 // pieces)).decode()
        self._pieces = pieces

    async def chat(self, request: Any) -> Any:
        body: Body = await self.take(request)
        opening = event('{"summary": "A was clearer.", "score_a": 8, "score_b": 5, "more": "').decode()
        first = [opening] if "response_format" in body else []
        last = event("", "stop", usage={"prompt_tokens": 9, "completion_tokens": 64_000}).decode()
        return await streams(request, "text/event-stream", [*first, *[self._event] * self._pieces, last])


@pytest.mark.parametrize("pieces", [64_000, 8])
async def test_a_debate_with_a_model_that_knows_no_cap_keeps_to_its_limit(
    session: aiohttp.ClientSession, pieces: int
) -> None:
    server = Chatterbox(pieces)
    async with server.serving({"/chat/completions": server.chat}):
        app = scripted_app(client_of(session, server.url))
        record = await app.create("duel", "Tea or coffee?", {"max_total_output_tokens": 3000})
        await app.run(record.id, lambda event: None)
        stored = await app.load(record.id)
        transcript = await app.export(record.id, "md")
    spent = sum(turn.usage.output_tokens for turn in stored.turns)
    assert spent <= 3000 + max(seat.max_tokens for seat in record.seats.values())
    assert stored.record.outcome
    assert {turn.marks for turn in stored.turns} == {("truncated", "over_cap")}
    assert transcript.count("*truncated, over\\_cap*") == len(stored.turns)
    longest = max(
        len(message["content"]) for body in server.bodies("/chat/completions") for message in body["messages"]
    )
    assert longest < 3000 * (MOST_CHARACTERS_PER_TOKEN + 1)

"""OpenAIClient against a real socket server that misbehaves in every way we know."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest
from badserver import (
    DONE,
    END,
    STREAM_HEAD,
    USAGE,
    Answer,
    BadServer,
    StreamFormat,
    closes_after,
    event,
    framed,
    hangs_after,
    resets_after,
    said,
    sends,
    streamed,
    whole,
)
from calls import COUNTED, HALF, HELLO, KEY, REQUEST, WITH_SCHEMA, ask, client_of, fail, failing, told

from model_server import PATIENCE
from moot.core.debate import Usage
from moot.errors import BadReply, ModelError, ModelTimeout, Refused, ReplyCut, WrongKey
from moot.llm.client import Completion, Timeouts
from moot.llm.dialect import Dialect

# --- what is sent, and what a good answer becomes ---


async def test_the_request_is_the_documented_one(session: aiohttp.ClientSession) -> None:
    async with BadServer(sends(said("Hello"))) as server:
        client = client_of(
            session, server.url + "/", takes=lambda model: Dialect(extra={"thinking": {"type": "disabled"}})
        )
        assert await client.complete(WITH_SCHEMA, lambda text: None) == HELLO
    (request,) = server.requests
    assert request.line == "POST /v1/chat/completions HTTP/1.1"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "m1",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}],
        "max_tokens": 50,
        "temperature": 0.5,
        "stream": True,
        "stream_options": {"include_usage": True},
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "verdict", "schema": {"type": "object"}},
        },
        "thinking": {"type": "disabled"},
    }


async def test_without_a_key_no_authorization_is_sent(session: aiohttp.ClientSession) -> None:
    async with BadServer(sends(said("Hello"))) as server:
        await client_of(session, server.url, api_key=None).complete(REQUEST, lambda text: None)
    assert "authorization" not in server.requests[0].headers


async def test_a_key_with_a_line_break_at_its_end_is_mended(session: aiohttp.ClientSession) -> None:
    assert await ask(session, sends(said("Hello")), api_key=KEY + "\n") == HELLO


async def test_a_key_that_cannot_be_a_header_is_a_wrong_key(session: aiohttp.ClientSession) -> None:
    error = await fail(session, api_key="sk-\nX-Evil: 1")
    assert told(error) == (WrongKey, "the key for acme holds characters that no key has: check ACME_API_KEY", "")


async def test_on_text_is_called_once_for_each_read(session: aiohttp.ClientSession) -> None:
    got: list[str] = []
    async with BadServer(sends(said("He", "ll", "o"))) as server:
        await client_of(session, server.url).complete(REQUEST, got.append)
    assert got == ["Hello"]


async def test_any_server_quirk_of_the_stream_is_read(session: aiohttp.ClientSession) -> None:
    chunk = event("lo", "stop", usage=USAGE).strip()
    quirks = b": keep-alive\r\n\r\nevent: message\r\n" + event("Hel").replace(b"\n", b"\r\n").replace(
        b"data: ", b"data:"
    )
    assert await ask(session, sends(streamed(quirks, b'data: {"id": 1}\n\n', chunk + b"\r\n\r\n", DONE))) == HELLO


STORY = "Grüße, 世界 🌍!"
STORY_BYTES = (
    b"".join(
        b"data: %s\n\n" % json.dumps({"choices": [{"delta": {"content": letter}}]}, ensure_ascii=False).encode()
        for letter in STORY
    )
    + event("", "length", usage=USAGE)
    + DONE
)


async def test_an_event_may_be_split_at_any_byte(session: aiohttp.ClientSession) -> None:
    splits = range(1, len(STORY_BYTES))
    answers = [sends(streamed(STORY_BYTES[:at]).removesuffix(END), framed(STORY_BYTES[at:]) + END) for at in splits]
    async with BadServer(*answers) as server:
        client = client_of(session, server.url)
        completions = {await client.complete(REQUEST, lambda text: None) for _ in splits}
    assert completions == {Completion(text=STORY, finish_reason="length", usage=COUNTED)}


async def test_a_stream_may_come_byte_by_byte(session: aiohttp.ClientSession) -> None:
    parts = [framed(bytes([byte])) for byte in STORY_BYTES]
    assert await ask(session, sends(STREAM_HEAD, *parts, END)) == Completion(
        text=STORY, finish_reason="length", usage=COUNTED
    )


async def test_reasoning_is_kept_apart(session: aiohttp.ClientSession) -> None:
    thinking = (event({"reasoning_content": "Hm, ", "content": None}), event({"reasoning": "well."}))
    usage = {
        "prompt_tokens": 90,
        "completion_tokens": 30,
        "prompt_cache_hit_tokens": 64,
        "completion_tokens_details": {"reasoning_tokens": 20},
    }
    completion = await ask(session, sends(streamed(*thinking, event("Yes", "stop", usage=usage), DONE)))
    counted = Usage(input_tokens=90, cached_tokens=64, output_tokens=30, reasoning_tokens=20, calls=1)
    assert completion == Completion(text="Yes", finish_reason="stop", usage=counted, reasoning="Hm, well.")


async def test_cached_tokens_are_read_in_openai_s_place_too(session: aiohttp.ClientSession) -> None:
    usage = USAGE | {"prompt_tokens_details": {"cached_tokens": 5}}
    completion = await ask(session, sends(streamed(event("Yes", "stop"), event(usage=usage), DONE)))
    assert completion.usage == Usage(input_tokens=7, cached_tokens=5, output_tokens=3, calls=1)


@pytest.mark.parametrize("usage", [None, {}, [], "many", {"completion_tokens": -3}, {"prompt_tokens_details": 1}])
async def test_usage_that_is_missing_or_nonsense_is_estimated(session: aiohttp.ClientSession, usage: object) -> None:
    completion = await ask(session, sends(streamed(event("Hello", "stop", usage=usage), DONE)))
    estimate = Usage(input_tokens=4, output_tokens=2, calls=1, estimated=True)
    assert completion == Completion(text="Hello", finish_reason="stop", usage=estimate)


async def test_nul_characters_lone_surrogates_and_broken_utf8_are_replaced(session: aiohttp.ClientSession) -> None:
    lone, broken = (
        rb'data: {"choices":[{"delta":{"content":"b\ud83d"}}]}',
        b'data: {"choices":[{"delta":{"content":"\xff"}}]}',
    )
    body = (event("a\0"), lone + b"\n\n", broken + b"\n\n", event("😀", "stop", usage=USAGE))
    assert await ask(session, sends(streamed(*body))) == Completion(
        text="a\ufffdb\ufffd\ufffd😀", finish_reason="stop", usage=COUNTED
    )


@pytest.mark.parametrize(("given", "meant"), [("length", "length"), ("content_filter", "stop"), ("tool_calls", "stop")])
async def test_only_length_is_a_finish_reason_of_its_own(
    session: aiohttp.ClientSession, given: str, meant: str
) -> None:
    assert (await ask(session, sends(streamed(event("Hello", given, usage=USAGE), DONE)))).finish_reason == meant


async def test_a_server_that_ignores_stream_is_understood(session: aiohttp.ClientSession) -> None:
    message = {"role": "assistant", "content": "Hello", "reasoning_content": "Hm."}
    body = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": USAGE}
    assert await ask(session, sends(whole("200 OK", body))) == Completion(
        text="Hello", finish_reason="stop", usage=COUNTED, reasoning="Hm."
    )


async def test_done_without_a_finish_reason_is_an_end(session: aiohttp.ClientSession) -> None:
    assert await ask(session, sends(streamed(event("Hello", usage=USAGE), DONE))) == HELLO


@pytest.mark.parametrize("answer", [closes_after, hangs_after])
async def test_a_reply_is_complete_at_its_finish_reason_whatever_comes_after(
    session: aiohttp.ClientSession, answer: Any
) -> None:
    reply = STREAM_HEAD + framed(event("Hello", "stop", usage=USAGE))
    assert await ask(session, answer(reply), timeouts=Timeouts(between_tokens=0.1)) == HELLO


async def test_a_last_line_without_its_end_counts(session: aiohttp.ClientSession) -> None:
    assert await ask(session, sends(streamed(event("Hello", usage=USAGE), DONE.strip()))) == HELLO


async def test_a_connection_is_kept_for_the_next_call(session: aiohttp.ClientSession) -> None:
    late_end = sends(said("Hello").removesuffix(END), END)
    async with BadServer(late_end, late_end, sends(said("Hello"))) as server:
        client = client_of(session, server.url)
        for _ in range(3):
            assert await client.complete(REQUEST, lambda text: None) == HELLO
        assert server.connections == 1


# --- a server that will not take everything ---

NO_SCHEMA = sends(whole("400 Bad Request", {"error": {"message": "This response_format type is unavailable now"}}))


async def test_a_refused_schema_is_asked_for_in_a_simpler_way_once(session: aiohttp.ClientSession) -> None:
    async with BadServer(NO_SCHEMA, NO_SCHEMA, sends(said("Hello")), sends(said("Hello"))) as server:
        client = client_of(session, server.url)
        for _ in range(2):
            completion = await client.complete(WITH_SCHEMA, lambda text: None)
            assert completion == Completion(
                text="Hello", finish_reason="stop", usage=COUNTED, dropped=("json_schema", "json_object")
            )
    formats = [request.body.get("response_format", {}).get("type") for request in server.requests]
    assert formats == ["json_schema", "json_object", None, None]


@pytest.mark.parametrize(
    ("complaint", "dropped", "fields"),
    [
        ("Unsupported value: 'temperature' does not support 0.5", ("temperature",), {"max_tokens", "stream_options"}),
        ("Unknown field: stream_options", ("stream_options",), {"max_tokens", "temperature"}),
        ("'max_tokens' is not supported", (), {"max_completion_tokens", "temperature", "stream_options"}),
    ],
)
async def test_a_refused_parameter_is_left_out(
    session: aiohttp.ClientSession, complaint: str, dropped: tuple[str, ...], fields: set[str]
) -> None:
    refusal = sends(whole("400 Bad Request", {"error": {"message": complaint}}))
    async with BadServer(refusal, sends(said("Hello"))) as server:
        completion = await client_of(session, server.url).complete(REQUEST, lambda text: None)
    assert completion == Completion(text="Hello", finish_reason="stop", usage=COUNTED, dropped=dropped)
    assert set(server.requests[1].body) == {"model", "messages", "stream"} | fields


async def test_a_parameter_refused_again_and_again_is_a_refusal(session: aiohttp.ClientSession) -> None:
    refusal = sends(whole("400 Bad Request", {"error": {"message": "max_tokens is too large"}}))
    error = await fail(session, refusal, refusal)
    assert told(error) == (Refused, "acme refused the request (400): max_tokens is too large", "")


# --- connections ---


async def test_a_kept_connection_that_the_server_dropped_is_replaced(session: aiohttp.ClientSession) -> None:
    async def drops(wire: StreamFormat) -> None:
        wire.writer.close()

    async with BadServer(sends(said("Hello")), drops, sends(said("Hello"))) as server:
        client = client_of(session, server.url)
        for _ in range(2):
            assert await client.complete(REQUEST, lambda text: None) == HELLO
        assert (server.connections, len(server.requests)) == (2, 3)


async def test_a_kept_connection_that_the_server_reset_is_replaced(session: aiohttp.ClientSession) -> None:
    now = asyncio.Event()
    now.set()
    async with BadServer(sends(said("Hello")), resets_after(when=now), sends(said("Hello"))) as server:
        client = client_of(session, server.url)
        for _ in range(2):
            assert await client.complete(REQUEST, lambda text: None) == HELLO
        assert (server.connections, len(server.requests)) == (2, 3)


async def test_a_fresh_connection_that_the_server_drops_is_an_error(session: aiohttp.ClientSession) -> None:
    error = await fail(session, closes_after())
    assert told(error) == (ReplyCut, "acme closed the connection before its reply was complete", "")


async def test_the_server_sees_a_cancelled_call(session: aiohttp.ClientSession) -> None:
    started = asyncio.Event()
    async with BadServer(hangs_after(HALF)) as server:
        call = asyncio.create_task(client_of(session, server.url).complete(REQUEST, lambda text: started.set()))
        await started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(server.hung_up.wait(), PATIENCE)


async def test_an_error_in_on_text_is_the_caller_s_own(session: aiohttp.ClientSession) -> None:
    def broken_pipe(text: str) -> None:
        raise BrokenPipeError(text)

    async with BadServer(hangs_after(HALF)) as server:
        with pytest.raises(BrokenPipeError, match="Hello"):
            await client_of(session, server.url).complete(REQUEST, broken_pipe)
        await server.hung_up.wait()


async def test_a_hundred_calls_run_at_once(session: aiohttp.ClientSession) -> None:
    async with BadServer(*[sends(said("Hello"))] * 100) as server:
        client = client_of(session, server.url)
        assert {*await asyncio.gather(*(client.complete(REQUEST, lambda text: None) for _ in range(100)))} == {HELLO}


# --- what models there are ---


async def test_models_are_listed(session: aiohttp.ClientSession) -> None:
    async with BadServer(sends(whole("200 OK", {"data": [{"id": "m1"}, {"id": "m2"}]}))) as server:
        assert await client_of(session, server.url).list_models() == ("m1", "m2")
    assert server.requests[0].line == "GET /v1/models HTTP/1.1"


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (failing("401 Unauthorized"), WrongKey, "acme refused the key: check ACME_API_KEY"),
        (
            failing("404 Not Found"),
            BadReply,
            "acme does not list its models: is {url} the address of a chat-completions API?",
        ),
        (
            sends(whole("200 OK", b"<h1>")),
            BadReply,
            "acme does not list its models: is {url} the address of a chat-completions API?",
        ),
        (
            sends(whole("200 OK", {"data": 7})),
            BadReply,
            "acme does not list its models: is {url} the address of a chat-completions API?",
        ),
    ],
)
async def test_models_that_cannot_be_listed_say_why(
    session: aiohttp.ClientSession, answer: Answer, kind: type[ModelError], message: str
) -> None:
    async with BadServer(answer) as server:
        with pytest.raises(kind) as raised:
            await client_of(session, server.url).list_models()
    assert str(raised.value) == message.format(url=server.url)


async def test_a_list_of_models_that_does_not_come_is_a_timeout(session: aiohttp.ClientSession) -> None:
    async with BadServer(hangs_after()) as server:
        with pytest.raises(ModelTimeout) as raised:
            await client_of(session, server.url, timeouts=Timeouts(connect=0.1)).list_models()
    assert str(raised.value) == "acme did not list its models within 0.1 s"

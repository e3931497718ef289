"""OllamaClient against a real socket server that answers as Ollama's API description says, well or badly."""

from __future__ import annotations

import asyncio
import json
import traceback
from typing import Any

import aiohttp
import pytest
from badserver import (
    END,
    LINES_HEAD,
    Answer,
    BadServer,
    closes_after,
    framed,
    hangs_after,
    last_line,
    line,
    lined,
    sends,
    shows,
    whole,
)
from calls import COUNTED, HELLO, KEY, REQUEST, WITH_SCHEMA, told

from model_server import PATIENCE
from moot.errors import (
    BadReply,
    ContextTooSmall,
    ModelError,
    ModelTimeout,
    ReplyCut,
    ServerFault,
    UnknownModel,
    WrongKey,
)
from moot.llm.client import Completion, Message, Request, Timeouts
from moot.llm.http import ModelServer
from moot.llm.ollama import OllamaClient, needed_context

HELLO_LINES = lined(line("Hel"), line("lo"), last_line())
HALF = LINES_HEAD + framed(line("Hel")) + framed(line("lo"))


def client_of(session: aiohttp.ClientSession, server: BadServer, **options: Any) -> OllamaClient:
    defaults: dict[str, Any] = {"api_key": None, "name": "ollama", "key_hint": "its key", "timeouts": Timeouts()}
    return OllamaClient(ModelServer(session=session, base_url=server.url, **(defaults | options)))


async def ask(session: aiohttp.ClientSession, *answers: Answer, request: Request = REQUEST) -> Completion:
    got: list[str] = []
    async with BadServer(shows(), *answers) as server:
        completion = await client_of(session, server).complete(request, got.append)
    assert "".join(got) == completion.text
    return completion


async def fail(
    session: aiohttp.ClientSession, *answers: Answer, request: Request = REQUEST, **options: Any
) -> ModelError:
    async with BadServer(shows(), *answers) as server:
        with pytest.raises(ModelError) as raised:
            await client_of(session, server, **options).complete(request, lambda text: None)
    assert KEY not in "".join(traceback.format_exception(raised.value))
    assert (raised.value.__context__, raised.value.__cause__) == (None, None)
    return raised.value


async def test_the_request_is_the_documented_one(session: aiohttp.ClientSession) -> None:
    async with BadServer(shows(), sends(HELLO_LINES)) as server:
        assert await client_of(session, server).complete(WITH_SCHEMA, lambda text: None) == HELLO
    show, chat = server.requests
    assert (show.line, show.body) == ("POST /api/show HTTP/1.1", {"model": "m1"})
    assert chat.line == "POST /api/chat HTTP/1.1"
    assert chat.body == {
        "model": "m1",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}],
        "stream": True,
        "think": False,
        "truncate": False,
        "keep_alive": "10m",
        "format": {"type": "object"},
        "options": {"num_ctx": 4096, "num_predict": 50, "temperature": 0.5},
    }


async def test_a_reply_may_be_split_at_any_byte(session: aiohttp.ClientSession) -> None:
    data = b"".join([line("Grüße, "), line("世界 🌍", model="ü"), b"\r\n", last_line("length")])
    splits = range(1, len(data))
    answers = [sends(LINES_HEAD + framed(data[:at]), framed(data[at:]) + END) for at in splits]
    async with BadServer(shows(), *answers) as server:
        client = client_of(session, server)
        completions = {await client.complete(REQUEST, lambda text: None) for _ in splits}
    assert completions == {Completion(text="Grüße, 世界 🌍", finish_reason="length", usage=COUNTED)}


async def test_a_last_line_without_its_end_counts(session: aiohttp.ClientSession) -> None:
    assert await ask(session, sends(lined(line("Hello"), last_line().strip()))) == HELLO


async def test_thinking_is_kept_apart(session: aiohttp.ClientSession) -> None:
    thought = json.dumps({"message": {"role": "assistant", "content": "", "thinking": "Hm."}, "done": False})
    completion = await ask(session, sends(lined(thought.encode() + b"\n", line("Hello"), last_line())))
    assert completion == Completion(text="Hello", finish_reason="stop", usage=COUNTED, reasoning="Hm.")


async def test_a_server_that_does_not_stream_is_understood(session: aiohttp.ClientSession) -> None:
    body = json.loads(last_line()) | {"message": {"role": "assistant", "content": "Hello"}}
    assert await ask(session, sends(whole("200 OK", body))) == HELLO


async def test_a_reply_that_is_not_done_was_cut(session: aiohttp.ClientSession) -> None:
    error = await fail(session, sends(HALF + END))
    assert told(error) == (ReplyCut, "ollama ended its reply before it was complete", "Hello")


async def test_a_connection_that_ends_early_cuts_the_reply(session: aiohttp.ClientSession) -> None:
    error = await fail(session, closes_after(HALF))
    assert told(error) == (ReplyCut, "ollama closed the connection before its reply was complete", "Hello")


@pytest.mark.parametrize(
    ("tail", "kind", "message"),
    [
        (b'{"error": "llama runner process has terminated"}\n', ServerFault,
         "ollama reported an error: llama runner process has terminated"),
        (b"{half\n", BadReply, "ollama sent something that is not JSON"),
        (b'{"message": 7}\n', BadReply, "ollama sent something that is no part of a reply"),
        (b"[]\n", BadReply, "ollama sent something that is no part of a reply"),
    ],
)  # fmt: skip
async def test_what_goes_wrong_in_mid_stream_ends_it_with_the_text_so_far(
    session: aiohttp.ClientSession, tail: bytes, kind: type[ModelError], message: str
) -> None:
    error = await fail(session, hangs_after(HALF + framed(tail)))
    assert told(error) == (kind, message, "Hello")


@pytest.mark.parametrize(
    ("status", "said", "kind", "message"),
    [
        ("404 Not Found", "model 'm1' not found", UnknownModel,
         "ollama has no model 'm1'; get it with: ollama pull m1"),
        ("500 X", "model requires more system memory (40 GiB) than is available", ServerFault,
         "ollama failed (500): model requires more system memory (40 GiB) than is available"),
        ("401 Unauthorized", "unauthorized", WrongKey, "ollama refused the key: check its key"),
        ("400 Bad Request", "the input length exceeds the context length", ContextTooSmall,
         "the prompt is longer than ollama's model can read; take one with a larger context: "
         "the input length exceeds the context length"),
    ],
)  # fmt: skip
async def test_a_refusal_says_what_to_do(
    session: aiohttp.ClientSession, status: str, said: str, kind: type[ModelError], message: str
) -> None:
    answer = sends(whole(status, {"error": said}))
    listed = [answer] if kind is UnknownModel else []
    assert told(await fail(session, answer, *listed, api_key=KEY)) == (kind, message, "")


async def test_a_key_in_a_refusal_is_not_passed_on(session: aiohttp.ClientSession) -> None:
    error = await fail(session, sends(whole("418 Teapot", {"error": f"no {KEY}"})), api_key=KEY)
    assert str(error) == "ollama refused the request (418): no [key]"


async def test_silence_is_a_timeout(session: aiohttp.ClientSession) -> None:
    first = await fail(session, hangs_after(), timeouts=Timeouts(first_token=0.1))
    between = await fail(session, hangs_after(HALF), timeouts=Timeouts(between_tokens=0.1))
    assert told(first) == (ModelTimeout, "ollama sent no token within 0.1 s", "")
    assert told(between) == (ModelTimeout, "ollama fell silent for 0.1 s between tokens", "Hello")


async def test_the_server_sees_a_cancelled_call(session: aiohttp.ClientSession) -> None:
    started = asyncio.Event()
    async with BadServer(shows(), hangs_after(HALF)) as server:
        call = asyncio.create_task(client_of(session, server).complete(REQUEST, lambda text: started.set()))
        await started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(server.hung_up.wait(), PATIENCE)


async def test_a_reply_without_end_is_cut_at_its_bound(session: aiohttp.ClientSession) -> None:
    completion = await ask(session, hangs_after(LINES_HEAD, *[framed(line("word " * 1000))] * 60))
    assert (len(completion.text), completion.finish_reason, completion.usage.estimated) == (432, "over_cap", True)


# --- what a model does not take ---


async def test_a_model_that_cannot_think_is_not_told_about_it_again(session: aiohttp.ClientSession) -> None:
    refusal = sends(whole("400 Bad Request", {"error": '"m1" does not support thinking'}))
    async with BadServer(shows(), refusal, sends(HELLO_LINES), sends(HELLO_LINES)) as server:
        client = client_of(session, server)
        for _ in range(2):
            completion = await client.complete(REQUEST, lambda text: None)
            assert completion == Completion(text="Hello", finish_reason="stop", usage=COUNTED, dropped=("think",))
    assert ["think" in request.body for request in server.requests[1:]] == [True, False, False]


async def test_a_refused_schema_is_asked_for_in_a_simpler_way(session: aiohttp.ClientSession) -> None:
    refusal = sends(whole("400 Bad Request", {"error": "invalid JSON schema in format"}))
    async with BadServer(shows(), refusal, refusal, sends(HELLO_LINES)) as server:
        completion = await client_of(session, server).complete(WITH_SCHEMA, lambda text: None)
    assert completion == Completion(
        text="Hello", finish_reason="stop", usage=COUNTED, dropped=("json_schema", "json_object")
    )
    assert [request.body.get("format") for request in server.requests[1:]] == [{"type": "object"}, "json", None]


# --- the context ---


@pytest.mark.parametrize(
    ("characters", "max_tokens", "context"),
    [
        (0, 1, 4096),
        (3000, 600, 4096),
        (9000, 600, 8192),
        (30_000, 600, 16_384),
        (22_752, 96, 8192),
        (22_755, 96, 16_384),
    ],
)
def test_a_context_holds_the_prompt_and_the_answer(characters: int, max_tokens: int, context: int) -> None:
    assert needed_context(characters, max_tokens) == context


async def contexts(session: aiohttp.ClientSession, show: Answer, *characters: int) -> list[int]:
    """The contexts asked for by prompts of these sizes, one after the other."""
    async with BadServer(show, *[sends(HELLO_LINES)] * len(characters)) as server:
        client = client_of(session, server)
        for size in characters:
            await client.complete(
                Request(model="m1", messages=(Message("user", "x" * size),), max_tokens=50, temperature=0.5),
                lambda text: None,
            )
    return [request.body["options"]["num_ctx"] for request in server.requests[1:]]


async def test_a_context_grows_with_the_prompt_and_never_shrinks(session: aiohttp.ClientSession) -> None:
    assert await contexts(session, shows(40_960), 100, 20_000, 100, 60_000) == [4096, 8192, 8192, 32_768]


async def test_a_context_is_no_larger_than_what_the_model_can_read(session: aiohttp.ClientSession) -> None:
    assert await contexts(session, shows(40_960), 100, 900_000, 100) == [4096, 40_960, 40_960]


@pytest.mark.parametrize(
    "show", [shows(), sends(whole("404 Not Found", {"error": "no"})), sends(whole("200 OK", b"<h1>"))]
)
async def test_a_model_that_does_not_say_what_it_can_read_gets_up_to_131072(
    session: aiohttp.ClientSession, show: Answer
) -> None:
    assert await contexts(session, show, 900_000) == [131_072]


# --- its other calls ---


async def test_models_are_listed(session: aiohttp.ClientSession) -> None:
    tags = {"models": [{"name": "qwen3:32b", "size": 1}, {"name": "nomic-embed-text:latest"}]}
    async with BadServer(sends(whole("200 OK", tags))) as server:
        assert await client_of(session, server).list_models() == ("qwen3:32b", "nomic-embed-text:latest")
    assert server.requests[0].line == "GET /api/tags HTTP/1.1"


async def test_a_server_of_another_kind_is_said(session: aiohttp.ClientSession) -> None:
    async with BadServer(sends(whole("404 Not Found", b"404 page not found", kind="text/plain"))) as server:
        with pytest.raises(BadReply) as raised:
            await client_of(session, server).list_models()
    address = server.url.removesuffix("/v1")
    assert str(raised.value) == f"ollama does not list its models: is {address} the address of an Ollama server?"


async def test_texts_are_embedded(session: aiohttp.ClientSession) -> None:
    async with BadServer(sends(whole("200 OK", {"embeddings": [[0.5, 1], [0, -2]]}))) as server:
        assert await client_of(session, server).embed("e1", ["a", "b"]) == [[0.5, 1.0], [0.0, -2.0]]
    assert (server.requests[0].line, server.requests[0].body) == (
        "POST /api/embed HTTP/1.1",
        {"model": "e1", "input": ["a", "b"], "keep_alive": "10m"},
    )


async def test_a_missing_model_for_embedding_is_said(session: aiohttp.ClientSession) -> None:
    async with BadServer(sends(whole("404 Not Found", {"error": 'model "e1" not found'}))) as server:
        with pytest.raises(UnknownModel) as raised:
            await client_of(session, server).embed("e1", ["a"])
    assert str(raised.value) == "ollama has no model 'e1'; get it with: ollama pull e1"

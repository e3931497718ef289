"""The vendors' servers, as their public descriptions say they answer, on a real socket."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest
from badserver import DONE, Answer, BadServer, event, said, sends, streamed, whole
from calls import COUNTED, HELLO, REQUEST, WITH_SCHEMA, told

from moot.core.debate import Usage
from moot.errors import ContextTooSmall, ModelError, RateLimited, Refused, UnknownModel
from moot.llm.client import Completion, Request, Timeouts
from moot.llm.http import ModelServer
from moot.llm.openai_api import OpenAIClient
from moot.llm.providers import BUILT_IN

COUNT = b'data: {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}\n\n'
PROVIDERS = {provider.name: provider for provider in BUILT_IN}


def client_of(session: aiohttp.ClientSession, server: BadServer, provider: str) -> OpenAIClient:
    """The client as `Models` makes it, but for the address."""
    asked = ModelServer(
        session=session,
        base_url=server.url,
        api_key="sk-0123456789",
        name=provider,
        key_hint=f"{provider.upper()}_API_KEY",
        timeouts=Timeouts(),
    )
    return OpenAIClient(asked, PROVIDERS[provider].takes_for)


async def ask(
    session: aiohttp.ClientSession, provider: str, model: str, *answers: Answer, schema: bool = False
) -> tuple[Completion, list[dict[str, Any]]]:
    """The completion and the bodies of the requests it took, which were all answered."""
    request = Request(
        model=model,
        messages=REQUEST.messages,
        max_tokens=50,
        temperature=0.5,
        schema=WITH_SCHEMA.schema if schema else None,
    )
    async with BadServer(*answers) as server:
        completion = await client_of(session, server, provider).complete(request, lambda text: None)
    assert len(server.requests) == len(answers)
    return completion, [received.body for received in server.requests]


async def fail(session: aiohttp.ClientSession, provider: str, *answers: Answer) -> ModelError:
    async with BadServer(*answers) as server:
        with pytest.raises(ModelError) as raised:
            await client_of(session, server, provider).complete(REQUEST, lambda text: None)
    return raised.value


def refuses(status: str, **error: object) -> Answer:
    return sends(whole(status, {"error": error}))


# --- DeepSeek ---


async def test_deepseek_answers_without_thinking(session: aiohttp.ClientSession) -> None:
    usage = {
        "prompt_tokens": 90, "completion_tokens": 12, "total_tokens": 102,
        "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 26, "prompt_tokens_details": {"cached_tokens": 64},
    }  # fmt: skip
    answer = sends(
        streamed(
            b": keep-alive\n\n",
            event({"role": "assistant", "content": ""}),
            b": keep-alive\n\n",
            event("Hello"),
            event("", "stop", usage=usage),
            DONE,
        )
    )
    completion, (body,) = await ask(session, "deepseek", "deepseek-chat", answer)
    assert completion == Completion(
        text="Hello",
        finish_reason="stop",
        usage=Usage(
            input_tokens=90, cached_tokens=64, cache_written_tokens=0, output_tokens=12, reasoning_tokens=0, calls=1
        ),
    )
    assert body["thinking"] == {"type": "disabled"}


async def test_deepseek_s_reasoner_may_think(session: aiohttp.ClientSession) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 12, "completion_tokens_details": {"reasoning_tokens": 10}}
    answer = sends(
        streamed(
            event({"content": None, "reasoning_content": "Hm, "}),
            event({"content": None, "reasoning_content": "well."}),
            event({"content": "Yes", "reasoning_content": None}),
            event("", "length", usage=usage),
            DONE,
        )
    )
    completion, (body,) = await ask(session, "deepseek", "deepseek-reasoner", answer)
    assert completion == Completion(
        text="Yes",
        finish_reason="length",
        usage=Usage(
            input_tokens=9, cached_tokens=0, cache_written_tokens=0, output_tokens=12, reasoning_tokens=10, calls=1
        ),
        reasoning="Hm, well.",
    )
    assert "thinking" not in body


async def test_deepseek_without_credit_says_so(session: aiohttp.ClientSession) -> None:
    error = await fail(
        session,
        "deepseek",
        refuses(
            "402 Payment Required", message="Insufficient Balance", type="unknown_error", code="invalid_request_error"
        ),
    )
    assert told(error) == (Refused, "deepseek is out of credit: Insufficient Balance", "")


# --- OpenAI ---


@pytest.mark.parametrize(
    ("model", "effort", "temperature"),
    [
        ("gpt-4.1-mini", None, 0.5),
        ("gpt-5", "minimal", None),
        ("gpt-5-mini-2025-08-07", "minimal", None),
        ("gpt-5.1", "none", 0.5),
        ("gpt-5-chat-latest", None, 0.5),
        ("o4-mini", "low", None),
    ],
)
async def test_openai_s_reasoning_models_think_little_and_take_no_temperature(
    session: aiohttp.ClientSession, model: str, effort: str | None, temperature: float | None
) -> None:
    completion, (body,) = await ask(session, "openai", model, sends(said("Hello")))
    assert (body.get("reasoning_effort"), body.get("temperature")) == (effort, temperature)
    assert (body["max_completion_tokens"], "max_tokens" in body) == (50, False)
    assert completion == Completion(
        text="Hello", finish_reason="stop", usage=COUNTED, dropped=() if temperature else ("temperature",)
    )


async def test_an_openai_model_nobody_knew_yet_is_learned_by_asking(session: aiohttp.ClientSession) -> None:
    completion, bodies = await ask(
        session,
        "openai",
        "gpt-5.9",
        refuses(
            "400 Bad Request",
            message="Unsupported value: 'temperature' does not support 0.5 with this model.",
            type="invalid_request_error",
            param="temperature",
            code="unsupported_value",
        ),
        refuses(
            "400 Bad Request",
            message="Unsupported value: 'none' is not supported with the 'gpt-5.9' model.",
            type="invalid_request_error",
            param="reasoning_effort",
            code="unsupported_value",
        ),
        sends(said("Hello")),
    )
    assert completion == Completion(
        text="Hello", finish_reason="stop", usage=COUNTED, dropped=("temperature", "reasoning_effort")
    )
    assert bodies[-1].keys() == {"model", "messages", "max_completion_tokens", "stream", "stream_options"}


# --- Anthropic's and Gemini's compatible endpoints ---


async def test_anthropic_is_asked_for_json_in_words_only(session: aiohttp.ClientSession) -> None:
    answer = sends(streamed(event({"role": "assistant", "content": ""}), event("{}"), event({}, "stop"), COUNT, DONE))
    completion, (body,) = await ask(session, "anthropic", "claude-sonnet-4-5", answer, schema=True)
    assert completion == Completion(text="{}", finish_reason="stop", usage=COUNTED)
    assert body.keys() == {"model", "messages", "max_tokens", "temperature", "stream", "stream_options"}


async def test_anthropic_s_overload_is_worth_waiting_for(session: aiohttp.ClientSession) -> None:
    error = await fail(
        session, "anthropic", refuses("429 Too Many Requests", message="rate limit", type="rate_limit_error")
    )
    assert told(error) == (RateLimited, "anthropic has too many requests: rate limit", "")


@pytest.mark.parametrize(
    ("model", "effort"),
    [("gemini-2.5-flash", "none"), ("models/gemini-2.5-flash-lite", "none"), ("gemini-2.5-pro", "low"),
     ("gemini-3-pro-preview", "low"), ("gemini-2.0-flash", None)],
)  # fmt: skip
async def test_gemini_thinks_as_little_as_it_can(
    session: aiohttp.ClientSession, model: str, effort: str | None
) -> None:
    completion, (body,) = await ask(session, "gemini", model, sends(said("Hello")))
    assert (completion, body.get("reasoning_effort")) == (HELLO, effort)


async def test_gemini_s_errors_come_in_a_list(session: aiohttp.ClientSession) -> None:
    body = [{"error": {"code": 400, "message": "Thinking level is not supported for this model.", "status": "INVALID"}}]
    completion, _ = await ask(
        session,
        "gemini",
        "gemini-2.5-flash",
        sends(whole("400 Bad Request", json.dumps(body).encode())),
        sends(said("Hello")),
    )
    assert completion.dropped == ("reasoning_effort",)
    missing = json.dumps([{"error": {"code": 404, "message": "models/m1 is not found for API version v1main"}}])
    answer = sends(whole("404 Not Found", missing.encode()))
    error = await fail(session, "gemini", answer, answer)
    assert told(error) == (UnknownModel, "gemini has no model 'm1'; `moot models` shows what there is", "")


# --- others ---


async def test_an_openrouter_model_that_must_reason_is_let(session: aiohttp.ClientSession) -> None:
    refusal = refuses(
        "400 Bad Request", message="Reasoning is mandatory for this endpoint and cannot be disabled.", code=400
    )
    completion, bodies = await ask(session, "openrouter", "x/y", refusal, sends(said("Hello")))
    assert completion == Completion(text="Hello", finish_reason="stop", usage=COUNTED, dropped=("reasoning",))
    assert [body.get("reasoning") for body in bodies] == [{"effort": "none"}, None]


async def test_mistral_is_not_asked_for_usage_which_it_sends_anyway(session: aiohttp.ClientSession) -> None:
    answer = sends(streamed(event("Hello", "stop", usage={"prompt_tokens": 7, "completion_tokens": 3}), DONE))
    completion, (body,) = await ask(session, "mistral", "mistral-small-latest", answer)
    assert (completion, "stream_options" in body) == (HELLO, False)


async def test_lm_studio_knows_no_json_object(session: aiohttp.ClientSession) -> None:
    schema = sends(whole("400 Bad Request", {"error": "Failed to compile the JSON schema"}))
    kind = sends(whole("400 Bad Request", {"error": "'response_format.type' must be 'json_schema' or 'text'"}))
    completion, bodies = await ask(session, "lmstudio", "m", schema, kind, sends(said("Hello")), schema=True)
    assert completion.dropped == ("json_schema", "json_object")
    assert "response_format" not in bodies[-1]


# --- a prompt that does not fit ---


OPENAI = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
OPENAI_5 = "Your input exceeds the context window of this model. Please adjust your input and try again."
LLAMA_CPP = "the request exceeds the available context size. try increasing the context size or enable context shift"
VLLM = (
    "'max_tokens' or 'max_completion_tokens' is too large: 600. This model's maximum context length is 4096 tokens "
    "and your request has 3900 input tokens."
)
ANTHROPIC = "prompt is too long: 210000 tokens > 200000 maximum"
GEMINI = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
LM_STUDIO = (
    "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context "
    "length of only 4096 tokens, which is not enough."
)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        ("400 Bad Request", {"error": {"message": OPENAI, "param": "messages", "code": "context_length_exceeded"}}),
        ("400 Bad Request", {"error": {"message": OPENAI_5, "code": "context_length_exceeded"}}),
        ("400 Bad Request", {"error": {"code": 400, "message": LLAMA_CPP, "type": "exceed_context_size_error"}}),
        ("400 Bad Request", {"object": "error", "message": VLLM, "type": "BadRequestError", "code": 400}),
        ("400 Bad Request", {"error": {"type": "invalid_request_error", "message": ANTHROPIC}}),
        ("413 Payload Too Large", {"error": {"message": "Prompt is too long"}}),
        ("400 Bad Request", [{"error": {"code": 400, "message": GEMINI, "status": "INVALID_ARGUMENT"}}]),
        ("400 Bad Request", {"error": LM_STUDIO}),
    ],
)
async def test_a_prompt_that_does_not_fit_is_recognised_and_nothing_else_is_dropped(
    session: aiohttp.ClientSession, status: str, body: object
) -> None:
    error = await fail(session, "openai", sends(whole(status, json.dumps(body).encode())))
    assert type(error) is ContextTooSmall
    assert str(error).startswith("the prompt is longer than openai's model can read; take one with a larger context: ")


async def test_a_prompt_that_does_not_fit_is_recognised_in_the_stream_too(session: aiohttp.ClientSession) -> None:
    broken = b'data: {"error": {"message": "the request exceeds the available context size"}}\n\n'
    assert type(await fail(session, "llamacpp", sends(streamed(broken)))) is ContextTooSmall

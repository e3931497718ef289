"""What moot knows of its providers: where they are, and what exactly is sent to them."""

from __future__ import annotations

import pytest
from aiohttp import web
from calls import REQUEST, WITH_SCHEMA
from goodserver import Body, Fake, chat_completions, ollama

from moot.app import build
from moot.core.debate import JsonObject, Status
from moot.errors import InvalidInput
from moot.llm.client import Request, Schema
from moot.llm.models import ModelChoice, Models
from moot.llm.providers import BUILT_IN, Provider
from moot.settings import AppSettings
from stage import sensible

PROVIDERS = {provider.name: provider for provider in BUILT_IN}

# --- what is sent ---

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
USAGE = {"stream_options": {"include_usage": True}}
SCHEMA = {"response_format": {"type": "json_schema", "json_schema": {"name": "verdict", "schema": {"type": "object"}}}}
OBJECT = {"response_format": {"type": "json_object"}}
NO_THINKING = {"chat_template_kwargs": {"enable_thinking": False}}
PLAIN = {"max_tokens": 50, "temperature": 0.5, **USAGE}
NEWER = {"max_completion_tokens": 50, "temperature": 0.5, **USAGE}
THINKING = {"max_completion_tokens": 50, **USAGE}
LOCAL = {
    "keep_alive": "10m",
    "think": False,
    "truncate": False,
    "options": {"num_ctx": 4096, "num_predict": 50, "temperature": 0.5},
}

SENT = [
    # model, the path below the address, the body of a prose step, what a structured step adds
    ("deepseek:deepseek-chat", "/chat/completions", {**PLAIN, "thinking": {"type": "disabled"}}, OBJECT),
    ("deepseek:deepseek-reasoner", "/chat/completions", PLAIN, OBJECT),
    ("openai:gpt-4.1-mini", "/chat/completions", NEWER, SCHEMA),
    ("openai:gpt-5-mini", "/chat/completions", {**THINKING, "reasoning_effort": "minimal"}, SCHEMA),
    ("openai:gpt-5.1", "/chat/completions", {**NEWER, "reasoning_effort": "none"}, SCHEMA),
    ("openai:o4-mini", "/chat/completions", {**THINKING, "reasoning_effort": "low"}, SCHEMA),
    ("anthropic:claude-sonnet-4-5", "/chat/completions", PLAIN, {}),
    ("gemini:gemini-2.5-flash", "/chat/completions", {**PLAIN, "reasoning_effort": "none"}, SCHEMA),
    ("gemini:gemini-2.5-pro", "/chat/completions", {**PLAIN, "reasoning_effort": "low"}, SCHEMA),
    ("openrouter:a/b", "/chat/completions", {**PLAIN, "reasoning": {"effort": "none"}}, SCHEMA),
    ("mistral:m", "/chat/completions", {"max_tokens": 50, "temperature": 0.5}, SCHEMA),
    ("groq:llama-3.3-70b-versatile", "/chat/completions", NEWER, SCHEMA),
    ("groq:qwen/qwen3-32b", "/chat/completions", {**NEWER, "reasoning_effort": "none"}, SCHEMA),
    ("together:m", "/chat/completions", PLAIN, SCHEMA),
    ("xai:m", "/chat/completions", PLAIN, SCHEMA),
    ("ollama:qwen3:8b", "/api/chat", LOCAL, {"format": {"type": "object"}}),
    ("vllm:m", "/v1/chat/completions", {**PLAIN, **NO_THINKING}, SCHEMA),
    ("llamacpp:m", "/v1/chat/completions", {**PLAIN, **NO_THINKING}, SCHEMA),
    ("lmstudio:m", "/v1/chat/completions", PLAIN, SCHEMA),
    ("mine:m", "/chat/completions", PLAIN, SCHEMA),
]


def test_the_table_below_leaves_no_provider_out() -> None:
    assert {name.partition(":")[0] for name, *_ in SENT} == PROVIDERS.keys() | {"mine"}


@pytest.mark.parametrize(("name", "path", "prose", "structured"), SENT)
async def test_exactly_this_is_sent(name: str, path: str, prose: Body, structured: Body) -> None:
    provider = PROVIDERS.get(name.partition(":")[0], Provider("mine", ""))
    async with ollama() if provider.dialect == "ollama" else chat_completions(path=path) as fake:
        environ = {provider.key_env or "": "sk-0123456789", provider.url_env or "": fake.url}
        own = {"mine": AppSettings(providers={"mine": {"base_url": fake.url}}).providers["mine"]}  # type: ignore[dict-item]
        models = Models(environ, own)
        client, model, _ = await models.connect(name)
        for request in (REQUEST, WITH_SCHEMA):
            await client.complete(
                Request(
                    model=model,
                    messages=request.messages,
                    max_tokens=request.max_tokens,
                    temperature=request.temperature,
                    schema=request.schema,
                ),
                lambda text: None,
            )
        await models.close()
    same = {"model": name.partition(":")[2], "messages": MESSAGES, "stream": True}
    assert fake.bodies(path) == [{**same, **prose}, {**same, **prose, **structured}]


async def test_a_debate_may_let_its_models_think() -> None:
    def answer(body: Body) -> str:
        schema = Schema("answer", body["format"]) if "format" in body else None
        return sensible(
            Request(
                model=body["model"],
                messages=tuple(map(str, body["messages"])),
                max_tokens=1,
                temperature=0,
                schema=schema,
            )
        )  # type: ignore[arg-type]

    async with chat_completions(answer) as deepseek, ollama(answer) as local:
        environ = {"DEEPSEEK_API_KEY": "sk-0123456789", "DEEPSEEK_BASE_URL": deepseek.url, "OLLAMA_HOST": local.url}
        seats: JsonObject = {"debater_a": "deepseek:deepseek-chat", "debater_b": "ollama:q", "judge": "ollama:q"}
        async with build(AppSettings(), environ) as app:
            for think in (False, True):
                record = await app.create("duel", "Tea?", {"models": seats, "max_rounds": 1, "think": think})
                await app.run(record.id, lambda event: None)
    sent = [body.get("thinking") for body in deepseek.bodies("/chat/completions")]
    assert sent == [{"type": "disabled"}, None]
    assert [body["think"] for body in local.bodies("/api/chat")] == [False, False, True, True]


# --- where they are ---


@pytest.mark.parametrize(
    ("given", "address"),
    [
        (None, "http://127.0.0.1:11434"),
        ("", "http://127.0.0.1:11434"),
        ("gpu", "http://gpu:11434"),
        ("gpu:8080", "http://gpu:8080"),
        ("gpu/", "http://gpu:11434"),
        (":8080", "http://127.0.0.1:8080"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("http://0.0.0.0:11434", "http://127.0.0.1:11434"),
        ("10.0.0.0", "http://10.0.0.0:11434"),
        ("http://gpu", "http://gpu"),
        ("https://gpu:8443/", "https://gpu:8443"),
        ("https://example.com/ollama", "https://example.com/ollama"),
        ("gpu/ollama", "http://gpu:11434/ollama"),
        ("::1", "http://[::1]:11434"),
        ("[::1]:8080", "http://[::1]:8080"),
        (" 'gpu' ", "http://gpu:11434"),
    ],
)
def test_an_address_of_ollama_may_have_any_form_its_own_tools_take(given: str | None, address: str) -> None:
    assert PROVIDERS["ollama"].address(given) == address


@pytest.mark.parametrize(
    ("given", "address"),
    [
        (None, "http://127.0.0.1:8000/v1"),
        ("gpu", "http://gpu:8000/v1"),
        ("http://gpu:9000", "http://gpu:9000/v1"),
        ("http://gpu:9000/v1/", "http://gpu:9000/v1"),
        ("https://gpu/api/v3", "https://gpu/api/v3"),
    ],
)
def test_an_address_without_a_path_gets_the_usual_one(given: str | None, address: str) -> None:
    assert PROVIDERS["vllm"].address(given) == address


@pytest.mark.parametrize("given", ["https://api.deepseek.com", "https://api.deepseek.com/v1", "https://proxy/x/"])
def test_a_paid_provider_s_address_is_taken_as_it_is_given(given: str) -> None:
    assert PROVIDERS["deepseek"].address(given) == given.rstrip("/")


@pytest.mark.parametrize("given", ["http://[", "http://gpu:80000000", "http://gpu:x"])
def test_an_address_that_is_none_is_refused_with_what_to_write(given: str) -> None:
    with pytest.raises(InvalidInput, match=r"^the address of vllm cannot be used; write one such as http://"):
        PROVIDERS["vllm"].address(given)


# --- which is taken ---


async def test_a_running_ollama_is_found_and_its_embedder_is_not_taken_for_a_speaker() -> None:
    async with ollama() as fake:
        models = Models({"OLLAMA_HOST": fake.url.removeprefix("http://")})
        assert await models.default() == ModelChoice("ollama:qwen3:8b", "ollama is running")
        await models.close()


async def test_another_server_of_one_s_own_is_found_when_its_address_is_set() -> None:
    async def names(request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "qwen3-8b"}]})

    async with Fake().serving({"/v1/models": names}) as fake:
        models = Models({"OLLAMA_HOST": "127.0.0.1:9", "LMSTUDIO_BASE_URL": fake.url})
        assert await models.default() == ModelChoice("lmstudio:qwen3-8b", "lmstudio is running")
        await models.close()


async def test_a_server_of_one_s_own_needs_no_key_but_gets_one_that_is_set() -> None:
    keys: list[str | None] = []

    async def names(request: web.Request) -> web.Response:
        keys.append(request.headers.get("Authorization"))
        return web.json_response({"data": []})

    async with Fake().serving({"/v1/models": names}) as fake:
        for environ in ({}, {"VLLM_API_KEY": "token-abc"}):
            models = Models({"VLLM_BASE_URL": fake.url, **environ})
            models.check("vllm:m")
            assert await models.reachable(models.providers["vllm"]) == ()
            await models.close()
    assert keys == [None, "Bearer token-abc"]


def test_a_paid_provider_needs_its_key() -> None:
    with pytest.raises(InvalidInput, match="mistral needs a key: set MISTRAL_API_KEY"):
        Models({}).check("mistral:m")


# --- both in one debate ---


async def test_seats_on_different_servers_are_each_spoken_to_in_their_own_dialect() -> None:
    def answer(body: Body) -> str:
        schema = Schema("answer", body["format"]) if "format" in body else None
        return sensible(
            Request(
                model=body["model"],
                messages=tuple(map(str, body["messages"])),
                max_tokens=1,
                temperature=0,
                schema=schema,
            )
        )  # type: ignore[arg-type]

    async with chat_completions(answer) as deepseek, ollama(answer) as local:
        environ = {"DEEPSEEK_API_KEY": "sk-0123456789", "DEEPSEEK_BASE_URL": deepseek.url, "OLLAMA_HOST": local.url}
        seats = {"debater_a": "deepseek:deepseek-chat", "debater_b": "ollama:qwen3:8b", "judge": "ollama:llama3.3:70b"}
        async with build(AppSettings(), environ) as app:
            record = await app.create("duel", "Tea is better than coffee", {"models": seats, "max_rounds": 2})
            ending = await app.run(record.id, lambda event: None)
            turns = (await app.load(record.id)).turns
    assert (ending.status, [turn.model for turn in turns]) == (
        Status.FINISHED,
        [seats["debater_a"], seats["debater_b"]] * 2 + [seats["judge"]],
    )
    assert [path for path, _ in deepseek.asked] == ["/chat/completions"] * 2
    assert [path for path, _ in local.asked] == ["/api/show", "/api/chat", "/api/chat", "/api/show", "/api/chat"]
    assert {body["model"] for body in local.bodies("/api/chat")} == {"qwen3:8b", "llama3.3:70b"}
    assert all(turn.usage.output_tokens == 4 for turn in turns)

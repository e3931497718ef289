"""Which model sits where: the debate's choice, then the configuration's, then the environment's, then what is there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager

import pytest
from pydantic import JsonValue

from model_server import VERDICT, ModelServer
from moot.app import App, build
from moot.core.debate import Usage
from moot.errors import InvalidInput, ModelTimeout, Unreachable
from moot.llm import models as all_models
from moot.llm.client import Completion, Message, Request, Timeouts
from moot.llm.models import ModelChoice, Models
from moot.llm.providers import ModelName, parse_name
from moot.players.model import retry_delay
from moot.settings import AppSettings, ProviderSettings

KEYS = {"DEEPSEEK_API_KEY": "sk-1", "OPENAI_API_KEY": "sk-2"}
GROUPS = {"DEEPSEEK_MODEL_DEBATER": "talker", "DEEPSEEK_MODEL_JUDGE": "thinker"}
REQUEST = Request(model="mock", messages=(Message("user", "Why?"),), max_tokens=50, temperature=0.5)
NO_OLLAMA = {"OLLAMA_HOST": "127.0.0.1:9"}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(models=("nomic-embed-text", "qwen3:32b")).running() as server:
        yield server


@asynccontextmanager
async def app_with(environ: Mapping[str, str], **settings: object) -> AsyncIterator[App]:
    async with build(AppSettings.model_validate(settings), {**NO_OLLAMA, **environ}) as app:
        yield app


async def models(environ: Mapping[str, str], chosen: Mapping[str, JsonValue] | None = None, **settings: object) -> str:
    """The models of debater_a, debater_b and judge in a new duel."""
    async with app_with(environ, **settings) as app:
        record = await app.create("duel", "Cats?", chosen)
        return " ".join(seat.model for seat in record.seats.values())


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({}, "openai:one openai:one openai:judge"),
        ({"model": "openai:all"}, "openai:all openai:all openai:all"),
        ({"model": "openai:all", "model_judge": "openai:j"}, "openai:all openai:all openai:j"),
        ({"model_debater": "openai:d"}, "openai:d openai:d openai:judge"),
        ({"model_judge": "wise"}, "openai:one openai:one deepseek:wise"),
        (
            {"model_debater": "openai:d", "models": {"debater_b": "openai:b", "judge": "openai:j"}},
            "openai:d openai:b openai:j",
        ),
    ],
)
async def test_a_debates_own_choice_comes_first(chosen: dict[str, JsonValue], expected: str) -> None:
    configured = {"model": "openai:one", "models": {"judge": "openai:judge"}}
    assert await models({**KEYS, **GROUPS}, chosen, **configured) == expected


async def test_without_any_choice_the_environment_decides(server: ModelServer) -> None:
    talkers = "deepseek:talker deepseek:talker deepseek:thinker"
    assert await models({**KEYS, **GROUPS}) == talkers
    assert await models({**KEYS, "DEEPSEEK_MODEL_JUDGE": "thinker"}) == (
        "deepseek:deepseek-chat deepseek:deepseek-chat deepseek:thinker"
    )
    assert await models({"OPENAI_API_KEY": "sk-2", **GROUPS}) == " ".join(["openai:gpt-4.1-mini"] * 3)
    assert await models({"OLLAMA_HOST": server.host, **KEYS}) == " ".join(["deepseek:deepseek-chat"] * 3)
    assert await models({"OLLAMA_HOST": server.host}) == " ".join(["ollama:qwen3:32b"] * 3)
    assert await models({}) == " ".join(["local:smollm2"] * 3)


async def test_a_server_that_wants_no_key_has_variables_for_groups_too() -> None:
    expected = "deepseek:deepseek-chat deepseek:deepseek-chat ollama:wise"
    assert await models({**KEYS, "OLLAMA_MODEL_JUDGE": "wise"}) == expected


async def test_every_choice_says_why(server: ModelServer) -> None:
    async with app_with(KEYS, models={"judge": "openai:j"}) as app:
        debater, judge = (seat for seat in app.formats["duel"].seats if seat.name in ("debater_a", "judge"))
        assert await app.drafts.choose_model(judge) == ModelChoice("openai:j", "MOOT_MODEL or moot.yaml")
        assert await app.drafts.choose_model(debater) == ModelChoice(
            "deepseek:deepseek-chat", "DEEPSEEK_API_KEY is set"
        )
    async with app_with({**KEYS, **GROUPS}) as app:
        assert await app.drafts.choose_model(judge) == ModelChoice("deepseek:thinker", "DEEPSEEK_MODEL_JUDGE is set")
    async with app_with({"OLLAMA_HOST": server.url.removesuffix("/v1")}) as app:
        assert await app.drafts.choose_model(judge) == ModelChoice("ollama:qwen3:32b", "ollama is running")
    async with app_with({}) as app:
        assert await app.drafts.choose_model(judge) == ModelChoice("local:smollm2", "nothing else is configured")


@pytest.fixture
async def silent() -> AsyncIterator[SilentServer]:
    """A server that takes calls and never answers."""
    heard = SilentServer()
    async with await asyncio.start_server(heard.connected, "127.0.0.1", 0) as listening:
        heard.host = "{}:{}".format(*listening.sockets[0].getsockname())
        yield heard
        heard.done.set()


class SilentServer:
    def __init__(self) -> None:
        self.calls = 0
        self.host = ""
        self.done = asyncio.Event()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.calls += 1
        await self.done.wait()
        writer.close()


async def test_a_model_that_never_answers_is_said_to_do_so_after_a_while(
    silent: SilentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_models, "TRIAL_SECONDS", 0.01)
    async with app_with({}) as app:
        with pytest.raises(ModelTimeout, match=r"^http://.*#x does not answer within 0.01 s: is its server busy"):
            await app.models.try_out(f"http://{silent.host}/v1#x")


async def test_a_silent_server_of_this_machine_is_not_waited_for_again_for_every_seat(
    silent: SilentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_models, "PROBE", Timeouts(connect=0.01))
    monkeypatch.setattr(all_models, "ABSENT_SECONDS", 600)
    async with app_with({"OLLAMA_HOST": silent.host}) as app:
        seats = [seat for format in app.formats.values() for seat in format.seats]
        assert {(await app.drafts.choose_model(seat)).name for seat in seats} == {"local:smollm2"}
    assert silent.calls == 1


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        ("deepseek:deepseek-chat", ("deepseek", "deepseek-chat")),
        ("ollama:qwen3:32b", ("ollama", "qwen3:32b")),
        ("openrouter:meta/llama:free", ("openrouter", "meta/llama:free")),
        ("local:/models/x.gguf", ("local", "/models/x.gguf")),
        ("http://host:8000/v1#my/model#2", ("http://host:8000/v1", "my/model#2")),
        ("https://host/v1/#m", ("https://host/v1", "m")),
    ],
)
def test_a_name_is_a_provider_and_a_model(name: str, parsed: tuple[str, str]) -> None:
    assert parse_name(name, Models({}).providers) == ModelName(*parsed)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gpt-4", "no provider in 'gpt-4': write PROVIDER:MODEL with one of local, deepseek, openai, .*"),
        ("nobody:gpt-4", "no provider in 'nobody:gpt-4': .*"),
        ("ollama", "'ollama' names no model: write ollama:MODEL"),
        ("ollama:", "'ollama:' names no model: write ollama:MODEL"),
        ("http://host/v1", "'http://host/v1' names no model: write http://host/v1#MODEL"),
        ("local:smolm2", r"no local model is named 'smolm2', did you mean smollm2\? known: smollm2\. .*"),
        ("local:./no.gguf", r"cannot read the model file '\./no\.gguf': No such file or directory"),
        ("deepseek:chat", "deepseek needs a key: set DEEPSEEK_API_KEY, or choose another --model"),
    ],
)
async def test_a_name_that_cannot_work_is_refused_when_the_debate_is_created(name: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{said}$"):
        await models({}, {"model": name})


@pytest.mark.parametrize("name", ["nobody:gpt-4", "local:smolm2", "local:./no.gguf"])
@pytest.mark.parametrize("seat", ["model", "judges"])
async def test_a_model_that_is_not_there_is_not_priced_and_one_whose_key_is_missing_is(name: str, seat: str) -> None:
    async with app_with({}) as app:
        with pytest.raises(InvalidInput, match=r"no provider in|no local model is named|cannot read the model file"):
            await app.estimate("duel", "Cats?", {seat: [name] if seat == "judges" else name})
        assert (await app.estimate("duel", "Cats?", {"model": "deepseek:deepseek-chat"})).most.cost


async def test_what_deepseek_is_sent(server: ModelServer) -> None:
    environ = {"DEEPSEEK_API_KEY": "sk-1", "DEEPSEEK_BASE_URL": server.url}
    async with app_with(environ) as app:
        record = await app.create("duel", "Cats?", {"max_rounds": 1})
        ending = await app.run(record.id, lambda event: None)
    assert (ending.outcome or {})["score_a"] == VERDICT["score_a"]
    speech, _, verdict = server.requests
    assert set(server.keys) == {"Bearer sk-1"}
    assert {key: value for key, value in speech.items() if key != "messages"} == {
        "model": "deepseek-chat",
        "max_tokens": 600,
        "temperature": 0.7,
        "stream": True,
        "stream_options": {"include_usage": True},
        "thinking": {"type": "disabled"},
    }
    assert (verdict["response_format"], verdict["temperature"], verdict["thinking"]) == (
        {"type": "json_object"},
        0.2,
        {"type": "disabled"},
    )


async def test_addresses_come_from_the_environment_unless_the_settings_name_one() -> None:
    environ = {"DEEPSEEK_BASE_URL": "http://proxy/v1/", "OLLAMA_HOST": "box:11434"}
    known = Models(environ)
    assert known.address(known.providers["deepseek"]) == "http://proxy/v1"
    assert known.address(known.providers["openai"]) == "https://api.openai.com/v1"
    assert known.address(known.providers["ollama"]).startswith("http://box:11434")
    own = Models(environ, {"deepseek": ProviderSettings(base_url="http://mine/v1")})
    assert own.address(own.providers["deepseek"]) == "http://mine/v1"


async def test_a_server_of_ones_own_needs_no_key_unless_it_is_given_one(server: ModelServer) -> None:
    own = {
        "mine": ProviderSettings(base_url=server.url, key_env="MY_KEY"),
        "open": ProviderSettings(base_url=server.url),
    }
    assert await models({"MY_KEY": "k"}, {"model": "mine:m"}, providers=own) == "mine:m mine:m mine:m"
    assert await models({}, {"model": "open:m"}, providers=own) == "open:m open:m open:m"
    with pytest.raises(InvalidInput, match="mine needs a key: set MY_KEY, or choose another --model"):
        await models({}, {"model": "mine:m"}, providers=own)


async def test_only_a_server_that_was_ever_reached_is_waited_for() -> None:
    async def unreachable() -> bool:
        with pytest.raises(Unreachable) as raised:
            await client.complete(REQUEST, lambda text: None)
        return raised.value.reached_before

    known = Models({})
    client = (await known.connect("http://127.0.0.1:9/v1#m")).client
    assert await unreachable() is False
    with ModelServer().running() as server:
        client = (await known.connect(server.model)).client
        await client.complete(REQUEST, lambda text: None)
    assert await unreachable() is True
    await known.close()
    assert retry_delay(Unreachable("x", reached_before=False), 1, 0.0) == 0.5
    assert retry_delay(Unreachable("x", reached_before=False), 2, 0.0) is None
    assert retry_delay(Unreachable("x"), 4, 0.0) == 4.0


async def test_calls_to_one_provider_keep_to_its_limit_over_all_debates_of_the_process() -> None:
    running = most = 0

    class Counting:
        async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1
            return Completion(text="yes", finish_reason="stop", usage=Usage(calls=1))

    own = {"deepseek": ProviderSettings(max_concurrent=2)}
    process = Models({"DEEPSEEK_API_KEY": "k"}, own, clients={"deepseek": Counting()})
    connections = [await process.connect(f"deepseek:{model}") for model in ("one", "two") * 5]
    calls = (
        client.complete(Request(model=model, messages=(), max_tokens=5, temperature=0.5), print)
        for client, model, _ in connections
    )
    assert [completion.text for completion in await asyncio.gather(*calls)] == ["yes"] * 10
    assert most == 2

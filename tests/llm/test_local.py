"""The built-in model, really loaded and really asked."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import aiohttp
import pytest
from calls import REQUEST, client_of

from model_server import PATIENCE
from moot.errors import ContextTooSmall, Unreachable, WrongKey
from moot.llm.client import Completion, Message, Request, Schema
from moot.llm.local import LocalModels, LocalServer
from moot.llm.providers import BUILT_IN
from moot.llm.weights import find_weights
from stage import Between, Killed, Stage, kill_at

VERDICT = Schema(
    "verdict",
    {
        "type": "object",
        "properties": {"winner": {"enum": ["a", "b"]}, "score": {"type": "integer", "minimum": 0, "maximum": 9}},
        "required": ["winner", "score"],
        "additionalProperties": False,
    },
)
RULES = Message("system", "You judge a debate. Be fair, and answer in one sentence. " * 10)


def test_a_path_that_holds_no_file_is_said() -> None:
    with pytest.raises(Unreachable) as raised:
        find_weights("/nowhere/x.gguf")
    assert str(raised.value) == "cannot read the model file '/nowhere/x.gguf': No such file or directory"


def test_a_file_of_another_kind_is_said(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    with pytest.raises(Unreachable) as raised:
        find_weights(str(path))
    assert str(raised.value) == f"'{path}' is not a GGUF file; a local model is 'smollm2', a pulled one or a .gguf file"


@pytest.mark.local_model
def test_a_broken_gguf_file_is_said(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(Unreachable, match=f"cannot load the model file '{path}': "):
        LocalModels().start(str(path))


@pytest.fixture(scope="module")
def local() -> LocalServer:
    return LocalModels().start("smollm2")


@pytest.mark.local_model
async def test_an_answer_streams_in(session: aiohttp.ClientSession, local: LocalServer) -> None:
    got: list[str] = []
    client = client_of(session, local.base_url, api_key=local.api_key)
    completion = await client.complete(
        Request(model="smollm2", messages=(Message("user", "Say hello."),), max_tokens=12, temperature=0.0), got.append
    )
    assert len(got) > 1
    assert "".join(got) == completion.text
    assert (completion.usage.calls, completion.usage.estimated) == (1, False)


@pytest.mark.local_model
async def test_an_answer_keeps_to_its_schema(session: aiohttp.ClientSession, local: LocalServer) -> None:
    client = client_of(session, local.base_url, api_key=local.api_key)
    request = Request(
        model="smollm2", messages=(RULES, Message("user", "Who won?")), max_tokens=60, temperature=0.0, schema=VERDICT
    )
    completion = await client.complete(request, lambda text: None)
    answer = json.loads(completion.text)
    assert (answer.keys(), answer["winner"] in "ab", answer["score"] in range(10)) == ({"winner", "score"}, True, True)
    assert completion.dropped == ()


@pytest.mark.local_model
async def test_a_real_llama_cpp_server_takes_what_is_sent_to_one(
    session: aiohttp.ClientSession, local: LocalServer
) -> None:
    takes = next(provider for provider in BUILT_IN if provider.name == "llamacpp").takes_for
    client = client_of(session, local.base_url, api_key=local.api_key, takes=takes)
    completion = await client.complete(
        Request(model="smollm2", messages=(Message("user", "Say hello."),), max_tokens=5, temperature=0.0),
        lambda text: None,
    )
    assert (completion.dropped, completion.usage.estimated) == ((), False)


@pytest.mark.local_model
async def test_a_shared_beginning_is_not_computed_again(session: aiohttp.ClientSession, local: LocalServer) -> None:
    client = client_of(session, local.base_url, api_key=local.api_key)
    for question in ("Is tea better?", "Is coffee better?"):
        request = Request(model="smollm2", messages=(RULES, Message("user", question)), max_tokens=5, temperature=0.0)
        usage = (await client.complete(request, lambda text: None)).usage
    assert usage.cached_tokens > 0.8 * usage.input_tokens


@pytest.mark.local_model
async def test_a_debate_that_outgrows_a_real_server_goes_on_without_its_earlier_turns(
    session: aiohttp.ClientSession, local: LocalServer
) -> None:
    client = client_of(session, local.base_url, api_key=local.api_key)
    plenty = {"max_total_output_tokens": 100_000, "max_runtime_seconds": 100_000}
    stage = Stage(["long " * 9000, "Short."], settings={"max_tokens": {"debater_a": 5}, **plenty})
    scripted, refused = stage.model, []

    async def complete(request: Request, on_text: Callable[[str], None]) -> Completion:
        try:
            return await (scripted if len(scripted.requests) < 2 else client).complete(request, on_text)
        except ContextTooSmall as error:
            refused.append(str(error))
            raise

    stage.model = SimpleNamespace(complete=complete)
    with pytest.raises(Killed):
        await stage.run(Between(stage.store, after=kill_at(2)))
    assert "without:early_turns" in (await stage.turns())[2].marks
    assert re.match(r"the prompt is longer than acme's model can read.*exceeds the available context size", *refused)


@pytest.mark.local_model
async def test_the_server_is_private(session: aiohttp.ClientSession, local: LocalServer) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", local.base_url)
    with pytest.raises(WrongKey):
        await client_of(session, local.base_url, api_key="another key").complete(REQUEST, print)
    statuses = []
    for path in ("/", "/slots", "/metrics"):
        async with session.get(local.base_url.removesuffix("/v1") + path) as response:
            statuses.append(response.status)
    assert statuses == [404, 401, 401]


@pytest.mark.local_model
def test_a_model_is_loaded_once() -> None:
    models = LocalModels()
    assert models.start("smollm2") is models.start(str(find_weights("smollm2")))


CANCEL_AND_EXIT = """
import asyncio
from moot.llm.client import Message, Request, Timeouts
from moot.llm.local import LocalModels, leave
from moot.llm.openai_api import OpenAIClient
from moot.llm.http import ModelServer, new_session

async def main():
    local = await asyncio.to_thread(LocalModels().start, "smollm2")
    async with new_session() as session:
        client = OpenAIClient(ModelServer(session=session, base_url=local.base_url, api_key=local.api_key, name="local",
                                     key_hint="", timeouts=Timeouts()))
        started = asyncio.Event()
        request = Request(model="smollm2",
                          messages=(Message("user", "Tell a very long story."),), max_tokens=2000, temperature=0.7)
        call = asyncio.create_task(client.complete(request, lambda text: started.set()))
        await started.wait()
        call.cancel()
        await asyncio.wait([call])

asyncio.run(main())
leave(0)
"""


@pytest.mark.local_model
def test_a_process_with_a_live_server_and_a_cancelled_call_ends_silently_and_soon() -> None:
    # Several, as llama.cpp's own shutdown hangs one time in four, and the interpreter's crashes now and then.
    command = [sys.executable, "-c", CANCEL_AND_EXIT]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    try:
        endings = [(*process.communicate(timeout=2 * PATIENCE), process.returncode) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    assert endings == [(b"", b"", 0)] * 4

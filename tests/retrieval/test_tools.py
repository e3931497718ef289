"""Tools of MCP servers: real processes and a real port, honest and hostile."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from select import select
from typing import Any

import pytest

from bare_server import FORGED
from moot.errors import ToolFailed
from moot.retrieval import connection, tools
from moot.retrieval.tools import Parameter, Tool, ToolServer
from moot.settings import ResearchServer
from moot.web.server import Uvicorn, listening
from research_server import files

HERE = Path(__file__).parent.parent


def bare(fault: str = "", allowed: tuple[str, ...] = ("search",)) -> ToolServer:
    command = shlex.join([sys.executable, "-IS", str(HERE / "bare_server.py"), fault])
    return ToolServer(ResearchServer(command=command, tools=list(allowed)), os.environ)


@asynccontextmanager
async def at_an_address(app: Any) -> AsyncIterator[str]:
    with listening("127.0.0.1", 0) as listener:
        started = asyncio.Event()
        server = Uvicorn(app, lambda: None)
        server.ready = started.set
        running = asyncio.create_task(server.serve([listener]))
        await started.wait()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await running


def read(path: str) -> str:
    return Path(path).read_text()


def dies(process: int) -> bool:
    """Whether it ends; a process that was killed takes a moment."""
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    with open(descriptor, "rb"):
        return bool(select([descriptor], [], [], 60)[0])


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    (tmp_path / "notes.md").write_text("Ponds freeze at 0 degrees.\nLakes are deeper than ponds.\n")
    return tmp_path


async def test_a_server_has_the_tools_that_its_settings_name_and_no_other(notes: Path) -> None:
    command = shlex.join([sys.executable, str(HERE / "research_server.py"), str(notes)])
    server = ToolServer(ResearchServer(command=command, tools=["search", "gone"]), os.environ)
    query, limit = Parameter("query", "string", required=True), Parameter("limit", "integer", required=False)
    description = "Find lines in the files that hold a word of the query."
    assert await server.tools() == (Tool("search", description, (query, limit)),)
    with pytest.raises(ToolFailed, match="there is no tool 'delete_all'"):
        await server.call("delete_all", {"query": "x"})
    assert await server.call("search", {"query": "deeper", "limit": 1}) == "Lakes are deeper than ponds."


async def test_a_server_at_an_address_is_called_with_its_key(notes: Path) -> None:
    keys: list[str | None] = []
    web = files(notes).streamable_http_app()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            keys.append(dict(scope["headers"]).get(b"authorization", b"").decode())
        await web(scope, receive, send)

    async with at_an_address(guarded) as url:
        settings = ResearchServer(url=f"{url}/mcp", tools=["search"], key_env="KEY")
        server = ToolServer(settings, {"KEY": "mine"})
        assert await server.call("search", {"query": "deeper"}) == "Lakes are deeper than ponds."
    assert set(keys) == {"Bearer mine"}


@pytest.mark.parametrize(
    ("headers", "body", "told"),
    [
        ([(b"content-encoding", b"gzip")], b"", "packed"),
        ([(b"content-type", b"application/json")], b"x" * 3_000_000, "."),
        ([(b"content-type", b"text/event-stream")], b"data: " + b"x" * 3_000_000, "."),
    ],
)
async def test_a_hostile_address_is_read_no_further_than_it_may_send(
    headers: list[tuple[bytes, bytes]], body: bytes, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "LIST_SECONDS", 3.0)

    async def hostile(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": body})

    async with at_an_address(hostile) as url:
        with pytest.raises(ToolFailed, match=told):
            await ToolServer(ResearchServer(url=url, tools=["search"]), {}).tools()


async def test_a_server_gets_the_variables_named_for_it_and_no_other(notes: Path) -> None:
    told = "import json, os; print(json.dumps(dict(os.environ)), file=open('env.json', 'w'))"
    environ = {"KEY": "mine", "OPENAI_API_KEY": "secret", "PATH": os.environ["PATH"]}
    settings = ResearchServer(command=shlex.join([sys.executable, "-c", told]), tools=["search"], env=["KEY", "NONE"])
    with pytest.raises(ToolFailed, match="Connection closed"):
        await ToolServer(settings, environ).tools()
    said = read("env.json")
    assert '"KEY": "mine"' in said
    assert "secret" not in said


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("flood", "it sent more than 2 MB"),
        ("die", "Connection closed"),
        ("fail", "the index is broken"),
        ("hang", "no answer in 1 s"),
    ],
)
async def test_a_call_that_goes_wrong_says_so(fault: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "SECONDS", 1.0 if fault == "hang" else 30.0)
    with pytest.raises(ToolFailed, match=told):
        await bare(fault).call("search", {"query": "x"})


@pytest.mark.parametrize(
    ("fault", "told"),
    [("endless", "it sent more than 2 MB"), ("never", "no answer in 1 s"), ("garbage", "validation error")],
)
async def test_a_server_that_is_none_says_so(fault: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "LIST_SECONDS", 1.0 if fault == "never" else 30.0)
    with pytest.raises(ToolFailed, match=told):
        await bare(fault).tools()


async def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(ToolFailed, match="there is no program 'no-such-program'"):
        await ToolServer(ResearchServer(command="no-such-program x", tools=["search"]), {}).tools()


async def test_what_a_tool_says_is_printable_and_cut() -> None:
    forged = await bare("forge").call("search", {"query": "x"})
    assert forged == FORGED.replace("\x1b", "\ufffd").replace("\0", "\ufffd")
    assert len(await bare("long").call("search", {"query": "x"})) <= tools.MAX_RESULT


async def test_nothing_that_a_server_has_started_outlives_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "GRACE_SECONDS", 0.2)
    monkeypatch.setattr(tools, "LIST_SECONDS", 5.0)
    program = "sleep 600 & echo $! > child; sleep 600"
    with pytest.raises(ToolFailed, match="no answer"):
        await ToolServer(ResearchServer(command=shlex.join(["sh", "-c", program]), tools=["a"]), os.environ).tools()
    assert dies(int(read("child")))


async def test_a_call_that_is_given_up_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "GRACE_SECONDS", 0.2)
    os.mkfifo("started")
    program = shlex.join(["sh", "-c", "echo $$ > started; exec sleep 600"])
    listing = asyncio.create_task(ToolServer(ResearchServer(command=program, tools=["a"]), os.environ).tools())
    process = int(await asyncio.to_thread(read, "started"))
    listing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await listing
    assert dies(process)


def test_arguments_become_what_the_tool_takes() -> None:
    kinds = ("string", "integer", "boolean", "array", "object", "any")
    tool = Tool("search", "", tuple(Parameter(kind, kind, required=False) for kind in kinds))
    given = {
        "string": "12",
        "integer": "12",
        "boolean": "true",
        "array": "one",
        "object": '{"a": 1}',
        "any": "x",
        "no": "1",
    }
    assert tool.arguments(given) == {
        "string": "12",
        "integer": 12,
        "boolean": True,
        "array": ["one"],
        "object": {"a": 1},
        "any": "x",
    }

"""moot's MCP server on a real port of this loop or as a process of its own, and clients that talk to it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from mcp import Client
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent

from forkserver import ForkedPopen
from moot.app import App
from moot.integrations.mcp.serve import build_server, build_web
from moot.llm.client import Request
from moot.runs.embedded import EmbeddedQueue
from moot.testing import ScriptedModel, scripted_app
from moot.web.guard import Access
from moot.web.server import Uvicorn, listening
from stage import Panelists, sensible

TOPIC = "Which cache?"
SERVE = """
import asyncio, sys
from mcp_stage import cast
from moot.integrations.mcp.serve import serve_http, serve_stdio
from moot.settings import AppSettings
from moot.testing import ScriptedModel

words = int(sys.argv[3])

async def pace():
    global words
    words -= 1
    if words == 0:
        print("stuck", file=sys.stderr, flush=True)
        await asyncio.Event().wait()

def replies(request, play=cast()):
    print("noise of a library", flush=True)
    return play(request)

settings = AppSettings(database_url=f"sqlite:///{sys.argv[2]}/moot.db", model="scripted:m")
clients = {"scripted": ScriptedModel(replies, pace=pace)}
if sys.argv[1] == "stdio":
    asyncio.run(serve_stdio(settings, clients))
else:
    ready = lambda address: print(address, flush=True)
    asyncio.run(serve_http(settings, port=0, ready=ready, clients=clients))
"""
NEVER = 10_000_000


def cast(**parts: Any) -> Callable[[Request], str]:
    """Plays a panel made of these parts, and duels."""
    panel = Panelists(**parts)

    def reply(request: Request) -> str:
        return sensible(request) if request.schema and request.schema.name == "ballot" else panel(request)

    return reply


class Person:
    """Gives its answers one after the other to whatever a client asks, and remembers the questions."""

    def __init__(self, *answers: ElicitResult) -> None:
        self._answers = list(answers)
        self.asked: list[Any] = []

    async def __call__(self, context: object, params: ElicitRequestParams) -> ElicitResult:
        self.asked.append(params)
        return self._answers.pop(0)


def says(action: str, text: str | None = None) -> ElicitResult:
    return ElicitResult(action="accept", content={"action": action, "text": text})


class Progress:
    def __init__(self) -> None:
        self.told: list[tuple[float, str | None]] = []
        self.begun = asyncio.Event()

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.told.append((progress, message))
        self.begun.set()


async def use(client: Client, tool: str, progress: Progress | None = None, **arguments: Any) -> Any:
    """What a tool answers with; its text says the same."""
    result = await client.call_tool(tool, arguments, progress_callback=progress)
    assert not result.is_error, text_of(result)
    return result.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def read(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    return str(getattr(content, "text", None))


class Live(NamedTuple):
    app: App
    queue: EmbeddedQueue
    url: str


@asynccontextmanager
async def serving(app: App, who: Access | None = None) -> AsyncIterator[Live]:
    """A server in this loop; debates in progress are interrupted when the block ends."""
    app.queue = queue = EmbeddedQueue(app.runner)
    await queue.start()
    with listening("127.0.0.1", 0) as listener:
        server = Uvicorn(build_web(app, who or Access()), lambda: None)
        started = asyncio.Event()
        server.ready = started.set
        running = asyncio.create_task(server.serve([listener]))
        await started.wait()
        try:
            yield Live(app, queue, f"http://127.0.0.1:{listener.getsockname()[1]}/mcp")
        finally:
            server.should_exit = True
            await running
            await queue.drain(0)
            await app.close()


@asynccontextmanager
async def talking(app: App | None = None, person: Person | None = None, mode: str = "auto") -> AsyncIterator[Client]:
    """A client of a server in this process, with nothing between them."""
    app = app or panel_app()
    app.queue = queue = EmbeddedQueue(app.runner)
    try:
        async with Client(build_server(app), mode=mode, elicitation_callback=person) as client:
            yield client
    finally:
        await queue.drain(0)
        await app.close()


def panel_app(pace: Any = None, **parts: Any) -> App:
    return scripted_app(ScriptedModel(cast(**parts), pace=pace))


def command(transport: str, folder: Path, words: int = NEVER) -> list[str]:
    """A server as a process of its own; its model says so many words, then nothing more."""
    return [sys.executable, "-c", SERVE, transport, str(folder), str(words)]


def environ() -> dict[str, str]:
    here = Path(__file__).parent
    return {**os.environ, "PYTHONPATH": f"{here}{os.pathsep}{here.parent}"}


class Raw:
    """A client that reads what stdout carries line by line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        self._send({"id": 0, "method": "initialize", "params": hello})
        assert self._answer()["id"] == 0
        self._send({"method": "notifications/initialized"})

    def call(self, tool: str, **arguments: Any) -> Any:
        self._send({"id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
        answer = self._answer()
        assert answer["id"] == 1
        return answer["result"]["structuredContent"]

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def _answer(self) -> Any:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())


@contextmanager
def started(transport: str, folder: Path, words: int = NEVER) -> Iterator[subprocess.Popen[str]]:
    """A server with pipes; killed at the latest with the end of the block."""
    pipe, line = subprocess.PIPE, command(transport, folder, words)
    with ForkedPopen(line, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environ()) as process:
        try:
            yield process
        finally:
            process.kill()

"""A server on a real socket, and somebody who talks to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import aiohttp

from model_server import PATIENCE
from moot.app import App
from moot.llm.client import Request
from moot.runs.embedded import EmbeddedQueue
from moot.store.store import Store
from moot.testing import ScriptedModel, scripted_app
from moot.web.guard import Access
from moot.web.server import Uvicorn, build_app, listening
from moot.web.stream.hub import Hub
from stage import sensible

Event = dict[str, Any]


class Answer(NamedTuple):
    status: int
    body: Any
    headers: Any

    @property
    def problem(self) -> tuple[int, str, str]:
        return self.status, self.body["error"]["code"], self.body["error"]["message"]


class Live:
    def __init__(self, app: App, hub: Hub, queue: EmbeddedQueue, session: aiohttp.ClientSession, url: str) -> None:
        self.app = app
        self.hub = hub
        self.queue = queue
        self.session = session
        self.url = url

    async def ask(self, method: str, path: str, json: Any = None, **options: Any) -> Answer:
        async with self.session.request(method, self.url + path, json=json, **options) as response:
            is_json = response.content_type == "application/json"
            return Answer(response.status, await (response.json() if is_json else response.text()), response.headers)

    async def get(self, path: str, **options: Any) -> Answer:
        return await self.ask("GET", path, **options)

    async def post(self, path: str, json: Any = None, **options: Any) -> Answer:
        return await self.ask("POST", path, json, **options)

    async def create(self, topic: str = "Cats?", format: str = "duel", start: bool = True, **settings: Any) -> str:
        body = {"format": format, "topic": topic, "settings": settings, "start": start}
        answer = await self.post("/api/debates", body)
        assert answer.status == 201, answer
        return str(answer.body["id"])

    async def status(self, debate_id: str) -> str:
        return str((await self.get(f"/api/debates/{debate_id}")).body["status"])

    async def events(self, debate_id: str, after: int | None = None, follow: bool = False) -> AsyncIterator[Event]:
        """What a reader is told, from the first event they have not seen to the end of the stream."""
        parameters = {"after": str(after)} if after is not None else {}
        if follow:
            parameters["follow"] = "1"
        path = f"{self.url}/api/debates/{debate_id}/events"
        async with self.session.get(path, params=parameters) as response:
            assert (response.status, response.content_type) == (200, "text/event-stream")
            async for event in decoded(response):
                yield event

    async def all_events(self, debate_id: str, after: int | None = None, follow: bool = False) -> list[Event]:
        async with asyncio.timeout(PATIENCE):
            return [event async for event in self.events(debate_id, after, follow)]

    async def read_by(self, readers: int) -> None:
        """Wait until so many are reading events."""
        async with asyncio.timeout(PATIENCE):
            while self.hub.readers != readers:  # noqa: ASYNC110 - what we wait for happens inside the server
                await asyncio.sleep(0)

    async def ended(self, debate_id: str) -> Event:
        """The last event of a debate, once it is there."""
        return (await self.all_events(debate_id))[-1]


async def decoded(response: aiohttp.ClientResponse) -> AsyncIterator[Event]:
    lines: list[str] = []
    async for raw in response.content:
        line = raw.decode().removesuffix("\n")
        if line:
            lines.append(line)
            continue
        fields = dict(each.split(": ", 1) for each in lines if not each.startswith(":"))
        lines = []
        if fields:
            event = json.loads(fields["data"])
            assert (fields["id"], fields["event"]) == (str(event["id"]), event["type"])
            yield event


@asynccontextmanager
async def serving(
    app: App, who: Access | None = None, headers: Any = None, hub: Hub | None = None, beat_seconds: float = 15.0
) -> AsyncIterator[Live]:
    """A server in this loop; it drains when the block ends, and gives the steps in progress no time."""
    app.settings.grace_seconds = 0
    hub = hub or Hub(app.follow, beat_seconds)
    app.queue = queue = EmbeddedQueue(app.runner)
    with listening("127.0.0.1", 0) as listener:
        server = Uvicorn(build_app(app, hub, who), hub.close)
        started = asyncio.Event()
        server.ready = started.set
        running = asyncio.create_task(server.serve([listener]))
        await started.wait()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with aiohttp.ClientSession(headers=headers, read_bufsize=2**24) as session:
            yield Live(app, hub, queue, session, url)
        server.should_exit = True
        hub.close()
        await running
    await app.close()


def simple_app(store: Store | None = None, pace: Any = None, replies: Any = sensible) -> App:
    return scripted_app(ScriptedModel(replies, pace=pace), store)


class Gate:
    """A model's pace that stops at its nth word, and at all after it, until it is opened."""

    def __init__(self, word: int = 1) -> None:
        self._left = word
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def __call__(self) -> None:
        self._left -= 1
        await asyncio.sleep(0)  # so that others get a word in
        if self._left <= 0:
            self.reached.set()
            await self.opened.wait()


def long_words(request: Request) -> str:
    return sensible(request) if request.schema else " ".join(f"word{number}" for number in range(12))

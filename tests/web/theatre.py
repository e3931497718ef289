"""A real server on a real port, in a thread of its own, with a scripted model that speaks as fast as a test lets it."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import threading
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

from model_server import PATIENCE
from moot.app import build
from moot.core.debate import Record, Status
from moot.llm.client import Request
from moot.settings import AppSettings
from moot.testing import ScriptedModel
from moot.web.server import Uvicorn, build_app, listening
from moot.web.stream.hub import Hub
from stage import Panelists, sensible

"""More than anything here takes."""


class Baton:
    """Lets the model say so many words, or as many as it likes; hand it to `ScriptedModel` as its pace."""

    def __init__(self) -> None:
        self._left: float = float("inf")
        self._more = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self) -> None:
        if self._loop is not (loop := asyncio.get_running_loop()):  # a theatre that was started again has another
            self._loop, self._more = loop, asyncio.Event()
        while self._left < 1:
            self._more.clear()
            await self._more.wait()
        self._left -= 1

    def let(self, words: float) -> None:
        """From now on only so many words more."""
        self._left = words
        if self._loop and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._more.set)

    def let_all(self) -> None:
        self.let(float("inf"))


class Theatre:
    """Start it, stop it, start it again: the port and the database stay."""

    def __init__(self, folder: Path, replies: Callable[[Request], str], **settings: Any) -> None:
        self.baton = Baton()
        self.model = ScriptedModel(replies, pace=self.baton)
        self.settings = AppSettings(
            database_url=f"sqlite:///{folder / 'moot.db'}",
            model="scripted:model",
            decisions=folder / "decisions",
            grace_seconds=0.0,
            **settings,
        )
        self.port = 0
        self._thread: threading.Thread | None = None
        self._server: Uvicorn | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._app: Any = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready.set)), daemon=True)
        self._thread.start()
        assert ready.wait(PATIENCE), "the server did not start"

    def stop(self) -> None:
        if self._server and self._thread:
            self._server.handle_exit(signal.SIGTERM, None)
            self._thread.join(PATIENCE)
            assert not self._thread.is_alive(), "the server did not stop"

    def create(self, format: str, topic: str, **settings: Any) -> str:
        """A debate that runs."""
        record: Record = self.do(lambda app: app.create(format, topic, settings, start=True))
        return record.id

    def until(self, debate_id: str, status: Status) -> None:
        self.do(lambda app: self._until(debate_id, status))

    def do(self, what: Callable[[Any], Any]) -> Any:
        """Have the app do something in its own thread."""
        assert self._loop
        return asyncio.run_coroutine_threadsafe(what(self._app), self._loop).result(PATIENCE)

    async def _until(self, debate_id: str, status: Status) -> None:
        while (await self._app.load(debate_id)).record.status is not status:
            async with aclosing(self._app.follow(debate_id, through_waits=True)) as events:
                async for _ in events:
                    if (await self._app.load(debate_id)).record.status is status:
                        return

    async def _serve(self, ready: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        with listening("127.0.0.1", self.port) as listener:
            self.port = listener.getsockname()[1]
            async with build(self.settings, {}, {"scripted": self.model}) as app:
                self._app, hub = app, Hub(app.follow)
                self._server = Uvicorn(build_app(app, hub), hub.close)
                self._server.ready = ready
                await self._server.serve([listener])


def company(**parts: Any) -> Callable[[Request], str]:
    """Plays whatever is asked for: a duel that A wins, a panel made of these parts, anything else somehow."""
    panel = Panelists(**parts)

    def reply(request: Request) -> str:
        if request.schema is None:
            instruction = request.messages[-1].content
            return panel(request) if re.search(r"\bmoderator\b|your perspective", instruction) else sensible(request)
        if request.schema.name in ("analysis", "rebuttal", "evaluation", "synthesis"):
            return panel(request)
        sides = [name for name in request.schema.schema.get("properties", {}) if name.startswith("score_")]
        if len(sides) == 2 and "score_advocate" not in sides:
            return json.dumps({"summary": "The better reasons won.", **dict(zip(sides, (7, 4), strict=True))})
        return sensible(request)

    return reply

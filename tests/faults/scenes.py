"""Debates of all formats over HTTP with a model whose replies depend on the request alone, so that whatever
happens to their processes, their transcripts must be those of an undisturbed run.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import replace
from typing import NamedTuple

from pydantic import JsonValue

from model_server import ModelServer
from moot.app import App, build
from moot.core.debate import Status, Turn
from moot.settings import AppSettings, ProviderSettings
from replies import answers

MODEL = "mock:m"
TOPIC = "Which cache should we use?"


class Scene(NamedTuple):
    format: str
    settings: Mapping[str, JsonValue]
    at_once: int = 1
    """So many calls are in flight at most."""


SCENES = {
    "duel": Scene("duel", {"max_rounds": 1}),
    "critique": Scene("critique", {"max_rounds": 1}),
    "evaluation": Scene("evaluation", {"exchanges": 0}, at_once=3),
    "panel": Scene("panel", {"max_rounds": 1, "checkpoints": False}, at_once=2),
    "poll": Scene("poll", {"ballots": 4, "options": "ask"}, at_once=4),
}

Strike = Callable[[str, int], None]
"""Told the key of who is asking and how many words it has got, before the next."""


class Model(ModelServer):
    """Counts who asks what, speaks as fast as it is told, and lets somebody strike in the middle of a reply."""

    def __init__(self, word_seconds: float = 0.0) -> None:
        super().__init__(answers)
        self.word_seconds = word_seconds
        self.strike: Strike = lambda key, word: None

    def at_word(self, call: int, word: int) -> None:
        super().at_word(call, word)
        if self.word_seconds:
            time.sleep(self.word_seconds)
        self.strike((self.keys[call - 1] or "").removeprefix("Bearer "), word)

    @property
    def held(self) -> bool:
        """Whether the reply that was to be held back is."""
        return self._paused.is_set()

    @property
    def environ(self) -> dict[str, str]:
        """What a process needs to find this server, and to tell it who asks."""
        return {
            "MOOT_PROVIDERS__MOCK__BASE_URL": self.url,
            "MOOT_PROVIDERS__MOCK__KEY_ENV": "MOCK_KEY",
            "MOOT_MODEL": MODEL,
            "MOCK_KEY": "nobody",
        }

    def providers(self) -> dict[str, ProviderSettings]:
        return {"mock": ProviderSettings(base_url=self.url, key_env="MOCK_KEY")}

    def repeated(self) -> int:
        """How many calls were made that had been made before."""
        counts = Counter(json.dumps(request) for request in self.requests)
        return sum(counts.values()) - len(counts)

    def forget(self) -> None:
        self.requests.clear()
        self.keys.clear()


class Blow:
    """Does something once, when the nth call since now has got so many words."""

    def __init__(self, call: int, word: int, do: Callable[[str], None]) -> None:
        self._left = call
        self._word = word
        self._do = do
        self._counting = threading.Lock()
        self.struck = threading.Event()

    def __call__(self, key: str, word: int) -> None:
        if word != self._word:
            return
        with self._counting:
            self._left -= 1
            if self._left:
                return
        self._do(key)
        self.struck.set()


@contextmanager
def model(word_seconds: float = 0.0) -> Iterator[Model]:
    server = Model(word_seconds)
    with server.running():
        yield server


def open_app(url: str, server: Model) -> AbstractAsyncContextManager[App]:
    """An app that creates debates and looks at them, and runs none."""
    settings = AppSettings(database_url=url, model=MODEL, providers=server.providers())
    return build(settings, environ={"MOCK_KEY": "audience"})


async def undisturbed(url: str, server: Model, scene: Scene, topic: str = TOPIC) -> list[Turn]:
    """The transcript as it is when nothing happens."""
    async with open_app(url, server) as app:
        record = await app.create(scene.format, topic, scene.settings)
        await app.run(record.id, lambda event: None)
        stored = await app.load(record.id)
    assert stored.record.status is Status.FINISHED, stored.record
    return told(stored.turns)


def told(turns: Iterable[Turn]) -> list[Turn]:
    """The turns without what another run may well change."""
    return [replace(turn, started_at=0, finished_at=0, run=0, event_id=0) for turn in turns]


async def create(app: App, scene: Scene, topic: str = TOPIC) -> str:
    return (await app.create(scene.format, topic, scene.settings, start=True)).id


async def finished(app: App, debate_id: str) -> bool:
    record = (await app.load(debate_id)).record
    assert record.status is not Status.FAILED, record.error
    return record.status is Status.FINISHED

"""A server's readers see debates that other processes run: turn by turn on SQLite, word by word on Postgres."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from theatre import Baton

from moot.app import App, build
from moot.core.events import Event
from moot.errors import StoreError
from moot.settings import AppSettings
from moot.testing import ScriptedModel
from moot.web.server import open_hub
from moot.web.stream import follower
from moot.web.stream.follower import Mirrors
from moot.web.stream.hub import Hub
from stage import sensible

SECONDS = 20


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'moot.db'}"
    return str(request.getfixturevalue("postgres_url"))


@asynccontextmanager
async def opened(url: str, baton: Baton | None = None) -> AsyncIterator[App]:
    settings = AppSettings(database_url=url, model="scripted:model")
    async with build(settings, {}, {"scripted": ScriptedModel(sensible, pace=baton)}) as app:
        yield app


async def read(hub: Hub, app: App, debate_id: str, enough: Callable[[str], bool]) -> str:
    """What a reader is sent until it is enough."""
    record = (await app.load(debate_id)).record
    text = ""
    with hub.reading(debate_id, follow=False) as reader:
        missed = hub.log(debate_id).missed(0, record, [], follow=False)
        async with asyncio.timeout(SECONDS):
            async for data in reader.listen(missed, 0):
                text += data.decode()
                if enough(text):
                    break
    return text


async def test_the_turns_of_a_debate_that_another_process_runs_reach_the_readers_here(url: str) -> None:
    async with opened(url) as there, opened(url) as here:
        hub = Hub()
        open_hub(here, hub, 0 if url.startswith("postgres") else 1)
        async with here.working(grace_seconds=0):
            record = await there.create("duel", "Cats?", {"max_rounds": 1})
            reading = asyncio.create_task(read(hub, here, record.id, lambda text: "event: debate_finished" in text))
            await there.run(record.id, lambda event: None)
            assert (await reading).count("event: turn_finished") == 3


async def test_words_reach_the_readers_of_another_process_while_they_are_spoken(postgres_url: str) -> None:
    baton = Baton()
    async with opened(postgres_url, baton) as there, opened(postgres_url) as here:
        hub = Hub()
        open_hub(here, hub, 0)
        async with there.working(grace_seconds=0), here.working(grace_seconds=0):
            record = await there.create("duel", "Cats?", {"max_rounds": 1}, start=True)
            baton.let(4)
            text = await read(hub, here, record.id, lambda text: "event: turn_chunk" in text)
            assert "event: turn_finished" not in text
            baton.let_all()
            text = await read(hub, here, record.id, lambda text: "event: debate_finished" in text)
            assert text.count("event: turn_finished") == 3


async def test_who_is_cut_off_for_a_moment_is_still_followed_and_then_nothing_is_kept() -> None:
    followed, left = [], asyncio.Event()
    hub = Hub()

    async def follow(debate_id: str) -> AsyncIterator[Event]:
        followed.append(debate_id)
        try:
            await asyncio.Event().wait()
            yield  # type: ignore[misc]
        finally:
            left.set()

    hub.attend = Mirrors(hub, follow, is_all=True, linger_seconds=0.05).attend  # type: ignore[arg-type]
    for _ in range(2):
        with hub.reading("DEB-1", follow=True):
            await asyncio.sleep(0)
    assert (followed, left.is_set()) == (["DEB-1"], False)
    await asyncio.wait_for(left.wait(), SECONDS)
    with hub.reading("DEB-1", follow=True):
        await asyncio.sleep(0)
    assert followed == ["DEB-1", "DEB-1"]


async def test_whatever_ends_following_a_debate_its_readers_are_told_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower, "AGAIN_SECONDS", 0.0)
    tries = iter([RuntimeError("nobody has thought of this"), StoreError("gone"), None])
    told = asyncio.Event()
    hub = Hub()

    async def follow(debate_id: str) -> AsyncIterator[Event]:
        if error := next(tries):
            raise error
        told.set()
        await asyncio.Event().wait()
        yield  # type: ignore[misc]

    hub.attend = Mirrors(hub, follow, is_all=True, linger_seconds=0).attend  # type: ignore[arg-type]
    with hub.reading("DEB-1", follow=True):
        await asyncio.wait_for(told.wait(), SECONDS)

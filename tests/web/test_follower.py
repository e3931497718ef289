"""A server's readers see debates that other processes run: turn by turn on SQLite, word by word on Postgres."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from theatre import Baton

from model_server import PATIENCE
from moot.app import App, build
from moot.core.debate import Record
from moot.core.events import Event, RoundStarted
from moot.errors import StoreError
from moot.settings import AppSettings
from moot.testing import ScriptedModel
from moot.web.stream import hub as hubs
from moot.web.stream.hub import Hub
from stage import sensible


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
        async with asyncio.timeout(PATIENCE):
            async for data in reader.listen(0, record, []):
                text += data.decode()
                if enough(text):
                    break
    return text


async def test_the_turns_of_a_debate_that_another_process_runs_reach_the_readers_here(url: str) -> None:
    async with opened(url) as there, opened(url) as here:
        hub = Hub(here.follow)
        async with here.working(0 if here.is_shared else 1, grace_seconds=0):
            record = await there.create("duel", "Cats?", {"max_rounds": 1})
            reading = asyncio.create_task(read(hub, here, record.id, lambda text: "event: debate_finished" in text))
            await there.run(record.id, lambda event: None)
            assert (await reading).count("event: turn_finished") == 3


async def test_words_reach_the_readers_of_another_process_while_they_are_spoken(postgres_url: str) -> None:
    baton = Baton()
    async with opened(postgres_url, baton) as there, opened(postgres_url) as here:
        hub = Hub(here.follow)
        async with there.working(grace_seconds=0), here.working(0, grace_seconds=0):
            baton.let(4)
            record = await there.create("duel", "Cats?", {"max_rounds": 1}, start=True)
            text = await read(hub, here, record.id, lambda text: "event: turn_chunk" in text)
            assert "event: turn_finished" not in text
            baton.let_all()
            text = await read(hub, here, record.id, lambda text: "event: debate_finished" in text)
            assert text.count("event: turn_finished") == 3


async def test_who_is_cut_off_for_a_moment_is_still_followed_and_then_nothing_is_kept() -> None:
    followed, left = [], asyncio.Event()

    async def follow(debate_id: str, *, through_waits: bool) -> AsyncGenerator[Event, None]:
        followed.append(debate_id)
        try:
            await asyncio.Event().wait()
            yield  # type: ignore[misc]
        finally:
            left.set()

    hub = Hub(follow, linger_seconds=0.05)
    for _ in range(2):
        with hub.reading("DEB-1", follow=True):
            await asyncio.sleep(0)
    assert (followed, left.is_set()) == (["DEB-1"], False)
    await asyncio.wait_for(left.wait(), PATIENCE)
    with hub.reading("DEB-1", follow=True):
        await asyncio.sleep(0)
    assert followed == ["DEB-1", "DEB-1"]


async def test_a_debate_is_followed_again_whatever_went_wrong(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = [RoundStarted(id=number, debate="DEB-1", at=datetime.now(UTC), round=number) for number in range(1, 4)]
    about = {"format": "duel", "format_version": 1, "topic": "Cats?", "settings": {}, "seats": {}, "created_at": 0.0}
    record = Record(id="DEB-1", **about)  # type: ignore[arg-type]
    ends = iter([RuntimeError("a fault of our own"), StoreError("the database is away"), None])

    async def follow(debate_id: str, *, through_waits: bool) -> AsyncGenerator[Event, None]:
        end = next(ends)
        for event in told[:2] if end else told:
            yield event
        if end:
            raise end

    hub = Hub(follow)
    monkeypatch.setattr(hubs, "AGAIN_SECONDS", 0.001)
    with hub.reading("DEB-1", follow=True) as reader:
        async with asyncio.timeout(PATIENCE):
            text = b"".join([data async for data in reader.listen(0, record, [])])
    assert [line for line in text.decode().splitlines() if line.startswith("id: ")] == ["id: 1", "id: 2", "id: 3"]
    assert [record.getMessage() for record in caplog.records] == [
        "DEB-1 is followed again in a moment: RuntimeError('a fault of our own')",
        "DEB-1 is followed again in a moment: StoreError('the database is away')",
    ]
    hub.close()

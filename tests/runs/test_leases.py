"""Who may run a debate: one process at a time, for as long as its heart beats."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moot.app import App, open_store
from moot.core.debate import Status
from moot.core.engine import RunResult
from moot.errors import Busy
from moot.store.store import Store
from moot.testing import ScriptedModel, scripted_app
from stage import sensible


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await open_store(f"sqlite:///{tmp_path}/moot.db")
    yield store
    await store.close()


class Pause:
    """A model's pace that waits at its nth word until told to go on."""

    def __init__(self, word: int = 1) -> None:
        self._left = word
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()

    async def __call__(self) -> None:
        self._left -= 1
        if self._left == 0:
            self.reached.set()
            await self.go_on.wait()


def app_on(store: Store, pause: Pause, *, lease: float = 30, heartbeat: float = 10) -> App:
    app = scripted_app(ScriptedModel(sensible, pace=pause), store)
    app.settings.lease_seconds, app.settings.heartbeat_seconds = lease, heartbeat
    return app


async def test_of_fifty_runs_at_once_one_plays_and_the_others_are_told_it_is_busy(store: Store) -> None:
    app = app_on(store, Pause(word=0))
    record = await app.create("duel", "Cats?")
    runs = [app.run(record.id, lambda event: None) for _ in range(50)]
    results = await asyncio.gather(*runs, return_exceptions=True)
    endings = [result for result in results if isinstance(result, RunResult)]
    assert [ending.status for ending in endings] == [Status.FINISHED]
    assert [type(result) for result in results if not isinstance(result, RunResult)] == [Busy] * 49
    assert [turn.position for turn in (await app.load(record.id)).turns] == list(range(11))


async def test_heartbeats_prolong_the_lease_of_a_debate_which_nobody_else_gets(store: Store) -> None:
    pause = Pause()
    app = app_on(store, pause, heartbeat=0.01)
    record = await app.create("duel", "Cats?")
    running = asyncio.create_task(app.run(record.id, lambda event: None))
    await pause.reached.wait()
    first = (await app.load(record.id)).record.lease_until or 0
    while ((await app.load(record.id)).record.lease_until or 0) <= first:
        with pytest.raises(Busy):
            await app.run(record.id, lambda event: None)
    pause.go_on.set()
    assert (await running).status == Status.FINISHED
    assert (await app.load(record.id)).record.run == 1


async def test_a_run_that_is_cancelled_leaves_the_debate_stopped_and_free(store: Store) -> None:
    pause = Pause()
    app = app_on(store, pause)
    record = await app.create("duel", "Cats?")
    running = asyncio.create_task(app.run(record.id, lambda event: None))
    await pause.reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    left = (await app.load(record.id)).record
    assert (left.status, left.stop_reason, left.owner, left.lease_until) == (Status.STOPPED, "interrupted", None, None)
    assert (await app.run(record.id, lambda event: None)).status == Status.FINISHED


async def test_a_debate_that_was_asked_to_stop_stops_after_the_turn_and_keeps_it(store: Store) -> None:
    pause = Pause()
    app = app_on(store, pause)
    record = await app.create("duel", "Cats?")
    running = asyncio.create_task(app.run(record.id, lambda event: None))
    await pause.reached.wait()
    assert (await app.stop(record.id)).status == Status.STOPPING
    pause.go_on.set()
    assert await running == RunResult(Status.STOPPED, "stopped")
    assert len((await app.load(record.id)).turns) == 1


@pytest.mark.parametrize("jump", [7200.0, -266_398.0])
async def test_a_clock_that_is_set_anew_ends_no_debate_and_makes_no_turn_longer_or_shorter(
    store: Store, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    pause, right = Pause(), time.time
    app = app_on(store, pause)
    record = await app.create("duel", "Cats?", {"max_runtime_seconds": 600})
    running = asyncio.create_task(app.run(record.id, lambda event: None))
    await pause.reached.wait()
    monkeypatch.setattr(time, "time", lambda: right() + jump)
    pause.go_on.set()
    assert (await running).stop_reason == "max_rounds"
    stored = await app.load(record.id)
    assert len(stored.turns) == 11
    assert all(0 <= turn.duration_ms < 600_000 for turn in stored.turns)

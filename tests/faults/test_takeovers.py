"""Workers that die, are frozen, or are too many: a debate has one owner, and another soon when that one is lost."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from contests import Contest, contend, freeze
from losses import BRIEF, HELD, Timing, lose_a_worker
from scenes import SCENES, TOPIC, create, finished, told
from sweeps import Place, place
from troupe import until

from moot.core.debate import Status
from moot.runs.retries import TAKEN_OVER

WORKERS = 8
TAKEOVER_SECONDS = 40.0
"""Those of a lease, and ten more."""
BEFORE_A_LEASE_ENDS = 25.0


@pytest.fixture
async def here(postgres_url: str, tmp_path: Path) -> AsyncIterator[Place]:
    async with place(postgres_url, tmp_path, BRIEF.environ) as opened:
        yield opened


async def test_what_a_lost_worker_was_running_goes_on_when_its_lease_has_ended(
    postgres_url: str, tmp_path: Path
) -> None:
    timing = Timing(lease=4.0, heartbeat=3.2)
    async with place(postgres_url, tmp_path, timing.environ) as here:
        survivals = await lose_a_worker(here, timing)
    assert [each[:2] for each in survivals] == [(0, 0)] * len(SCENES)
    assert survivals[-1].repeated <= sum(scene.at_once for scene in SCENES.values())
    assert max(each.takeover or 0 for each in survivals) < 2 * timing.lease, survivals  # not another lease later


async def test_a_server_that_was_killed_goes_on_with_everything_at_its_next_start(tmp_path: Path) -> None:
    async with place(f"sqlite:///{tmp_path}/moot.db", tmp_path, {}) as here:
        here.server.word_seconds = HELD
        ids = [await create(here.app, scene) for scene in SCENES.values()]
        first = here.start("first")
        await until(lambda: len(here.server.requests) >= len(ids))
        first.kill()
        here.server.word_seconds = 0.0
        second = here.start("second")
        await second.ready()
        for debate_id, name in zip(ids, SCENES, strict=True):
            await until(lambda debate_id=debate_id: finished(here.app, debate_id), BEFORE_A_LEASE_ENDS)
            stored = await here.app.load(debate_id)
            assert stored.record.run == 2
            assert told(stored.turns) == here.expected[name]


async def test_a_debate_in_a_terminal_that_is_killed_beside_a_server_is_taken_over_by_it(tmp_path: Path) -> None:
    async with place(f"sqlite:///{tmp_path}/moot.db", tmp_path, {}) as here:
        await here.start("server").ready()
        here.server.word_seconds = HELD
        debate_id = (await here.app.create("duel", TOPIC, SCENES["duel"].settings)).id
        terminal = here.troupe.start("terminal", "debate", "--resume", debate_id, "--json")
        await until(lambda: here.server.requests != [])
        terminal.kill()
        here.server.word_seconds = 0.0
        await until(lambda: finished(here.app, debate_id), TAKEOVER_SECONDS)
        stored = await here.app.load(debate_id)
        assert told(stored.turns) == here.expected["duel"]
        assert [failure.code for failure in stored.failures] == [TAKEN_OVER]


async def test_of_eight_workers_with_a_job_each_one_runs_the_debate(here: Place, postgres_url: str) -> None:
    for number in range(WORKERS):
        await here.start(f"worker-{number}", Timing(30, 10).environ).ready()
    contests = await contend(here, postgres_url, 10, WORKERS)
    assert contests == [Contest(runs=1, positions=[0, 1, 2], speakers=1, calls=3)] * 10


async def test_a_worker_that_was_frozen_past_its_lease_and_is_woken_writes_nothing(here: Place) -> None:
    debate_id, owner, heir, turns = await freeze(here)
    owner.signal(signal.SIGCONT)
    await until(lambda: len(here.server.requests) >= 3)
    here.server.go_on()
    await until(lambda: finished(here.app, debate_id))
    stored = await here.app.load(debate_id)
    assert stored.turns[:1] == turns
    assert [turn.run for turn in stored.turns] == [1, 2, 2]
    assert told(stored.turns) == here.expected["duel"]
    assert here.server.repeated() == 1
    assert (owner.alive, heir.alive) == (True, True)


async def test_a_woken_worker_that_ends_does_not_take_along_what_another_runs_by_now(here: Place) -> None:
    debate_id, owner, heir, _ = await freeze(here)
    owner.signal(signal.SIGCONT)
    owner.signal(signal.SIGTERM)
    await owner.ended()
    assert owner.exit_code == 0
    heir.kill()
    here.server.go_on()
    here.start("last")
    await until(lambda: finished(here.app, debate_id))
    stored = await here.app.load(debate_id)
    assert stored.record.status is Status.FINISHED
    assert [turn.run for turn in stored.turns] == [1, 3, 3]
    assert told(stored.turns) == here.expected["duel"]

"""A database that crashes, is locked or has no room: processes stay, nothing is lost, and debates go on afterwards."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cuts import Cuts, cut, named
from outages import Outage, crash, outage
from scenes import SCENES, TOPIC, Blow, create, finished, told
from sweeps import place
from troupe import Cluster, own_postgres, until

from moot.core.debate import Status

LOCKED_SECONDS = 1.0
ROOM = 24_000
"""Bytes: enough for the first turns of a duel, not for all of them."""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with own_postgres() as cluster:
        yield cluster


async def test_a_postgres_that_crashes_in_the_middle_of_debates_costs_only_the_time_it_is_away(
    cluster: Cluster, tmp_path: Path
) -> None:
    async with place(cluster.database(), tmp_path, {}) as here:
        seen = await outage(here, crash(cluster), seconds=3)
    assert seen == Outage([200, 503, 200], True, 0, 0, 0, seen.going_again)
    assert seen.going_again < 25  # and not when leases of 30 s have ended


async def test_connections_that_are_cut_at_random_cost_no_debate_no_turn_and_no_reader(
    postgres_url: str, tmp_path: Path
) -> None:
    brief = {"MOOT_DATABASE_URL": named(postgres_url), "MOOT_LEASE_SECONDS": "2", "MOOT_HEARTBEAT_SECONDS": "0.5"}
    async with place(postgres_url, tmp_path, brief) as here:
        seen = await cut(here, postgres_url, seconds=3, debates=4, word_seconds=0.05)
    assert seen == Cuts(seen.cuts, seen.health, seen.slowest_health, hanging=0, lost=0, doubled=0, alive=True)
    assert seen.cuts
    assert seen.health <= {200, 503}


async def test_a_file_locked_by_another_process_makes_a_debate_wait_and_lose_nothing(tmp_path: Path) -> None:
    async with place(f"sqlite:///{tmp_path}/moot.db", tmp_path, {}) as here:
        locked = sqlite3.connect(tmp_path / "moot.db", isolation_level=None, check_same_thread=False)
        with closing(locked):
            here.server.strike = blow = Blow(2, 3, lambda key: locked.execute("BEGIN IMMEDIATE").close())
            debate_id = await create(here.app, SCENES["duel"])
            server = here.start("server")
            await until(blow.struck.is_set)
            await asyncio.sleep(LOCKED_SECONDS)
            assert len((await here.app.load(debate_id)).turns) == 1
        await until(lambda: finished(here.app, debate_id))
        stored = await here.app.load(debate_id)
        assert (stored.record.run, stored.failures, server.alive) == (1, (), True)
        assert told(stored.turns) == here.expected["duel"]
        assert here.server.repeated() == 0


async def test_a_debate_that_finds_the_disk_full_fails_and_is_resumed_when_there_is_room(tmp_path: Path) -> None:
    path = tmp_path / "moot.db"
    async with place(f"sqlite:///{path}", tmp_path, {}) as here:
        debate_id = (await here.app.create("duel", TOPIC, SCENES["duel"].settings)).id
        room = (tmp_path / "moot.db-wal").stat().st_size + ROOM
        full = here.troupe.start("full", "debate", "--resume", debate_id, "--json", most_bytes=room)
        await full.ended()
        before = (await here.app.load(debate_id)).turns
        assert 0 < len(before) < 3
        assert full.exit_code == 1
        assert (tmp_path / f"{full.pid}.err").read_text() == (
            f"moot: {debate_id} failed: {path}: disk I/O error; the disk is full or failing; check it, then resume the "
            f"debate; go on with: moot debate --resume {debate_id}\n"
        )
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        resumed = here.troupe.start("resumed", "debate", "--resume", debate_id, "--json")
        await resumed.ended()
        stored = await here.app.load(debate_id)
        assert (resumed.exit_code, stored.record.status) == (0, Status.FINISHED)
        assert stored.turns[: len(before)] == before
        assert told(stored.turns) == here.expected["duel"]

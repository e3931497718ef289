"""Debates on a Postgres in real processes: workers that run them, and terminals that watch, help out and leave."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from in_process import moot
from model_server import PATIENCE, ModelServer
from moot.core.debate import Status
from moot.core.stored import StoredDebate
from moot.runs.remote_run import ALONE
from moot.store.postgres import open_postgres
from moot.store.processes import Worker
from program import events_until, finish, run, started

DUEL = ("debate", "Cats are better than dogs", "--format", "duel", "--max-rounds", "1", "--json", "--model")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer().running() as server:
        yield server


@pytest.fixture
def database(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("MOOT_DATABASE_URL", postgres_url)
    monkeypatch.setenv("MOOT_LOG", "text")
    return postgres_url


@contextmanager
def worker() -> Iterator[subprocess.Popen[str]]:
    """A worker that is at work."""
    with started("worker", "--concurrency", "4") as process:
        assert process.stdout
        line = process.stdout.readline()
        assert line.endswith(": 4 debates at once.\n"), (line, process.communicate())
        yield process


def until_logged(process: subprocess.Popen[str], words: str) -> None:
    assert process.stderr
    assert any(words in line for line in process.stderr), f"it ended without {words!r}"


def load(url: str, debate_id: str) -> StoredDebate:
    async def loaded() -> StoredDebate:
        store = await open_postgres(url)
        stored = await store.load(debate_id)
        await store.close()
        return stored

    return asyncio.run(loaded())


def workers(url: str) -> tuple[Worker, ...]:
    async def listed() -> tuple[Worker, ...]:
        store = await open_postgres(url)
        found = await store.workers(1000)
        await store.close()
        return found

    return asyncio.run(listed())


def until(url: str, sql: str) -> Any:
    """Wait until something is so in the database."""

    async def wait() -> Any:
        connection = await asyncpg.connect(url)
        async with asyncio.timeout(PATIENCE):
            while not (value := await connection.fetchval(sql)):
                pass
        await connection.close()
        return value

    return asyncio.run(wait())


# Watching


def test_a_debate_is_run_by_the_worker_and_watched_in_the_terminal(server: ModelServer, database: str) -> None:
    server.pause_in(2)
    with worker() as process, started(*DUEL, server.model) as watching:
        before = events_until(watching, "turn_finished")
        server.wait_until_paused()
        record = load(database, before[0]["debate"]).record
        assert (record.owner or "").startswith(f"process {process.pid} on ")
        server.go_on()
        ran = finish(watching, before)
    assert (ran.code, ran.err) == (0, "")
    assert [turn["position"] for turn in ran.turns] == [0, 1, 2]
    assert [event["id"] for event in ran.events] == sorted({event["id"] for event in ran.events})
    assert ran.events[-1]["type"] == "debate_finished"
    assert len(server.requests) == 3


def test_a_debate_without_workers_says_so_and_is_run_in_the_terminal(server: ModelServer, database: str) -> None:
    ran = run(*DUEL, server.model)
    assert (ran.code, ran.err.strip()) == (0, ALONE)
    assert [turn["position"] for turn in ran.turns] == [0, 1, 2]
    assert load(database, ran.events[-1]["debate"]).record.run == 1
    assert workers(database) == ()


def test_what_a_killed_worker_has_left_goes_on_at_once_in_a_terminal(server: ModelServer, database: str) -> None:
    server.pause_in(2)
    with worker() as process, started(*DUEL, server.model) as watching:
        before = events_until(watching, "turn_finished")
        server.wait_until_paused()
        for each in (process, watching):
            each.kill()
    server.go_on()
    ran = run("debate", "--resume", before[0]["debate"], "--json")
    assert (ran.code, ran.err.strip()) == (0, ALONE)
    assert [turn["position"] for turn in ran.turns] == [0, 1, 2]
    stored = load(database, before[0]["debate"])
    assert [turn.run for turn in stored.turns] == [1, 2, 2]
    assert [failure.code for failure in stored.failures] == ["taken_over"]


def test_a_terminal_that_follows_what_no_worker_knows_says_why_it_waits(server: ModelServer, database: str) -> None:
    asked = run(*DUEL, server.model)
    debate_id = asked.events[0]["debate"]
    newer = """UPDATE debates SET status = 'stopped', outcome = NULL, format_version = 99 RETURNING id"""
    assert until(database, newer) == debate_id
    with worker(), started("debate", "--resume", debate_id) as watching:
        assert watching.stderr
        told = next(line for line in watching.stderr if "It waits" in line)
        watching.send_signal(signal.SIGINT)
        watching.send_signal(signal.SIGINT)
    assert told.endswith(
        f"{debate_id} follows version 99 of duel, newer than this moot knows; a worker that knows it has to run it.\n"
    )


# Leaving


@pytest.mark.parametrize("with_worker", [False, True], ids=["alone", "with a worker"])
def test_ctrl_c_stops_a_debate_after_the_turn_wherever_it_runs(
    server: ModelServer, database: str, with_worker: bool
) -> None:
    server.pause_in(2)
    with worker() if with_worker else nullcontext(), started(*DUEL, server.model) as watching:
        before = events_until(watching, "turn_finished")
        server.wait_until_paused()
        watching.send_signal(signal.SIGINT)
        until(database, "SELECT status = 'stopping' FROM debates")
        server.go_on()
        ran = finish(watching, before)
    debate_id = before[0]["debate"]
    assert ran.code == 4
    assert ran.err.endswith(f"Stopped: it was interrupted (Ctrl-C). Go on with:\nmoot debate --resume {debate_id}\n")
    stored = load(database, debate_id)
    assert (stored.record.status, stored.record.stop_reason) == (Status.STOPPED, "sigint")
    assert [turn.position for turn in stored.turns] == [0, 1]


def test_ctrl_c_twice_leaves_at_once_and_nobody_holds_the_debate(server: ModelServer, database: str) -> None:
    server.pause_in(2)
    with started(*DUEL, server.model) as watching:
        before = events_until(watching, "turn_finished")
        server.wait_until_paused()
        watching.send_signal(signal.SIGINT)
        until(database, "SELECT status = 'stopping' FROM debates")
        watching.send_signal(signal.SIGINT)
        ran = finish(watching, before)
    debate_id = before[0]["debate"]
    assert ran.code == 130
    assert f"{debate_id} was left; go on with: moot debate --resume {debate_id}" in ran.err
    stored = load(database, debate_id)
    assert (stored.record.status, stored.record.owner) == (Status.STOPPED, None)
    assert [turn.position for turn in stored.turns] == [0]


# Workers


def test_a_worker_that_is_to_end_lets_the_turn_end_and_another_goes_on(server: ModelServer, database: str) -> None:
    server.pause_in(2)
    with worker() as first, worker() as second, started(*DUEL, server.model) as watching:
        before = events_until(watching, "turn_finished")
        server.wait_until_paused()
        owner = load(database, before[0]["debate"]).record.owner or ""
        mine, other = (first, second) if owner.startswith(f"process {first.pid} on ") else (second, first)
        mine.send_signal(signal.SIGTERM)
        until_logged(mine, "worker draining")
        assert mine.poll() is None  # it waits for the turn
        server.go_on()
        assert mine.wait(PATIENCE) == 0
        ran = finish(watching, before)
        assert other.poll() is None
        assert [each.process.partition(" on ")[0] for each in workers(database)] == [f"process {other.pid}"]
    assert (ran.code, ran.err) == (0, "")
    assert [turn["position"] for turn in ran.turns] == [0, 1, 2]
    stored = load(database, before[0]["debate"])
    assert [turn.run for turn in stored.turns] == [1, 1, 2]
    assert stored.failures == ()
    assert len(server.requests) == 3


def test_a_debate_that_nobody_goes_on_with_stays_queued(server: ModelServer, database: str) -> None:
    server.pause_in(2)
    with worker() as process, started(*DUEL, server.model) as watching:
        before = events_until(watching, "turn_finished")
        watching.kill()
        server.wait_until_paused()
        process.send_signal(signal.SIGTERM)
        until_logged(process, "worker draining")
        server.go_on()
        assert process.wait(PATIENCE) == 0
    stored = load(database, before[0]["debate"])
    assert (stored.record.status, stored.record.stop_reason) == (Status.QUEUED, "interrupted")
    assert [turn.position for turn in stored.turns] == [0, 1]


def test_the_second_signal_ends_a_worker_at_once_and_others_do_the_turn_again(
    server: ModelServer, database: str
) -> None:
    server.pause_in(2)
    with worker() as process, started(*DUEL, server.model) as watching:
        before = events_until(watching, "turn_finished")
        watching.kill()
        server.wait_until_paused()
        process.send_signal(signal.SIGTERM)
        until_logged(process, "worker draining")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
        assert load(database, before[0]["debate"]).record.status is Status.RUNNING
        server.go_on()
    with worker():
        until(database, "SELECT status = 'finished' FROM debates")
    stored = load(database, before[0]["debate"])
    assert [turn.run for turn in stored.turns] == [1, 2, 2]


def test_a_worker_on_sqlite_says_what_to_do() -> None:
    ran = run("worker")
    assert (ran.code, ran.out) == (2, "")
    assert "workers share a Postgres: set MOOT_DATABASE_URL=postgresql://…; with SQLite, moot serve runs debates" in (
        " ".join(ran.err.split())
    )


# The schema


def test_a_database_is_made_and_brought_up_to_date_by_hand(
    postgres: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = postgres.empty_database()
    monkeypatch.setenv("MOOT_DATABASE_URL", url)
    for _ in range(2):
        ran = moot(capsys, "db", "upgrade")
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.strip().endswith("is up to date.")
    assert until(url, "SELECT to_regclass('debates') IS NOT NULL AND to_regclass('jobs') IS NOT NULL")


def test_a_file_is_made_and_brought_up_to_date_by_hand(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/new/moot.db"
    assert run("db", "upgrade", env={"MOOT_DATABASE_URL": url}) == (0, f"{url} is up to date.\n", "")
    assert (tmp_path / "new" / "moot.db").exists()

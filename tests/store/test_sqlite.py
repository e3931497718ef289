"""What is special about SQLite: the writer thread, other processes on the file, a full disk."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from moot.core.debate import Record, Status, Turn
from moot.core.engine import Control, RunResult
from moot.errors import Busy, Fenced, StoreError
from moot.store.sqlite import open_sqlite
from moot.store.store import Store

NEW = Record(id="DEB-1", format="duel", format_version=1, topic="Why?", settings={}, seats={}, created_at=0.0)
TURN = Turn(position=0, seat="debater_a", kind="argument", round=1, content="Because.", run=1)

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a folder" / "moot.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[Store]:
    """A store with one running debate."""
    store = await open_sqlite(path)
    await store.create(NEW)
    await store.take("DEB-1", "ann", 30)
    yield store
    await store.close()


def turns(count: int) -> list[Turn]:
    return [replace(TURN, position=position) for position in range(count)]


async def submitted(*calls: object) -> list[asyncio.Task[object]]:
    """Tasks that have handed their writes to the writer and now wait."""
    tasks = [asyncio.ensure_future(call) for call in calls]  # type: ignore[call-overload]
    await asyncio.sleep(0)
    return tasks


def commits(path: Path) -> int:
    """How many transactions the write-ahead log holds: the frames which carry the size of the database."""
    log = path.with_name(path.name + "-wal").read_bytes()
    page_size = int.from_bytes(log[8:12])
    frames = range(32, len(log), 24 + page_size)
    return sum(int.from_bytes(log[frame + 4 : frame + 8]) > 0 for frame in frames)


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    print(file=process.stdin, flush=True)


# The writer


async def test_what_waits_is_committed_together(store: Store, path: Path) -> None:
    before = commits(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        tasks = await submitted(*(store.append("DEB-1", turn) for turn in turns(50)))

    assert await asyncio.gather(*tasks) == [Control()] * 50
    # The writer had begun to wait for the lock with those that came first.
    assert commits(path) - before <= 2


async def test_one_failing_write_does_not_disturb_the_others_of_its_batch(store: Store, path: Path) -> None:
    unreadable = replace(TURN, position=100, data={"more than 64 bits": 2**70})
    surrogate = replace(TURN, position=101, content="\ud800")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        taken, fenced = replace(TURN, event_id=9), replace(TURN, position=102, run=7)
        wanted = [*turns(3), unreadable, taken, surrogate, fenced, *turns(6)[3:]]
        tasks = await submitted(*(store.append("DEB-1", turn) for turn in wanted))

    results = await asyncio.gather(*tasks, return_exceptions=True)

    good = [Control] * 3
    assert [type(result) for result in results] == [*good, TypeError, Fenced, UnicodeEncodeError, Fenced, *good]
    assert (await store.load("DEB-1")).turns == tuple(turns(6))


async def test_a_cancelled_caller_leaves_the_writer_at_work(store: Store) -> None:
    (first,) = await submitted(store.append("DEB-1", turns(1)[0]))
    first.cancel()

    await store.append("DEB-1", turns(2)[1])

    assert first.cancelled()
    assert (await store.load("DEB-1")).turns == tuple(turns(2))


def test_a_store_serves_one_event_loop_after_another(path: Path) -> None:
    store = asyncio.run(open_sqlite(path))
    asyncio.run(store.create(NEW))
    asyncio.run(store.take("DEB-1", "ann", 30))
    assert asyncio.run(store.append("DEB-1", TURN)) == Control()
    assert asyncio.run(store.load("DEB-1")).turns == (TURN,)
    asyncio.run(store.close())


def test_a_caller_whose_loop_is_gone_does_not_disturb_the_writer(path: Path) -> None:
    async def hand_over(store: Store) -> None:
        await submitted(store.append("DEB-1", TURN))

    store = asyncio.run(open_sqlite(path))
    asyncio.run(store.create(NEW))
    asyncio.run(store.take("DEB-1", "ann", 30))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        asyncio.run(hand_over(store))

    asyncio.run(store.append("DEB-1", turns(2)[1]))
    assert asyncio.run(store.load("DEB-1")).turns == tuple(turns(2))
    asyncio.run(store.close())


async def test_close_stores_what_was_handed_over_and_lets_go_of_the_file(path: Path) -> None:
    store = await open_sqlite(path)
    await store.create(NEW)
    await store.take("DEB-1", "ann", 30)
    tasks = await submitted(*(store.append("DEB-1", turn) for turn in turns(50)))

    await store.close()
    await store.close()

    assert await asyncio.gather(*tasks) == [Control()] * 50
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("moot-sqlite")] == []
    assert [file.name for file in path.parent.iterdir()] == ["moot.db"]  # SQLite's last connection removes its log
    for call in (store.append("DEB-1", TURN), store.load("DEB-1")):
        with pytest.raises(StoreError, match="has been closed; open the store again"):
            await call


@pytest.mark.parametrize("sql", ["UPDATE turns SET content = ''", "DELETE FROM turns"])
async def test_turns_cannot_be_changed(store: Store, path: Path, sql: str) -> None:
    await store.append("DEB-1", TURN)

    with (
        closing(sqlite3.connect(path)) as other,
        pytest.raises(sqlite3.IntegrityError, match="turns are written once, never changed"),
    ):
        other.execute(sql)


# What cannot be opened


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary, " * 1000)

    with pytest.raises(StoreError, match="this file is no moot database; choose another path"):
        await open_sqlite(path)

    assert path.read_text() == "Dear diary, " * 1000


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux which files are open")
async def test_a_file_that_is_no_database_is_let_go_of(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary, " * 1000)
    with pytest.raises(StoreError) as raised:
        await open_sqlite(path)
    still_open = {os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()}  # noqa: ASYNC240
    assert (str(path) in still_open, "no moot database" in str(raised.value)) == (False, True)


async def test_a_path_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "moot.db"):
        with pytest.raises(StoreError, match="path"):
            await open_sqlite(path)


# Other processes

HOLD_THE_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.readline()
connection.close()
"""


async def test_a_lock_held_by_another_process_loses_nothing_and_blocks_no_reader(
    store: Store, path: Path, start: Start
) -> None:
    other = start(HOLD_THE_LOCK, path)
    assert read_line(other) == "locked"
    tasks = await submitted(*(store.append("DEB-1", turn) for turn in turns(20)))

    assert (await store.load("DEB-1")).turns == ()
    tell(other)

    assert await asyncio.gather(*tasks) == [Control()] * 20
    assert (await store.load("DEB-1")).turns == tuple(turns(20))


TAKE_AND_APPEND = """
import asyncio, sys
from pathlib import Path
from moot.model import Turn
from moot.store.sqlite import open_sqlite

async def main():
    store = await open_sqlite(Path(sys.argv[1]))
    await store.take("DEB-1", "the other process", 30)
    await store.append("DEB-1", Turn(position=0, seat="debater_a", kind="argument", round=1, content="Because.", run=1))
    print("stored", flush=True)
    sys.stdin.readline()

asyncio.run(main())
"""


async def test_a_turn_survives_the_kill_of_its_process_which_owns_the_debate_till_its_lease_ends(
    path: Path, start: Start
) -> None:
    store = await open_sqlite(path)
    await store.create(NEW)
    other = start(TAKE_AND_APPEND, path)
    assert read_line(other) == "stored"
    other.kill()
    other.wait()

    with pytest.raises(Busy, match=r"DEB-1 is being run by the other process, whose lease lasts (30|[12]\d) s more"):
        await store.take("DEB-1", "ann", 30)
    assert await store.release("DEB-1", 1) is True
    assert (await store.take("DEB-1", "ann", 30)).turns == (TURN,)
    await store.close()


FILL_THE_DISK = """
import asyncio, resource, sys
from pathlib import Path
from moot.errors import StoreError
from moot.model import Turn
from moot.store.sqlite import open_sqlite

async def main():
    store = await open_sqlite(Path(sys.argv[1]))
    await store.take("DEB-1", "ann", 30)
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, unlimited[1]))
    text = {"seat": "debater_a", "kind": "argument", "round": 1, "content": "Because. " * 1000}
    turns = [Turn(position=position, run=1, **text) for position in range(100)]
    position = 0
    try:
        while True:
            await store.append("DEB-1", turns[position])
            position += 1
    except StoreError as error:
        print(position, error, flush=True)
    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    await store.append("DEB-1", turns[position])
    await store.close()

asyncio.run(main())
"""


async def test_a_full_disk_is_reported_and_the_debate_goes_on_when_there_is_room(path: Path, start: Start) -> None:
    store = await open_sqlite(path)
    await store.create(NEW)
    await store.close()

    other = start(FILL_THE_DISK, path)
    stored, message = read_line(other).split(" ", 1)
    assert other.wait(30) == 0

    assert int(stored) > 5
    assert message == f"{path}: disk I/O error; the disk is full or failing; check it, then resume the debate"
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        positions = connection.execute("SELECT position FROM turns ORDER BY position").fetchall()
    assert positions == [(position,) for position in range(int(stored) + 1)]


async def test_a_debate_does_not_end_before_it_began_when_the_clock_was_set_back(store: Store, path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE debates SET created_at = 9e9")
    await store.end("DEB-1", 1, RunResult(Status.FAILED, "failed", error="No."))
    assert (await store.load("DEB-1")).record.finished_at == 9e9

"""Every fault at every place, and what became of the debates: `python bench/faults.py`, or with `--quick` for a taste.

Real processes, a real Postgres, all four formats, and a model whose replies depend on the request alone, so that the
undisturbed transcript is the expected one. The same code, in small doses, is tests/faults. Exits with 1 when a turn was
lost or doubled, more calls were repeated than were in flight, or something took longer than it may.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "faults"))

from contests import Contest, contend, freeze
from cuts import cut, named
from losses import BRIEF, HELD, Timing, lose_a_worker
from outages import Trouble, crash, fail_over, fill, lock, outage, read_only, vanish
from scenes import SCENES, TOPIC, Blow, create, finished, told
from sweeps import SHORT, Fault, Place, Survival, each_call, each_notify, each_write, lost, place, sweep
from troupe import Cluster, own_postgres, until

from moot.runs.retries import TAKEN_OVER
from moot.store.postgres import STATEMENT_SECONDS
from proxy import proxy

WORKERS = 8
TAKEOVER_SLACK = 5.0
RESTART_SECONDS = 3.0
GOING_AGAIN_SECONDS = 10.0
LEFT_SLACK = 10.0
HEALTH_SECONDS = 3.0
WORD_SECONDS = 0.05


class Dose(NamedTuple):
    """How much of everything."""

    step: int
    """Every nth place."""
    timing: Timing
    contests: int
    freezes: int
    away: float
    """Seconds without a Postgres."""
    locked: float
    cut: float
    """Seconds in which connections are cut."""
    readers: int


FULL = Dose(1, Timing(30, 10), contests=200, freezes=10, away=30, locked=10, cut=60, readers=24)
QUICK = Dose(6, Timing(3, 1), contests=10, freezes=2, away=3, locked=1, cut=5, readers=4)


class Row(NamedTuple):
    fault: str
    faults: int
    debates: int
    lost: int
    doubled: int
    repeated: int
    most_repeated: int
    """So many calls were in flight."""
    seconds: tuple[float, ...] = ()
    """To takeover, or until it goes on."""
    limit: float | None = None
    broken: str = ""

    @property
    def passed(self) -> bool:
        in_time = self.limit is None or max(self.seconds) <= self.limit
        return not (self.lost or self.doubled or self.broken) and self.repeated <= self.most_repeated and in_time

    def __str__(self) -> str:
        times = "–"
        if self.seconds:
            low, high = min(self.seconds), max(self.seconds)
            times = f"{low:.1f} / {statistics.median(self.seconds):.1f} / {high:.1f} s"
        limit = f"≤ {self.limit:g} s" if self.limit else ""
        cells = (self.fault, self.faults, self.debates, self.lost, self.doubled, self.repeated, times, limit)
        return f"| {' | '.join(map(str, cells))} | {'yes' if self.passed else self.broken or '**no**'} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="Inject every fault at every place.")
    parser.add_argument("--quick", action="store_true", help="a few places and short outages")
    os.environ["MOOT_DEPTH"] = "quick"  # its model judges once
    logging.disable()  # that a database is away is what is wanted here
    sys.exit(asyncio.run(run(QUICK if parser.parse_args().quick else FULL)))


async def run(dose: Dose) -> int:
    print("| fault | injected | debates | turns lost | doubled | calls repeated | until it goes on | limit | held |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    passed = True
    with own_postgres() as cluster:
        async for row in rows(cluster, dose):
            passed = passed and row.passed
            print(row, flush=True)
    return 0 if passed else 1


async def rows(cluster: Cluster, dose: Dose) -> AsyncIterator[Row]:
    async for row in deaths(cluster, dose):
        yield row
    with TemporaryDirectory() as name:
        folder = Path(name)
        yield await takeover(cluster, folder, dose)
        yield await restart(folder)
        yield await contest(cluster, folder, dose)
        yield await frozen(cluster, folder, dose)
        yield await troubled(cluster.database(), folder, crash(cluster), "crashed", dose)
        yield await troubled(cluster.database(), folder, read_only(cluster), "read-only", dose)
        url = cluster.database()
        yield await troubled(f"{url}&lock_timeout=500", folder, lock(url), "locked, lock_timeout 0.5 s", dose)
        async with proxy(cluster.database()) as between:
            waited = max(GOING_AGAIN_SECONDS, STATEMENT_SECONDS - dose.away)  # for an answer that never comes
            yield await troubled(between.url, folder, vanish(between), "silent", dose, waited)
        yield await cut_off(cluster.database(), folder, dose)
        yield await locked(folder, dose)
        for killed in ("moot debate", "moot serve"):
            yield await left(folder, killed, dose)
        if os.geteuid() == 0:  # nobody else can have a disk that is full
            with cluster.small_disk() as disk:
                yield await troubled(disk.url, folder, fill(disk), "on a full disk", dose)
        with cluster.standby() as standby:  # the last: there is no way back
            url = standby.beside(cluster.database())
            yield await troubled(url, folder, fail_over(cluster, standby), "crashed, and a standby took over", dose)


async def deaths(cluster: Cluster, dose: Dose) -> AsyncIterator[Row]:
    """A process dies at the first place, the second, and so on, until it gets through."""
    places: dict[str, Callable[[], Iterator[Fault]]] = {
        "before each write": each_write,
        "before each NOTIFY": each_notify,
        "before each reply": each_call(0),
        "in each reply": each_call(3),
    }
    for where in ("Postgres", "SQLite"):
        with TemporaryDirectory() as folder:
            url = cluster.database() if where == "Postgres" else f"sqlite:///{folder}/moot.db"
            async with place(url, Path(folder), SHORT) as here:
                for what, faults in places.items():
                    if where == "Postgres" or faults is not each_notify:
                        yield await killed(here, f"kill -9 {what}, {where}", faults, dose.step)


async def killed(here: Place, name: str, faults: Callable[[], Iterator[Fault]], step: int) -> Row:
    survivals: list[Survival] = []
    broken, most = "", 0
    for scene in SCENES.values():
        seen = [each async for each in sweep(here, scene, islice(faults(), 0, None, step))]
        most += len(seen) * scene.at_once
        broken = broken or ("" if all(each.repeated <= scene.at_once for each in seen) else f"**{scene.format}**")
        survivals += seen
    return Row(
        name,
        len(survivals),
        len(survivals),
        sum(each.lost for each in survivals),
        sum(each.doubled for each in survivals),
        sum(each.repeated for each in survivals),
        most,
        tuple(each.takeover for each in survivals if each.takeover is not None),
        broken=broken,
    )


async def takeover(cluster: Cluster, folder: Path, dose: Dose) -> Row:
    async with place(cluster.database(), folder, dose.timing.environ) as here:
        seen = await lose_a_worker(here, dose.timing)
    name = f"kill -9 of a worker with {len(seen)} debates, lease {dose.timing.lease:g} s"
    times = tuple(each.takeover or 0.0 for each in seen)
    lost_turns, doubled = sum(each.lost for each in seen), sum(each.doubled for each in seen)
    most = sum(scene.at_once for scene in SCENES.values())
    return Row(
        name, 1, len(seen), lost_turns, doubled, seen[-1].repeated, most, times, dose.timing.lease + TAKEOVER_SLACK
    )


async def restart(folder: Path) -> Row:
    async with place(f"sqlite:///{folder}/restart.db", folder, {}) as here:
        here.server.word_seconds = HELD
        ids = [await create(here.app, scene) for scene in SCENES.values()]
        first = here.start("first")
        await until(lambda: len(here.server.requests) >= len(ids))
        first.kill()
        began = time.time()
        with started_again(here):
            await until(lambda: _noted(here, ids))
            here.server.word_seconds = 0.0
            for debate_id in ids:
                await until(lambda debate_id=debate_id: finished(here.app, debate_id))
        whole = [(await here.app.load(debate_id)).turns for debate_id in ids]
        missing = sum(lost(turns, (), here.expected[name]) for turns, name in zip(whole, SCENES, strict=True))
        times = tuple([await _went_on(here, debate_id) - began for debate_id in ids])
        most = sum(scene.at_once for scene in SCENES.values())
        repeated = here.server.repeated()
    return Row("kill -9 of moot serve, started again", 1, len(ids), missing, 0, repeated, most, times, RESTART_SECONDS)


@contextmanager
def started_again(here: Place) -> Iterator[None]:
    """As anybody starts it: with all that Python has to import first."""
    command = [sys.executable, "-m", "moot", *here.arguments]
    with subprocess.Popen(command, env=here.troupe.environ, stdout=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


async def _noted(here: Place, ids: list[str]) -> bool:
    return all([(await here.app.load(debate_id)).record.run == 2 for debate_id in ids])


async def _went_on(here: Place, debate_id: str) -> float:
    """When the second run began its first step."""
    return float(min(turn.started_at for turn in (await here.app.load(debate_id)).turns if turn.run == 2))


async def contest(cluster: Cluster, folder: Path, dose: Dose) -> Row:
    url = cluster.database()
    async with place(url, folder, {}) as here:
        for number in range(WORKERS):
            await here.start(f"worker-{number}").ready()
        contests = await contend(here, url, dose.contests, WORKERS)
    whole = Contest(runs=1, positions=[0, 1, 2], speakers=1, calls=3)
    broken = [each for each in contests if each != whole]
    missing = sum(len({0, 1, 2} - set(each.positions)) for each in contests)
    doubled = sum(each.calls - 3 for each in contests)
    faults = dose.contests * (WORKERS - 1)
    told_so = f"**{broken[0]}**" if broken else ""
    return Row(f"{WORKERS} workers on one debate", faults, len(contests), missing, doubled, 0, 0, broken=told_so)


async def frozen(cluster: Cluster, folder: Path, dose: Dose) -> Row:
    missing = doubled = repeated = 0
    for _ in range(dose.freezes):
        async with place(cluster.database(), folder, BRIEF.environ) as here:
            debate_id, owner, _, turns = await freeze(here)
            owner.signal(signal.SIGCONT)
            here.server.go_on()
            await until(lambda debate_id=debate_id, app=here.app: finished(app, debate_id))
            stored = await here.app.load(debate_id)
            missing += lost(stored.turns, turns, here.expected["duel"])
            doubled += len(stored.turns) - len(here.expected["duel"])
            repeated += here.server.repeated()
    return Row(
        "SIGSTOP past the lease, then woken", dose.freezes, dose.freezes, missing, doubled, repeated, dose.freezes
    )


async def troubled(
    url: str, folder: Path, trouble: Trouble, how: str, dose: Dose, limit: float = GOING_AGAIN_SECONDS
) -> Row:
    async with place(url, folder, {}) as here:
        seen = await outage(here, trouble, dose.away)
    broken = "" if seen.alive and seen.health == [200, trouble.health, 200] else f"**{seen}**"
    name = f"Postgres {how} for {dose.away:g} s, health {trouble.health}"
    # After a lease without a heartbeat either worker may go on with a debate; each call in flight is repeated then.
    most = sum(scene.at_once for scene in SCENES.values()) if dose.away >= 20 else 0
    times = (seen.going_again,)
    return Row(name, 1, len(SCENES), seen.lost, seen.doubled, seen.repeated, most, times, limit, broken=broken)


async def cut_off(url: str, folder: Path, dose: Dose) -> Row:
    async with place(url, folder, {"MOOT_DATABASE_URL": named(url), **dose.timing.environ}) as here:
        seen = await cut(here, url, dose.cut, dose.readers, WORD_SECONDS)
        same = here.server.repeated()  # debates of one scene ask the same, each once
        repeated = same - (len(here.server.requests) - same) * (dose.readers // len(SCENES) - 1)
    right = seen.alive and not seen.hanging and seen.health <= {200, 503} and seen.slowest_health < HEALTH_SECONDS
    name = f"connections cut at random for {dose.cut:g} s, a reader for each debate"
    broken = "" if right else f"**{seen}**"
    return Row(name, seen.cuts, dose.readers, seen.lost, seen.doubled, repeated, repeated, broken=broken)


async def left(folder: Path, killed: str, dose: Dose) -> Row:
    """A process on an SQLite file is killed beside a server, on another machine, so that only its lease tells."""
    path = folder / f"{killed.replace(' ', '-')}.db"
    async with place(f"sqlite:///{path}", folder, dose.timing.environ) as here:
        here.server.word_seconds = HELD
        debate_id = (await here.app.create("duel", TOPIC, SCENES["duel"].settings)).id
        arguments = ("debate", "--resume", debate_id, "--json") if killed == "moot debate" else here.arguments
        if killed == "moot serve":
            await here.app.store.enqueue(debate_id)
        process = here.troupe.start("killed", *arguments, machine="elsewhere")
        await until(lambda: here.server.requests != [])
        await here.start("server").ready()
        process.kill()
        at = time.time()
        await until(lambda: _taken_over(here, debate_id), dose.timing.lease + LEFT_SLACK)
        here.server.word_seconds = 0.0
        await until(lambda: finished(here.app, debate_id))
        stored = await here.app.load(debate_id)
        took = next(failure.at for failure in stored.failures if failure.code == TAKEN_OVER) - at
        missing = lost(stored.turns, (), here.expected["duel"])
        repeated = here.server.repeated()
    name = f"kill -9 of {killed} beside a moot serve, SQLite, lease {dose.timing.lease:g} s"
    return Row(name, 1, 1, missing, 0, repeated, 1, (took,), dose.timing.lease + LEFT_SLACK)


async def _taken_over(here: Place, debate_id: str) -> bool:
    return any(failure.code == TAKEN_OVER for failure in (await here.app.load(debate_id)).failures)


async def locked(folder: Path, dose: Dose) -> Row:
    path = folder / "locked.db"
    async with place(f"sqlite:///{path}", folder, {}) as here:
        with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
            blow = Blow(2, 3, lambda key: other.execute("BEGIN IMMEDIATE").close())
            here.server.strike = blow
            debate_id = await create(here.app, SCENES["duel"])
            server = here.start("server")
            await until(blow.struck.is_set)
            await asyncio.sleep(dose.locked)
        released = time.monotonic()
        await until(lambda: finished(here.app, debate_id))
        stored, took = await here.app.load(debate_id), time.monotonic() - released
        missing = lost(stored.turns, (), here.expected["duel"])
        whole = server.alive and told(stored.turns) == here.expected["duel"] and not stored.failures
        repeated = here.server.repeated()
    broken = "" if whole else f"**{stored.failures}**"
    name = f"SQLite locked for {dose.locked:g} s"
    return Row(name, 1, 1, missing, 0, repeated, 0, (took,), GOING_AGAIN_SECONDS, broken=broken)


if __name__ == "__main__":
    main()

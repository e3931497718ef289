"""How many steps workers get through, what waiting debates cost, and what the queue costs: `python bench/scale.py`.

Starts a Postgres, a model server and the processes it measures. What counts are the ratios of one run: the same
debates by workers, by `moot serve` on SQLite, and by a loop without a queue on Postgres and in memory. With `--quick`
for a shorter one; `--server URL` takes another model server, such as one in C.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "faults"))

import aiohttp
import asyncpg
import psutil
import uvloop
from pydantic import JsonValue
from run import busy_seconds, model_server, own_seconds, set_pace
from troupe import Cluster, Process, Troupe, own_postgres, until

from moot import formats
from moot.app import App, build
from moot.core.debate import Status
from moot.core.engine import RunResult
from moot.core.prompts import Prompts
from moot.llm.models import Models
from moot.settings import AppSettings
from moot.testing import MemoryStore

STEPS = 5
SETTINGS: dict[str, JsonValue] = {"depth": "quick", "max_rounds": 2, "max_total_output_tokens": 1_000_000}
TTFT_US = 50_000
GAP_US = 20_000
WARM_UP = 8
"""Debates of each process before those that are measured."""
TOPIC = "A city should make its public transport free"


class Size(NamedTuple):
    debates: int
    """At once, at a model's pace."""
    unpaced: int
    """Without a model's delay."""
    tokens: int
    repeats: int
    waiting: int
    running: int
    idle_seconds: float


FULL = Size(debates=60, unpaced=200, tokens=200, repeats=2, waiting=1000, running=200, idle_seconds=10)
QUICK = Size(debates=40, unpaced=100, tokens=50, repeats=1, waiting=200, running=40, idle_seconds=3)


class Model(NamedTuple):
    """A model server, and how it speaks when it is measured."""

    url: str
    tokens: int
    gap_us: int

    def hurry(self) -> None:
        set_pace(self.url, self.tokens, 0, 0)

    def speak(self) -> None:
        set_pace(self.url, self.tokens, TTFT_US if self.gap_us else 0, self.gap_us)


class Place(NamedTuple):
    """Where debates are run: a database, and the moot processes on it."""

    name: str
    url: str
    arguments: tuple[str, ...]
    processes: int


class Measured(NamedTuple):
    seconds: float
    cpu_seconds: float
    """Of moot's processes; Postgres and the model server are not among them."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure workers, and what waits beside them.")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--server", metavar="URL", help="another model server than our own")
    options = parser.parse_args()
    gc.set_threshold(10_000, 10, 10)  # as moot does
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, duels of {STEPS} steps\n")
    busy, began = busy_seconds(), time.perf_counter()
    with own_postgres() as cluster, model_server(options.server) as url, TemporaryDirectory() as folder:
        uvloop.run(measure(cluster, url, Path(folder), QUICK if options.quick else FULL))
    share = (busy_seconds() - busy - own_seconds()) / (time.perf_counter() - began) / (os.cpu_count() or 1)
    print(f"\nPostgres, the processes measured and all other work took {share:.0%} of the machine meanwhile.")


async def measure(cluster: Cluster, model_url: str, folder: Path, size: Size) -> None:
    for title, debates, gap in (
        (f"{size.debates} debates at {1_000_000 // GAP_US} tokens/s, {size.tokens} tokens", size.debates, GAP_US),
        (f"{size.unpaced} debates without a model's delay", size.unpaced, 0),
    ):
        model = Model(model_url, size.tokens, gap)
        print(f"| {title} | steps/s | of the bare loop | CPU per step |\n|---|---|---|---|", flush=True)
        await compare(cluster, model, folder, debates, size.repeats)
        print()
    await waiting(cluster, Model(model_url, size.tokens, GAP_US), size)


async def compare(cluster: Cluster, model: Model, folder: Path, debates: int, repeats: int) -> None:
    """The same debates everywhere, the places in turns so that a slow minute hits all of them alike."""
    seen: dict[str, list[Measured]] = {}
    for _ in range(repeats):
        async for name, measured in everywhere(cluster, model, folder, debates):
            seen.setdefault(name, []).append(measured)
    bare = statistics.median(each.seconds for each in seen["bare loop, Postgres"])
    for name, all_measured in seen.items():
        seconds = statistics.median(each.seconds for each in all_measured)
        cpu = statistics.median(each.cpu_seconds for each in all_measured) / (debates * STEPS)
        print(f"| {name} | {debates * STEPS / seconds:.0f} | {bare / seconds:.0%} | {1000 * cpu:.1f} ms |", flush=True)


async def everywhere(cluster: Cluster, model: Model, folder: Path, debates: int) -> AsyncIterator[tuple[str, Measured]]:
    yield "bare loop, memory", await bare(model, None, debates)
    yield "bare loop, Postgres", await bare(model, cluster.database(), debates)
    serve = Place("moot serve, SQLite", f"sqlite:///{folder}/{time.time_ns()}.db", ("serve", "--port", "0"), 1)
    yield serve.name, await queued(serve, model, folder, debates)
    for workers in (1, 2, 4):
        place = Place(f"{workers} worker{'s' * (workers > 1)}", cluster.database(), ("worker",), workers)
        yield place.name, await queued(place, model, folder, debates)


async def bare(model: Model, url: str | None, debates: int) -> Measured:
    """All debates in this process, without a queue."""
    own = psutil.Process()
    async with opened(model.url, url) as app:
        for count, pace in ((WARM_UP, model.hurry), (debates, model.speak)):
            pace()
            ids = await created(app, count)
            cpu, began = cpu_seconds([own]), time.perf_counter()
            await asyncio.gather(*(app.run(debate_id, lambda event: None) for debate_id in ids))
            took = Measured(time.perf_counter() - began, cpu_seconds([own]) - cpu)
        await check(app, WARM_UP + debates)
    return took


async def created(app: App, debates: int) -> list[str]:
    return [(await app.create("duel", f"{TOPIC} ({number})", SETTINGS)).id for number in range(debates)]


@asynccontextmanager
async def opened(model_url: str, url: str | None) -> AsyncIterator[App]:
    """An app on a database, or in memory."""
    settings = AppSettings(database_url=url or "sqlite:////nowhere", model=f"{model_url}#mock")
    if url:
        async with build(settings, environ={}) as app:
            yield app
    else:
        app = App(settings, MemoryStore(), lambda: Models({}), formats.load(), Prompts, {})
        yield app
        await app.close()


async def queued(place: Place, model: Model, folder: Path, debates: int) -> Measured:
    """All debates handed to the queue at once, in processes that are there already and have run some."""
    async with opened(model.url, place.url) as app:
        with Troupe(folder, environ(place.url, model.url, debates)).on_stage() as troupe:
            processes = [troupe.start(f"{number}", *place.arguments) for number in range(place.processes)]
            await asyncio.gather(*(process.ready() for process in processes))
            for count, pace in ((WARM_UP * place.processes, model.hurry), (debates, model.speak)):
                pace()
                ids = await created(app, count)
                cpu, began = cpu_seconds(map(of, processes)), time.perf_counter()
                await hand_over(app, place, ids, processes)
                await until(lambda: all_ended(app), 600)
                took = Measured(time.perf_counter() - began, cpu_seconds(map(of, processes)) - cpu)
        await check(app, WARM_UP * place.processes + debates)
    return took


async def hand_over(app: App, place: Place, ids: Sequence[str], processes: Sequence[Process]) -> None:
    """Workers hear of what is enqueued; a server that works alone is asked itself."""
    if place.arguments[0] == "worker":
        await asyncio.gather(*(app.store.enqueue(debate_id) for debate_id in ids))
        return
    address = processes[0].said.split()[3]
    async with aiohttp.ClientSession() as session:
        responses = [session.post(f"{address}/api/debates/{debate_id}/start") for debate_id in ids]
        for response in await asyncio.gather(*responses):
            response.release()


def environ(url: str, model_url: str, at_once: int) -> dict[str, str]:
    most = str(at_once)
    model = {"MOOT_MODEL": f"{model_url}#mock"}
    return {**model, "MOOT_DATABASE_URL": url, "MOOT_MAX_RUNNING": most}


async def all_ended(app: App) -> bool:
    counts = await app.store.counts()
    return not {Status.CREATED, Status.QUEUED, Status.RUNNING} & counts.keys()


async def check(app: App, debates: int) -> None:
    """That it was the debates we mean to measure, whole and each turn once."""
    records = await app.list(limit=debates + 1, status=Status.FINISHED)
    turns = [len((await app.load(record.id)).turns) for record in records]
    if turns != [STEPS] * debates:
        raise SystemExit(f"{debates} debates of {STEPS} turns were to finish, not {turns}")


async def waiting(cluster: Cluster, model: Model, size: Size) -> None:
    """What a server and a worker take while debates wait for people, and while others run beside these."""
    url = cluster.database()
    model.speak()
    print("| a server without work and a worker | server | worker |\n|---|---|---|", flush=True)
    chosen = {**os.environ, **environ(url, model.url, size.running)}
    async with opened(model.url, url) as app:
        with (
            program("serve", "--no-work", "--port", "0", environ=chosen) as server,
            program("worker", environ=chosen) as worker,
        ):
            both = (server, worker)
            await idle("nothing to do", both, size.idle_seconds)
            await wait_for_people(app, size.waiting)
            await idle(f"{size.waiting} debates waiting for people", both, size.idle_seconds)
            ids = await created(app, size.running)
            await asyncio.gather(*(app.store.enqueue(debate_id) for debate_id in ids))
            await until(lambda: running(app, size.running))
            await idle(f"{size.running} running beside them", both, size.idle_seconds)
            await until(lambda: all_ended(app), 600)
            await idle("these have ended", both, size.idle_seconds)
    await sizes(url, size)


@contextmanager
def program(*arguments: str, environ: Mapping[str, str]) -> Iterator[psutil.Process]:
    """moot started as anybody starts it, so that all its memory is its own."""
    command = [sys.executable, "-m", "moot", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environ, text=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield psutil.Process(process.pid)
        finally:
            process.terminate()


async def wait_for_people(app: App, debates: int) -> None:
    """Debates as a run leaves them that has come to a question."""
    for number in range(debates):
        record = await app.create("panel", f"{TOPIC} ({number})")
        taken = await app.store.take(record.id, "process 0 on nowhere", 30)
        await app.store.end(record.id, taken.record.run, RunResult(Status.WAITING, due_in=1800))


async def running(app: App, debates: int) -> bool:
    return (await app.store.counts()).get(Status.RUNNING) == debates


async def idle(name: str, processes: Sequence[psutil.Process], seconds: float) -> None:
    before = [cpu_seconds([process]) for process in processes]
    await asyncio.sleep(seconds)
    shares = [(cpu_seconds([process]) - was) / seconds for process, was in zip(processes, before, strict=True)]
    memory = [process.memory_info().rss / 2**20 for process in processes]
    cells = (f"{held:.0f} MB, {share:.1%} of a core" for held, share in zip(memory, shares, strict=True))
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


async def sizes(url: str, size: Size) -> None:
    """What the database holds for each debate."""
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch(
            "SELECT relname, pg_total_relation_size(oid) AS bytes FROM pg_class "
            "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        )
    finally:
        await connection.close()
    queue = sum(row["bytes"] for row in rows if row["relname"] == "jobs")
    all_bytes = sum(row["bytes"] for row in rows)
    debates = size.waiting + size.running
    print(f"\n{debates} debates, {size.running} of them finished with {STEPS} turns of {size.tokens} tokens:")
    own, other = (count / debates / 1024 for count in (all_bytes - queue, queue))
    print(f"{own:.1f} kB each in moot's tables, {other:.1f} kB in the queue's.")


def of(process: Process) -> psutil.Process:
    return psutil.Process(process.pid)


def cpu_seconds(processes: Iterable[psutil.Process]) -> float:
    times = [process.cpu_times() for process in processes]
    return float(sum(each.user + each.system for each in times))


if __name__ == "__main__":
    main()

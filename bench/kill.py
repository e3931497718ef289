"""Workers killed at random while they run debates, and nothing of it to be seen afterwards: `python bench/kill.py`.

Starts a Postgres, a model server, `moot serve --no-work` and three `moot worker`s; creates 50 debates of all formats;
kills a random worker with -9 every two seconds, and starts another in its place. Each worker has a machine of its own
as far as the others can tell, so only the lease says that it is dead. Exits with 1 when anything was lost or doubled,
or a takeover took longer than its lease and five seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "faults"))

import aiohttp
from scenes import Model, Scene, model, open_app, told
from troupe import Process, Troupe, own_postgres, until

from moot.app import App
from moot.core.debate import Status, Turn
from moot.runs.retries import TAKEN_OVER

SCENES = (
    Scene("duel", {"max_rounds": 3}),
    Scene("critique", {"max_rounds": 2}),
    Scene("evaluation", {"exchanges": 0}, at_once=3),
    Scene("panel", {"max_rounds": 2, "checkpoints": False}, at_once=2),
)
WORD_SECONDS = 0.03
TAKEOVER_SLACK = 5.0
PATIENCE = 300.0


class Options(NamedTuple):
    debates: int
    workers: int
    every: float
    lease: float
    heartbeat: float

    @property
    def environ(self) -> dict[str, str]:
        return {
            "MOOT_LEASE_SECONDS": str(self.lease),
            "MOOT_HEARTBEAT_SECONDS": str(self.heartbeat),
            "MOOT_MAX_RETRIES": "100",  # a debate is not to blame for those who are killed here
            "MOOT_MAX_RUNNING": str(self.debates),
        }


@dataclass(slots=True)
class Show:
    """What was killed when, and what became of the debates."""

    killed: dict[str, float] = field(default_factory=dict)
    lost: int = 0
    doubled: int = 0
    unfinished: int = 0
    takeovers: list[float] = field(default_factory=list)
    in_flight: int = 0
    """So many calls can have been cut off at most."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill workers at random, and see that nothing is lost.")
    parser.add_argument("--debates", type=int, default=50)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--every", type=float, default=2.0, help="seconds between two kills")
    parser.add_argument("--lease", type=float, default=3.0)
    parser.add_argument("--heartbeat", type=float, default=1.0)
    parser.add_argument("--default-lease", action="store_true", help="30 and 10 seconds, as moot has it")
    chosen = parser.parse_args()
    lease, heartbeat = (30.0, 10.0) if chosen.default_lease else (chosen.lease, chosen.heartbeat)
    options = Options(chosen.debates, chosen.workers, chosen.every, lease, heartbeat)
    sys.exit(asyncio.run(show(options)))


async def show(options: Options) -> int:
    topics = [f"Which cache should we use in case {number}?" for number in range(options.debates)]
    plan = dict(zip(topics, (SCENES[number % 4] for number in range(options.debates)), strict=True))
    with TemporaryDirectory() as name, own_postgres() as cluster, model() as server:
        expected = await rehearse(f"sqlite:///{name}/undisturbed.db", server, plan)
        server.forget()
        server.word_seconds = WORD_SECONDS
        url = cluster.database()
        async with open_app(url, server) as app:
            environ = {**server.environ, **options.environ, "MOOT_DATABASE_URL": url}
            with Troupe(Path(name), environ).on_stage() as troupe:
                began = time.monotonic()
                seen = await perform(app, troupe, plan, options)
                took = time.monotonic() - began
                await judge(app, seen, plan, expected)
        return report(seen, server, options, took)


async def rehearse(url: str, server: Model, plan: Mapping[str, Scene]) -> dict[str, list[Turn]]:
    """Every debate as it is when nothing happens."""

    async def one(app: App, topic: str, scene: Scene) -> list[Turn]:
        record = await app.create(scene.format, topic, scene.settings)
        await app.run(record.id, lambda event: None)
        return list(told((await app.load(record.id)).turns))

    async with open_app(url, server) as app:
        transcripts = await asyncio.gather(*(one(app, *each) for each in plan.items()))
    return dict(zip(plan, transcripts, strict=True))


async def perform(app: App, troupe: Troupe, plan: Mapping[str, Scene], options: Options) -> Show:
    web = troupe.start("web", "serve", "--no-work", "--port", "0")
    address = (await web.ready()).split()[3]
    workers = [begin(troupe, number) for number in range(options.workers)]
    await asyncio.gather(*(worker.ready() for worker in workers))
    async with aiohttp.ClientSession() as session:
        for topic, scene in plan.items():
            body = {"topic": topic, "format": scene.format, "settings": scene.settings}
            async with session.post(f"{address}/api/debates", json=body) as response:
                response.raise_for_status()
    seen = Show()
    killing = asyncio.create_task(kill(troupe, workers, seen, options.every))
    try:
        await until(lambda: none_left(app), PATIENCE + 10 * options.lease)
    finally:
        killing.cancel()
    return seen


async def kill(troupe: Troupe, workers: list[Process], seen: Show, every: float) -> None:
    while True:
        await asyncio.sleep(every)
        place = random.randrange(len(workers))
        seen.killed[workers[place].name] = time.time()
        workers[place].kill()
        workers[place] = begin(troupe, len(workers) + len(seen.killed))


def begin(troupe: Troupe, number: int) -> Process:
    return troupe.start(f"worker-{number}", "worker", machine=f"worker-{number}")


async def none_left(app: App) -> bool:
    counts = await app.store.counts()
    return not {Status.QUEUED, Status.RUNNING} & counts.keys()


async def judge(app: App, seen: Show, plan: Mapping[str, Scene], expected: Mapping[str, Sequence[Turn]]) -> None:
    records = await app.list(limit=len(plan) + 1)
    seen.doubled += len(records) - len(plan)
    for record in records:
        stored = await app.load(record.id)
        turns, whole = told(stored.turns), expected[record.topic]
        seen.unfinished += record.status is not Status.FINISHED
        seen.lost += sum(turn not in turns for turn in whole)
        seen.doubled += max(0, len(turns) - len(whole))
        lost = [failure for failure in stored.failures if failure.code == TAKEN_OVER]
        owners = [(failure.at, seen.killed.get(owner_of(failure.message))) for failure in lost]
        seen.takeovers += [at - killed for at, killed in owners if killed]
        seen.in_flight += len(lost) * plan[record.topic].at_once


def owner_of(message: str) -> str:
    """Of "process 7 on worker-3 was lost …": worker-3."""
    return message.split(" on ", 1)[1].split()[0]


def report(seen: Show, server: Model, options: Options, took: float) -> int:
    finished = options.debates - seen.unfinished
    print(f"debates     {finished} of {options.debates} finished, {seen.lost} turns lost, {seen.doubled} doubled")
    print(f"workers     {len(seen.killed)} killed, one every {options.every:g} s; {options.workers} at a time")
    most = max(seen.takeovers, default=0.0)
    times = f"{min(seen.takeovers):.1f} / {statistics.median(seen.takeovers):.1f} / {most:.1f}" if most else "none"
    print(f"takeovers   {len(seen.takeovers)}, after {times} s (min/median/max), lease {options.lease:g} s")
    calls, repeated = len(server.requests), server.repeated()
    print(f"calls       {calls}, {repeated} of them repeated; {seen.in_flight} can have been in flight at a death")
    print(f"time        {took:.1f} s")
    failed = seen.unfinished or seen.lost or seen.doubled or repeated > seen.in_flight
    late = most > options.lease + TAKEOVER_SLACK
    return int(bool(failed or late))


if __name__ == "__main__":
    main()

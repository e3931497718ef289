"""Workers that are lost in the middle of their runs, all at once, and how long it takes until others go on."""

from __future__ import annotations

import asyncio
import time
from typing import NamedTuple

from scenes import SCENES, create, finished
from sweeps import Place, Survival, lost
from troupe import until

from moot.attempts import TAKEN_OVER
from moot.model import Status

CALM = 0.0
HELD = 0.5
"""Seconds for a word of a reply, of which each has some ten: nothing ends meanwhile."""


class Timing(NamedTuple):
    lease: float
    heartbeat: float

    @property
    def environ(self) -> dict[str, str]:
        return {"MOOT_LEASE_SECONDS": str(self.lease), "MOOT_HEARTBEAT_SECONDS": str(self.heartbeat)}


async def lose_a_worker(place: Place, timing: Timing, debates: int = 8) -> list[Survival]:
    """Kill a worker that runs so many debates, begun at different times; what became of each."""
    place.server.forget()
    place.server.word_seconds = HELD
    names = [list(SCENES)[number % len(SCENES)] for number in range(debates)]
    first = place.start("first")
    ids = []
    for name in names:
        ids.append(await create(place.app, SCENES[name]))
        await asyncio.sleep(timing.heartbeat / debates)  # so that their leases end at different times
    await until(lambda: _all_running(place, ids))
    second = place.start("second")
    await second.ready()
    await asyncio.sleep(timing.heartbeat * 0.8)  # the job's next heartbeat is due: those of the debates are younger
    before = [(await place.app.load(debate_id)).turns for debate_id in ids]
    first.kill()
    at = time.time()
    await until(lambda: _all_taken(place, ids), 3 * timing.lease + 30)
    place.server.word_seconds = CALM
    survivals = []
    for debate_id, name, turns in zip(ids, names, before, strict=True):
        await until(lambda debate_id=debate_id: finished(place.app, debate_id))
        stored = await place.app.load(debate_id)
        taken = next(failure.at for failure in stored.failures if failure.code == TAKEN_OVER)
        expected = place.expected[name]
        survivals.append(
            Survival(lost(stored.turns, turns, expected), len(stored.turns) - len(expected), 0, taken - at)
        )
    for process in (first, second):
        place.troupe.dismiss(process)
    return survivals


async def _all_running(place: Place, ids: list[str]) -> bool:
    return len(await place.app.list(limit=len(ids), status=Status.RUNNING)) == len(ids) <= len(place.server.requests)


async def _all_taken(place: Place, ids: list[str]) -> bool:
    stored = [await place.app.load(debate_id) for debate_id in ids]
    return all(any(failure.code == TAKEN_OVER for failure in each.failures) for each in stored)

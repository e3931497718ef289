"""Workers that are lost in the middle of their runs, all at once, and how long it takes until others go on."""

from __future__ import annotations

import asyncio
import time
from typing import NamedTuple

from scenes import SCENES, create, finished
from sweeps import Place, Survival, lost
from troupe import until

from moot.core.debate import Status, Turn
from moot.runs.retries import TAKEN_OVER

HELD = 1.0
"""Seconds for a word of a reply, of which each has some ten: nothing ends meanwhile."""


class Timing(NamedTuple):
    lease: float
    heartbeat: float

    @property
    def environ(self) -> dict[str, str]:
        return {"MOOT_LEASE_SECONDS": str(self.lease), "MOOT_HEARTBEAT_SECONDS": str(self.heartbeat)}


BRIEF = Timing(lease=4.0, heartbeat=0.5)
"""A loaded machine may be late with a heartbeat by seconds."""


async def lose_a_worker(place: Place, timing: Timing) -> list[Survival]:
    """Kill a worker that runs a debate of each format, begun at different times; what became of each."""
    place.server.word_seconds = HELD
    first = place.start("first")
    ids = []
    for scene in SCENES.values():
        ids.append(await create(place.app, scene))
        await asyncio.sleep(timing.heartbeat / len(SCENES))  # so that their leases end at different times
    await until(lambda: _all_running(place, ids))
    second = place.start("second")
    await second.ready()
    await asyncio.sleep(timing.heartbeat * 0.8)  # the job's next heartbeat is due: those of the debates are younger
    before = [(await place.app.load(debate_id)).turns for debate_id in ids]
    first.kill()
    at = time.time()
    await until(lambda: _all_taken(place, ids), 3 * timing.lease + 30)
    place.server.word_seconds = 0.0
    return [await _survival(place, *each, at) for each in zip(SCENES, ids, before, strict=True)]


async def _survival(place: Place, name: str, debate_id: str, before: tuple[Turn, ...], at: float) -> Survival:
    await until(lambda: finished(place.app, debate_id))
    stored, expected = await place.app.load(debate_id), place.expected[name]
    taken = next(failure.at for failure in stored.failures if failure.code == TAKEN_OVER)
    repeated = place.server.repeated()
    return Survival(lost(stored.turns, before, expected), len(stored.turns) - len(expected), repeated, taken - at)


async def _all_running(place: Place, ids: list[str]) -> bool:
    return len(await place.app.list(limit=len(ids), status=Status.RUNNING)) == len(ids) <= len(place.server.requests)


async def _all_taken(place: Place, ids: list[str]) -> bool:
    stored = [await place.app.load(debate_id) for debate_id in ids]
    return all(any(failure.code == TAKEN_OVER for failure in each.failures) for each in stored)

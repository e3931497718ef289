"""Several workers on one debate: more jobs than it needs, and owners that are frozen and woken too late."""

from __future__ import annotations

import signal
from typing import NamedTuple

import asyncpg
from scenes import SCENES, TOPIC, Blow, create, finished
from sweeps import Place
from troupe import Process, until

from moot.core.debate import Status, Turn
from moot.store import jobs
from moot.store.database import Job

DUEL = SCENES["duel"]


class Contest(NamedTuple):
    """How a debate went that several workers wanted."""

    runs: int
    positions: list[int]
    speakers: int
    """Workers that called a model for it."""
    calls: int


async def contend(place: Place, url: str, debates: int, workers: int) -> list[Contest]:
    """Put one job for each worker and debate, all at once."""
    place.server.forget()
    topics = [f"{TOPIC} No. {number} of {debates}" for number in range(debates)]
    ids = [(await place.app.create(DUEL.format, topic, DUEL.settings)).id for topic in topics]
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await connection.execute("UPDATE debates SET status = 'queued' WHERE id = ANY($1)", ids)
            for number in range(workers):
                for debate_id in ids:
                    await jobs.put(connection, Job("run", debate_id, f"run {debate_id} {number}", False, 0.0))
    finally:
        await connection.close()
    for debate_id in ids:
        await until(lambda debate_id=debate_id: finished(place.app, debate_id))
    return [await _contest(place, *each) for each in zip(ids, topics, strict=True)]


async def _contest(place: Place, debate_id: str, topic: str) -> Contest:
    stored = await place.app.load(debate_id)
    pairs = zip(place.server.requests, place.server.keys, strict=True)
    keys = [key for request, key in pairs if topic in str(request["messages"])]
    return Contest(stored.record.run, [turn.position for turn in stored.turns], len(set(keys)), len(keys))


class Frozen(NamedTuple):
    """A debate whose first owner was frozen in the middle of a call, and which another has taken over."""

    debate_id: str
    owner: Process
    heir: Process
    turns: tuple[Turn, ...]


async def freeze(place: Place, call: int = 2) -> Frozen:
    """Freeze a worker in its nth call until another has taken over and is in the middle of the same call itself."""
    place.server.forget()
    owner = place.start("owner", {"MOOT_GRACE_SECONDS": "0"})
    blow = Blow(call, 3, lambda key: owner.signal(signal.SIGSTOP))
    place.server.strike = blow
    debate_id = await create(place.app, DUEL)
    await until(blow.struck.is_set)
    place.server.pause_in(call + 1)
    heir = place.start("heir")
    await until(lambda: place.server.held)
    stored = await place.app.load(debate_id)
    assert (stored.record.status, stored.record.run, len(stored.turns)) == (Status.RUNNING, 2, call - 1)
    return Frozen(debate_id, owner, heir, stored.turns)

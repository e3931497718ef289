"""Debates run by any number of processes that share a Postgres: its table of jobs has one for each run.

A job only says that there may be something to do; the debate's own row says whether there is. So a job too many does
no harm, and a run that was taken over cannot write.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Coroutine
from contextlib import suppress
from typing import Any, NamedTuple

from moot.core.debate import Record, Status
from moot.core.events import Event
from moot.errors import Busy, Fenced, MootError, NewerDebate, NotFound, StoreAway, StoreError, WrongStatus
from moot.runs.follow import follow
from moot.runs.in_progress import Runs
from moot.runs.notify import ASKS, HURRIES, Listener, Publisher
from moot.runs.process import is_dead, this_process
from moot.runs.queue import Backlog, Load
from moot.runs.runner import HAND_BACK_SECONDS, Runner
from moot.store import jobs
from moot.store.postgres import PostgresPool
from moot.store.processes import Worker

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""So often a worker looks for what nothing has told it of: what is due by now, and what the dead have left."""
ASK_SECONDS = 1.0
SOON_SECONDS = 0.01
"""After so long a job is looked at again whose debate is still running here; twice as long each next time."""
LEFT_OFTEN = 3
"""When no worker has known a debate so often, its readers are told; a fleet that is being upgraded needs a moment."""
REST_SECONDS = 0.01
"""So long a worker waits between two looks for jobs: those that come together are taken together."""
CLAIM = """
    WITH watched AS (
        SELECT id FROM jobs
        WHERE urgent AND due_at <= (SELECT moot_now())
            AND kind IN ('run', 'pause') AND (worker IS NULL OR seen_at < moot_now() - $3)
        ORDER BY due_at, id LIMIT $2 FOR UPDATE SKIP LOCKED
    ), other AS (
        SELECT id FROM jobs
        WHERE NOT urgent AND due_at <= (SELECT moot_now())
            AND kind IN ('run', 'pause') AND (worker IS NULL OR seen_at < moot_now() - $3)
        ORDER BY due_at, id LIMIT $2 - (SELECT count(*) FROM watched) FOR UPDATE SKIP LOCKED
    ), job AS (
        UPDATE jobs SET worker = $1, seen_at = moot_now()
        WHERE id IN (TABLE watched UNION ALL TABLE other) RETURNING *
    )
    SELECT id, key, kind, debate_id, urgent, attempts FROM job ORDER BY urgent DESC, due_at, id
"""
"""Each half reads its part of the index from the longest due on, so that what is not due costs nothing; `moot_now()`
is asked once for that, as a clock that moves cannot be looked up in an index."""
DONE = "DELETE FROM jobs WHERE id = ANY($2::text[]::bigint[]) AND worker = $1"
"""What asyncpg does not know by heart, such as an array of numbers, each connection first asks Postgres about, which
takes longer than all the rest: hence `text[]`."""
AGAIN = """
    WITH job AS (
        UPDATE jobs
        SET due_at = CASE $3::float8 WHEN 0 THEN due_at ELSE moot_now() + $3 END, attempts = attempts + 1, worker = NULL
        WHERE id = $2 AND worker = $1 RETURNING id
    )
    SELECT pg_notify($4, '') FROM job
"""
DUE = """
    UPDATE jobs SET due_at = moot_now() WHERE debate_id = $1 AND kind = 'run' AND worker IS NULL AND due_at > moot_now()
"""
BACKLOG = """
    SELECT count(*) FILTER (WHERE due_at <= moot_now()), count(*) FILTER (WHERE due_at > moot_now()),
        greatest(moot_now() - min(due_at), 0)
    FROM jobs WHERE kind = 'run' AND worker IS NULL
"""
ALIVE = "UPDATE jobs SET seen_at = moot_now() WHERE id = ANY($2::text[]::bigint[]) AND worker = $1"


class Claimed(NamedTuple):
    """A job that this worker has claimed."""

    id: int
    key: str
    kind: str
    debate_id: str
    urgent: bool
    attempts: int


class PostgresQueue:
    def __init__(self, runner: Runner, server: PostgresPool, concurrency: int = 0) -> None:
        """With a concurrency of 0 this process runs nothing itself; it enqueues and follows."""
        self._runner = runner
        self._server = server
        self._concurrency = concurrency
        self._id = str(uuid.uuid4())
        self._followed: set[str] = set()
        """The runs that somebody follows, in whatever process."""
        self._asked: set[str] = set()
        """The debates that somebody has begun to follow since jobs were claimed last."""
        self._teller = Publisher(server, self._followed.__contains__)
        self._ear = Listener(server)
        self._runs = Runs(self._when_one_ends)
        self._jobs: dict[str, tuple[Claimed, float]] = {}
        """The job of each run, and when it began."""
        self._begun: set[str] = set()
        """The runs that have said something: they hand their debate back when they are interrupted."""
        self._done: list[str] = []
        """Jobs that are still to be taken from the queue."""
        self._clearing = asyncio.Lock()
        self._more = True
        """Whether there may be jobs that were not claimed for want of room."""
        self._woken = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._draining = False

    async def start(self) -> None:
        self._ear.on(ASKS, self._resend)
        self._ear.on(HURRIES, self._hurry)
        self._ear.on(jobs.CHANNEL, lambda message: self._wake())
        self._begin(self._ear.listen())
        if self._concurrency:
            await self._tried(self._show_alive, "no heartbeat")
            log.info("worker started", extra={"concurrency": self._concurrency})
            await self._tried(self._free_the_dead, "nobody was looked after")
            await self._tried(self._put_missing_jobs, "no missing jobs were put back")
            self._begin(self._work())
            self._begin(self._beat())

    async def enqueue(self, debate_id: str) -> Record:
        return await self._runner.store.enqueue(debate_id)

    async def load(self) -> Load:
        counts = await self._runner.store.counts()
        alive = await self.workers()
        running = counts.get(Status.RUNNING, 0) + counts.get(Status.STOPPING, 0)
        return Load(running, counts.get(Status.QUEUED, 0), len(alive))

    async def backlog(self) -> Backlog:
        (row,) = await self._server.fetch(BACKLOG)
        return Backlog(*row)

    async def workers(self) -> tuple[Worker, ...]:
        """Those that are alive, as far as that can be known."""
        seen = await self._runner.store.workers(self._runner.settings.lease_seconds)
        return tuple(worker for worker in seen if not is_dead(worker.process))

    async def follow(self, debate_id: str, after: int = 0, through_waits: bool = False) -> AsyncGenerator[Event, None]:
        asked = -ASK_SECONDS

        async def ask() -> bool:
            nonlocal asked
            if time.monotonic() - asked < ASK_SECONDS:
                return False
            asked = time.monotonic()
            await self._notify(ASKS, debate_id)
            return True

        with suppress(StoreError):
            await self._runner.store.watch(debate_id)
        store, formats, listening = self._runner.store, self._runner.formats, self._ear.listening(debate_id)
        async for event in follow(store, formats, debate_id, listening, after, through_waits, ask):
            yield event

    def look(self, debate_id: str) -> None:
        self._teller.announce_change(debate_id)

    async def hurry(self, debate_id: str, give_up: Collection[str] = ()) -> None:
        """Tell the worker that runs it; what waits in the queue for a later attempt is due now."""
        await self._server.execute(DUE, debate_id)
        await self._notify(HURRIES, " ".join([debate_id, *give_up]))

    async def look_after(self, debate_id: str) -> None:
        """Nothing: whatever there is to do for a debate is a job, and those who follow it look for themselves."""

    async def drain(self, grace_seconds: float) -> None:
        self._draining = True
        if self._concurrency:
            log.info("worker draining", extra={"running": len(self._runs)})
        await self._runs.drain(grace_seconds)
        with suppress(TimeoutError):
            async with asyncio.timeout(HAND_BACK_SECONDS):
                await self._teller.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._concurrency:
            await self._tried(lambda: self._runner.store.remove_worker(self._id), "the worker is still listed")
            log.info("worker stopped")

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.create_task(work))

    def _resend(self, debate_id: str) -> None:
        if self._concurrency:
            self._asked.add(debate_id)
        if debate_id in self._jobs and debate_id not in self._followed:
            self._followed.add(debate_id)
            self.look(debate_id)  # a turn that has ended untold comes before what is said now
        self._teller.resend(debate_id)

    def _hurry(self, message: str) -> None:
        debate_id, *give_up = message.split(" ")
        self._runner.hurry(debate_id, give_up)
        self._wake()

    def _wake(self) -> None:
        self._woken.set()

    def _when_one_ends(self) -> None:
        if self._more:
            self._wake()

    def _worker(self) -> Worker:
        return Worker(self._id, this_process(), self._concurrency)

    # Work

    async def _work(self) -> None:
        while not self._draining:
            self._woken.clear()
            if await self._tried(self._take_jobs, "no jobs taken"):
                continue
            await asyncio.sleep(REST_SECONDS)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), POLL_SECONDS)

    async def _take_jobs(self) -> bool:
        """Begin as many runs as there is room for; whether there may be more to begin."""
        self._more = True
        self._asked.clear()  # who began before that has made the job urgent; who begins now may be too late for it
        free = self._concurrency - len(self._runs)
        if free <= 0:
            return False
        found = await self._server.fetch(CLAIM, self._id, free, self._runner.settings.lease_seconds)
        self._more = len(found) == free
        for job in (Claimed(*row) for row in found):
            try:
                await self._do(job)
            except Exception:  # one job that cannot be begun must not end the worker
                log.exception("job %s is left alone", job.id)
        return self._more

    async def _do(self, job: Claimed) -> None:
        debate_id, lease = job.debate_id, self._runner.settings.lease_seconds
        if job.kind == "pause":
            await self._pause(job)
        elif debate_id not in self._runs:
            self._jobs[debate_id] = (job, time.monotonic())
            if job.urgent:
                self._followed.add(debate_id)
            if debate_id in self._asked:
                self._resend(debate_id)
            self._runs.begin(debate_id, self._run(job))
        elif debate_id not in self._jobs or self._jobs[debate_id][0].id != job.id:
            # Either the run here is just ending, or this job is one too many.
            await self._again(job, min(SOON_SECONDS * 2.0 ** min(job.attempts, 20), lease))

    async def _run(self, job: Claimed) -> None:
        debate_id, lease = job.debate_id, self._runner.settings.lease_seconds
        try:
            await self._runner.run_queued(debate_id, self._hear, shared=True)
        except asyncio.CancelledError:
            log.info("%s is left to others", debate_id)
            if debate_id not in self._begun:  # so nobody has handed it back
                await self._again(job, 0.0)
                return
        except NewerDebate as error:
            if job.attempts >= LEFT_OFTEN:
                unknown = error
                await self._tried(lambda: self._runner.note_unknown(debate_id, unknown), "nobody was told")
                self.look(debate_id)
            await self._again(job, POLL_SECONDS)
            return
        except (Busy, Fenced) as error:
            # Another process has it. Should that one die, this job is what finds it.
            log.info("%s is run elsewhere: %s", debate_id, error)
            await self._again(job, await self._lease_left(debate_id))
            return
        except (WrongStatus, NotFound) as error:
            log.info("%s is not run: %s", debate_id, error)
        except StoreError as error:
            log.warning("%s is not run now: %s", debate_id, error)
            await self._again(job, POLL_SECONDS)
            return
        except MootError as error:
            log.warning("%s is not run: %s", debate_id, error)
        except Exception:  # one debate's failure must not end the worker
            log.exception("%s failed", debate_id)
            await self._again(job, lease)
            return
        finally:
            self._jobs.pop(debate_id, None)
            self._begun.discard(debate_id)
            self._followed.discard(debate_id)
        await self._finish(job)

    async def _pause(self, job: Claimed) -> None:
        """A person has not answered in time what the run of its key has asked."""
        try:
            asked = (await self._runner.store.load(job.debate_id)).record
            if job.key.endswith(f" {asked.run}"):
                await self._runner.store.pause(job.debate_id)
                self.look(job.debate_id)
        except NotFound:
            log.info("%s asks nobody any more", job.debate_id)
        except StoreError as error:
            log.warning("%s still waits: %s", job.debate_id, error)
            await self._again(job, POLL_SECONDS)
            return
        await self._finish(job)

    def _hear(self, event: Event) -> None:
        self._begun.add(event.debate)
        self._teller.emit(event)
        self._runs.hear(event)

    async def _finish(self, job: Claimed) -> None:
        """Take a job from the queue, together with all that ended while others were being taken from it."""
        self._done.append(str(job.id))
        async with self._clearing:
            if self._done:
                ids, self._done = self._done, []
                await asyncio.shield(self._give_back(DONE, ids))  # of which only one may be interrupted

    async def _again(self, job: Claimed, seconds: float) -> None:
        self._more = True
        await self._give_back(AGAIN, job.id, seconds, jobs.CHANNEL)

    async def _give_back(self, statement: str, ids: int | list[str], *arguments: float | str) -> None:
        """Change jobs of this worker's; what another has taken over is left to it, and finds it should it die."""
        done = self._server.execute
        await self._tried(lambda: done(statement, self._id, ids, *arguments), f"job {ids} is still there")

    async def _lease_left(self, debate_id: str) -> float:
        """After how many seconds a debate is free, should its process have died as the one of its job may have."""
        ask = "SELECT lease_until - moot_now() FROM debates WHERE id = $1"
        rows = await self._tried(lambda: self._server.fetch(ask, debate_id), "nobody knows its lease")
        return max(POLL_SECONDS, (rows[0][0] or 0.0) if rows else 0.0)

    async def _tried(self, do: Callable[[], Awaitable[Any]], otherwise: str) -> Any:
        """What comes of it; when the database is away, nothing: the job stays, and is taken again when it is stale."""
        try:
            async with asyncio.timeout(HAND_BACK_SECONDS if self._draining else None):
                return await do()
        except (StoreAway, TimeoutError) as error:  # which is logged once, and not every second
            log.debug("%s: %s", otherwise, error)
        except StoreError as error:
            log.warning("%s: %s", otherwise, error)
        except Exception:  # whatever it is, the worker goes on
            log.exception("%s", otherwise)
        return None

    # Beside the work

    async def _beat(self) -> None:
        """Show that this worker and its jobs are alive, and let others go first where a run has had its share."""
        while True:
            await asyncio.sleep(self._runner.settings.heartbeat_seconds)
            await self._tried(self._show_alive, "no heartbeat")
            await self._tried(self._free_the_dead, "nobody was looked after")
            await self._tried(self._put_missing_jobs, "no missing jobs were put back")
            await self._tried(self._share, "nothing shared")

    async def _show_alive(self) -> None:
        await self._runner.store.note_worker(self._worker())
        if self._jobs:
            ids = [str(job.id) for job, _ in self._jobs.values()]
            await self._server.execute(ALIVE, self._id, ids)

    async def _free_the_dead(self) -> None:
        """Let what dead processes of this machine were running go on at once; what others left, when its lease ends."""
        for debate_id, run, owner in await self._runner.store.running():
            if owner and is_dead(owner):
                await self._runner.free(debate_id, run, owner)

    async def _put_missing_jobs(self) -> None:
        """A debate that should go on and has no job would not, for good."""
        async with self._server.connected() as connection:
            for debate_id in await jobs.put_missing(connection):
                log.warning("%s had lost its job and got a new one", debate_id)

    async def _share(self) -> None:
        if len(self._runs) < self._concurrency:
            return
        began = time.monotonic() - self._runner.settings.share_seconds
        had = [id for id, (job, at) in self._jobs.items() if at < began and not job.urgent]
        waiting = (await self.backlog()).due if had else 0
        for debate_id in had[:waiting]:
            self._runs.interrupt(debate_id)

    async def _notify(self, channel: str, message: str) -> None:
        told = "SELECT pg_notify($1, $2)"
        await self._tried(lambda: self._server.execute(told, channel, message), "nobody was asked")

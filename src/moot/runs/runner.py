"""Runs debates in this process: takes them, holds their lease, and leaves them so that others can go on."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NoReturn, TypeAlias

from pydantic import ValidationError

from moot.core.control import Control
from moot.core.debate import Failure, Record, Status, Turn
from moot.core.emitter import Emitter, Sink
from moot.core.engine import Player, RetryIn, Run, RunResult, TurnStore, Until
from moot.core.events import EVENTS_PER_RUN, DebateFailed
from moot.core.format import AnyFormat
from moot.core.pauses import Pauses
from moot.core.stored import StoredDebate
from moot.errors import Busy, Fenced, MootError, NewerDebate, NotFound, StoreAway, StoreError, WrongStatus, faults
from moot.formats import of_record
from moot.reading.debate import Reading
from moot.records.documents import Documents
from moot.runs.process import is_dead, this_process
from moot.runs.retries import TAKEN_OVER, Retries, attempts, first_missing
from moot.settings import AppSettings
from moot.store.refusals import check_readable
from moot.store.retrying import RetryingStore, until_back
from moot.store.store import Store
from moot.telemetry.telemetry import Telemetry

log = logging.getLogger(__name__)

HAND_BACK_SECONDS = 5.0
"""A process that ends waits no longer for its database to take note of that."""

PlayersOf: TypeAlias = Callable[[AnyFormat, TurnStore], Callable[[str], Player]]


def _never(error: MootError, advanced: bool) -> None:
    """What has failed is left to a person."""


def _strange(record: Record, format: AnyFormat) -> str:
    """What a debate has chosen that its format, as it is known here, cannot take."""
    try:
        format.settings.model_validate(record.settings)
    except ValidationError as error:
        return faults(error.errors())
    return ""


class Runner:
    def __init__(
        self,
        settings: AppSettings,
        store: Store,
        formats: Mapping[str, AnyFormat],
        players_of: PlayersOf,
        telemetry: Telemetry,
        documents: Documents,
    ) -> None:
        self.settings = settings
        self.store = store
        self.formats = formats
        self._players_of = players_of
        self._telemetry = telemetry
        self._documents = documents
        self._pauses: dict[str, Pauses] = {}

    async def run(self, debate_id: str, sink: Sink, until: Until | None = None) -> RunResult:
        """See `App.run`."""
        while True:
            taken = await self._take(debate_id)
            try:
                ending = await self._play(taken, sink, until=until)
            except StoreError as error:  # there is no queue to try it again
                return RunResult(Status.FAILED, "failed", error=str(error))
            if ending.status is not Status.WAITING or not await self._answered(debate_id):
                return ending

    def hurry(self, debate_id: str, give_up: Collection[str] = ()) -> None:
        """Have calls of a debate that runs here and wait to be made again made now; see `Pauses.end`."""
        if pauses := self._pauses.get(debate_id):
            pauses.end(give_up)

    async def run_queued(self, debate_id: str, sink: Sink, *, shared: bool = False) -> RunResult:
        """One run of a queued debate, or of one whose run has died, as a queue wants it.

        When it is cancelled, the debate is queued again; where other processes `shared` the queue, so it is, for later,
        when a model could not be used, and raises NewerDebate when one of them may know what this one does not. A
        debate that has come no further in so many attempts has failed.
        """
        stored = await self._take(debate_id, queued=True, shared=shared)
        retries = Retries(self.settings.max_retries, self.settings.retry_seconds, attempts(stored))
        if retries.used_up:
            return await self._give_up(stored, sink)
        return await self._play(stored, sink, queued=True, retry_in=retries.due_in if shared else _never)

    async def _play(
        self,
        stored: StoredDebate,
        sink: Sink,
        *,
        queued: bool = False,
        until: Until | None = None,
        retry_in: RetryIn = _never,
    ) -> RunResult:
        """Play a debate that is taken, for as long as its lease can be prolonged."""
        record, store = stored.record, RetryingStore(self.store)
        try:
            format = of_record(self.formats, record)
        except NotFound as error:
            await self.store.end(record.id, record.run, RunResult(Status.FAILED, "failed", error=str(error)))
            raise
        played = partial(
            Run,
            record=record,
            turns=stored.turns,
            control=stored.asked,
            format=format,
            store=store,
            sink=sink,
            player_for=self._players_of(format, store),
            now=self._clock(record),
            until=until,
            retry_in=retry_in,
            pauses=self._pauses.setdefault(record.id, Pauses()),
            on_outcome=partial(self._write_document, format),
        )
        playing = asyncio.create_task(
            self._telemetry.run(record, lambda on_stored: played(on_stored=on_stored).to_its_end())
        )
        beating = asyncio.create_task(self._beat(record.id, record.run))
        try:
            await asyncio.wait({playing, beating}, return_when=asyncio.FIRST_COMPLETED)
            return playing.result() if playing.done() else beating.result()
        except asyncio.CancelledError:
            await asyncio.shield(self._interrupted(record.id, record.run, playing, queued))
            raise
        finally:
            self._pauses.pop(record.id, None)
            playing.cancel()
            beating.cancel()
            await asyncio.gather(playing, beating, return_exceptions=True)

    async def _write_document(self, format: AnyFormat, record: Record, turns: Sequence[Turn]) -> None:
        """Write what an outcome is to be on this machine; that it cannot be is told where the outcome is shown."""
        reading = Reading(StoredDebate(record, tuple(turns)), format)
        try:
            await asyncio.to_thread(self._documents.write, reading)
        except MootError as error:
            log.warning("%s: %s", record.id, error)
        except Exception:  # a file is no reason to lose an outcome
            log.exception("%s: its document is not written", record.id)

    def _clock(self, record: Record) -> Callable[[], float]:
        """The database's clock, read when the run began; from then on a clock that nobody can set."""
        began = record.lease_until - self.settings.lease_seconds if record.lease_until else time.time()
        ahead = began - time.monotonic()
        return lambda: time.monotonic() + ahead

    async def interject(self, debate_id: str, turn: Turn, after: int) -> Record:
        """Store a turn that answers no step in a debate that nobody runs and that has so many turns; it stops then.

        A run of its own, so that it is fenced and told like any other turn.
        """
        if any(said.position == turn.position for said in await self.store.said(debate_id)):
            raise WrongStatus(f"{debate_id} has an answer to hear first; resume it as it is")
        taken = await self._take(debate_id)
        record, now = taken.record, self._clock(taken.record)()
        id = record.run * EVENTS_PER_RUN + 1
        try:
            if len(taken.turns) != after:
                raise WrongStatus(f"{debate_id} has gone on meanwhile; look at it and try again")
            kept = replace(turn, run=record.run, event_id=id, started_at=now, finished_at=now)
            await self.store.append(debate_id, kept)
        finally:
            await self.store.end(debate_id, record.run, RunResult(Status.STOPPED, "settings_changed"))
        return (await self.store.load(debate_id)).record

    async def free(self, debate_id: str, run: int, owner: str) -> None:
        """Queue what a dead process was running, without waiting for the end of its lease; what was to stop has."""
        if await self.store.release(debate_id, run):
            with suppress(WrongStatus, Fenced, NotFound):
                await self._note_loss(await self.store.load(debate_id), owner)
                await self.store.enqueue(debate_id)

    async def _note_loss(self, stored: StoredDebate, owner: str | None) -> StoredDebate:
        """Keep that the run before this one has died."""
        lost = (owner or "a process").partition(" (")[0]
        return await self._note(stored, TAKEN_OVER, f"{lost} was lost in the middle of a run; another has taken over")

    async def note_unknown(self, debate_id: str, error: NewerDebate) -> None:
        """Keep, once, that this process leaves a debate to one that knows it: or nobody could see why it waits."""
        stored = await self.store.load(debate_id)
        if (error.code, stored.record.run) not in {(failure.code, failure.run) for failure in stored.failures}:
            with suppress(Fenced):
                who = this_process().partition(" (")[0]
                await self._note(stored, error.code, f"{who} leaves it to others: {error}")

    async def _note(self, stored: StoredDebate, code: str, message: str) -> StoredDebate:
        """Keep what went wrong with a run and not with a step of it."""
        now, run = self._clock(stored.record)(), stored.record.run
        log.warning("%s: %s", stored.record.id, message, extra={"code": code, "run": run})
        failure = Failure(
            position=first_missing(stored),
            seat="moot",
            kind="run",
            round=None,
            partial="",
            code=code,
            message=message,
            at=now,
            run=run,
        )
        await self.store.add_failure(stored.record.id, failure)
        return stored._replace(failures=(*stored.failures, failure))

    async def _give_up(self, stored: StoredDebate, sink: Sink) -> RunResult:
        record = stored.record
        last = stored.failures[-1].message
        ending = RunResult(Status.FAILED, "failed", error=f"given up after {attempts(stored)} attempts: {last}")
        log.warning("%s is %s", record.id, ending.error, extra={"code": "given_up", "run": record.run})
        await self.store.end(record.id, record.run, ending)
        emitter = Emitter(record.id, record.run, sink, self._clock(record))
        emitter.end(DebateFailed(code="given_up", error=ending.error or "", round=None))
        return ending

    async def _take(self, debate_id: str, queued: bool = False, shared: bool = False) -> StoredDebate:
        """Own the debate; what a dead process of this machine still holds is free at once.

        Every takeover happens here, and is kept as a failure of the run that has died.
        """
        known = await self.store.load_for_run(debate_id)
        before = known.record
        if queued:
            self._check_known(before, shared)
        check_readable(before)
        try:
            taken = await self._taken(known, queued)
        except Busy:
            if not before.owner or not is_dead(before.owner) or not await self.store.release(debate_id, before.run):
                raise
            taken = await self._taken(known, queued)
        except WrongStatus:
            if queued and before.status is Status.STOPPING:  # and nobody is left who could do it
                await self.store.release(debate_id, before.run)
            raise
        if before.status is not Status.RUNNING:
            return taken
        return await until_back(lambda: self._note_loss(taken, before.owner))

    def _check_known(self, record: Record, shared: bool) -> None:
        """What a newer moot has begun would end as failed here. Raises NewerDebate."""
        known, unknown = self.formats.get(record.format), ""
        rules = known.as_of(record.format_version) if known else None
        if known is None and shared:
            unknown = f"is a {record.format}, a format that this moot does not have"
        elif known and record.format_version > known.version:
            unknown = f"follows version {record.format_version} of {record.format}, newer than this moot knows"
        elif shared and record.unreadable:
            unknown = f"can only be looked at: {record.unreadable}"
        elif shared and rules and (strange := _strange(record, rules)):
            unknown = f"has settings that this moot does not know ({strange})"
        if unknown:
            raise NewerDebate(f"{record.id} {unknown}; a worker that knows it has to run it")

    async def _taken(self, known: StoredDebate, queued: bool) -> StoredDebate:
        """The debate under its next run; when the answer to that gets lost, it is looked whether it was done."""
        before, lease = known.record, self.settings.lease_seconds
        at_rest = None if before.status in (Status.RUNNING, Status.STOPPING) else known
        try:
            return await self.store.take(before.id, this_process(), lease, only_queued=queued, known=at_rest)
        except StoreAway:
            stored = await until_back(lambda: self.store.load(before.id))
            if (stored.record.owner, stored.record.run) != (this_process(), before.run + 1):
                raise
            return stored._replace(asked=await until_back(lambda: self._asked(stored.record)))

    async def _asked(self, record: Record) -> Control:
        remarks = [said for said in await self.store.said(record.id) if said.position is None]
        return Control(None, record.concluding, len(remarks), len(await self.store.wishes(record.id)))

    async def _answered(self, debate_id: str) -> bool:
        """Whether the answer came while the debate was about to wait for it."""
        turns = (await self.store.load(debate_id)).turns
        return any(said.position == len(turns) for said in await self.store.said(debate_id))

    async def _beat(self, debate_id: str, run: int) -> NoReturn:
        """Prolong the lease of a run for as long as it is the current one; raises Fenced when it is not."""
        while True:
            await asyncio.sleep(self.settings.heartbeat_seconds)
            try:
                await self.store.heartbeat(debate_id, run, self.settings.lease_seconds)
            except StoreError as error:
                log.warning("%s: no heartbeat, trying again: %s", debate_id, error)

    async def _interrupted(self, debate_id: str, run: int, playing: asyncio.Task[RunResult], queued: bool) -> None:
        """Leave a debate that this process gives up as stopped, so that anyone can resume it at once.

        What came from a queue goes back to it, unless it was to stop anyway.
        """
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)
        try:
            async with asyncio.timeout(HAND_BACK_SECONDS):
                await self._hand_back(debate_id, run, queued)
        except TimeoutError:
            raise StoreAway(f"{debate_id} goes on when its lease has ended: the database did not answer") from None

    async def _hand_back(self, debate_id: str, run: int, queued: bool) -> None:
        record = (await self.store.load(debate_id)).record
        asked_to_stop = record.status is Status.STOPPING
        left = Status.QUEUED if queued and not asked_to_stop else Status.STOPPED
        reason = (record.stop_reason or "stopped") if asked_to_stop else "interrupted"
        with suppress(Fenced):
            await self.store.end(debate_id, run, RunResult(left, reason))

"""Fakes for tests, ours and our users': moot without a database and without a model."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from moot.app import App
from moot.core.debate import Failure, HumanReply, Rating, Record, Status, Turn, Usage, Workflow
from moot.core.engine import Control, RunResult
from moot.core.format import AnyFormat
from moot.core.notices import Notice, notices
from moot.core.prompts import Prompts
from moot.core.stored import StoredDebate
from moot.errors import Fenced, ModelError
from moot.formats import load
from moot.llm.client import Client, Completion, Request
from moot.llm.http import prompt_characters
from moot.llm.models import Models
from moot.llm.recording import Recorder, Recording
from moot.settings import AppSettings, Price
from moot.store.operations import (
    answered,
    cannot_delete,
    cannot_enqueue,
    cannot_take,
    fenced,
    id_taken,
    no_workflow,
    not_found,
    position_taken,
)
from moot.store.store import Cursor, Running, Store, Unfinished, Worker

ENDED = {Status.STOPPED, Status.FINISHED, Status.FAILED}
RUNNING = {Status.RUNNING, Status.STOPPING}
UNFINISHED = {*RUNNING, Status.QUEUED, Status.WAITING}


@dataclass(slots=True)
class _Kept:
    record: Record
    turns: dict[int, Turn] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    said: list[HumanReply] = field(default_factory=list)
    rating: Rating | None = None
    workflow: Workflow | None = None
    notices: dict[str, Notice] = field(default_factory=dict)
    key: str | None = None
    waiting_since: float | None = None
    deleted: bool = False


class MemoryStore:
    """A store that forgets everything with the process and otherwise answers like the real ones."""

    def __init__(
        self, now: Callable[[], float] = time.time, hooks: Mapping[Status, Sequence[str]] | None = None
    ) -> None:
        self._now = now
        self._hooks = hooks or {}
        self._kept: dict[str, _Kept] = {}
        self._workers: dict[str, Worker] = {}

    async def create(
        self, record: Record, key: str | None = None, *, watched: bool = False, turns: Sequence[Turn] = ()
    ) -> Record:
        for kept in self._kept.values():
            if key is not None and kept.key == key:
                return kept.record
        if record.id in self._kept:
            raise id_taken(record.id)
        new = Record(
            id=record.id,
            format=record.format,
            format_version=record.format_version,
            topic=record.topic,
            settings=record.settings,
            seats=record.seats,
            created_at=self._now(),
            status=record.status,
            origin=record.origin,
        )
        copies = {turn.position: replace(turn, run=0, event_id=turn.position + 1) for turn in turns}
        waiting_since = self._now() if record.status is Status.QUEUED else None
        self._kept[record.id] = _Kept(new, copies, key=key, waiting_since=waiting_since)
        return new

    async def load(self, debate_id: str) -> StoredDebate:
        kept = self._find(debate_id)
        turns = sorted(kept.turns.values(), key=lambda turn: turn.position)
        failures = sorted(kept.failures, key=lambda failure: failure.at)
        told = tuple(sorted(kept.notices.values(), key=lambda notice: (notice.run, notice.event, notice.hook)))
        return StoredDebate(kept.record, tuple(turns), tuple(failures), kept.rating, kept.workflow, told)

    async def list(
        self,
        *,
        limit: int,
        status: Status | None = None,
        format: str | None = None,
        words: str = "",
        after: Cursor | None = None,
    ) -> tuple[Record, ...]:
        records = (
            kept.record
            for kept in self._kept.values()
            if not kept.deleted
            and status in (None, kept.record.status)
            and format in (None, kept.record.format)
            and words.casefold() in kept.record.topic.casefold()
            and (after is None or _newest(kept.record) > _newest(after))
        )
        return tuple(sorted(records, key=_newest)[:limit])

    async def unfinished(self) -> tuple[Unfinished, ...]:
        found = [kept for kept in self._kept.values() if not kept.deleted and kept.record.status in UNFINISHED]
        found.sort(key=lambda kept: (kept.waiting_since or 0, kept.record.created_at, kept.record.id))
        return tuple(Unfinished(kept.record, kept.waiting_since, self._now()) for kept in found)

    async def counts(self) -> dict[Status, int]:
        return dict(Counter(kept.record.status for kept in self._kept.values() if not kept.deleted))

    async def failure_counts(self) -> dict[str, int]:
        return dict(Counter(failure.code for kept in self._kept.values() for failure in kept.failures))

    async def running(self) -> tuple[Running, ...]:
        records = (kept.record for kept in self._kept.values() if not kept.deleted)
        return tuple(Running(each.id, each.run, each.owner) for each in records if each.status in RUNNING)

    async def enqueue(self, debate_id: str, *, watched: bool = False) -> Record:
        kept = self._find(debate_id)
        if not self._go_on(kept) and kept.record.status not in (Status.QUEUED, Status.RUNNING):
            raise cannot_enqueue(kept.record)
        return kept.record

    async def watch(self, debate_id: str) -> None:
        """Nothing here goes before anything else."""

    async def delete(self, debate_id: str) -> None:
        kept = self._kept.get(debate_id)
        if kept is None:
            raise not_found(debate_id)
        if not kept.deleted and self._owned(kept.record):
            raise cannot_delete(kept.record)
        kept.deleted = True

    async def restore(self, debate_id: str) -> Record:
        if debate_id in self._kept:
            self._kept[debate_id].deleted = False
        return self._find(debate_id).record

    async def append(self, debate_id: str, turn: Turn) -> Control:
        kept = self._find_for(debate_id, turn.run, lambda status: status not in ENDED)
        there = kept.turns.setdefault(turn.position, turn)
        if (there.run, there.event_id) != (turn.run, turn.event_id):
            raise position_taken(debate_id, turn.position)
        remarks = sum(said.position is None for said in kept.said)
        return Control(kept.record.status is Status.STOPPING, kept.record.concluding, remarks)

    async def add_failure(self, debate_id: str, failure: Failure) -> None:
        kept = self._find_for(debate_id, failure.run, lambda status: status not in ENDED)
        kept.failures.append(failure)

    async def take(
        self, debate_id: str, owner: str, lease_seconds: float, *, only_queued: bool = False
    ) -> StoredDebate:
        kept, now = self._find(debate_id), self._now()
        record = kept.record
        unfit = record.status is Status.FINISHED
        unfit |= only_queued and record.status not in (Status.QUEUED, Status.RUNNING)
        if unfit or self._owned(record):
            raise cannot_take(record, now)
        kept.record = replace(
            record,
            run=record.run + 1,
            status=Status.RUNNING,
            owner=owner,
            lease_until=now + lease_seconds,
            stop_reason=None,
            error=None,
            finished_at=None,
        )
        return await self.load(debate_id)

    async def heartbeat(self, debate_id: str, run: int, lease_seconds: float) -> None:
        kept = self._find_for(debate_id, run, RUNNING.__contains__)
        kept.record = replace(kept.record, lease_until=self._now() + lease_seconds)

    async def end(self, debate_id: str, run: int, ending: RunResult) -> None:
        kept = self._find_for(debate_id, run, RUNNING.__contains__)
        kept.record = replace(
            kept.record,
            status=ending.status,
            stop_reason=ending.stop_reason,
            outcome=ending.outcome,
            error=ending.error,
            finished_at=self._now() if ending.status in ENDED else None,
            owner=None,
            lease_until=None,
        )
        kept.waiting_since = self._now() if ending.status in (Status.QUEUED, Status.WAITING) else None
        if ending.status is Status.WAITING and self._go_on(kept):
            return
        told = notices(kept.record, self._now(), self._hooks.get(ending.status, ()), ending.question)
        kept.notices |= {notice.id: notice for notice in told}

    async def release(self, debate_id: str, run: int) -> bool:
        try:
            kept = self._find_for(debate_id, run, RUNNING.__contains__)
        except Fenced:
            return False
        kept.record = replace(kept.record, owner=None, lease_until=None)
        if kept.record.status is Status.STOPPING:
            kept.record = self._stopped(kept.record)
        return True

    async def ask_to_stop(self, debate_id: str) -> Record:
        kept = self._find(debate_id)
        record = kept.record
        if record.status in ENDED:
            return record
        kept.record = replace(record, status=Status.STOPPING) if self._owned(record) else self._stopped(record)
        return kept.record

    async def ask_to_conclude(self, debate_id: str) -> Record:
        kept = self._find(debate_id)
        if kept.record.status is not Status.FINISHED:
            kept.record = replace(kept.record, concluding=True)
        return kept.record

    async def pause(self, debate_id: str) -> Record:
        kept = self._find(debate_id)
        if kept.record.status is Status.WAITING:
            kept.record = replace(self._stopped(kept.record), stop_reason="checkpoint_timeout")
        return kept.record

    async def say(self, debate_id: str, said: HumanReply) -> HumanReply:
        kept = self._find(debate_id)
        if said.position is not None and any(said.position == other.position for other in kept.said):
            raise answered(debate_id)
        kept.said.append(replace(said, at=self._now()))
        if said.position is not None:
            self._go_on(kept)
        return kept.said[-1]

    async def said(self, debate_id: str) -> tuple[HumanReply, ...]:
        kept = self._kept.get(debate_id)
        return tuple(kept.said) if kept else ()

    async def rate(self, debate_id: str, rating: Rating) -> Rating:
        kept = self._find(debate_id)
        kept.rating = replace(rating, at=self._now())
        return kept.rating

    async def add_workflow(self, debate_id: str, workflow: Workflow) -> Workflow:
        kept = self._find(debate_id)
        kept.workflow = kept.workflow or replace(workflow, created_at=self._now())
        return kept.workflow

    async def note_delivery(self, debate_id: str, workflow: Workflow) -> Workflow:
        kept = self._kept.get(debate_id)
        if kept is None or kept.workflow is None:
            raise no_workflow(debate_id)
        kept.workflow = replace(
            kept.workflow,
            delivered=workflow.delivered,
            attempts=kept.workflow.attempts + workflow.attempts,
            result=workflow.result,
        )
        return kept.workflow

    async def note_worker(self, worker: Worker) -> None:
        now = self._now()
        known = self._workers.get(worker.id) or worker._replace(started_at=now)
        self._workers[worker.id] = known._replace(seen_at=now)

    async def remove_worker(self, worker_id: str) -> None:
        self._workers.pop(worker_id, None)

    async def workers(self, seconds: float) -> tuple[Worker, ...]:
        alive = (worker for worker in self._workers.values() if worker.seen_at >= self._now() - seconds)
        return tuple(sorted(alive, key=lambda worker: (worker.started_at, worker.id)))

    async def due(self, hooks: Sequence[str], limit: int, lease_seconds: float) -> tuple[Notice, ...]:
        now, known = self._now(), [each for kept in self._kept.values() for each in kept.notices.values()]
        found = [each for each in known if each.next_at is not None and each.next_at <= now and each.hook in hooks]
        taken = [
            replace(each, attempts=each.attempts + 1, next_at=now + lease_seconds)
            for each in sorted(found, key=lambda each: (each.next_at, each.id))[:limit]
        ]
        for notice in taken:
            self._kept[notice.debate_id].notices[notice.id] = notice
        return tuple(taken)

    async def note(self, notice: Notice, delivered: bool, result: str, again_in: float | None) -> None:
        kept, now = self._kept[notice.debate_id].notices, self._now()
        if kept[notice.id].attempts == notice.attempts and kept[notice.id].delivered_at is None:
            kept[notice.id] = replace(
                kept[notice.id],
                delivered_at=now if delivered else None,
                next_at=None if again_in is None else now + again_in,
                result=result,
            )

    async def close(self) -> None:
        """Nothing to let go of."""

    def _go_on(self, kept: _Kept) -> bool:
        """Queue a debate that nothing holds up."""
        record = kept.record
        answered = any(said.position == len(kept.turns) for said in kept.said)
        free = record.status in (Status.CREATED, Status.STOPPED, Status.FAILED, Status.RUNNING)
        if self._owned(record) or not (free or (record.status is Status.WAITING and answered)):
            return False
        kept.record = replace(
            record,
            status=Status.QUEUED,
            stop_reason=None,
            error=None,
            finished_at=None,
            owner=None,
            lease_until=None,
            tries_from=record.tries_from if record.status is Status.RUNNING else record.run,
        )
        kept.waiting_since = self._now()
        return True

    def _find(self, debate_id: str) -> _Kept:
        kept = self._kept.get(debate_id)
        if kept is None or kept.deleted:
            raise not_found(debate_id)
        return kept

    def _owned(self, record: Record) -> bool:
        return record.lease_until is not None and record.lease_until >= self._now()

    def _find_for(self, debate_id: str, run: int, allowed: Callable[[Status], bool]) -> _Kept:
        """The debate a run wants to write to."""
        kept = self._kept.get(debate_id)
        if kept is None:
            raise Fenced(f"there is no debate {debate_id!r} to write to")
        if kept.record.run != run or not allowed(kept.record.status):
            raise fenced(kept.record, run)
        return kept

    def _stopped(self, record: Record) -> Record:
        return replace(
            record,
            status=Status.STOPPED,
            stop_reason="stopped",
            finished_at=self._now(),
            owner=None,
            lease_until=None,
        )


def _newest(at: Record | Cursor) -> tuple[float, str]:
    return (-at.created_at, at.id)


class ScriptedModel:
    """A model client that answers from a function or a list, word by word; it ships for users' tests too.

    Give it to `moot.app.build(settings, clients={"scripted": ScriptedModel(...)})` and name models `scripted:any`.
    `faults` maps the number of a call (from 1) to the error it ends in, after half of its text.
    """

    def __init__(
        self,
        replies: Callable[[Request], str] | Sequence[str],
        *,
        faults: Mapping[int, ModelError] | None = None,
        pace: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._replies = replies
        self._faults = faults or {}
        self._pace = pace
        self.requests: list[Request] = []

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        self.requests.append(request)
        number = len(self.requests)
        text = self._replies(request) if callable(self._replies) else self._replies[number - 1]
        words = re.findall(r"\S+\s*|\s+", text)
        fault = self._faults.get(number)
        for word in words[: len(words) // 2] if fault else words:
            if self._pace:
                await self._pace()
            on_text(word)
        if fault:
            raise fault
        usage = Usage(input_tokens=prompt_characters(request) // 5, output_tokens=len(words), calls=1)
        return Completion(text=text, finish_reason="stop", usage=usage)


def scripted_app(
    model: Client,
    store: Store | None = None,
    formats: Mapping[str, AnyFormat] | None = None,
    prices: Mapping[str, Price] | None = None,
) -> App:
    """An app with `model` in every seat, on an in-memory store unless another is given."""
    settings = AppSettings(model="scripted:model")
    models = Models({}, clients={"scripted": model}, prices=prices)
    return App(settings, store or MemoryStore(), models, formats or load(), Prompts())


def recorded(path: Path, client: Client) -> Client:
    """`client` with its calls recorded to `path`; once that file exists, a client that replays it and calls nobody.

    To record anew, after a prompt has changed or a first run has failed, delete the file.
    """
    if path.exists():
        return Recording.load(path).client("recorded")
    return Recorder(path).wrap("recorded", client)

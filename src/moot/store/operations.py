"""What each call on a store means, written once for all databases.

An operation is a generator that yields statements and receives their rows; an adapter runs them. Most write with one
statement; what also puts a job into the queue is run as one transaction. So each is done wholly or not at all.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from moot.core.debate import Failure, HumanReply, Rating, Record, Status, Turn, Workflow
from moot.core.engine import Control, RunResult
from moot.core.notices import Notice, notices
from moot.core.stored import StoredDebate
from moot.errors import Busy, Fenced, MootError, NotFound, StoreError, WrongStatus
from moot.store.sql import (
    Parameters,
    Row,
    debate_parameters,
    failure_from,
    failure_parameters,
    notice_from,
    notice_parameters,
    pattern,
    rating_from,
    record_from,
    said_from,
    to_json,
    turn_from,
    turn_parameters,
    workflow_from,
)
from moot.store.store import Cursor, Running, Unfinished, Worker


class Statement(NamedTuple):
    query: str
    parameters: Parameters


class Job(NamedTuple):
    """Something for a queue to do about a debate, where the database has a queue; elsewhere it is passed over."""

    kind: Literal["run", "pause"]
    debate_id: str
    key: str
    """The kind, the debate and a mark; of two jobs with the same key one is done."""
    urgent: bool
    after_seconds: float


class AlreadyThere(Exception):
    """Thrown into an operation whose insert met a row with the same key."""


OWN_TURN = ("debate_id", "position", "run", "event_id")

T = TypeVar("T")
Operation: TypeAlias = Generator[Statement | Job, Sequence[Row], T]


def create(record: Record, key: str | None, watched: bool, turns: Sequence[Turn]) -> Operation[Record]:
    parameters: Parameters = {**debate_parameters(record), "idempotency_key": key, "watched": watched}
    try:
        rows = yield Statement("insert_debate", parameters)
    except AlreadyThere:
        raise id_taken(record.id) from None
    if not rows:
        rows = yield Statement("find_by_key", {"idempotency_key": key})
        return record_from(rows[0])
    for turn in turns:
        yield Statement("insert_turn", turn_parameters(record.id, replace(turn, run=0, event_id=turn.position + 1)))
    if record.status is Status.QUEUED:
        yield run_of(rows[0])
    return record_from(rows[0])


def load(debate_id: str) -> Operation[StoredDebate]:
    record = yield from _find(debate_id)
    turns = yield Statement("list_turns", {"debate_id": debate_id})
    failures = yield Statement("list_failures", {"debate_id": debate_id})
    ratings = yield Statement("latest_rating", {"debate_id": debate_id})
    workflows = yield Statement("find_workflow", {"debate_id": debate_id})
    deliveries = yield Statement("list_deliveries", {"debate_id": debate_id})
    return StoredDebate(
        record,
        tuple(map(turn_from, turns)),
        tuple(map(failure_from, failures)),
        rating_from(ratings[0]) if ratings else None,
        workflow_from(workflows[0]) if workflows else None,
        tuple(map(notice_from, deliveries)),
    )


def list_debates(
    limit: int, status: Status | None, format: str | None, words: str, after: Cursor | None
) -> Operation[tuple[Record, ...]]:
    parameters: Parameters = {
        "limit": limit,
        "status": status and status.value,
        "format": format,
        "pattern": pattern(words) if words else None,
        "created_at": after and after.created_at,
        "id": after and after.id,
    }
    rows = yield Statement("list_debates", parameters)
    return tuple(map(record_from, rows))


def unfinished() -> Operation[tuple[Unfinished, ...]]:
    rows = yield Statement("list_unfinished", {})
    return tuple(Unfinished(record_from(row), row["waiting_since"], row["now"]) for row in rows)


def counts() -> Operation[dict[Status, int]]:
    rows = yield Statement("count_debates", {})
    return {Status(row["status"]): row["count"] for row in rows}


def failure_counts() -> Operation[dict[str, int]]:
    rows = yield Statement("count_failures", {})
    return {row["code"]: row["count"] for row in rows}


def running() -> Operation[tuple[Running, ...]]:
    rows = yield Statement("list_running", {})
    return tuple(Running(row["id"], row["run"], row["owner"]) for row in rows)


def enqueue(debate_id: str, watched: bool) -> Operation[Record]:
    record = yield from _enqueued(debate_id, watched)
    if record is None:
        record = yield from _find(debate_id)
        if record.status not in (Status.QUEUED, Status.RUNNING):
            raise cannot_enqueue(record)
    return record


def watch(debate_id: str) -> Operation[None]:
    rows = yield Statement("watch", {"debate_id": debate_id})
    if rows and rows[0]["status"] == Status.QUEUED:
        yield run_of(rows[0])


def delete(debate_id: str) -> Operation[None]:
    rows = yield Statement("delete", {"debate_id": debate_id})
    if not rows and not (yield Statement("find_hidden", {"debate_id": debate_id})):
        raise cannot_delete((yield from _find(debate_id)))


def restore(debate_id: str) -> Operation[Record]:
    rows = yield Statement("restore", {"debate_id": debate_id})
    if not rows:
        return (yield from _find(debate_id))
    record = record_from(rows[0])
    if record.status in (Status.QUEUED, Status.RUNNING, Status.STOPPING):
        yield run_of(rows[0])  # while it was hidden there was no debate to run
    return record


def append(debate_id: str, turn: Turn) -> Operation[Control]:
    own = turn_parameters(debate_id, turn)
    try:
        rows = yield Statement("insert_turn", own)
    except AlreadyThere:
        rows = yield Statement("find_own_turn", {name: own[name] for name in OWN_TURN})
        if not rows:
            raise position_taken(debate_id, turn.position) from None
    if not rows:
        raise (yield from _why_fenced(debate_id, turn.run))
    return Control(bool(rows[0]["stopping"]), bool(rows[0]["concluding"]), rows[0]["remarks"])


def add_failure(debate_id: str, failure: Failure) -> Operation[None]:
    rows = yield Statement("insert_failure", failure_parameters(debate_id, failure))
    if not rows:
        raise (yield from _why_fenced(debate_id, failure.run))


def take(debate_id: str, owner: str, lease_seconds: float, only_queued: bool) -> Operation[Record]:
    parameters: Parameters = {
        "debate_id": debate_id,
        "owner": owner,
        "lease_seconds": lease_seconds,
        "only_queued": only_queued,
    }
    rows = yield Statement("take", parameters)
    if rows:
        return record_from(rows[0])
    rows = yield Statement("find_debate", {"debate_id": debate_id})
    if not rows:
        raise not_found(debate_id)
    raise cannot_take(record_from(rows[0]), rows[0]["now"])


def heartbeat(debate_id: str, run: int, lease_seconds: float) -> Operation[None]:
    rows = yield Statement("heartbeat", {"debate_id": debate_id, "run": run, "lease_seconds": lease_seconds})
    if not rows:
        raise (yield from _why_fenced(debate_id, run))


def end(debate_id: str, run: int, ending: RunResult, hooks: Sequence[str]) -> Operation[None]:
    """With what these webhooks are to be told of it."""
    parameters: Parameters = {
        "debate_id": debate_id,
        "run": run,
        "status": ending.status.value,
        "stop_reason": ending.stop_reason,
        "outcome": None if ending.outcome is None else to_json(ending.outcome),
        "error": ending.error,
    }
    rows = yield Statement("end", parameters)
    if not rows:
        raise (yield from _why_fenced(debate_id, run))
    if ending.status is Status.QUEUED:
        yield run_of(rows[0], ending.due_in or 0.0)
    elif ending.status is Status.WAITING and (yield from _enqueued(debate_id)):
        return  # the answer was there already
    elif ending.status is Status.WAITING and ending.due_in is not None:
        yield Job("pause", debate_id, f"pause {debate_id} {run}", False, ending.due_in)
    at = rows[0]["finished_at"] or rows[0]["waiting_since"]
    yield from _add(notices(record_from(rows[0]), at, hooks, ending.question))


def release(debate_id: str, run: int) -> Operation[bool]:
    rows = yield Statement("release", {"debate_id": debate_id, "run": run})
    return bool(rows)


def ask_to_stop(debate_id: str) -> Operation[Record]:
    rows = yield Statement("ask_to_stop", {"debate_id": debate_id})
    return record_from(rows[0]) if rows else (yield from _find(debate_id))


def ask_to_conclude(debate_id: str) -> Operation[Record]:
    rows = yield Statement("ask_to_conclude", {"debate_id": debate_id})
    return record_from(rows[0]) if rows else (yield from _find(debate_id))


def pause(debate_id: str) -> Operation[Record]:
    rows = yield Statement("pause", {"debate_id": debate_id})
    return record_from(rows[0]) if rows else (yield from _find(debate_id))


def say(debate_id: str, said: HumanReply) -> Operation[HumanReply]:
    parameters: Parameters = {
        "debate_id": debate_id,
        "position": said.position,
        "action": said.action,
        "text": said.text,
    }
    try:
        rows = yield Statement("insert_said", parameters)
    except AlreadyThere:
        raise answered(debate_id) from None
    if not rows:
        raise not_found(debate_id)
    if said.position is not None:
        yield from _enqueued(debate_id, watched=True)
    return said_from(rows[0])


def said(debate_id: str) -> Operation[tuple[HumanReply, ...]]:
    rows = yield Statement("list_said", {"debate_id": debate_id})
    return tuple(map(said_from, rows))


def rate(debate_id: str, rating: Rating) -> Operation[Rating]:
    parameters: Parameters = {"debate_id": debate_id, "stars": rating.stars, "comment": rating.comment}
    rows = yield Statement("insert_rating", parameters)
    if not rows:
        raise not_found(debate_id)
    return rating_from(rows[0])


def add_workflow(debate_id: str, workflow: Workflow) -> Operation[Workflow]:
    parameters: Parameters = {
        "debate_id": debate_id,
        "id": workflow.id,
        "title": workflow.title,
        "body": workflow.body,
    }
    try:
        rows = yield Statement("insert_workflow", parameters)
    except AlreadyThere:
        rows = yield Statement("find_workflow", {"debate_id": debate_id})
    if not rows:
        raise not_found(debate_id)
    return workflow_from(rows[0])


def note_delivery(debate_id: str, workflow: Workflow) -> Operation[Workflow]:
    parameters: Parameters = {
        "debate_id": debate_id,
        "delivered": workflow.delivered,
        "attempts": workflow.attempts,
        "result": workflow.result,
    }
    rows = yield Statement("note_delivery", parameters)
    if not rows:
        raise no_workflow(debate_id)
    return workflow_from(rows[0])


def answered(debate_id: str) -> WrongStatus:
    return WrongStatus(f"this question of {debate_id} has been answered already; moot show {debate_id} tells how")


def no_workflow(debate_id: str) -> NotFound:
    return NotFound(f"{debate_id} has no workflow; make one: moot workflow {debate_id}")


def id_taken(debate_id: str) -> StoreError:
    return StoreError(f"there is already a debate {debate_id}; create it under another id")


def not_found(debate_id: str) -> NotFound:
    return NotFound(f"no debate {debate_id!r}; moot debate --list shows the latest")


def position_taken(debate_id: str, position: int) -> Fenced:
    return Fenced(f"{debate_id} already has a turn at position {position}; it was stored by another call or run")


def fenced(record: Record, run: int) -> Fenced:
    """Why a run may not write."""
    if record.run != run:
        return Fenced(f"run {run} of {record.id} may not write any more: run {record.run} has taken over")
    return Fenced(f"run {run} of {record.id} may not write any more: the debate is {record.status}")


def cannot_take(record: Record, now: float) -> MootError:
    """Why a debate cannot be taken now."""
    if record.status is Status.FINISHED:
        return WrongStatus(f"{record.id} is finished; there is nothing left to run")
    if record.lease_until is None or record.lease_until < now:
        return WrongStatus(f"{record.id} is {record.status}, not queued; start or resume it")
    left = max(0.0, record.lease_until - now)
    owner = (record.owner or "another process").partition(" (")[0]
    return Busy(f"{record.id} is being run by {owner}, whose lease lasts {left:.0f} s more; stop it there or wait")


def cannot_enqueue(record: Record) -> WrongStatus:
    """Why a debate cannot go on now."""
    reasons = {
        Status.FINISHED: "there is nothing left to run",
        Status.WAITING: "it goes on when the person it asks has replied",
        Status.STOPPING: "wait until its step in progress has ended, then resume it",
    }
    changed = "it has changed in this very moment; try again"
    return WrongStatus(f"{record.id} is {record.status}; {reasons.get(record.status, changed)}")


def cannot_delete(record: Record) -> WrongStatus:
    return WrongStatus(f"{record.id} is {record.status}; stop it and wait for its step in progress, then delete it")


def _find(debate_id: str) -> Operation[Record]:
    rows = yield Statement("find_debate", {"debate_id": debate_id})
    if not rows:
        raise not_found(debate_id)
    return record_from(rows[0])


def _enqueued(debate_id: str, watched: bool = False) -> Operation[Record | None]:
    """The debate, if it can go on and is queued for that now."""
    rows = yield Statement("enqueue", {"debate_id": debate_id, "watched": watched})
    if not rows:
        return None
    yield run_of(rows[0])
    return record_from(rows[0])


def run_of(row: Row, after_seconds: float = 0.0) -> Job:
    """The job of running a debate; there is one for each time it was queued."""
    return Job("run", row["id"], f"run {row['id']} {row['waiting_since']}", bool(row["watched"]), after_seconds)


def _why_fenced(debate_id: str, run: int) -> Operation[MootError]:
    rows = yield Statement("find_debate", {"debate_id": debate_id})
    return fenced(record_from(rows[0]), run) if rows else Fenced(f"there is no debate {debate_id!r} to write to")


def note_worker(worker: Worker) -> Operation[None]:
    yield Statement("note_worker", {"id": worker.id, "process": worker.process, "concurrency": worker.concurrency})


def remove_worker(worker_id: str) -> Operation[None]:
    yield Statement("remove_worker", {"id": worker_id})


def workers(seconds: float) -> Operation[tuple[Worker, ...]]:
    rows = yield Statement("list_workers", {"seconds": seconds})
    return tuple(
        Worker(row["id"], row["process"], row["concurrency"], row["started_at"], row["seen_at"]) for row in rows
    )


def due(hooks: Sequence[str], limit: int, lease_seconds: float) -> Operation[tuple[Notice, ...]]:
    parameters: Parameters = {"hooks": to_json(hooks), "limit": limit, "lease_seconds": lease_seconds}
    rows = yield Statement("take_deliveries", parameters)
    return tuple(map(notice_from, rows))


def note(notice: Notice, delivered: bool, result: str, again_in: float | None) -> Operation[None]:
    parameters: Parameters = {
        "id": notice.id,
        "attempts": notice.attempts,
        "delivered": delivered,
        "result": result,
        "again_in": again_in,
    }
    yield Statement("note_attempt", parameters)


def _add(told: Iterable[Notice]) -> Operation[None]:
    for notice in told:
        yield Statement("insert_delivery", notice_parameters(notice))

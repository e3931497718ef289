"""The store: what each call means, written once for all databases.

A call is a generator that yields statements and receives their rows; a database runs it as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from moot.core.changes import Wish
from moot.core.control import Control
from moot.core.notices import Notice, notices
from moot.core.people import HumanReply, Rating, Tick, Workflow
from moot.core.record import LIVE, Failure, JsonObject, Record, Status, Turn
from moot.core.stored import StoredDebate
from moot.errors import StoreError
from moot.store.database import Database, Job, Operation, Whole, alone, ask, reading, run_of, writing
from moot.store.operations import changed, enqueued, find_debate, load
from moot.store.processes import Running, Unfinished, Worker
from moot.store.refusals import (
    answered,
    cannot_delete,
    cannot_enqueue,
    cannot_take,
    check_readable,
    fenced,
    no_workflow,
    not_found,
)
from moot.store.rows import Cursor as Cursor
from moot.store.rows import outcome_from, read, record_from, status_from, stored_from, wish_from
from moot.store.sql import (
    debate_parameters,
    end_parameters,
    list_parameters,
    parameters_of,
    to_json,
    turn_parameters,
    wish_parameters,
)

if TYPE_CHECKING:
    from moot.core.engine import RunResult


class Store:
    """Every write is atomic, and durable when it returns. All times are the database's clock, in seconds since 1970.

    A deleted debate is not found by anything but `restore`. `hooks` are the webhooks that are told when a run ends in
    a status.
    """

    def __init__(self, database: Database, hooks: Mapping[Status, Sequence[str]] | None = None) -> None:
        self.database = database
        self._hooks = hooks or {}

    async def close(self) -> None:
        """Finish what was begun, then let go of the database."""
        await self.database.close()

    # Debates

    @writing
    def create(
        self, record: Record, key: str | None = None, *, watched: bool = False, turns: Sequence[Turn] = ()
    ) -> Operation[Record]:
        """Store a new debate; its `created_at` becomes the database's time.

        When one was created under the same key before, nothing is stored and that one is returned. What somebody
        watches goes first when it is queued. `turns` are those of its origin that it begins with: they become turns
        of run 0, before any run of its own, with event ids in the order of their positions.
        """
        rows = yield ask("insert_debate", **debate_parameters(record), idempotency_key=key, watched=watched)
        if not rows:
            rows = yield ask("find_by_key", idempotency_key=key)
            if not rows:
                raise StoreError(f"there is already a debate {record.id}; create it under another id")
            return record_from(rows[0])
        for turn in turns:
            copy = replace(turn, run=0, event_id=turn.position + 1)
            yield ask("insert_turn", **turn_parameters(record.id, copy))
        if record.status is Status.QUEUED:
            yield run_of(rows[0])
        return record_from(rows[0])

    @reading
    def find(self, key: str) -> Operation[Record | None]:
        """The debate that was created under a key, be it hidden by now."""
        rows = yield ask("find_by_key", idempotency_key=key)
        return record_from(rows[0]) if rows else None

    @reading
    def forks(self, debate_id: str) -> Operation[list[str]]:
        rows = yield ask("find_forks", debate_id=debate_id)
        return [row["id"] for row in rows]

    @reading
    def outcomes(self, format: str, limit: int, known: Collection[str] = ()) -> Operation[dict[str, JsonObject | None]]:
        """By id, of a format's debates among those that finished lately, the newest first.

        None stands for those that are known already, and for one that cannot be read.
        """
        rows = yield ask("find_outcomes", format=format, limit=limit, known=to_json([*known]))
        return {row["id"]: outcome_from(row) for row in rows}

    @reading
    def load(self, debate_id: str) -> Operation[StoredDebate]:
        """Raises NotFound."""
        return (yield from load(debate_id))

    @reading
    def load_for_run(self, debate_id: str) -> Operation[StoredDebate]:
        """What a run needs to know: before its first a debate has no turns but copies, and its row is enough."""
        row = yield from find_debate(debate_id)
        if row["run"] == 0 and row["origin_debate"] is None:
            return StoredDebate(record_from(row))
        return (yield from load(debate_id))

    @reading
    def list(
        self,
        *,
        limit: int,
        status: Status | None = None,
        format: str | None = None,
        words: str = "",
        about: Sequence[str] = (),
        after: Cursor | None = None,
    ) -> Operation[tuple[Record, ...]]:
        """Newest first, after a place; `words` stand in the topic as they are, each of `about` there or in the outcome.

        Case is ignored; in the outcome, which is JSON, only plain words are found for sure.
        """
        rows = yield ask("list_debates", summed=False, **list_parameters(limit, status, format, words, after, about))
        return tuple(map(record_from, rows))

    @reading
    def unfinished(self) -> Operation[tuple[Unfinished, ...]]:
        """What a process should look after, the longest waiting first."""
        rows = yield ask("list_unfinished")
        found = (Unfinished(record_from(row), row["waiting_since"], row["now"]) for row in rows)
        return tuple(each for each in found if not each.record.unreadable)

    @reading
    def counts(self) -> Operation[dict[Status, int]]:
        """How many debates there are of each status."""
        rows = yield ask("count_debates")
        counts: Counter[Status] = Counter()
        for row in rows:
            counts[status_from(row["status"])] += 0 if row["hidden"] else row["count"]
        return dict(+counts)

    @reading
    def failure_counts(self) -> Operation[dict[str, int]]:
        """How many attempts have failed, by code."""
        rows = yield ask("count_failures")
        return {row["code"]: row["count"] for row in rows}

    @reading
    def running(self) -> Operation[tuple[Running, ...]]:
        """All runs in progress, and those whose process has died."""
        rows = yield ask("list_running")
        return tuple(Running(row["id"], row["run"], row["owner"]) for row in rows)

    @writing
    def enqueue(self, debate_id: str, *, watched: bool = False) -> Operation[Record]:
        """Set a debate `queued` that is created, stopped, failed, or waiting with its answer there.

        No change while it is queued or running. Raises WrongStatus, which says why, NotFound.
        """
        record = yield from enqueued(debate_id, watched)
        if record is None:
            record = record_from((yield from find_debate(debate_id)))
            if record.status not in (Status.QUEUED, Status.RUNNING):
                raise cannot_enqueue(record)
        return record

    @writing
    def watch(self, debate_id: str) -> Operation[None]:
        """Note that somebody watches a debate: from now on it goes first when it is queued."""
        rows = yield ask("watch", debate_id=debate_id)
        if rows and rows[0]["status"] == Status.QUEUED:
            yield run_of(rows[0])

    @writing
    def delete(self, debate_id: str) -> Operation[None]:
        """Hide a debate; no change when it is hidden. Raises WrongStatus while a run owns it, NotFound."""
        rows = yield alone("delete", debate_id=debate_id)
        if not rows and not (yield ask("find_hidden", debate_id=debate_id)):
            raise cannot_delete(record_from((yield from find_debate(debate_id))))

    @writing
    def restore(self, debate_id: str) -> Operation[Record]:
        """Undo `delete`; no change when the debate is not hidden. Raises NotFound."""
        rows = yield ask("restore", debate_id=debate_id)
        if rows and rows[0]["status"] in LIVE:
            yield run_of(rows[0])  # while it was hidden there was no debate to run
        return record_from(rows[0] if rows else (yield from find_debate(debate_id)))

    # Runs

    @writing
    def take(
        self,
        debate_id: str,
        owner: str,
        lease_seconds: float,
        *,
        only_queued: bool = False,
        known: StoredDebate | None = None,
    ) -> Operation[StoredDebate]:
        """Begin a run: raise the run number, own the debate, set it running.

        `known` is the debate as it was loaded when nobody ran it: it is loaded again only if somebody has meanwhile.
        Raises Busy while another run's lease lasts, WrongStatus when the debate is finished, or neither queued nor
        left by a dead run though it should be, NotFound.
        """
        chosen = {"lease_seconds": lease_seconds, "only_queued": only_queued}
        rows = yield (alone if known else ask)("take", debate_id=debate_id, owner=owner, **chosen)
        if not rows:
            row = yield from find_debate(debate_id)
            raise cannot_take(record_from(row), row["now"])
        record = record_from(rows[0])
        if known and record.run == known.record.run + 1:
            taken = known._replace(record=record)
        else:
            # From here on only this run can append, so its turns are read in a statement of their own.
            (whole,) = yield Whole(debate_id)
            taken = stored_from(record, whole)
        check_readable(taken.record)
        return taken._replace(asked=Control(None, record.concluding, rows[0]["remarks"], rows[0]["wishes"]))

    @writing
    def append(self, debate_id: str, turn: Turn) -> Operation[Control]:
        """Raises Fenced when another run has taken over, or another turn is there already."""
        own = turn_parameters(debate_id, turn)
        rows = yield alone("insert_turn", **own)
        rows = rows or (yield ask("find_own_turn", **own))
        if not rows:
            raise fenced(debate_id, turn.run, (yield ask("find_debate", debate_id=debate_id)), turn.position)
        (row,) = rows
        return Control(row["stopping"], bool(row["concluding"]), row["remarks"], row["wishes"])

    @writing
    def add_failure(self, debate_id: str, failure: Failure) -> Operation[None]:
        rows = yield alone("insert_failure", **parameters_of(failure, debate_id=debate_id))
        if not rows:
            raise fenced(debate_id, failure.run, (yield ask("find_debate", debate_id=debate_id)))

    @writing
    def heartbeat(self, debate_id: str, run: int, lease_seconds: float) -> Operation[None]:
        """Prolong the lease. Raises Fenced when another run has taken over."""
        rows = yield alone("heartbeat", debate_id=debate_id, run=run, lease_seconds=lease_seconds)
        if not rows:
            raise fenced(debate_id, run, (yield ask("find_debate", debate_id=debate_id)))

    @writing
    def end(self, debate_id: str, run: int, ending: RunResult) -> Operation[None]:
        """End a run, with what webhooks are to be told of it. Raises Fenced when another run has taken over."""
        hooks = self._hooks.get(ending.status, ())
        send = ask if hooks or ending.status in (Status.QUEUED, Status.WAITING) else alone
        rows = yield send("end", **end_parameters(ending), debate_id=debate_id, run=run)
        if not rows:
            raise fenced(debate_id, run, (yield ask("find_debate", debate_id=debate_id)))
        if ending.status is Status.QUEUED:
            yield run_of(rows[0], ending.due_in or 0.0)
        elif ending.status is Status.WAITING and (yield from enqueued(debate_id)):
            return  # the answer was there already
        elif ending.status is Status.WAITING and ending.due_in is not None:
            yield Job("pause", debate_id, f"pause {debate_id} {run}", False, ending.due_in)
        at = rows[0]["finished_at"] or rows[0]["waiting_since"]
        for notice in notices(record_from(rows[0]), at, hooks, ending.question):
            yield ask("insert_delivery", **parameters_of(notice))

    @writing
    def release(self, debate_id: str, run: int) -> Operation[bool]:
        """Give up the lease of a run that is known to be dead; False when it is not the current one any more."""
        return bool((yield alone("release", debate_id=debate_id, run=run)))

    # People

    @writing
    def ask_to_stop(self, debate_id: str, reason: str = "stopped") -> Operation[Record]:
        """Set `stopping` while a run owns the debate, `stopped` otherwise; no change once it has ended."""
        return (yield from changed("ask_to_stop", debate_id, stop_reason=reason))

    @writing
    def ask_to_conclude(self, debate_id: str) -> Operation[Record]:
        """Note that the closing steps shall come next; no change once it is finished."""
        return (yield from changed("ask_to_conclude", debate_id))

    @writing
    def pause(self, debate_id: str) -> Operation[Record]:
        """Stop a debate that has waited too long for a person; no change when it does not wait."""
        return (yield from changed("pause", debate_id))

    @writing
    def say(self, debate_id: str, said: HumanReply) -> Operation[HumanReply]:
        """Keep a person's words; a debate that waits for them is queued at once.

        Raises WrongStatus when the step they answer has an answer already.
        """
        rows = yield ask("insert_said", **parameters_of(said, debate_id=debate_id))
        if not rows:
            yield from find_debate(debate_id)
            raise answered(debate_id)
        if said.position is not None:
            yield from enqueued(debate_id, watched=True)
        return read(HumanReply, rows[0])

    @reading
    def said(self, debate_id: str) -> Operation[tuple[HumanReply, ...]]:
        rows = yield ask("list_said", debate_id=debate_id)
        return tuple(read(HumanReply, row) for row in rows)

    @writing
    def wish(self, debate_id: str, wish: Wish) -> Operation[None]:
        """Keep a change that a debate's run is to take over."""
        if not (yield ask("insert_said", **wish_parameters(debate_id, wish))):
            raise not_found(debate_id)

    @reading
    def wishes(self, debate_id: str) -> Operation[tuple[Wish, ...]]:
        return tuple(filter(None, map(wish_from, (yield ask("list_wishes", debate_id=debate_id)))))

    @writing
    def rate(self, debate_id: str, rating: Rating) -> Operation[Rating]:
        """The latest rating counts."""
        rows = yield alone("insert_rating", **parameters_of(rating, debate_id=debate_id))
        if not rows:
            raise not_found(debate_id)
        return read(Rating, rows[0])

    @writing
    def tick(self, debate_id: str, tick: Tick) -> Operation[Tick]:
        """Note whether a next step is done; the latest word on it counts."""
        rows = yield alone("tick", **parameters_of(tick, debate_id=debate_id))
        if not rows:
            raise not_found(debate_id)
        return read(Tick, rows[0])

    @writing
    def add_workflow(self, debate_id: str, workflow: Workflow, lease: float | None = None) -> Operation[Workflow]:
        """Keep a debate's only workflow, the first; with a lease, for its maker to hand over, then for anybody."""
        rows = yield alone("insert_workflow", **parameters_of(workflow, debate_id=debate_id, lease_seconds=lease))
        rows = rows or (yield ask("find_workflow", debate_id=debate_id))
        if not rows:
            raise not_found(debate_id)
        return read(Workflow, rows[0])

    @writing
    def take_workflow(self, lease: float, debate_id: str | None = None) -> Operation[tuple[str, Workflow] | None]:
        """A workflow to hand over, which nobody else gets meanwhile; that of a named debate also after a failure."""
        rows = yield alone("take_workflow", lease_seconds=lease, debate_id=debate_id)
        return (rows[0]["debate_id"], read(Workflow, rows[0])) if rows else None

    @writing
    def note_delivery(self, debate_id: str, workflow: Workflow) -> Operation[Workflow]:
        """Note how handing over the workflow went; `attempts` are added to those before."""
        rows = yield alone("note_delivery", **parameters_of(workflow, debate_id=debate_id))
        if not rows:
            raise no_workflow(debate_id)
        return read(Workflow, rows[0])

    # Workers

    @writing
    def note_worker(self, worker: Worker) -> Operation[None]:
        """A worker is alive."""
        yield alone("note_worker", id=worker.id, process=worker.process, concurrency=worker.concurrency)

    @writing
    def remove_worker(self, worker_id: str) -> Operation[None]:
        yield alone("remove_worker", id=worker_id)

    @reading
    def workers(self, seconds: float) -> Operation[tuple[Worker, ...]]:
        """Those that were seen in the last so many seconds, the oldest first."""
        rows = yield ask("list_workers", seconds=seconds)
        return tuple(Worker(*(row[name] for name in Worker._fields)) for row in rows)

    # Webhooks

    @writing
    def due(self, hooks: Sequence[str], limit: int, lease_seconds: float) -> Operation[tuple[Notice, ...]]:
        """Take what is due for these webhooks: nobody else gets it for so many seconds, and `attempts` is raised."""
        rows = yield alone("take_deliveries", hooks=to_json(hooks), limit=limit, lease_seconds=lease_seconds)
        return tuple(read(Notice, row) for row in rows)

    @writing
    def note(self, notice: Notice, delivered: bool, result: str, again_in: float | None) -> Operation[None]:
        """Note what this attempt came to; nothing when another has been made since."""
        attempt = parameters_of(notice, delivered=delivered, result=result, again_in=again_in)
        yield alone("note_attempt", **attempt)

"""A store over any SQL database: every call is an operation, which the database runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from moot.core.debate import Failure, HumanReply, Rating, Record, Status, Turn, Workflow
from moot.core.engine import Control, RunResult
from moot.core.notices import Notice
from moot.core.stored import StoredDebate
from moot.store import operations
from moot.store.operations import Operation
from moot.store.store import Cursor, Running, Unfinished, Worker

T = TypeVar("T")


class Database(Protocol):
    """Runs operations; what is written is durable when it returns, and a read sees one moment."""

    async def write(self, operation: Operation[T], *, atomic: bool = False) -> T:
        """`atomic` for what consists of more than one statement."""
        ...

    async def read(self, operation: Operation[T]) -> T: ...
    async def close(self) -> None: ...


class SqlStore:
    """`hooks` are the webhooks that are told when a run ends in a status."""

    def __init__(self, database: Database, hooks: Mapping[Status, Sequence[str]]) -> None:
        self.database = database
        self._hooks = hooks

    async def create(
        self, record: Record, key: str | None = None, *, watched: bool = False, turns: Sequence[Turn] = ()
    ) -> Record:
        return await self.database.write(operations.create(record, key, watched, turns), atomic=True)

    async def load(self, debate_id: str) -> StoredDebate:
        return await self.database.read(operations.load(debate_id))

    async def list(
        self,
        *,
        limit: int,
        status: Status | None = None,
        format: str | None = None,
        words: str = "",
        after: Cursor | None = None,
    ) -> tuple[Record, ...]:
        return await self.database.read(operations.list_debates(limit, status, format, words, after))

    async def unfinished(self) -> tuple[Unfinished, ...]:
        return await self.database.read(operations.unfinished())

    async def counts(self) -> dict[Status, int]:
        return await self.database.read(operations.counts())

    async def failure_counts(self) -> dict[str, int]:
        return await self.database.read(operations.failure_counts())

    async def running(self) -> tuple[Running, ...]:
        return await self.database.read(operations.running())

    async def enqueue(self, debate_id: str, *, watched: bool = False) -> Record:
        return await self.database.write(operations.enqueue(debate_id, watched), atomic=True)

    async def watch(self, debate_id: str) -> None:
        await self.database.write(operations.watch(debate_id), atomic=True)

    async def delete(self, debate_id: str) -> None:
        await self.database.write(operations.delete(debate_id))

    async def restore(self, debate_id: str) -> Record:
        return await self.database.write(operations.restore(debate_id), atomic=True)

    async def append(self, debate_id: str, turn: Turn) -> Control:
        return await self.database.write(operations.append(debate_id, turn))

    async def add_failure(self, debate_id: str, failure: Failure) -> None:
        await self.database.write(operations.add_failure(debate_id, failure))

    async def take(
        self, debate_id: str, owner: str, lease_seconds: float, *, only_queued: bool = False
    ) -> StoredDebate:
        # From here on only this run can append, so its turns can be read afterwards.
        record = await self.database.write(operations.take(debate_id, owner, lease_seconds, only_queued))
        return (await self.load(debate_id))._replace(record=record)

    async def heartbeat(self, debate_id: str, run: int, lease_seconds: float) -> None:
        await self.database.write(operations.heartbeat(debate_id, run, lease_seconds))

    async def end(self, debate_id: str, run: int, ending: RunResult) -> None:
        hooks = self._hooks.get(ending.status, ())
        await self.database.write(operations.end(debate_id, run, ending, hooks), atomic=True)

    async def release(self, debate_id: str, run: int) -> bool:
        return await self.database.write(operations.release(debate_id, run))

    async def ask_to_stop(self, debate_id: str) -> Record:
        return await self.database.write(operations.ask_to_stop(debate_id))

    async def ask_to_conclude(self, debate_id: str) -> Record:
        return await self.database.write(operations.ask_to_conclude(debate_id))

    async def pause(self, debate_id: str) -> Record:
        return await self.database.write(operations.pause(debate_id))

    async def say(self, debate_id: str, said: HumanReply) -> HumanReply:
        return await self.database.write(operations.say(debate_id, said), atomic=True)

    async def said(self, debate_id: str) -> tuple[HumanReply, ...]:
        return await self.database.read(operations.said(debate_id))

    async def rate(self, debate_id: str, rating: Rating) -> Rating:
        return await self.database.write(operations.rate(debate_id, rating))

    async def add_workflow(self, debate_id: str, workflow: Workflow) -> Workflow:
        return await self.database.write(operations.add_workflow(debate_id, workflow))

    async def note_delivery(self, debate_id: str, workflow: Workflow) -> Workflow:
        return await self.database.write(operations.note_delivery(debate_id, workflow))

    async def note_worker(self, worker: Worker) -> None:
        await self.database.write(operations.note_worker(worker))

    async def remove_worker(self, worker_id: str) -> None:
        await self.database.write(operations.remove_worker(worker_id))

    async def workers(self, seconds: float) -> tuple[Worker, ...]:
        return await self.database.read(operations.workers(seconds))

    async def due(self, hooks: Sequence[str], limit: int, lease_seconds: float) -> tuple[Notice, ...]:
        return await self.database.write(operations.due(hooks, limit, lease_seconds))

    async def note(self, notice: Notice, delivered: bool, result: str, again_in: float | None) -> None:
        await self.database.write(operations.note(notice, delivered, result, again_in))

    async def close(self) -> None:
        """Finish what was begun, then let go of the database."""
        await self.database.close()

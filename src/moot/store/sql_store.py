"""A store over any SQL database: every call is an operation, which the database runs."""

from __future__ import annotations

from typing import Protocol, TypeVar

from moot.engine import Control, Ending
from moot.model import Failure, Rating, Record, Said, Status, Turn, Workflow
from moot.store import operations
from moot.store.operations import Operation
from moot.store.store import Place, Stored, Unfinished

T = TypeVar("T")


class Database(Protocol):
    """Runs operations; what is written is durable when it returns, and a read sees one moment."""

    async def write(self, operation: Operation[T]) -> T: ...
    async def read(self, operation: Operation[T]) -> T: ...
    async def close(self) -> None: ...


class SqlStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, record: Record, key: str | None = None) -> Record:
        return await self._database.write(operations.create(record, key))

    async def load(self, debate_id: str) -> Stored:
        return await self._database.read(operations.load(debate_id))

    async def list(
        self,
        *,
        limit: int,
        status: Status | None = None,
        format: str | None = None,
        words: str = "",
        after: Place | None = None,
    ) -> tuple[Record, ...]:
        return await self._database.read(operations.list_debates(limit, status, format, words, after))

    async def unfinished(self) -> tuple[Unfinished, ...]:
        return await self._database.read(operations.unfinished())

    async def enqueue(self, debate_id: str) -> Record:
        return await self._database.write(operations.enqueue(debate_id))

    async def delete(self, debate_id: str) -> None:
        await self._database.write(operations.delete(debate_id))

    async def restore(self, debate_id: str) -> Record:
        return await self._database.write(operations.restore(debate_id))

    async def append(self, debate_id: str, turn: Turn) -> Control:
        return await self._database.write(operations.append(debate_id, turn))

    async def add_failure(self, debate_id: str, failure: Failure) -> None:
        await self._database.write(operations.add_failure(debate_id, failure))

    async def take(self, debate_id: str, owner: str, lease_seconds: float, *, only_queued: bool = False) -> Stored:
        # From here on only this run can append, so its turns can be read afterwards.
        record = await self._database.write(operations.take(debate_id, owner, lease_seconds, only_queued))
        return (await self.load(debate_id))._replace(record=record)

    async def heartbeat(self, debate_id: str, run: int, lease_seconds: float) -> None:
        await self._database.write(operations.heartbeat(debate_id, run, lease_seconds))

    async def end(self, debate_id: str, run: int, ending: Ending) -> None:
        await self._database.write(operations.end(debate_id, run, ending))

    async def release(self, debate_id: str, run: int) -> bool:
        return await self._database.write(operations.release(debate_id, run))

    async def ask_to_stop(self, debate_id: str) -> Record:
        return await self._database.write(operations.ask_to_stop(debate_id))

    async def ask_to_conclude(self, debate_id: str) -> Record:
        return await self._database.write(operations.ask_to_conclude(debate_id))

    async def pause(self, debate_id: str) -> Record:
        return await self._database.write(operations.pause(debate_id))

    async def say(self, debate_id: str, said: Said) -> Said:
        return await self._database.write(operations.say(debate_id, said))

    async def said(self, debate_id: str) -> tuple[Said, ...]:
        return await self._database.read(operations.said(debate_id))

    async def rate(self, debate_id: str, rating: Rating) -> Rating:
        return await self._database.write(operations.rate(debate_id, rating))

    async def add_workflow(self, debate_id: str, workflow: Workflow) -> Workflow:
        return await self._database.write(operations.add_workflow(debate_id, workflow))

    async def note_delivery(self, debate_id: str, workflow: Workflow) -> Workflow:
        return await self._database.write(operations.note_delivery(debate_id, workflow))

    async def close(self) -> None:
        """Finish what was begun, then let go of the database."""
        await self._database.close()

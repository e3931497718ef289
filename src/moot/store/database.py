"""The port to a database: what it is asked, and how it runs a call on the store.

An operation is a generator that yields requests and receives rows. An adapter runs it as one: what it writes is stored
wholly or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, Literal, NamedTuple, ParamSpec, Protocol, TypeAlias, TypeVar

Parameter: TypeAlias = str | int | float | None
Parameters: TypeAlias = Mapping[str, Parameter]
P = ParamSpec("P")
T = TypeVar("T")


class Row(Protocol):
    def __getitem__(self, column: str, /) -> Any: ...


class Statement(NamedTuple):
    """A statement of queries.sql. `alone` when nothing else of its operation writes: it needs no transaction."""

    query: str
    parameters: Parameters
    alone: bool = False


class Whole(NamedTuple):
    """All that is stored of a debate: one row, whose columns are the rows of each of PARTS."""

    debate_id: str


PARTS = {
    "debate": "find_debate",
    "turns": "list_turns",
    "failures": "list_failures",
    "ratings": "latest_rating",
    "workflows": "find_workflow",
    "deliveries": "list_deliveries",
    "ticks": "list_ticks",
}


class Job(NamedTuple):
    """Something for a queue to do about a debate, where the database has a queue; elsewhere it is passed over."""

    kind: Literal["run", "pause"]
    debate_id: str
    key: str
    """The kind, the debate and a mark; of two jobs with the same key one is done."""
    urgent: bool
    after_seconds: float


Request: TypeAlias = Statement | Whole | Job
Operation: TypeAlias = Generator[Request, Sequence[Row], T]


class Database(Protocol):
    """Runs operations. A write is stored wholly or not at all, and durable when it returns."""

    async def write(self, operation: Operation[T]) -> T: ...
    async def read(self, operation: Operation[T]) -> T: ...
    async def close(self) -> None: ...


def ask(query: str, **parameters: Parameter) -> Statement:
    return Statement(query, parameters)


def alone(query: str, **parameters: Parameter) -> Statement:
    """The only statement of an operation that writes."""
    return Statement(query, parameters, alone=True)


def run_of(row: Row, after_seconds: float = 0.0) -> Job:
    """The job of running a debate; there is one for each time it was queued."""
    return Job("run", row["id"], f"run {row['id']} {row['waiting_since']}", bool(row["watched"]), after_seconds)


class OnDatabase(Protocol):
    @property
    def database(self) -> Database: ...


S = TypeVar("S", bound=OnDatabase)


def writing(
    operation: Callable[Concatenate[S, P], Operation[T]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    @wraps(operation)
    async def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.database.write(operation(self, *args, **kwargs))

    return call


def reading(
    operation: Callable[Concatenate[S, P], Operation[T]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    @wraps(operation)
    async def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.database.read(operation(self, *args, **kwargs))

    return call

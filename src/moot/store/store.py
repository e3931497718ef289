"""The port to the database: what the app needs of a store beyond what the engine needs."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from moot.engine import TurnStore
from moot.model import Failure, Record, Status, Turn


class Stored(NamedTuple):
    """A debate with all that was stored of it; turns by position, failures by time."""

    record: Record
    turns: tuple[Turn, ...]
    failures: tuple[Failure, ...]


class Store(TurnStore, Protocol):
    """Every write is durable when it returns. All times are the database's clock, in seconds since 1970."""

    async def create(self, record: Record) -> Record:
        """Store a new debate; its `created_at` becomes the database's time."""
        ...

    async def load(self, debate_id: str) -> Stored:
        """Raises NotFound."""
        ...

    async def list(self, *, limit: int, status: Status | None = None) -> tuple[Record, ...]:
        """Newest first."""
        ...

    async def take(self, debate_id: str, owner: str, lease_seconds: float) -> Stored:
        """Begin a run: raise the run number, own the debate, set it running.

        Raises Busy while another run's lease lasts, WrongStatus when the debate is finished, NotFound.
        """
        ...

    async def heartbeat(self, debate_id: str, run: int, lease_seconds: float) -> None:
        """Prolong the lease. Raises Fenced when another run has taken over."""
        ...

    async def release(self, debate_id: str, run: int) -> bool:
        """Give up the lease of a run that is known to be dead; False when it is not the current one any more."""
        ...

    async def ask_to_stop(self, debate_id: str) -> Record:
        """Set `stopping` while a run owns the debate, `stopped` otherwise; no change once it has ended."""
        ...

    async def ask_to_conclude(self, debate_id: str) -> Record:
        """Note that the closing steps shall come next; no change once it is finished."""
        ...

    async def close(self) -> None: ...

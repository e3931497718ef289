"""The port to the database: what the app needs of a store beyond what the engine needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from moot.core.debate import HumanReply, Rating, Record, Status, Turn, Workflow
from moot.core.engine import TurnStore
from moot.core.notices import Notice
from moot.core.stored import StoredDebate


class Deliveries(Protocol):
    """Where notices are kept; all by the database's clock."""

    async def due(self, hooks: Sequence[str], limit: int, lease_seconds: float) -> tuple[Notice, ...]:
        """Take what is due for these webhooks: nobody else gets it for so many seconds, and `attempts` is raised."""
        ...

    async def note(self, notice: Notice, delivered: bool, result: str, again_in: float | None) -> None:
        """Note what this attempt came to; nothing when another has been made since."""
        ...


class Cursor(NamedTuple):
    """Where a page of a list ended: at this debate."""

    created_at: float
    id: str


class Unfinished(NamedTuple):
    """A debate that is queued, running, stopping or waiting; times by the database's clock, which says `now`."""

    record: Record
    waiting_since: float | None
    now: float


class Running(NamedTuple):
    """A run that has not said how it ended, and whose it is."""

    debate_id: str
    run: int
    owner: str | None


class Worker(NamedTuple):
    """A process that runs debates from a queue, and when it was last seen alive."""

    id: str
    process: str
    concurrency: int
    started_at: float = 0.0
    seen_at: float = 0.0


class Store(TurnStore, Deliveries, Protocol):
    """Every write is durable when it returns. All times are the database's clock, in seconds since 1970.

    A deleted debate is not found by anything but `restore`.
    """

    async def create(
        self, record: Record, key: str | None = None, *, watched: bool = False, turns: Sequence[Turn] = ()
    ) -> Record:
        """Store a new debate; its `created_at` becomes the database's time.

        When one was created under the same key before, nothing is stored and that one is returned. What somebody
        watches goes first when it is queued. `turns` are those of its origin that it begins with: they become turns
        of run 0, before any run of its own, with event ids in the order of their positions.
        """
        ...

    async def load(self, debate_id: str) -> StoredDebate:
        """Raises NotFound."""
        ...

    async def list(
        self,
        *,
        limit: int,
        status: Status | None = None,
        format: str | None = None,
        words: str = "",
        after: Cursor | None = None,
    ) -> tuple[Record, ...]:
        """Newest first; `words` stand in the topic, in any case, and the page begins after the place."""
        ...

    async def unfinished(self) -> tuple[Unfinished, ...]:
        """What a process should look after, the longest waiting first."""
        ...

    async def counts(self) -> dict[Status, int]:
        """How many debates there are of each status."""
        ...

    async def failure_counts(self) -> dict[str, int]:
        """How many attempts have failed, by code."""
        ...

    async def running(self) -> tuple[Running, ...]:
        """All runs in progress, and those whose process has died."""
        ...

    async def enqueue(self, debate_id: str, *, watched: bool = False) -> Record:
        """Set a debate `queued` that is created, stopped, failed, or waiting with its answer there.

        No change while it is queued or running. Raises WrongStatus, which says why, NotFound.
        """
        ...

    async def watch(self, debate_id: str) -> None:
        """Note that somebody watches a debate: from now on it goes first when it is queued."""
        ...

    async def delete(self, debate_id: str) -> None:
        """Hide a debate; no change when it is hidden. Raises WrongStatus while a run owns it, NotFound."""
        ...

    async def restore(self, debate_id: str) -> Record:
        """Undo `delete`; no change when the debate is not hidden. Raises NotFound."""
        ...

    async def take(
        self, debate_id: str, owner: str, lease_seconds: float, *, only_queued: bool = False
    ) -> StoredDebate:
        """Begin a run: raise the run number, own the debate, set it running.

        Raises Busy while another run's lease lasts, WrongStatus when the debate is finished, or neither queued nor
        left by a dead run though it should be, NotFound.
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

    async def pause(self, debate_id: str) -> Record:
        """Stop a debate that has waited too long for a person; no change when it does not wait."""
        ...

    async def say(self, debate_id: str, said: HumanReply) -> HumanReply:
        """Keep a person's words; a debate that waits for them is queued at once.

        Raises WrongStatus when the step they answer has an answer already.
        """
        ...

    async def rate(self, debate_id: str, rating: Rating) -> Rating:
        """The latest rating counts."""
        ...

    async def add_workflow(self, debate_id: str, workflow: Workflow) -> Workflow:
        """Keep the workflow of a debate, which has at most one: the first stays."""
        ...

    async def note_delivery(self, debate_id: str, workflow: Workflow) -> Workflow:
        """Note how handing over the workflow went; `attempts` are added to those before."""
        ...

    async def note_worker(self, worker: Worker) -> None:
        """A worker is alive."""
        ...

    async def remove_worker(self, worker_id: str) -> None: ...

    async def workers(self, seconds: float) -> tuple[Worker, ...]:
        """Those that were seen in the last so many seconds, the oldest first."""
        ...

    async def close(self) -> None: ...

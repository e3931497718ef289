"""What several calls on the store have in common, as parts of their operations."""

from __future__ import annotations

from moot.core.record import Record
from moot.core.stored import StoredDebate
from moot.store.database import Operation, Row, Whole, alone, ask, run_of
from moot.store.refusals import check_readable, not_found
from moot.store.rows import record_from, stored_from


def find_debate(debate_id: str) -> Operation[Row]:
    rows = yield ask("find_debate", debate_id=debate_id)
    if not rows:
        raise not_found(debate_id)
    return rows[0]


def load(debate_id: str) -> Operation[StoredDebate]:
    (whole,) = yield Whole(debate_id)
    if not whole["debate"]:
        raise not_found(debate_id)
    return stored_from(record_from(whole["debate"][0]), whole)


def changed(query: str, debate_id: str, **parameters: str) -> Operation[Record]:
    """The debate after a statement that changes it, or as it is when there is nothing to change."""
    rows = yield alone(query, debate_id=debate_id, **parameters)
    return record_from(rows[0] if rows else (yield from find_debate(debate_id)))


def enqueued(debate_id: str, watched: bool = False) -> Operation[Record | None]:
    """The debate, if it can go on and is queued for that now."""
    rows = yield ask("enqueue", debate_id=debate_id, watched=watched)
    if not rows:
        return None
    record = record_from(rows[0])
    check_readable(record)
    yield run_of(rows[0])
    return record

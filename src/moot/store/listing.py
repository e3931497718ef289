"""Debates as lists show them: found by what stands in them, page by page in both directions, and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from moot.core.record import Status
from moot.store.database import Database, Operation, ask, reading
from moot.store.rows import Cursor, Summary, status_from, summary_from
from moot.store.sql import list_parameters
from moot.text.plain import clean


class Wanted(NamedTuple):
    """Which debates a list has."""

    words: str = ""
    """Each of them stands in the topic, a claim or the outcome."""
    status: Status | None = None
    format: str | None = None
    hidden: bool = False
    """Those that were deleted, and no others."""
    at_rest: bool = False
    """Only those that neither go on nor wait."""

    @property
    def about(self) -> Sequence[str]:
        return str(clean(self.words)).split()


ALL = Wanted()


class Listing:
    def __init__(self, database: Database) -> None:
        self.database = database

    @reading
    def page(
        self, limit: int = 20, wanted: Wanted = ALL, *, after: Cursor | None = None, before: Cursor | None = None
    ) -> Operation[tuple[Summary, ...]]:
        """Newest first: those that come after a place, or stand next before one."""
        chosen = list_parameters(
            limit, wanted.status, wanted.format, "", before or after, wanted.about, wanted.hidden, wanted.at_rest
        )
        rows = yield ask("list_newer" if before else "list_debates", summed=True, **chosen)
        return tuple(map(summary_from, reversed(rows) if before else rows))

    @reading
    def counts(self) -> Operation[Counter[Wanted]]:
        """How many debates there are of each status and format, and how many of them were deleted."""
        found: Counter[Wanted] = Counter()
        for row in (yield ask("count_debates")):
            found[Wanted("", status_from(row["status"]), row["format"], bool(row["hidden"]))] += row["count"]
        return found

    @reading
    def count(self, wanted: Wanted = ALL) -> Operation[int]:
        chosen = list_parameters(0, wanted.status, wanted.format, "", None, wanted.about, wanted.hidden, wanted.at_rest)
        (row,) = yield ask("count_found", summed=False, **chosen)
        return int(row["count"])

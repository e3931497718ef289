"""How often a debate has been tried without coming further, and whether to try it again. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from moot.core.stored import StoredDebate
from moot.core.turn_writer import Again
from moot.errors import ModelError, MootError, NewerDebate, RateLimited, Refused

TAKEN_OVER = "taken_over"
"""The code of the failure that tells of a run that died."""
MAX_SECONDS = 600.0


def first_missing(stored: StoredDebate) -> int:
    """The first position without a turn; those played beside it may have theirs."""
    there = {turn.position for turn in stored.turns}
    return next(position for position in count() if position not in there)


def attempts(stored: StoredDebate) -> int:
    """How many runs have failed at what comes next, since a person last had the debate go on."""
    position, since = first_missing(stored), stored.record.tries_from
    failed = [failure for failure in stored.failures if failure.code != NewerDebate.code]  # which nobody has tried
    return len({failure.run for failure in failed if failure.position >= position and failure.run > since})


@dataclass(frozen=True, slots=True)
class Retries:
    most: int
    seconds: float
    """Before the first retry; twice as long before each next."""
    attempts: int
    """Those that failed before this run."""

    @property
    def used_up(self) -> bool:
        return self.attempts > self.most

    def due_in(self, error: MootError, advanced: bool) -> Again | None:
        """When a run that ended in this error is tried again, if that can help."""
        before = 0 if advanced else self.attempts
        if not isinstance(error, ModelError) or isinstance(error, Refused) or before >= self.most:
            return None
        asked = (error.retry_after or 0.0) if isinstance(error, RateLimited) else 0.0
        seconds = max(asked, min(self.seconds * 2.0**before, MAX_SECONDS))
        return Again(seconds, before + 2, self.most + 1)

"""How a verdict moves a score: pure arithmetic on the scale from 0 to 10.

A topic moves its category towards the winner's side, up for the advocate and down for the challenger, by

    MOST × certainty × share,   share = min(1, margin / FULL_MARGIN)

where `certainty` stands for how sure one can be of the verdict and `margin` is how far apart the arbiter's two scores
are. A draw moves nothing, nor does a verdict that could not be read or that is held back. Topics on one category add
up before the scale bounds them, so their order does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import fsum
from typing import Literal

from moot.core.trust import CLEAR_MARGIN
from moot.formats.evaluation.settings import Level

Winner = Literal["advocate", "challenger", "draw"]

LOWEST, HIGHEST = 0.0, 10.0
MAX_CHANGE = 2.0
"""Points by which one topic moves a score at most."""
FULL_MARGIN = 5.0
"""From this margin on, a topic moves as much as it can."""
CERTAINTY: Mapping[Level, float] = {"low": 0.4, "medium": 0.7, "high": 1.0}
DIRECTION: Mapping[Winner, int] = {"advocate": 1, "challenger": -1, "draw": 0}


@dataclass(frozen=True, slots=True)
class ScoreVerdict:
    """What an arbiter made of one topic."""

    score_advocate: float
    score_challenger: float
    certainty: Level
    """Computed by code; the arbiter's own word for it in version 1."""
    fallback: bool = False
    """It could not be read: these scores are a placeholder."""
    held_back: bool = False
    """Code knows of the leading side's case what forbids it to win."""

    @property
    def margin(self) -> float:
        """Rounded, as floats are not exact: 8.2 and 7.2 are one point apart."""
        return round(abs(self.score_advocate - self.score_challenger), 6)

    @property
    def leader(self) -> Winner:
        if self.fallback or self.margin < CLEAR_MARGIN:
            return "draw"
        return "advocate" if self.score_advocate > self.score_challenger else "challenger"

    @property
    def winner(self) -> Winner:
        return "draw" if self.held_back else self.leader


def change(verdict: ScoreVerdict) -> float:
    """The points by which a verdict moves a score that has room for them."""
    share = min(1.0, verdict.margin / FULL_MARGIN)
    return DIRECTION[verdict.winner] * MAX_CHANGE * CERTAINTY[verdict.certainty] * share


def adjust(verdicts: Iterable[ScoreVerdict], score: float) -> float:
    """The score after all topics of its category, in whatever order they were judged."""
    return min(HIGHEST, max(LOWEST, fsum([score, *map(change, verdicts)])))


def overall(scores: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The mean by weights, 1 for whatever has none; they must not all be 0."""
    total = fsum(weights.get(category, 1.0) for category in scores)
    mean = fsum(score * weights.get(category, 1.0) for category, score in scores.items()) / total
    return min(HIGHEST, max(LOWEST, mean))

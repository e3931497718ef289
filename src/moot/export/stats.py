"""What many debates together tell: how they were rated, how long they were, and what they wrote."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from moot.core.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The finished debates of one format with the same models; means are None where there is nothing to average."""

    format: str
    models: str
    debates: int
    rated: int
    stars: float | None
    auto_score: float | None
    rounds: float
    early_stopped: int
    output_tokens: float
    seconds: float


class Totals:
    """Sums over debates that come one by one, so that there may be any number of them."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str], _Sums] = defaultdict(_Sums)

    def add(self, trace: Trace) -> None:
        if trace["status"] == "finished":
            models = ", ".join(sorted(set(trace["models"].values())))
            self._groups[trace["format"], models].add(trace)

    def stats(self) -> tuple[Stats, ...]:
        """By format and models, the most frequent first."""
        found = [sums.stats(*group) for group, sums in self._groups.items()]
        return tuple(sorted(found, key=lambda each: (-each.debates, each.format, each.models)))


@dataclass(slots=True, kw_only=True)
class _Sums:
    debates: int = 0
    rated: int = 0
    stars: int = 0
    scored: int = 0
    score: float = 0.0
    rounds: int = 0
    early_stopped: int = 0
    output_tokens: int = 0
    milliseconds: int = 0

    def add(self, trace: Trace) -> None:
        stars, score = trace["user_rating"], trace["auto_score"]
        self.debates += 1
        self.rated += stars is not None
        self.stars += stars or 0
        self.scored += score is not None
        self.score += score or 0.0
        self.rounds += trace["total_rounds"]
        self.early_stopped += trace["early_stopped"]
        self.output_tokens += trace["usage"]["output_tokens"]
        self.milliseconds += trace["timing"]["total_ms"]

    def stats(self, format: str, models: str) -> Stats:
        return Stats(
            format=format,
            models=models,
            debates=self.debates,
            rated=self.rated,
            stars=self.stars / self.rated if self.rated else None,
            auto_score=self.score / self.scored if self.scored else None,
            rounds=self.rounds / self.debates,
            early_stopped=self.early_stopped,
            output_tokens=self.output_tokens / self.debates,
            seconds=self.milliseconds / self.debates / 1000,
        )

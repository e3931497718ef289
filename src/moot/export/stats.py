"""What many debates together tell: how they were rated, how long they were, and what they wrote."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

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


def stats(traces: Iterable[Trace]) -> tuple[Stats, ...]:
    """By format and models, the most frequent first."""
    groups: dict[tuple[str, str], list[Trace]] = defaultdict(list)
    for trace in traces:
        if trace["status"] == "finished":
            groups[trace["format"], ", ".join(sorted(set(trace["models"].values())))].append(trace)
    found = [_stats(format, models, traces) for (format, models), traces in groups.items()]
    return tuple(sorted(found, key=lambda each: (-each.debates, each.format, each.models)))


def _stats(format: str, models: str, traces: Sequence[Trace]) -> Stats:
    stars = [trace["user_rating"] for trace in traces if trace["user_rating"] is not None]
    scores = [trace["auto_score"] for trace in traces if trace["auto_score"] is not None]
    return Stats(
        format=format,
        models=models,
        debates=len(traces),
        rated=len(stars),
        stars=fmean(stars) if stars else None,
        auto_score=fmean(scores) if scores else None,
        rounds=fmean(trace["total_rounds"] for trace in traces),
        early_stopped=sum(trace["early_stopped"] for trace in traces),
        output_tokens=fmean(trace["usage"]["output_tokens"] for trace in traces),
        seconds=fmean(trace["timing"]["total_ms"] for trace in traces) / 1000,
    )

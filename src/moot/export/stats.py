"""What many debates together tell: how they were rated, how long they were, and what they wrote."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from moot.model import JsonObject


@dataclass(frozen=True, slots=True)
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


def stats(traces: Iterable[JsonObject]) -> tuple[Stats, ...]:
    """By format and models, the most frequent first."""
    groups: dict[tuple[str, str], list[JsonObject]] = defaultdict(list)
    for trace in traces:
        if trace["status"] == "finished":
            groups[str(trace["format"]), _models(trace)].append(trace)
    found = [_stats(format, models, traces) for (format, models), traces in groups.items()]
    return tuple(sorted(found, key=lambda each: (-each.debates, each.format, each.models)))


def _stats(format: str, models: str, traces: Sequence[JsonObject]) -> Stats:
    stars = _numbers(trace["user_rating"] for trace in traces)
    scores = _numbers(trace["auto_score"] for trace in traces)
    return Stats(
        format,
        models,
        len(traces),
        len(stars),
        fmean(stars) if stars else None,
        fmean(scores) if scores else None,
        fmean(_numbers(trace["total_rounds"] for trace in traces)),
        sum(trace["early_stopped"] is True for trace in traces),
        fmean(_numbers(_part(trace, "usage", "output_tokens") for trace in traces)),
        fmean(_numbers(_part(trace, "timing", "total_ms") for trace in traces)) / 1000,
    )


def _models(trace: JsonObject) -> str:
    models = trace["models"]
    return ", ".join(sorted({str(name) for name in models.values()})) if isinstance(models, dict) else ""


def _part(trace: JsonObject, name: str, key: str) -> object:
    part = trace[name]
    return part.get(key) if isinstance(part, dict) else None


def _numbers(values: Iterable[object]) -> list[float]:
    return [float(value) for value in values if isinstance(value, int | float)]

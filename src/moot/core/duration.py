"""How long turns took, and how long a debate may speak: a guess from what it may write and its models' pace."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from moot.core.record import Turn

ASSUMED = 50.0
"""Tokens a second, of a model that has not been measured."""
ENOUGH_TOKENS, ENOUGH_SECONDS = 20, 1.0
"""What a turn must have to tell the pace; what was replayed or cached tells none."""
LATELY = 12
"""So many of the last turns tell the pace."""
SLACK = 1.5
"""So much longer than the pace says is a limit that nobody has set."""


@dataclass(frozen=True, slots=True)
class Duration:
    """A guess: as if all spoke one after the other, without the time a model reads or a person thinks."""

    most_seconds: float
    typical_seconds: float
    tokens_a_second: float
    measured: bool
    """Whether the models were that fast lately; otherwise the pace is assumed."""
    warning: str = ""
    """What to do about a time limit that this pace cannot keep."""

    def __str__(self) -> str:
        how = "as its models were lately" if self.measured else "assumed, as not all its models were measured yet"
        times = f"typically {_minutes(self.typical_seconds)}, at most {_minutes(self.most_seconds)}"
        return f"a guess: {times}, at {self.tokens_a_second:.3g} tokens a second ({how})"


def span_seconds(turns: Iterable[Turn]) -> float:
    """The time in which at least one of these turns was being played.

    Run by run: between two of them somebody may have set the clock.
    """
    total, end, run = 0.0, 0.0, -1
    for turn in sorted(turns, key=lambda turn: (turn.run, turn.started_at)):
        end, run = (end if turn.run == run else 0.0), turn.run
        total += max(0.0, turn.finished_at - max(end, turn.started_at))
        end = max(end, turn.finished_at)
    return total


def duration(most: int, typical: int, pace: float | None, limit: float) -> Duration:
    """Of so many output tokens at a pace, if one is known, under a limit of seconds."""
    speed = pace or ASSUMED
    seconds = typical / speed
    warning = (
        f"max_runtime_seconds is {limit:g}, and this may take {seconds:.0f}: the rounds would be cut short; "
        "set it higher, or max_rounds lower"
    )
    return Duration(most / speed, seconds, speed, pace is not None, warning if seconds > limit else "")


def slowest(models: Collection[str], turns: Iterable[Turn]) -> float | None:
    """The pace of the slowest of these models, when turns tell that of each; None when they do not."""
    paces = _paces(turns)
    return min(paces[model] for model in models) if models and paces.keys() >= set(models) else None


def pace_of(turn: Turn) -> float | None:
    """Tokens a second; None where a turn is too short to tell."""
    seconds, tokens = turn.finished_at - turn.started_at, turn.usage.output_tokens
    return tokens / seconds if tokens >= ENOUGH_TOKENS and seconds >= ENOUGH_SECONDS else None


def pace_of_all(turns: Iterable[Turn]) -> float | None:
    """Their median; None when none tells."""
    told = [pace for turn in turns if (pace := pace_of(turn))]
    return median(told) if told else None


def _paces(turns: Iterable[Turn]) -> Mapping[str, float]:
    found: dict[str, list[float]] = {}
    for turn in turns:
        if turn.model and (pace := pace_of(turn)):
            found.setdefault(turn.model, []).append(pace)
    return {model: median(paces) for model, paces in found.items()}


def _minutes(seconds: float) -> str:
    return "under a minute" if seconds < 60 else f"{seconds / 60:.0f} min"

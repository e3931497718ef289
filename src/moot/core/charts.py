"""The charts a format has of a debate, as data: every surface that shows them draws them its own way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from moot.core.debate import Turn

HIGHEST = 10.0


class Series(NamedTuple):
    name: str
    values: Mapping[int, float]
    """Round → value; a round may have none."""


class Threshold(NamedTuple):
    value: float
    text: str


class Score(NamedTuple):
    """What was scored, from 0 to 10; `before` is None when it was scored once."""

    name: str
    before: float | None
    after: float


@dataclass(frozen=True, slots=True)
class LineChart:
    """Values by round, a line for each series, on a scale from 0 to `high`."""

    title: str
    series: Sequence[Series]
    high: float = HIGHEST
    percent: bool = False
    threshold: Threshold | None = None

    def shown(self) -> list[Series]:
        """Its series without what is no number on the scale, and without those of which nothing is left."""
        on_scale = (
            Series(name, {round: value for round, value in values.items() if 0 <= value <= self.high})
            for name, values in self.series
        )
        return [series for series in on_scale if series.values]

    def text(self, value: float) -> str:
        return percent(value) if self.percent else plain(value)


@dataclass(frozen=True, slots=True)
class ScoreChart:
    """Scores before and after, and all of them together."""

    title: str
    scores: Sequence[Score]
    overall: Score


ChartData: TypeAlias = LineChart | ScoreChart


def plain(value: float) -> str:
    """`7`, `7.5`, `0.25`: as short as it can be told."""
    return f"{round(value, 2):g}"


def percent(share: float) -> str:
    return f"{share:.0%}"


def signed(points: float) -> str:
    """`+0.3`, `−1.2`, `0.0`"""
    rounded = round(points, 1)
    return f"{rounded:+.1f}".replace("-", "−") if rounded else "0.0"


def moved(before: float, after: float) -> str:
    """The difference between two scores as they are shown, so that the reader's sum agrees."""
    return signed(round(after, 1) - round(before, 1))


def scores_by_round(turns: Sequence[Turn], kind: str, fields: Mapping[str, str]) -> Iterator[LineChart]:
    """Scores of turns of a kind, each field under its name.

    None for a single round, which has no course, nor for rounds that were played side by side.
    """
    rounds = [turn.round for turn in turns if turn.round is not None]
    given = [turn for turn in turns if turn.kind == kind and "fallback" not in turn.marks]
    series = [Series(name, dict(_numbers(given, field))) for field, name in fields.items()]
    if rounds == sorted(rounds) and len({round for each in series for round in each.values}) > 1:
        yield LineChart("Scores by round", series)


def _numbers(turns: Sequence[Turn], field: str) -> Iterator[tuple[int, float]]:
    for turn in turns:
        value = (turn.data or {}).get(field)
        if turn.round is not None and isinstance(value, int | float) and not isinstance(value, bool):
            yield turn.round, float(value)

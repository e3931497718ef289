"""The charts a format has of a debate, as data: every surface that shows them draws them its own way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from moot.core.debate import Outcome, Turn
from moot.core.trust import Judging, Stability
from moot.text.language import Language

HIGHEST = 10.0


class Series(NamedTuple):
    name: str
    values: Mapping[int, float]
    """Round → value; a round may have none."""
    seat: str = ""
    """Whose it is, if a seat's: it is drawn in that seat's colour and shape."""


class Threshold(NamedTuple):
    value: float
    text: str


class Score(NamedTuple):
    """What was scored, from 0 to 10; `before` is None when it was scored once."""

    name: str
    before: float | None
    after: float
    noise: float | None = None
    """By how much one scoring before differs from another; None where it was scored once."""
    note: str = ""

    @property
    def within_noise(self) -> bool:
        return self.before is not None and self.noise is not None and 0 < abs(self.after - self.before) < self.noise


@dataclass(frozen=True, slots=True)
class LineChart:
    """Values by round, a line for each series, on a scale from 0 to `high`."""

    title: str
    series: Sequence[Series]
    high: float = HIGHEST
    percent: bool = False
    threshold: Threshold | None = None
    finding: str = ""
    """What it shows, in a few words, where code can tell."""

    def shown(self) -> list[Series]:
        """Its series without what is no number on the scale, and without those of which nothing is left."""
        on_scale = (
            each._replace(values={round: value for round, value in each.values.items() if 0 <= value <= self.high})
            for each in self.series
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
    finding: str = ""


@dataclass(frozen=True, slots=True)
class CountChart:
    """How many of all, by name."""

    title: str
    unit: str
    counts: Mapping[str, int]
    finding: str = ""


@dataclass(frozen=True, slots=True)
class MarginChart:
    """How far two sides were apart in each judging; below `clear` nothing is decided."""

    title: str
    sides: tuple[str, str]
    rows: Mapping[str, Stability]
    """What was judged, by its name; that may be empty where it is one thing."""
    clear: float
    seats: tuple[str, str] = ("", "")
    finding: str = ""


class Stand(NamedTuple):
    """Where a seat stood, round by round: the number of a lane; a round may be missing."""

    seat: str
    name: str
    lanes: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class StandChart:
    """Who stood where, round by round; `won` is the lane that the outcome took."""

    title: str
    lanes: Sequence[str]
    stands: Sequence[Stand]
    won: int | None = None
    finding: str = ""


ChartData: TypeAlias = LineChart | ScoreChart | CountChart | MarginChart | StandChart


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


def margin_of(judging: Judging) -> float:
    """Equal ones are equal: 8.2 − 7.2 is a little less than 1 to a computer."""
    return round(judging.margin, 6)


def scores_by_round(turns: Sequence[Turn], kind: str, fields: Mapping[str, str], say: Language) -> Iterator[LineChart]:
    """Scores of turns of a kind, each field under its name.

    None for a single round, which has no course, nor for rounds that were played side by side.
    """
    rounds = [turn.round for turn in turns if turn.round is not None]
    given = [turn for turn in turns if turn.kind == kind and "fallback" not in turn.marks]
    series = [Series(name, dict(_numbers(given, field))) for field, name in fields.items()]
    if rounds == sorted(rounds) and len({round for each in series for round in each.values}) > 1:
        yield LineChart(say("Scores by round"), series)


def _numbers(turns: Sequence[Turn], field: str) -> Iterator[tuple[int, float]]:
    for turn in turns:
        value = (turn.data or {}).get(field)
        if turn.round is not None and isinstance(value, int | float) and not isinstance(value, bool):
            yield turn.round, float(value)


def margins_of(
    outcome: Outcome | None, sides: tuple[str, str], seats: tuple[str, str] = ("", "")
) -> Iterator[MarginChart]:
    """The judgings of an outcome that was judged several times."""
    if not outcome or not (trust := outcome.trust) or not (trust.stability or trust.parts):
        return
    rows = {"": trust.stability} if trust.stability else trust.parts
    first, *others = rows.values()
    finding = "" if others else _ahead(first, sides)
    yield MarginChart(outcome.say("What each judging said"), sides, rows, first.clear, seats, finding)


def _ahead(stability: Stability, sides: tuple[str, str]) -> str:
    """Who is ahead, and in how many judgings."""
    first, margins = stability.margin >= 0, list(map(margin_of, stability.counted))
    times = sum(margin > 0 if first else margin < 0 for margin in margins)
    where = "every judging" if times == len(margins) else f"{times} of {len(margins)} judgings"
    return f"{sides[0] if first else sides[1]} ahead in {where}"

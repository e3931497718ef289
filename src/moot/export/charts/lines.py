"""Values by round: a line for each series, named where it ends, with the threshold that matters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from moot.core.charts import LineChart, Series, Threshold
from moot.export.charts import drawing as draw
from moot.export.charts.drawing import ENGLISH, WIDTH, Chart, Scale
from moot.text.language import Language

LEFT, TOP, KEY = 42.0, 10.0, 20.0
MIN_HEIGHT = 130.0
"""The height of a plot with few series."""
LABEL = 16.0
"""The height of a name."""
WIDEST_NAME = 150.0
WIDE_FONT = 1.09
"""How much wider than usual a name is in a font with wide letters."""
MAX_TICKS = 10


class PlotArea(NamedTuple):
    x: Scale
    y: Scale
    rounds: tuple[int, ...]

    @property
    def right(self) -> float:
        """Where the plot ends, as far from the last round as its other end from the first."""
        return self.x.end + self.x.start - LEFT

    @property
    def size(self) -> float:
        """How large points are: smaller where they are close."""
        apart = (self.x.end - self.x.start) / max(1, len(self.rounds) - 1)
        return min(1.0, max(0.4, apart / 10)) if self.rounds[1:] else 1.0

    def place(self, series: Series, round: int) -> tuple[float, float]:
        return self.x.at(self.rounds.index(round)), self.y.at(series.values[round])


def lines(name: str, data: LineChart, colours: Mapping[str, int], say: Language = ENGLISH) -> Chart | None:
    """None when no series has a value; `colours` are those of seats, whose series have them."""
    shown = data.shown()
    if not shown:
        return None
    frame = _frame(shown, data, TOP + (KEY if data.threshold else 0))
    marks = [*_grid(frame, data), *(_threshold(frame, data.threshold) if data.threshold else ())]
    numbers = [colours.get(series.seat, at) for at, series in enumerate(shown)]
    for number, series in zip(numbers, shown, strict=True):
        marks += _series(frame, data, number, series)
    marks += _names(frame, data, shown, numbers)
    description = "; ".join(_course(series, data, say) for series in shown)
    header = (say("round"), *(series.name for series in shown))
    rows = _rows(frame, data, shown)
    return draw.chart(name, data.title, description, frame.y.start + 24, marks, header, rows, finding=data.finding)


def _frame(shown: Sequence[Series], data: LineChart, top: float) -> PlotArea:
    rounds = tuple(sorted({round for series in shown for round in series.values}))
    names = _names_width(shown, data)
    bottom = top + max(MIN_HEIGHT, LABEL * len(shown))
    right = WIDTH - names - 22
    ends = (LEFT + 6, right) if len(rounds) > 1 else ((LEFT + right) / 2,) * 2
    return PlotArea(Scale(0, len(rounds) - 1, *ends), Scale(0, data.high, bottom, top), rounds)


def _grid(frame: PlotArea, data: LineChart) -> Iterator[str]:
    for value in draw.ticks(data.high):
        y = frame.y.at(value)
        yield draw.line("grid", LEFT, y, frame.right, y)
        yield draw.words("tick", data.text(value), LEFT - 6, y + 4, "end")
    yield draw.words("tick", "round", LEFT - 6, frame.y.start + 19, "end")
    every = -(-len(frame.rounds) // MAX_TICKS)
    for at, round in list(enumerate(frame.rounds))[::every]:
        yield draw.words("tick", str(round), frame.x.at(at), frame.y.start + 19, "middle")


def _threshold(frame: PlotArea, threshold: Threshold) -> Iterator[str]:
    y = frame.y.at(threshold.value)
    yield draw.line("threshold", LEFT, y, frame.right, y)
    yield draw.line("threshold", LEFT, 8, LEFT + 24, 8)
    yield draw.words("key", threshold.text, LEFT + 30, 12)


def _series(frame: PlotArea, data: LineChart, number: int, series: Series) -> Iterator[str]:
    yield draw.path(f"line {draw.series_class(number)}", _stretches(frame, series))
    for round in sorted(series.values):
        tip = f"{series.name}, round {round}: {data.text(series.values[round])}"
        yield draw.point(number, *frame.place(series, round), frame.size, tip)


def _stretches(frame: PlotArea, series: Series) -> Iterator[draw.Points]:
    """The line is broken where a round has no value."""
    stretch: list[tuple[float, float]] = []
    for round in frame.rounds:
        if round in series.values:
            stretch.append(frame.place(series, round))
        elif stretch:
            yield tuple(stretch)
            stretch = []
    if stretch:
        yield tuple(stretch)


def _names(frame: PlotArea, data: LineChart, shown: Sequence[Series], numbers: Sequence[int]) -> Iterator[str]:
    ends = [frame.place(series, max(series.values))[1] for series in shown]
    x = WIDTH - _names_width(shown, data)
    for number, series, y in zip(numbers, shown, _apart(ends, frame.y), strict=True):
        yield draw.point(number, x - 8, y)
        yield draw.words("row-name", _ending(series, data), x, y + 4, room=WIDEST_NAME)


def _names_width(shown: Sequence[Series], data: LineChart) -> float:
    return WIDE_FONT * min(WIDEST_NAME, max(draw.width_of(_ending(series, data)) for series in shown))


def _apart(wanted: Sequence[float], scale: Scale) -> list[float]:
    """Places near the wanted ones, in their order, a label's height from each other and within the plot."""
    order = sorted(range(len(wanted)), key=lambda at: (wanted[at], at))
    placed = list(wanted)
    lowest = scale.end
    for at in order:
        placed[at] = max(wanted[at], lowest)
        lowest = placed[at] + LABEL
    highest = scale.start
    for at in reversed(order):
        placed[at] = min(placed[at], highest)
        highest = placed[at] - LABEL
    return placed


def _ending(series: Series, data: LineChart) -> str:
    return f"{data.text(series.values[max(series.values)])} {series.name}"


def _course(series: Series, data: LineChart, say: Language) -> str:
    ends = sorted({min(series.values), max(series.values)})
    told = (say("{value} in round {round}", value=data.text(series.values[at]), round=at) for at in ends)
    return f"{series.name}: {', '.join(told)}"


def _rows(frame: PlotArea, data: LineChart, shown: Sequence[Series]) -> Iterator[tuple[str, ...]]:
    for round in frame.rounds:
        yield (str(round), *(data.text(each.values[round]) if round in each.values else "–" for each in shown))

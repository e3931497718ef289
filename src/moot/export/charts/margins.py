"""Margins of judgings: a dot for each, the band in which nothing is decided, their mean and its interval.

The first side is ahead on the left of the middle, the second on the right, wherever the reader begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import ceil

from moot.core.charts import MarginChart, margin_of, plain
from moot.core.trust import Stability
from moot.export.charts.drawing import (
    ENGLISH,
    WIDE,
    Chart,
    Scale,
    chart,
    circle,
    in_key,
    line,
    path,
    rect,
    series_class,
    words,
)
from moot.text.language import Language

LEFT, RIGHT, TOP = 40.0, 40.0, 30.0
NAME, STACK, MEAN = 22.0, 18.0, 34.0
"""Heights: of a row's name, of a dot on another, and of the mean with its interval."""
DOT = 6.5


def margins(name: str, data: MarginChart, colours: tuple[int, int], say: Language = ENGLISH) -> Chart:
    scale, top = _scale(data), TOP
    named = any(data.rows)
    bottom = top + sum(_height(row, named) for row in data.rows.values())
    marks = [*_ground(data, scale, bottom, say("undecided"))]
    for what, row in data.rows.items():
        if named:
            marks.append(words("strong", what, LEFT, top + 15, room=WIDE - LEFT - RIGHT))
        marks += _dots(row, scale, top + _above_mean(row, named))
        top += _height(row, named)
    marks += _axis(data, bottom, colours, say)
    description = "; ".join(f"{what or data.title}: {_told(row, data, say)}" for what, row in data.rows.items())
    header = ("", say("shown first"), *data.sides, say("margin"))
    cells, key, finding = _cells(data), _key(data, say), data.finding
    height = bottom + 46
    return chart(name, data.title, description, height, marks, header, cells, width=WIDE, finding=finding, key=key)


def _scale(data: MarginChart) -> Scale:
    """The first side to the left: a margin of its favour is drawn below 0."""
    far = (abs(value) for row in data.rows.values() for value in (row.low, row.high, *map(margin_of, row.counted)))
    most = min(10.0, ceil(max(data.clear + 1, *far)))
    return Scale(-most, most, LEFT, WIDE - RIGHT)


def _key(data: MarginChart, say: Language) -> Iterator[tuple[str, str]]:
    yield in_key(circle("judged", 14, 8, 6)), say("{side} shown first", side=data.sides[0])
    yield in_key(circle("judged mirrored", 14, 8, 6)), say("{side} shown first", side=data.sides[1])
    yield in_key(path("judged", [((14, 1), (21, 8), (14, 15), (7, 8), (14, 1))])), say("mean, with its interval")


def _height(row: Stability, named: bool) -> float:
    return _above_mean(row, named) + MEAN


def _above_mean(row: Stability, named: bool) -> float:
    highest = max(Counter(map(margin_of, row.counted)).values(), default=1)
    return (NAME if named else 8.0) + highest * STACK


def _ground(data: MarginChart, scale: Scale, bottom: float, undecided: str) -> Iterator[str]:
    left, right = scale.at(-data.clear), scale.at(data.clear)
    yield rect("band", left, TOP, right - left, bottom - TOP)
    yield words("dim", undecided, scale.at(0), TOP - 10, "middle")
    step = 1 if scale.high <= 5 else 2
    for value in range(-int(scale.high), int(scale.high) + 1, step):
        yield line("grid", scale.at(value), TOP, scale.at(value), bottom)
        yield words("dim", plain(abs(value)), scale.at(value), bottom + 17, "middle")
    yield line("zero", scale.at(0), TOP, scale.at(0), bottom)
    yield line("axis", LEFT, bottom, WIDE - RIGHT, bottom)


def _dots(row: Stability, scale: Scale, base: float) -> Iterator[str]:
    """A dot for each judging, those of one margin on each other, and their mean below."""
    stacked = Counter[float]()
    for judging in row.counted:
        margin = margin_of(judging)
        y = base - STACK * stacked[margin] - STACK / 2
        stacked[margin] += 1
        kind = "judged mirrored" if judging.mirrored else "judged"
        yield circle(kind, scale.at(-margin), y, DOT, _points(margin))
    yield from _mean(row, scale, base + 14)


def _mean(row: Stability, scale: Scale, y: float) -> Iterator[str]:
    low, high, mean = scale.at(-row.high), scale.at(-row.low), scale.at(-row.margin)
    yield line("range", low, y, high, y)
    yield from (line("range", x, y - 5, x, y + 5) for x in (low, high))
    yield path("judged", [((mean, y - 8), (mean + 8, y), (mean, y + 8), (mean - 8, y), (mean, y - 8))])
    told = f"{_points(abs(row.margin))} ({_interval(row)})"
    room = WIDE - high - 10
    if room > 130:
        yield words("strong", told, high + 10, y + 4, room=room)
    else:
        yield words("strong", told, low - 10, y + 4, "end", room=low - 10)


def _interval(row: Stability) -> str:
    """As seen from the side that is ahead."""
    side = -1 if row.margin < 0 else 1
    low, high = sorted((side * row.low, side * row.high))
    return f"{_points(low)} to {_points(high)}"


def _axis(data: MarginChart, bottom: float, colours: tuple[int, int], say: Language) -> Iterator[str]:
    first, second = (f"seat-text {series_class(number)}" for number in colours)
    yield words(first, f"← {say('{side} ahead by', side=data.sides[0])}", LEFT, bottom + 40, room=WIDE / 2 - LEFT)
    yield words(
        second,
        f"{say('{side} ahead by', side=data.sides[1])} →",
        WIDE - RIGHT,
        bottom + 40,
        "end",
        room=WIDE / 2 - RIGHT,
    )


def _told(row: Stability, data: MarginChart, say: Language) -> str:
    ahead = data.sides[0] if row.margin >= 0 else data.sides[1]
    dots = ", ".join(_points(margin_of(judging)) for judging in row.counted)
    points = plain(abs(round(row.margin, 1)))
    return say("{side} ahead by {points} on average; judgings {dots}", side=ahead, points=points, dots=dots)


def _cells(data: MarginChart) -> Iterator[tuple[str, ...]]:
    for what, row in data.rows.items():
        for number, each in enumerate(row.counted, 1):
            scores = plain(each.score_a), plain(each.score_b)
            yield (f"{what} {number}".strip(), data.sides[each.mirrored], *scores, _points(margin_of(each)))


def _points(value: float) -> str:
    return f"{round(value, 1) + 0.0:g}".replace("-", "−")

"""The pen: a chart, its marks and words as SVG, and the scales they stand on.

Colours, sizes and weights are the stylesheet's; whatever text comes here is escaped, and attributes hold only numbers
and our own names. Everything is laid out for the letters of a narrow screen, which are the largest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import floor, log10
from typing import Literal, NamedTuple, TypeAlias

from rich.cells import cell_len, set_cell_size

from moot.reading.seats import COLOURS
from moot.text.language import languages
from moot.text.plain import in_one_line

WIDTH, WIDE = 360.0, 720.0
LETTER = 7.0
"""The width of a letter, for telling whether words fit."""
Anchor: TypeAlias = Literal["start", "middle", "end"]
Points: TypeAlias = tuple[tuple[float, float], ...]

# What marks a seat besides its colour, as its badge does; the first is a circle.
SHAPES: tuple[Points, ...] = (
    (),
    ((-3.5, -3.5), (3.5, -3.5), (3.5, 3.5), (-3.5, 3.5)),
    ((0, -4.5), (4.5, 3.5), (-4.5, 3.5)),
    ((0, -5), (5, 0), (0, 5), (-5, 0)),
    ((0, -4.6), (4.7, -1.2), (2.9, 4.2), (-2.9, 4.2), (-4.7, -1.2)),
    (
        *((-1.6, -4.4), (1.6, -4.4), (1.6, -1.6), (4.4, -1.6), (4.4, 1.6), (1.6, 1.6)),
        *((1.6, 4.4), (-1.6, 4.4), (-1.6, 1.6), (-4.4, 1.6), (-4.4, -1.6), (-1.6, -1.6)),
    ),
)
ENGLISH = languages()["en"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A picture, and the same as a table: the first column names the row, the others hold numbers."""

    title: str
    svg: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    finding: str = ""
    """What it shows, in a few words; its title is only what it is about."""
    wide: bool = False
    key: tuple[tuple[str, str], ...] = ()
    """Small pictures of its marks, and what they stand for."""
    table: str = "As a table"
    """What its table is called."""


class Scale(NamedTuple):
    """From values to places; what lies beyond its ends is drawn at them."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        if self.high <= self.low:
            return self.start
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def chart(
    name: str,
    title: str,
    description: str,
    height: float,
    marks: Iterable[str],
    header: Iterable[str],
    rows: Iterable[Iterable[str]],
    *,
    width: float = WIDTH,
    finding: str = "",
    key: Iterable[tuple[str, str]] = (),
) -> Chart:
    """The whole of it; `name` is unique on a page."""
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {_number(width)} {_number(height)}"'
        f' role="img" aria-labelledby="chart-{name}-title chart-{name}-desc">',
        f'<title id="chart-{name}-title">{escaped(title)}</title>',
        f'<desc id="chart-{name}-desc">{escaped(description)}</desc>',
        *marks,
        "</svg>",
    )
    cells = tuple(tuple(map(in_one_line, row)) for row in (header, *rows))
    return Chart(
        title=title,
        svg="\n".join(svg),
        header=cells[0],
        rows=cells[1:],
        finding=finding,
        wide=width > WIDTH,
        key=tuple(key),
    )


def in_key(mark: str) -> str:
    """A mark that was drawn around 14, 8, as a key shows it."""
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 28 16" aria-hidden="true">{mark}</svg>'


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" {_numbers(x1=x1, y1=y1, x2=x2, y2=y2)}/>'


def rect(kind: str, x: float, y: float, width: float, height: float, tip: str = "") -> str:
    return _tipped("rect", f'class="{kind}" {_numbers(x=x, y=y, width=width, height=height)}', tip)


def circle(kind: str, x: float, y: float, radius: float, tip: str = "") -> str:
    return _tipped("circle", f'class="{kind}" {_numbers(cx=x, cy=y, r=radius)}', tip)


def point(number: int, x: float, y: float, size: float = 1.0, tip: str = "") -> str:
    """The mark of a series, which has its own colour and shape, as a seat's badge does; a ring for a chair's (-1)."""
    if number < 0:
        return circle(f"ring {series_class(number)}", x, y, 3.6 * size, tip)
    kind = f"point {series_class(number)}"
    shape = SHAPES[number % COLOURS]
    if not shape:
        return circle(kind, x, y, 4 * size, tip)
    corners = " ".join(f"{_number(x + size * dx)},{_number(y + size * dy)}" for dx, dy in shape)
    return _tipped("polygon", f'class="{kind}" points="{corners}"', tip)


def curve(kind: str, points: Points) -> str:
    """A line through points that leaves and reaches each of them level."""
    drawn = f"M{_number(points[0][0])},{_number(points[0][1])}"
    for (x0, y0), (x1, y1) in pairwise(points):
        middle = _number((x0 + x1) / 2)
        drawn += f" C{middle},{_number(y0)} {middle},{_number(y1)} {_number(x1)},{_number(y1)}"
    return f'<path class="{kind}" d="{drawn}"/>'


def path(kind: str, stretches: Iterable[Points]) -> str:
    """One line through each stretch of points."""
    drawn = (" L".join(f"{_number(x)},{_number(y)}" for x, y in stretch) for stretch in stretches)
    return f'<path class="{kind}" d="{" ".join(f"M{stretch}" for stretch in drawn)}"/>'


def words(kind: str, text: str, x: float, y: float, anchor: Anchor = "start", room: float = WIDTH) -> str:
    """A line of text, cut to the room there is for it."""
    return f'<text class="{kind}" {_numbers(x=x, y=y)} text-anchor="{anchor}">{escaped(fitting(text, room))}</text>'


def series_class(number: int) -> str:
    return f"seat-{number % COLOURS + 1 if number >= 0 else 0}"


def fitting(text: str, room: float) -> str:
    text, cells = in_one_line(text), int(room / LETTER)
    return text if cell_len(text) <= cells else f"{set_cell_size(text, max(0, cells - 1)).rstrip()}…"


def width_of(text: str) -> float:
    return cell_len(in_one_line(text)) * LETTER


def ticks(high: float, most: int = 6) -> tuple[float, ...]:
    """Round values from 0 up to at most `high`."""
    if high <= 0:
        return (0.0,)
    power = 10.0 ** floor(log10(high / most))
    step = next(size * power for size in (1, 2, 5, 10, 20) if high / (size * power) <= most)
    return tuple(number * step for number in range(floor(high / step + 1e-9) + 1))


def escaped(text: str) -> str:
    return escape(in_one_line(text))


def _tipped(tag: str, attributes: str, tip: str) -> str:
    return f"<{tag} {attributes}><title>{escaped(tip)}</title></{tag}>" if tip else f"<{tag} {attributes}/>"


def _numbers(**values: float) -> str:
    return " ".join(f'{name}="{_number(value)}"' for name, value in values.items())


def _number(value: float) -> str:
    return f"{round(value, 1):g}"

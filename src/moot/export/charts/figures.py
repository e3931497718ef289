"""A chart as HTML: what it shows, the picture, its key, and the same as a table. All text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path

from moot.core.page import charts_in
from moot.export.charts import Chart, Drawn, drawn
from moot.reading.debate import Reading
from moot.reading.seats import colours_of
from moot.text.plain import printable

FOLDER = Path(__file__).parent / "style"
"""What figures look like, for pages and for files that stand alone."""


def figure(chart: Chart) -> str:
    about = f"<span>{_text(chart.title)}</span>" if chart.finding else ""
    picture = _scrolled(chart.svg, chart.title) if chart.wide else chart.svg
    marks = "".join(f"<span>{mark}{_text(what)}</span>" for mark, what in chart.key)
    key = f'<p class="key">{marks}</p>' if marks else ""
    table = _scrolled("".join(_table(chart)), f"{chart.title}, {chart.table[:1].lower()}{chart.table[1:]}")
    return (
        f'<figure class="chart-figure{" wide" if chart.wide else ""}">'
        f"<figcaption><b>{_text(chart.finding or chart.title)}</b>{about}</figcaption>\n{picture}\n{key}"
        f"<details><summary>{_text(chart.table)}</summary>{table}</details></figure>"
    )


def figures(reading: Reading) -> tuple[str, ...]:
    """The charts of a debate's outcome: those of its page, then those that its format declares besides."""
    shown = list(charts_in(reading.page)) if reading.page else []
    wanted = [*shown, *(data for data in reading.charts if data not in shown)]
    look = Drawn(
        reading.titles,
        {seat: number - 1 for seat, number in colours_of(reading.format).items()},
        reading.record.language,
    )
    found = (drawn(f"own-{at}", data, look) for at, data in enumerate(wanted, 1))
    return tuple(figure(chart) for chart in found if chart)


def _scrolled(html: str, title: str) -> str:
    return f'<div class="scroll" tabindex="0" role="group" aria-label="{_text(title)}">{html}</div>'


def _table(chart: Chart) -> Iterator[str]:
    heads = (f'<th scope="col">{_text(cell)}</th>' if cell else "<td></td>" for cell in chart.header)
    yield f"<table><thead><tr>{''.join(heads)}</tr></thead><tbody>"
    yield from map(_row, chart.rows)
    yield "</tbody></table>"


def _row(cells: Iterable[str]) -> str:
    name, *numbers = cells
    told = "".join(f"<td>{_text(cell)}</td>" for cell in numbers)
    return f'<tr><th scope="row" dir="auto">{_text(name)}</th>{told}</tr>'


def _text(text: str) -> str:
    return escape(printable(text))

"""Debates, outcomes and numbers as text and tables: wide or narrow on a terminal, uncut into a pipe."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import orjson

from moot.core.table import Bar, Cell
from moot.reading.words import cost_text
from moot.text.plain import in_one_line, printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from moot.core.charts import ChartData, LineChart, MarginChart, Series
    from moot.core.debate import Outcome, Usage
    from moot.export.stats import Stats
    from moot.reading.debate import Reading
    from moot.text.language import Language

INDENT = "  "
MAX_LINE = 100
REASON = "  - "
WIDE = 80
"""From this width on, tables show all their columns."""


def introduction(reading: Reading) -> Text:
    from rich.text import Text

    record, text = reading.record, Text("\n")
    text.append(printable(record.title), style="bold")
    if record.title != record.topic:
        text.append(printable(f"\nasked as: {record.topic}"), style="dim")
    origin = f" · {record.origin}" if record.origin else ""
    return text.append(printable(f"\n{record.format} {record.id} · {reading.models_text}{origin}"), style="dim")


def outcome_view(outcome: Outcome, reason: str) -> RenderableType:
    """The decision, its numbers and what weakens it; the reasons are the last turn, just above."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = [Text(printable(outcome.headline()), style="bold"), Text()]
    if outcome.lead:
        parts += [Text(printable(outcome.lead)), Text()]
    if cells := outcome.table():
        table = Table(*map(str, cells[0]), box=None, padding=(0, 3, 0, 0), header_style="dim")
        for row in cells[1:]:
            table.add_row(*(printable(in_terminal(cell)) for cell in row))
        parts += [table, Text()]
    parts += [_marked(line) for line in _trust_lines(outcome)]
    parts += [_marked(f"! {caveat}", "yellow") for caveat in outcome.caveats]
    parts.append(Text(printable(_ended(outcome, reason)), style="dim"))
    return Padding(Group(*parts), (1, len(INDENT), 0, len(INDENT)))


def _marked(line: str, style: str = "") -> RenderableType:
    """A line, or an item whose further lines stand below its words and not below its mark."""
    from rich.table import Table
    from rich.text import Text

    mark = next((mark for mark in (REASON, "! ") if line.startswith(mark)), "")
    text = Text(printable(line.removeprefix(mark)), style=style)
    if not mark:
        return text
    grid = Table.grid()
    grid.add_row(Text(mark, style=style), text)
    return grid


def outcome_text(outcome: Outcome, reason: str) -> str:
    """The same for a pipe."""
    caveats = [f"! {caveat}" for caveat in outcome.caveats]
    table = [*aligned(outcome.table()), ""] if outcome.table() else []
    lead = [outcome.lead, ""] if outcome.lead else []
    trust = _trust_lines(outcome)
    return printable("\n".join([outcome.headline(), "", *lead, *table, *trust, *caveats, _ended(outcome, reason)]))


def _ended(outcome: Outcome, reason: str) -> str:
    say = outcome.say
    return say("Ended because {reason}.", reason=reason)


def _trust_lines(outcome: Outcome) -> list[str]:
    """How far it can be relied on, and why not further."""
    return (
        [outcome.trust_text(), *(f"{REASON}{reason}" for reason in outcome.trust.reasons), ""] if outcome.trust else []
    )


def chart_texts(charts: Iterable[ChartData], say: Language) -> Iterator[str]:
    """Values by round as small tables, a row for each series; scores stand in the outcome's own table."""
    from moot.core.charts import LineChart, MarginChart

    for chart in charts:
        if isinstance(chart, LineChart) and (shown := chart.shown()):
            rounds = sorted({round for series in shown for round in series.values})
            rows = [(in_one_line(series.name), *_values(chart, series, rounds)) for series in shown]
            threshold = f" ({chart.threshold.text})" if chart.threshold else ""
            lines = aligned([(say("round"), *map(str, rounds)), *rows])
            yield "\n".join([in_one_line(chart.title + threshold), *lines])
        elif isinstance(chart, MarginChart):
            rows = [("", say("shown first"), *chart.sides), *_judgings(chart)]
            yield "\n".join([in_one_line(chart.title), *aligned(rows)])


def _judgings(chart: MarginChart) -> Iterator[tuple[str, ...]]:
    from moot.core.charts import plain

    for what, stability in chart.rows.items():
        for number, judging in enumerate(stability.counted, 1):
            name = in_one_line(f"{what} {number}").strip()
            yield name, chart.sides[judging.mirrored], plain(judging.score_a), plain(judging.score_b)


def _values(chart: LineChart, series: Series, rounds: Iterable[int]) -> Iterator[str]:
    return (chart.text(series.values[round]) if round in series.values else "–" for round in rounds)


STATS_HEADER = ("format", "models", "debates", "rating", "auto", "rounds", "early stops", "tokens out", "seconds")


def stats_row(stats: Stats) -> tuple[str, ...]:
    return (
        stats.format,
        printable(stats.models),
        str(stats.debates),
        "–" if stats.stars is None else f"{stats.stars:.1f} ({stats.rated})",
        "–" if stats.auto_score is None else f"{stats.auto_score:.1f}",
        f"{stats.rounds:.1f}",
        str(stats.early_stopped),
        f"{stats.output_tokens:.0f}",
        f"{stats.seconds:.1f}",
    )


def print_table(
    console: Console,
    header: Sequence[Cell],
    rows: Sequence[Sequence[Cell | Text]],
    *,
    wide: Collection[str] = (),
) -> None:
    """The columns named in `wide` are left out on a narrow terminal; a pipe gets everything, uncut."""
    from rich.table import Table
    from rich.text import Text

    if not console.is_terminal:
        console.file.write("\n".join(aligned([header, *rows])) + "\n")
        return
    kept = [at for at, name in enumerate(header) if console.width >= WIDE or name not in wide]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold dim")
    for at in kept:
        table.add_column(str(header[at]), overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell := row[at], Text) else in_terminal(cell) for at in kept))
    console.print(table)


def in_terminal(cell: Cell | Text) -> str:
    """A cell of a table; a number from 0 to 10 is drawn."""
    return cell.drawn if isinstance(cell, Bar) else str(cell)


def aligned(rows: Sequence[Sequence[Cell | Text]]) -> list[str]:
    """Rows as lines of text, their columns one below the other."""
    from rich.cells import cell_len

    texts = [[in_terminal(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*texts, strict=True)]
    return [
        "  ".join(cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in texts
    ]


def usage_cells(usage: Usage) -> tuple[str, ...]:
    """Calls, tokens in, cached, out, and what it cost."""
    counts = (usage.calls, usage.input_tokens, usage.cached_tokens, usage.output_tokens)
    return (*(f"{count:,}" for count in counts), cost_text(usage))


def usage_text(usage: Usage) -> str:
    calls, sent, cached, written, cost = usage_cells(usage)
    about = "about " if usage.estimated else ""
    price = "the price is unknown" if usage.cost is None else cost
    of_them = f", {cached} of them cached" if usage.cached_tokens else ""
    return f"{calls} calls · {about}{sent} tokens in{of_them} · {written} out · {price}"


def say(console: Console, text: str, style: str = "") -> None:
    """Print text, broken on words in a terminal and not at all in a pipe."""
    from rich.text import Text

    console.print(Text(printable(text), style=style), soft_wrap=not console.is_terminal)


def print_json(value: object) -> None:
    sys.stdout.buffer.write(orjson.dumps(value) + b"\n")

"""The charts of a debate: those its format declares, what it used, and who spoke when. Knows no format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from moot.core.charts import HIGHEST, ChartData, CountChart, LineChart, MarginChart, StandChart
from moot.core.debate import Record, Turn
from moot.core.record import usage_by_seat
from moot.export.charts.bars import Amount, Measure, bars
from moot.export.charts.drawing import ENGLISH, Chart
from moot.export.charts.lines import lines
from moot.export.charts.margins import margins
from moot.export.charts.scores import scores
from moot.export.charts.stands import stands
from moot.export.charts.timeline import called, timeline
from moot.text.language import Language

__all__ = ["Chart", "Drawn", "drawn", "taken"]

TOKENS = Measure("output tokens", lambda tokens: f"{tokens:,.0f}")
COST = Measure("US dollars", lambda dollars: f"${dollars:,.4f}" if dollars < 1 else f"${dollars:,.2f}")


class Drawn(NamedTuple):
    """How a debate's seats look: seat → title, and → the number of its colour and shape from 0; -1 for a chair's."""

    titles: Mapping[str, str]
    colours: Mapping[str, int]
    say: Language = ENGLISH
    """For the words of charts that a format declares."""


def drawn(name: str, data: ChartData, look: Drawn) -> Chart | None:
    """A chart that a format declares; what is no number on the scale is left out."""
    chart = _drawn(name, data, look)
    return replace(chart, table=look.say("As a table")) if chart else None


def _drawn(name: str, data: ChartData, look: Drawn) -> Chart | None:
    say = look.say
    if isinstance(data, LineChart):
        return lines(name, data, look.colours, say)
    if isinstance(data, MarginChart):
        first, second = (look.colours.get(seat, at) for at, seat in enumerate(data.seats))
        return margins(name, data, (first, second), say)
    if isinstance(data, StandChart):
        return stands(name, data, look.colours, say)
    if isinstance(data, CountChart):
        amounts = [Amount(option, number) for option, number in data.counts.items()]
        measure = Measure(data.unit, lambda number: f"{number:,.0f}")
        return bars(name, data.title, amounts, measure, None, data.finding, say)
    numbers = [number for each in (*data.scores, data.overall) for number in (each.before, each.after)]
    fits = all(0 <= number <= HIGHEST for number in numbers if number is not None)
    return scores(name, data, say) if fits else None


def taken(record: Record, turns: Sequence[Turn], look: Drawn) -> tuple[Chart, ...]:
    """What a debate used, and who spoke when."""
    when = timeline(turns, look.titles, look.colours)
    return tuple(filter(None, (*_used(record, turns, look), when)))


def _used(record: Record, turns: Sequence[Turn], look: Drawn) -> Iterator[Chart]:
    """Tokens, and cost where every price is known and something was paid or might be."""
    usage = usage_by_seat(turns)
    if not usage:
        return
    tokens = [_amount(seat, used.output_tokens, look) for seat, used in usage.items()]
    limit = _limit(record, "max_total_output_tokens")
    yield bars("tokens", "Output tokens", tokens, TOKENS, limit)
    costs = [_amount(seat, used.cost, look) for seat, used in usage.items() if used.cost is not None]
    limit = _limit(record, "max_cost")
    if len(costs) == len(usage) and (limit or any(cost.value for cost in costs)):
        yield bars("cost", "Cost", costs, COST, limit)


def _amount(seat: str, value: float, look: Drawn) -> Amount:
    return Amount(called(seat, look.titles), value, look.colours.get(seat, -1))


def _limit(record: Record, name: str) -> float | None:
    value = record.settings.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

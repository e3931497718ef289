"""The charts of a debate: those its format declares, what it used, and who spoke when. Knows no format."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from moot.core.charts import HIGHEST, ChartData, LineChart
from moot.core.debate import NO_USAGE, Record, Turn, Usage
from moot.web.charts.bars import Amount, Measure, bars
from moot.web.charts.drawing import Chart
from moot.web.charts.lines import Axis, lines
from moot.web.charts.scores import scores
from moot.web.charts.timeline import called, timeline

__all__ = ["Chart", "charts_for"]

TOKENS = Measure("output tokens", lambda tokens: f"{tokens:,.0f}")
COST = Measure("US dollars", lambda dollars: f"${dollars:,.4f}" if dollars < 1 else f"${dollars:,.2f}")


def charts_for(
    record: Record, turns: Sequence[Turn], titles: Mapping[str, str], declared: Iterable[ChartData] = ()
) -> tuple[Chart, ...]:
    """Those for which there is data, the format's own first; `titles` says how readers call a seat."""
    found = (
        *(_drawn(f"own-{number}", data) for number, data in enumerate(declared, 1)),
        *_used(record, turns, titles),
        timeline("timeline", "Who spoke when", turns, titles),
    )
    return tuple(chart for chart in found if chart)


def _drawn(name: str, data: ChartData) -> Chart | None:
    """What is no number on the scale is left out."""
    if isinstance(data, LineChart):
        return lines(name, data.title, data.shown(), Axis(data.high, data.text), data.threshold)
    numbers = [number for _, *both in (*data.scores, data.overall) for number in both if number is not None]
    fits = all(0 <= number <= HIGHEST for number in numbers)
    return scores(name, data.title, data.scores, data.overall) if fits else None


def _used(record: Record, turns: Sequence[Turn], titles: Mapping[str, str]) -> Iterator[Chart]:
    """Tokens, and cost where every price is known and something was paid or might be."""
    usage: dict[str, Usage] = defaultdict(lambda: NO_USAGE)
    for turn in turns:
        if turn.usage.calls:
            usage[turn.seat] += turn.usage
    if not usage:
        return
    tokens = [Amount(called(seat, titles), used.output_tokens) for seat, used in usage.items()]
    yield bars("tokens", "Output tokens", tokens, TOKENS, _limit(record, "max_total_output_tokens"))
    costs = [Amount(called(seat, titles), used.cost) for seat, used in usage.items() if used.cost is not None]
    limit = _limit(record, "max_cost")
    if len(costs) == len(usage) and (limit or any(cost.value for cost in costs)):
        yield bars("cost", "Cost", costs, COST, limit)


def _limit(record: Record, name: str) -> float | None:
    value = record.settings.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

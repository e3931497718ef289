"""What each seat used, and all of it together against its limit: horizontal bars on one scale."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from moot.export.charts.drawing import ENGLISH, LETTER, WIDTH, Chart, Scale, chart, line, rect, series_class, words
from moot.text.language import Language

ROW, THICK = 34.0, 8.0
FARTHEST = 4.0
"""A limit so many times what was used is told, but would leave the bars no room."""


class Amount(NamedTuple):
    name: str
    value: float
    number: int | None = None
    """Of the series it is, as of a seat's; None where it is nobody's."""


class Measure(NamedTuple):
    """What is measured, and how an amount of it is told."""

    name: str
    told: Callable[[float], str]


def bars(
    name: str,
    title: str,
    given: Sequence[Amount],
    measure: Measure,
    limit: float | None,
    finding: str = "",
    say: Language = ENGLISH,
) -> Chart:
    total = Amount(say("together"), sum(amount.value for amount in given))
    scale = Scale(0, max(total.value, min(limit or 0.0, FARTHEST * total.value)), 0, WIDTH)
    below = ROW * len(given) + 6
    marks = [mark for at, amount in enumerate(given) for mark in _bar(scale, amount, measure, ROW * at)]
    marks += [line("rule", 0, below - 2, WIDTH, below - 2), *_together(scale, total, measure, limit, below)]
    told = [f"{amount.name} {measure.told(amount.value)}" for amount in given]
    description = "; ".join([*told, f"{total.name} {_against(total, measure, limit)}"])
    rows = tuple((amount.name, measure.told(amount.value)) for amount in (*given, total))
    limited = (("limit", measure.told(limit)),) if limit is not None else ()
    return chart(name, title, description, below + ROW, marks, ("", measure.name), (*rows, *limited), finding=finding)


def _bar(scale: Scale, amount: Amount, measure: Measure, top: float) -> Iterator[str]:
    told = measure.told(amount.value)
    yield words("row-name", amount.name, 0, top + 14, room=WIDTH - (len(told) + 2) * LETTER)
    yield words("value", told, WIDTH, top + 14, "end")
    yield rect("track", 0, top + 20, WIDTH, THICK)
    kind = "bar" if amount.number is None else f"bar {series_class(amount.number)}"
    yield rect(kind, 0, top + 20, scale.at(amount.value), THICK)


def _together(scale: Scale, total: Amount, measure: Measure, limit: float | None, top: float) -> Iterator[str]:
    yield words("row-name strong", total.name, 0, top + 14)
    yield words("value strong", _against(total, measure, limit), WIDTH, top + 14, "end")
    if limit is not None:
        yield rect("track", 0, top + 20, scale.at(limit), THICK)
    over = limit is not None and total.value > limit
    yield rect("bar over" if over else "bar total", 0, top + 20, scale.at(total.value), THICK)
    if limit is not None and limit <= scale.high:
        # Half its width from the edge, so that a limit at the very end is seen whole.
        x = min(max(scale.at(limit), 1), WIDTH - 1)
        yield line("limit", x, top + 17, x, top + 31)


def _against(total: Amount, measure: Measure, limit: float | None) -> str:
    if limit is None:
        return measure.told(total.value)
    over = ", over the limit" if total.value > limit else ""
    return f"{measure.told(total.value)} of {measure.told(limit)}{over}"

"""Scores from 0 to 10 before and after: a ring where each stood, a dot where it stands, and the way between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from moot.core.charts import HIGHEST, Score, moved
from moot.web.charts.drawing import LETTER, WIDTH, Chart, Scale, chart, circle, line, ticks, words

ROW = 34.0
KEY = 24.0
SCALE = Scale(0, HIGHEST, 8, WIDTH - 8)


def scores(name: str, title: str, given: Sequence[Score], overall: Score) -> Chart:
    once = all(score.before is None for score in (*given, overall))
    rows = (*given, overall)
    top = 0 if once else KEY
    bottom = top + ROW * len(rows)
    marks = [*_grid(top, bottom + 6), *(() if once else _key())]
    marks += [mark for at, score in enumerate(given) for mark in _row(score, top + ROW * at)]
    marks += [line("rule", 0, bottom - ROW + 1, WIDTH, bottom - ROW + 1), *_row(overall, bottom - ROW, " strong")]
    description = "; ".join(f"{score.name} {_as_text(score)}" for score in rows)
    header = ("", "score") if once else ("", "before", "after", "difference")
    return chart(name, title, description, bottom + 26, marks, header, map(_cells, rows))


def _grid(top: float, bottom: float) -> Iterator[str]:
    for value in ticks(HIGHEST):
        yield line("grid", SCALE.at(value), top, SCALE.at(value), bottom)
        yield words("tick", f"{value:g}", SCALE.at(value), bottom + 15, "middle")


def _key() -> Iterator[str]:
    yield circle("before", 8, 10, 5)
    yield words("key", "before", 18, 14)
    yield circle("after", 80, 10, 3.5)
    yield words("key", "after", 89, 14)


def _row(score: Score, top: float, weight: str = "") -> Iterator[str]:
    y, told = top + 25, _as_text(score)
    yield words(f"row-name{weight}", score.name, 0, top + 14, room=WIDTH - (len(told) + 2) * LETTER)
    yield words(f"value{weight}", told, WIDTH, top + 14, "end")
    if score.before is not None:
        direction = "up" if score.after >= score.before else "down"
        yield line(f"way {direction}", SCALE.at(score.before), y, SCALE.at(score.after), y)
        yield circle("before", SCALE.at(score.before), y, 5)
    yield circle("after", SCALE.at(score.after), y, 3.5)


def _as_text(score: Score) -> str:
    if score.before is None:
        return f"{score.after:.1f}"
    return f"{score.before:.1f} → {score.after:.1f} ({moved(score.before, score.after)})"


def _cells(score: Score) -> tuple[str, ...]:
    if score.before is None:
        return (score.name, f"{score.after:.1f}")
    return (score.name, f"{score.before:.1f}", f"{score.after:.1f}", moved(score.before, score.after))

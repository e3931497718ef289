"""Scores from 0 to 10 before and after: a ring where each stood, a dot where it stands, the noise of scoring behind."""

from __future__ import annotations

from collections.abc import Iterator

from moot.core.charts import HIGHEST, Score, ScoreChart, moved
from moot.export.charts.drawing import ENGLISH, WIDE, Chart, Scale, chart, circle, in_key, line, rect, words
from moot.text.language import Language

ROW, TOP = 48.0, 8.0
NAMES, VALUES = 168.0, 122.0
"""What names on the left and differences on the right have room for."""
SCALE = Scale(0, HIGHEST, NAMES + 8, WIDE - VALUES)


def scores(name: str, data: ScoreChart, say: Language = ENGLISH) -> Chart:
    rows = (*data.scores, data.overall)
    once = all(score.before is None for score in rows)
    bottom = TOP + ROW * len(rows)
    marks = [*_grid(bottom)]
    marks += [mark for at, score in enumerate(data.scores) for mark in _row(score, TOP + ROW * at, say)]
    marks += [line("axis", 0, bottom - ROW, WIDE, bottom - ROW), *_row(data.overall, bottom - ROW, say)]
    description = "; ".join(f"{score.name} {_as_text(score)}" for score in rows)
    header = ("", say("score")) if once else ("", say("before"), say("after"), say("difference"))
    cells, key = map(_cells, rows), () if once else tuple(_key(rows, say))
    height, finding = bottom + 28, data.finding
    return chart(name, data.title, description, height, marks, header, cells, width=WIDE, finding=finding, key=key)


def _key(rows: tuple[Score, ...], say: Language) -> Iterator[tuple[str, str]]:
    yield in_key(circle("before", 14, 8, 6)), say("before")
    yield in_key(circle("after", 14, 8, 6.5)), say("after")
    if any(score.noise for score in rows):
        yield in_key(rect("noise", 3, 1, 22, 14)), say("noise of scoring")


def _grid(bottom: float) -> Iterator[str]:
    for value in range(int(HIGHEST) + 1):
        yield line("grid", SCALE.at(value), TOP, SCALE.at(value), bottom)
        if value % 2 == 0:
            yield words("dim", str(value), SCALE.at(value), bottom + 18, "middle")
    yield line("axis", SCALE.start, bottom, SCALE.end, bottom)


def _row(score: Score, top: float, say: Language) -> Iterator[str]:
    y = top + ROW / 2
    yield words("strong", score.name, 0, y - 1 if score.note else y + 5, room=NAMES)
    if score.note:
        yield words("dim", score.note, 0, y + 16, room=NAMES)
    if score.before is not None and score.noise:
        left, right = SCALE.at(score.before - score.noise), SCALE.at(score.before + score.noise)
        yield rect("noise", left, y - 13, right - left, 26)
    yield from _marks(score, y, say)


def _marks(score: Score, y: float, say: Language) -> Iterator[str]:
    after = SCALE.at(score.after)
    if score.before is None:
        yield circle("after", after, y, 6.5)
        yield words("strong", f"{score.after:.1f}", after + 14, y + 5)
        return
    before = SCALE.at(score.before)
    is_still = score.within_noise or score.after == score.before
    direction = "quiet" if is_still else "up" if score.after > score.before else "down"
    yield line(f"move {direction}", before, y, after, y)
    yield circle("before", before, y, 6)
    yield circle(f"after {direction}", after, y, 6.5)
    farther = max(before, after)
    told = f"{score.before:.1f} → {score.after:.1f}"
    if farther + 16 + len(told) * 7 <= WIDE - VALUES + 60:
        yield words("strong", told, farther + 16, y + 5)
    else:
        yield words("strong", told, min(before, after) - 16, y + 5, "end")
    quiet = f" {say('within noise')}" if score.within_noise else ""
    kind = "dim" if quiet else "strong"
    yield words(f"value {kind}", f"{moved(score.before, score.after)}{quiet}", WIDE, y + 5, "end", room=VALUES)


def _as_text(score: Score) -> str:
    if score.before is None:
        return f"{score.after:.1f}"
    return f"{score.before:.1f} → {score.after:.1f} ({moved(score.before, score.after)})"


def _cells(score: Score) -> tuple[str, ...]:
    if score.before is None:
        return score.name, f"{score.after:.1f}"
    return score.name, f"{score.before:.1f}", f"{score.after:.1f}", moved(score.before, score.after)

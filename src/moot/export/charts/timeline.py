"""When each seat spoke: a lane for each, a bar for each turn, one above the other what ran at the same time.

Time in which nobody spoke for long (a person was awaited, the debate was stopped) is cut out, and marked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from moot.core.debate import Turn
from moot.core.duration import span_seconds
from moot.export.charts.drawing import LETTER, Anchor, Chart, chart, line, rect, series_class, ticks, words
from moot.export.charts.drawing import WIDE as WIDTH

MAX_SILENCE = 60.0
NOTES, NAME, BAR, SPACE = 20.0, 18.0, 8.0, 3.0
CUT, MAX_CUT = 12.0, 0.3
"""How wide a cut is drawn, and the share of the width that all of them may take."""
THINNEST = 2.5
ROOM_FOR_LENGTH = 90.0
"""How far apart two cuts are whose lengths can both be told."""


class Pause(NamedTuple):
    start: float
    end: float


class Lane(NamedTuple):
    """A seat's turns, in as many rows as run side by side."""

    seat: str
    rows: tuple[tuple[Turn, ...], ...]

    @property
    def turns(self) -> tuple[Turn, ...]:
        return tuple(turn for row in self.rows for turn in row)

    @property
    def height(self) -> float:
        return NAME + len(self.rows) * (BAR + SPACE) + 6


class Clock(NamedTuple):
    """From a moment to its place and to the seconds of debate before it."""

    start: float
    end: float
    pauses: tuple[Pause, ...]

    @property
    def top(self) -> float:
        """Where the lanes begin: below the lengths of the pauses."""
        return NOTES if self.pauses else 0.0

    @property
    def cut(self) -> float:
        return min(CUT, MAX_CUT * WIDTH / len(self.pauses)) if self.pauses else 0.0

    def seconds(self, moment: float) -> float:
        return moment - self.start - sum(min(moment, end) - start for start, end in self.pauses if start < moment)

    def at(self, moment: float) -> float:
        """Where a moment lies that is in no pause."""
        return self.after(self.seconds(moment), sum(pause.end <= moment for pause in self.pauses))

    def after(self, seconds: float, cuts: int) -> float:
        """Where so many seconds of debate lie, behind so many cuts."""
        total = self.seconds(self.end)
        room = WIDTH - THINNEST - self.cut * len(self.pauses)
        return cuts * self.cut + (seconds / total * room if total > 0 else 0.0)


def timeline(turns: Sequence[Turn], titles: Mapping[str, str], colours: Mapping[str, int]) -> Chart | None:
    """None without turns; lanes have the colours of their seats."""
    if not turns:
        return None
    ordered = sorted(turns, key=lambda turn: (turn.started_at, turn.position))
    clock = Clock(ordered[0].started_at, max(map(_end, ordered)), _pauses(ordered))
    seats = dict.fromkeys(turn.seat for turn in sorted(turns, key=lambda turn: turn.position))
    lanes = [_lane(seat, ordered) for seat in seats]
    bottom = clock.top + sum(lane.height for lane in lanes)
    marks = [*_grid(clock, bottom), *_cuts(clock, bottom), *_lanes(clock, lanes, titles, colours)]
    together = f"{len(turns)} turns" if len(turns) > 1 else "1 turn"
    told = [f"{called(lane.seat, titles)} {_spoke(lane)}" for lane in lanes]
    description = f"{together} in {clock.seconds(clock.end):.1f} s, pauses not counted: {'; '.join(told)}"
    header, rows = ("", "start, s", "length, s"), _rows(clock, ordered, titles)
    return chart("timeline", "Who spoke when", description, bottom + 20, marks, header, rows, width=WIDTH)


def called(seat: str, titles: Mapping[str, str]) -> str:
    return titles.get(seat, seat.capitalize())


def _end(turn: Turn) -> float:
    """A clock that was set back makes no turn end before it began."""
    return max(turn.started_at, turn.finished_at)


def _pauses(ordered: Sequence[Turn]) -> tuple[Pause, ...]:
    found = []
    end = ordered[0].started_at
    for turn in ordered:
        if turn.started_at - end > MAX_SILENCE:
            found.append(Pause(end, turn.started_at))
        end = max(end, _end(turn))
    return tuple(found)


def _lane(seat: str, ordered: Sequence[Turn]) -> Lane:
    rows: list[list[Turn]] = []
    for turn in ordered:
        if turn.seat == seat:
            free = next((row for row in rows if _end(row[-1]) <= turn.started_at), None)
            if free is None:
                rows.append(free := [])
            free.append(turn)
    return Lane(seat, tuple(map(tuple, rows)))


def _grid(clock: Clock, bottom: float) -> Iterator[str]:
    for seconds in ticks(round(clock.seconds(clock.end), 3), most=5):
        cuts = sum(clock.seconds(pause.start) < seconds for pause in clock.pauses)
        x = clock.after(seconds, cuts)
        yield line("grid", x, clock.top, x, bottom)
        yield words("tick", f"{seconds:g} s", x, bottom + 15, _anchor(x))


def _anchor(x: float) -> Anchor:
    """Words at an edge begin or end there."""
    return "start" if x < 20 else "end" if x > WIDTH - 20 else "middle"


def _cuts(clock: Clock, bottom: float) -> Iterator[str]:
    told = -ROOM_FOR_LENGTH
    for number, pause in enumerate(clock.pauses):
        x = clock.after(clock.seconds(pause.start), number)
        length = _length(pause)
        yield rect("pause", x, clock.top, clock.cut, bottom - clock.top, length)
        middle = x + clock.cut / 2
        if middle - told >= ROOM_FOR_LENGTH and ROOM_FOR_LENGTH / 2 <= middle <= WIDTH - ROOM_FOR_LENGTH / 2:
            yield words("note", length, middle, 12, "middle")
            told = middle


def _lanes(clock: Clock, lanes: Sequence[Lane], titles: Mapping[str, str], colours: Mapping[str, int]) -> Iterator[str]:
    top = clock.top
    for lane in lanes:
        told, kind = _spoke(lane), f"speech {series_class(colours.get(lane.seat, -1))}"
        yield words("row-name", called(lane.seat, titles), 0, top + 12, room=WIDTH - (len(told) + 2) * LETTER)
        yield words("value", told, WIDTH, top + 12, "end")
        for at, row in enumerate(lane.rows):
            y = top + NAME + at * (BAR + SPACE)
            for turn in row:
                width = max(THINNEST, clock.at(_end(turn)) - clock.at(turn.started_at))
                tip = f"{_named(turn, titles)}: {_seconds(turn):.1f} s"
                yield rect(kind, clock.at(turn.started_at), y, width, BAR, tip)
        top += lane.height


def _rows(clock: Clock, ordered: Sequence[Turn], titles: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    ahead = list(clock.pauses)
    for turn in ordered:
        start = f"{clock.seconds(turn.started_at):.1f}"
        if ahead and ahead[0].end <= turn.started_at:
            pause = ahead.pop(0)
            yield ("pause", start, f"{pause.end - pause.start:.1f}")
        yield (_named(turn, titles), start, f"{_seconds(turn):.1f}")


def _named(turn: Turn, titles: Mapping[str, str]) -> str:
    named = f"{called(turn.seat, titles)}, {turn.kind}"
    return named if turn.round is None else f"{named}, round {turn.round}"


def _spoke(lane: Lane) -> str:
    return f"{span_seconds(lane.turns):.1f} s"


def _seconds(turn: Turn) -> float:
    return _end(turn) - turn.started_at


def _length(pause: Pause) -> str:
    """`90 s pause`, `4 min pause`, …: in the largest unit of which there are two."""
    seconds = pause.end - pause.start
    units = ((86_400, "d"), (3600, "h"), (60, "min"))
    size, unit = next(((size, unit) for size, unit in units if seconds >= 2 * size), (1, "s"))
    return f"{seconds / size:.0f} {unit} pause"

"""Who stood where, round by round: lanes are positions, lines are seats."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from moot.core.charts import Stand, StandChart
from moot.export.charts.drawing import ENGLISH, WIDE, Chart, chart, curve, point, rect, series_class, words
from moot.text.language import Language

LEFT, RIGHT, TOP = 140.0, 190.0, 8.0
STEP, PADDING, GAP = 30.0, 20.0, 12.0
"""Between the lines of a lane, around them, and between lanes."""


def stands(name: str, data: StandChart, colours: Mapping[str, int], say: Language = ENGLISH) -> Chart | None:
    """None where nobody stood anywhere."""
    rounds = sorted({round for each in data.stands for round in each.lanes})
    if not rounds:
        return None
    tops, bottom = _lanes(data)
    xs = {round: _x(at, len(rounds)) for at, round in enumerate(rounds)}
    marks = [*_ground(data, tops), *_rounds(xs, bottom, say)]
    places = _places(data.stands, tops)
    for each in data.stands:
        marks += _line(each, xs, places, colours.get(each.seat, -1))
    told = "; ".join(f"{each.name}: {_course(each, data.lanes, say)}" for each in data.stands)
    header = ("", *(say("round {round}", round=round) for round in rounds))
    rows = [(each.name, *(_lane_of(each, round, data.lanes) for round in rounds)) for each in data.stands]
    return chart(name, data.title, told, bottom + 26, marks, header, rows, width=WIDE, finding=data.finding)


def _lanes(data: StandChart) -> tuple[dict[int, tuple[float, float]], float]:
    """Where each lane begins and how high it is: as high as most stood in it at once."""
    rounds = {round for each in data.stands for round in each.lanes}
    tops, top = {}, TOP
    for lane in range(len(data.lanes)):
        most = max(sum(each.lanes.get(round) == lane for each in data.stands) for round in rounds)
        height = 2 * PADDING + STEP * max(0, most - 1)
        tops[lane] = (top, height)
        top += height + GAP
    return tops, top - GAP


def _x(at: int, number: int) -> float:
    room = WIDE - LEFT - RIGHT - 80
    return LEFT + 40 + (room * at / (number - 1) if number > 1 else room / 2)


def _ground(data: StandChart, tops: Mapping[int, tuple[float, float]]) -> Iterator[str]:
    for lane, (top, height) in tops.items():
        won = lane == data.won
        yield rect("lane win" if won else "lane", LEFT, top, WIDE - LEFT - RIGHT, height)
        kind = "strong" if won else "plain"
        yield words(kind, data.lanes[lane], LEFT - 12, top + height / 2 + 5, "end", room=LEFT - 12)


def _rounds(xs: Mapping[int, float], bottom: float, say: Language) -> Iterator[str]:
    every = -(-len(xs) // 8)
    for round, x in list(xs.items())[::every]:
        yield words("dim", say("Round {round}", round=round), x, bottom + 20, "middle")


def _places(stands: Sequence[Stand], tops: Mapping[int, tuple[float, float]]) -> dict[tuple[str, int], float]:
    """Seat and round → how far down: those who share a lane stand one below the other, in the order of the seats."""
    found: dict[tuple[str, int], float] = {}
    for round in {round for each in stands for round in each.lanes}:
        taken: dict[int, int] = defaultdict(int)
        for each in stands:
            if (lane := each.lanes.get(round)) is not None:
                found[each.seat, round] = tops[lane][0] + PADDING + STEP * taken[lane]
                taken[lane] += 1
    return found


def _line(each: Stand, xs: Mapping[int, float], places: Mapping[tuple[str, int], float], number: int) -> Iterator[str]:
    points = tuple((xs[round], places[each.seat, round]) for round in sorted(each.lanes))
    kind = series_class(number)
    if len(points) > 1:
        yield curve(f"path {kind}", points)
    for round in sorted(each.lanes):
        yield point(number, xs[round], places[each.seat, round], 1.5)
    x, y = points[-1]
    yield words(f"seat-text {kind}", each.name, max(x + 16, WIDE - RIGHT + 12), y + 5, room=RIGHT - 12)


def _lane_of(each: Stand, round: int, lanes: Sequence[str]) -> str:
    lane = each.lanes.get(round)
    return "–" if lane is None else lanes[lane]


def _course(each: Stand, lanes: Sequence[str], say: Language) -> str:
    return ", ".join(f"{say('round {round}', round=round)} {lanes[lane]}" for round, lane in sorted(each.lanes.items()))

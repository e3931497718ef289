"""Charts show what their tables say, stay within their frame, and cannot be broken by what they are given.

The files tests/snapshots/chart-*.svg hold one small chart of each kind. To change one, change the code, run

    REWRITE_SNAPSHOTS=1 uv run pytest tests/export/test_charts.py

look at it in a browser, and read the difference that git shows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, TypeAlias
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from moot.core.charts import (
    ChartData,
    LineChart,
    MarginChart,
    Score,
    ScoreChart,
    Series,
    Stand,
    StandChart,
    Threshold,
    margins_of,
)
from moot.core.debate import JsonObject, Outcome, Record, Turn, Usage
from moot.core.format import AnyFormat
from moot.core.script import Debate
from moot.core.stored import StoredDebate
from moot.core.trust import Judging, Trust
from moot.export.charts import COST, TOKENS, Chart, Drawn, figures, taken
from moot.export.charts import drawn as chart_of
from moot.export.charts.bars import Amount, bars
from moot.export.charts.drawing import SHAPES, WIDE, WIDTH, fitting, ticks, width_of
from moot.export.charts.lines import LABEL, lines
from moot.export.charts.margins import margins
from moot.export.charts.scores import SCALE, scores
from moot.export.charts.stands import stands
from moot.export.charts.timeline import timeline
from moot.formats.critique.final_answer import FinalAnswer
from moot.formats.critique.format import CRITIQUE
from moot.formats.duel.format import DUEL, Verdict
from moot.formats.evaluation.format import EVALUATION
from moot.formats.evaluation.scorecard import CategoryScore, Scorecard, TopicVerdict
from moot.formats.panel.decision import Decision, RoundFacts
from moot.formats.panel.format import PANEL
from moot.reading.debate import Reading
from moot.text.plain import JOINERS
from moot.trust.judging import weigh
from moot.web.pages.assets import FOLDER as ASSETS
from stage import Panelists, Stage, ballot, judged

SNAPSHOTS = Path(__file__).parent.parent / "snapshots"
STYLE = (figures.FOLDER / "charts.css").read_text(encoding="utf-8")
TOKENS_OF_ALL = (ASSETS / "base.css").read_text(encoding="utf-8")
SVG = "{http://www.w3.org/2000/svg}"
COLOURS = {"debater_a": 0, "debater_b": 1}
TITLES = {"debater_a": "Debater A", "debater_b": "Debater B", "judge": "Judge", "human": "Human"}
HOSTILE = "\"><script>alert(1)</script>' onload=x \x00\x1b[31m\ud800\u202e</svg>&amp;"

Colour: TypeAlias = NDArray[np.float64]

names = st.one_of(st.text(max_size=80), st.sampled_from([HOSTILE, "", "x" * 5000, "比較" * 40]))
points = st.one_of(st.sampled_from([0.0, 5.0, 10.0]), st.floats(0, 10))
rounds = st.dictionaries(st.integers(1, 100), points, max_size=12)
amounts = st.one_of(st.just(0.0), st.floats(0, 1e9), st.integers(0, 10**9).map(float))


def turn(
    seat: str, kind: str, round: int | None, start: float, end: float, data: JsonObject | None = None, position: int = 0
) -> Turn:
    return Turn(
        position=position,
        seat=seat,
        kind=kind,
        round=round,
        content="Words.",
        data=data,
        started_at=start,
        finished_at=end,
    )


@st.composite
def debates(draw: st.DrawFn) -> list[Turn]:
    moments = st.floats(0, 4000).map(lambda seconds: 1.7e9 + seconds)
    found = draw(st.lists(st.tuples(st.sampled_from(["a", "b", HOSTILE]), moments, st.floats(-5, 90)), max_size=20))
    return [
        turn(seat, "argument", 1, start, start + length, position=at) for at, (seat, start, length) in enumerate(found)
    ]


def marks(chart: Chart, kind: str) -> list[ElementTree.Element]:
    """The marks of a class, in the order in which they are drawn."""
    tree = ElementTree.fromstring(chart.svg)
    return [mark for mark in tree.iter() if kind in mark.get("class", "").split()]


def shown(chart: Chart) -> list[str]:
    return [mark.text or "" for mark in ElementTree.fromstring(chart.svg).iter(f"{SVG}text")]


def number(mark: ElementTree.Element, name: str) -> float:
    return float(mark.attrib[name])


def corners(mark: ElementTree.Element) -> Iterator[tuple[float, float]]:
    """The outermost points of a mark."""
    at = mark.attrib
    match mark.tag.removeprefix(SVG):
        case "line":
            yield from ((float(at["x1"]), float(at["y1"])), (float(at["x2"]), float(at["y2"])))
        case "rect":
            x, y = float(at["x"]), float(at["y"])
            yield from ((x, y), (x + float(at["width"]), y + float(at["height"])))
        case "circle":
            x, y, radius = float(at["cx"]), float(at["cy"]), float(at["r"])
            yield from ((x - radius, y - radius), (x + radius, y + radius))
        case "polygon" | "path":
            for pair in re.findall(r"[-\d.]+,[-\d.]+", at.get("points") or at["d"]):
                x, y = pair.split(",")
                yield (float(x), float(y))
        case "text":
            width = {"start": 0.0, "middle": 0.5, "end": 1.0}[at["text-anchor"]]
            left = float(at["x"]) - width * width_of(mark.text or "")
            yield from ((left, float(at["y"])), (left + width_of(mark.text or ""), float(at["y"])))


def check(chart: Chart) -> None:
    """What holds for every chart: well-formed, named, inert, all of it inside the frame, a table of one shape."""
    tree = ElementTree.fromstring(chart.svg)
    left, top, width, height = map(float, tree.attrib["viewBox"].split())
    assert (tree.tag, tree.attrib["role"], left, top) == (f"{SVG}svg", "img", 0, 0)
    assert width == (WIDE if chart.wide else WIDTH)
    named = [tree.find(f"{SVG}title"), tree.find(f"{SVG}desc")]
    assert " ".join(part.attrib["id"] for part in named if part is not None) == tree.attrib["aria-labelledby"]
    for mark in tree.iter():
        assert mark.tag.removeprefix(SVG) in KNOWN
        assert set(mark.attrib) <= KNOWN[mark.tag.removeprefix(SVG)]
        for x, y in corners(mark):
            assert -0.1 <= x <= width + 0.1, ElementTree.tostring(mark)
            assert -0.1 <= y <= height + 0.1, ElementTree.tostring(mark)
    assert {len(row) for row in chart.rows} <= {len(chart.header)}
    assert all(re.sub(f"[{JOINERS}]", "", cell).isprintable() for row in chart.rows for cell in row)
    assert not re.search(r"\b(nan|inf)\b", " ".join(re.findall(r'"([^"]*)"', chart.svg)))


AT = {"class", "x", "y"}
KNOWN = {
    "svg": {"class", "viewBox", "role", "aria-labelledby"},
    "title": {"id"},
    "desc": {"id"},
    "line": {"class", "x1", "y1", "x2", "y2"},
    "rect": AT | {"width", "height"},
    "circle": {"class", "cx", "cy", "r"},
    "polygon": {"class", "points"},
    "path": {"class", "d"},
    "text": AT | {"text-anchor"},
}


# Whole pictures

SMALL: dict[str, Callable[[], Chart | None]] = {
    "scores": lambda: scores(
        "scores",
        ScoreChart(
            "Scores before and after",
            [
                Score("feasibility", 6, 7.2),
                Score("demand & need", 5.5, 5.3, 0.4, "advocate, 7 : 5"),
                Score("novelty", 8, 8),
            ],
            Score("overall", 6.5, 6.2),
            "1 fell, 1 rose",
        ),
    ),
    "judgings": lambda: margins("judgings", judged_margins((8, 5), (6, 5), (6, 6), (7, 6)), (0, 1)),
    "stands": lambda: stands(
        "stands",
        StandChart(
            "Who stood where",
            ["with most", "on its own"],
            [Stand("debater_a", "Debater A", {1: 1, 2: 0}), Stand("debater_b", "<B>", {1: 0, 2: 0})],
            0,
            "1 of 2 changed sides",
        ),
        COLOURS,
    ),
    "lines": lambda: lines(
        "novelty",
        LineChart(
            "New wording, by round",
            [Series("Security", {2: 0.8, 3: 0.5, 4: 0.35}), Series("Cost", {2: 0.7, 4: 0.3})],
            high=1,
            percent=True,
            threshold=Threshold(0.4, "stale below 40%"),
        ),
        {},
    ),
    "bars": lambda: bars(
        "tokens", "Output tokens", [Amount("Debater A", 1800), Amount("<Judge>", 420)], TOKENS, limit=8000
    ),
    "timeline": lambda: timeline(
        [
            turn("debater_a", "opening", 1, 100, 110, position=0),
            turn("debater_b", "opening", 1, 100, 106.5, position=1),
            turn("human", "checkpoint", 1, 410, 410, position=2),
            turn("judge", "verdict", None, 410, 414, position=3),
        ],
        TITLES,
        {"debater_a": 0, "debater_b": 1, "human": 2, "judge": 3},
    ),
}


@pytest.mark.parametrize("name", SMALL)
def test_a_small_chart_of_each_kind_is_that_of_its_snapshot(name: str) -> None:
    chart = SMALL[name]()
    assert chart
    check(chart)
    path = SNAPSHOTS / f"chart-{name}.svg"
    if os.environ.get("REWRITE_SNAPSHOTS"):
        path.write_text(chart.svg + "\n", encoding="utf-8")
    assert chart.svg + "\n" == path.read_text(encoding="utf-8")


# Scores


@given(st.lists(st.tuples(names, points, points), max_size=12), points, points)
@example([(HOSTILE, 0.0, 10.0)] * 12, 10.0, 0.0)
def test_rings_and_dots_stand_where_the_table_says(
    rated: list[tuple[str, float, float]], before: float, after: float
) -> None:
    overall = Score("overall", before, after)
    chart = scores("scores", ScoreChart("Scores", [Score(*one) for one in rated], overall))
    check(chart)
    assert chart.header == ("", "before", "after", "difference")
    rings, dots = (marks(chart, kind) for kind in ("before", "after"))
    for row, ring, dot in zip(chart.rows, rings, dots, strict=True):
        assert number(ring, "cx") == pytest.approx(SCALE.at(float(row[1])), abs=2.3)
        assert number(dot, "cx") == pytest.approx(SCALE.at(float(row[2])), abs=2.3)
        difference = float(row[3].replace("−", "-"))
        assert difference == pytest.approx(float(row[2]) - float(row[1]))


def test_what_was_scored_once_has_no_before() -> None:
    chart = scores("scores", ScoreChart("Scores", [Score("demand", None, 4)], Score("overall", None, 4)))
    check(chart)
    assert (chart.header, chart.rows) == (("", "score"), (("demand", "4.0"), ("overall", "4.0")))
    assert (marks(chart, "before"), len(marks(chart, "after"))) == ([], 2)
    assert shown(chart) == ["0", "2", "4", "6", "8", "10", "demand", "4.0", "overall", "4.0"]


def test_a_fall_and_a_rise_differ_in_more_than_colour() -> None:
    rated = [Score("up", 2, 4.04), Score("down", 4, 1.96), Score("quiet", 4, 3.8, 0.5)]
    chart = scores("scores", ScoreChart("Scores", rated, Score("overall", 3, 3)))
    assert [mark.text for mark in marks(chart, "value")] == ["+2.0", "−2.0", "−0.2 within noise", "0.0"]
    assert [mark.attrib["class"] for mark in marks(chart, "after")] == [
        "after up",
        "after down",
        "after quiet",
        "after quiet",
    ]
    (noise,) = marks(chart, "noise")
    assert number(noise, "width") == pytest.approx(SCALE.at(4.5) - SCALE.at(3.5), abs=0.1)


# Lines


@given(st.lists(st.tuples(names, rounds), max_size=7))
@example([(HOSTILE, {round: 10.0 * (round % 2) for round in range(1, 101)})] * 2)
@example([("same", {1: 5.0, 2: 5.0})] * 12)
def test_points_stand_where_the_table_says(course: list[tuple[str, dict[int, float]]]) -> None:
    series, threshold = [Series(*each) for each in course], Threshold(4, HOSTILE[:20])
    chart = lines("judged", LineChart("Scores by round", series, threshold=threshold), {})
    if chart is None:
        assert not any(values for _, values in course)
        return
    check(chart)
    cells = [cell for column in list(zip(*chart.rows, strict=True))[1:] for cell in column if cell != "–"]
    placed = [mark for mark in marks(chart, "point") if mark.find(f"{SVG}title") is not None]
    bottom, top = (number(marks(chart, "grid")[at], "y1") for at in (0, -1))
    for cell, mark in zip(cells, placed, strict=True):
        ys = [y for _, y in corners(mark)]
        middle = (min(ys) + max(ys)) / 2
        assert 10 * (bottom - middle) / (bottom - top) == pytest.approx(float(cell), abs=0.1)


@given(st.lists(points, min_size=1, max_size=12))
def test_the_names_of_series_never_overlap(ends: list[float]) -> None:
    chart = lines("judged", LineChart("Scores", [Series(f"Seat {at}", {1: end}) for at, end in enumerate(ends)]), {})
    assert chart
    heights = sorted(number(label, "y") for label in marks(chart, "row-name"))
    assert all(lower - upper >= LABEL - 0.1 for upper, lower in pairwise(heights))


def test_a_line_is_broken_where_a_round_has_no_value() -> None:
    chart = lines("judged", LineChart("Scores", [Series("A", {1: 0, 2: 10, 4: 5}), Series("B", {3: 1})]), {})
    assert chart
    broken, alone = (mark.attrib["d"] for mark in marks(chart, "line"))
    assert (broken.count("M"), broken.count("L"), alone.count("M"), alone.count("L")) == (2, 1, 1, 0)
    assert chart.rows == (("1", "0", "–"), ("2", "10", "–"), ("3", "–", "1"), ("4", "5", "–"))


def test_every_series_has_a_colour_and_a_shape_of_its_own() -> None:
    chart = lines("judged", LineChart("Scores", [Series(str(at), {1: at}) for at in range(6)]), {})
    assert chart
    in_key = [mark for mark in marks(chart, "point") if mark.find(f"{SVG}title") is None]
    colours = {mark.attrib["class"] for mark in in_key}
    shapes = {(mark.tag, len(list(corners(mark))), _proportions(mark)) for mark in in_key}
    assert (len(colours), len(shapes)) == (6, 6)


def _proportions(mark: ElementTree.Element) -> tuple[tuple[float, float], ...]:
    found = list(corners(mark))
    x, y = min(x for x, _ in found), min(y for _, y in found)
    return tuple((round(each_x - x), round(each_y - y)) for each_x, each_y in found)


# Bars


@given(st.lists(st.tuples(names, amounts), max_size=8), st.none() | st.floats(1e-6, 1e9))
@example([("none", 0.0)], 8000.0)
@example([(HOSTILE, 9000.0)], 8000.0)
@example([("far", 1.0)], 1e9)
def test_bars_are_as_long_as_the_table_says(used: list[tuple[str, float]], limit: float | None) -> None:
    chart = bars("tokens", "Output tokens", [Amount(*each) for each in used], TOKENS, limit)
    check(chart)
    total = sum(value for _, value in used)
    assert [row[1] for row in chart.rows] == [
        TOKENS.told(value) for value in (*(value for _, value in used), total, *([limit] if limit else []))
    ]
    *seats, together = (number(bar, "width") for bar in marks(chart, "bar"))
    for (_, value), width in zip(used, seats, strict=True):
        assert width == pytest.approx(together * value / total if total else 0, abs=0.1)
    assert (len(marks(chart, "over")) == 1) == (limit is not None and total > limit)


def test_more_than_the_limit_is_said_in_words() -> None:
    chart = bars("cost", "Cost", [Amount("Judge", 0.0525), Amount("Debater", 1.5)], COST, 1.0)
    assert shown(chart) == ["Judge", "$0.0525", "Debater", "$1.50", "together", "$1.55 of $1.00, over the limit"]
    assert chart.rows == (("Judge", "$0.0525"), ("Debater", "$1.50"), ("together", "$1.55"), ("limit", "$1.00"))


# The timeline


@given(debates())
def test_turns_are_as_long_as_the_table_says_and_never_cover_each_other(turns: list[Turn]) -> None:
    chart = timeline(turns, TITLES, {})
    if chart is None:
        assert not turns
        return
    check(chart)
    spoken = [row for row in chart.rows if row[0] != "pause"]
    assert (len(marks(chart, "speech")), len(marks(chart, "pause"))) == (len(turns), len(chart.rows) - len(spoken))
    assert sorted(float(row[2]) for row in spoken) == pytest.approx(
        sorted(max(0.0, turn.finished_at - turn.started_at) for turn in turns), abs=0.06
    )
    assert all(float(row[2]) > 60 for row in chart.rows if row[0] == "pause")
    _check_lengths(chart, spoken)
    _check_apart(chart)


def _check_apart(chart: Chart) -> None:
    """Bars of the same height follow each other; only the thinnest are drawn longer than they are."""
    bars = sorted((number(mark, "y"), number(mark, "x"), number(mark, "width")) for mark in marks(chart, "speech"))
    for (y, x, width), (next_y, next_x, _) in pairwise(bars):
        assert y < next_y or next_x >= x + (width if width > 2.5 else 0) - 0.2


def _check_lengths(chart: Chart, spoken: list[tuple[str, ...]]) -> None:
    total = max(float(row[1]) + float(row[2]) for row in spoken)
    room = WIDE - 2.5 - sum(number(mark, "width") for mark in marks(chart, "pause"))
    widths = sorted(number(mark, "width") for mark in marks(chart, "speech"))
    lengths = sorted(float(row[2]) for row in spoken)
    if total > 100:
        coarse = 0.15 / total * room  # the table has tenths of a second: of a length, and of where the last one ends
        assert widths == pytest.approx([max(2.5, length / total * room) for length in lengths], abs=coarse + 0.1)


def test_turns_of_one_seat_that_run_side_by_side_stand_one_above_the_other() -> None:
    spans = [(0, 10), (0, 12), (5, 8), (10, 20), (12, 13)]
    turns = [turn("advocate", "argument", at, *span, position=at) for at, span in enumerate(spans)]
    chart = timeline(turns, {}, {})
    assert chart
    bars = {mark.findtext(f"{SVG}title"): number(mark, "y") for mark in marks(chart, "speech")}
    assert bars == {
        "Advocate, argument, round 0: 10.0 s": 18,
        "Advocate, argument, round 1: 12.0 s": 29,
        "Advocate, argument, round 2: 3.0 s": 40,
        "Advocate, argument, round 3: 10.0 s": 18,
        "Advocate, argument, round 4: 1.0 s": 29,
    }


def test_time_in_which_nobody_spoke_is_cut_out_and_marked() -> None:
    turns = [turn("a", "argument", 1, 0, 10), turn("b", "argument", 1, 70, 80), turn("a", "argument", 2, 7281, 7291)]
    chart = timeline(turns, {"a": "A", "b": "B"}, {})
    assert chart
    assert chart.rows == (
        ("A, argument, round 1", "0.0", "10.0"),
        ("B, argument, round 1", "70.0", "10.0"),
        ("pause", "80.0", "7201.0"),
        ("A, argument, round 2", "80.0", "10.0"),
    )
    (cut,) = marks(chart, "pause")
    before, after, _ = sorted(marks(chart, "speech"), key=lambda mark: number(mark, "y"))
    assert cut.findtext(f"{SVG}title") == "2 h pause"
    assert number(cut, "x") + number(cut, "width") == pytest.approx(number(after, "x"), abs=0.2)
    assert number(before, "x") == 0


def test_a_hundred_turns_with_a_pause_before_each_fit() -> None:
    turns = [turn("a" if at % 2 else "b", "argument", at, at * 1000.0, at * 1000.0 + 5) for at in range(100)]
    chart = timeline(turns, {}, {})
    assert chart
    check(chart)
    assert (len(marks(chart, "pause")), len(marks(chart, "speech")), len(chart.rows)) == (99, 100, 199)


def test_a_single_turn_that_took_no_time_is_seen() -> None:
    chart = timeline([Turn(position=0, seat="judge", kind="verdict", round=None, content="")], {}, {})
    assert chart
    check(chart)
    assert chart.rows == (("Judge, verdict", "0.0", "0.0"),)
    assert [number(mark, "width") for mark in marks(chart, "speech")] == [2.5]


# Which charts a debate has


def record(**settings: object) -> Record:
    return Record(
        id="DEB-abcd1234",
        format="any",
        format_version=1,
        topic="Cats?",
        settings=dict(settings),
        seats={},
        created_at=0.0,
    )  # type: ignore[arg-type]


def drawn(
    turns: list[Turn],
    outcome: Outcome | None = None,
    *,
    format: AnyFormat = DUEL,
    chosen: JsonObject | None = None,
    **limits: object,
) -> tuple[Chart, ...]:
    """The charts of a debate of this format."""
    debate = Debate("DEB-abcd1234", "Cats?", format.settings.model_validate(chosen or {}), {}, list(turns))
    return charts_for(record(**limits), turns, TITLES, format.charts(debate, outcome or VERDICT))


def charts_for(
    record: Record, turns: Sequence[Turn], titles: Mapping[str, str], declared: Iterable[ChartData] = ()
) -> tuple[Chart, ...]:
    """Those that a format declares, then those that every debate has."""
    look = Drawn(titles, COLOURS)
    own = (chart_of(f"own-{at}", data, look) for at, data in enumerate(declared))
    return (*(chart for chart in own if chart), *taken(record, turns, look))


def titles_of(turns: list[Turn], outcome: Outcome | None = None, **more: Any) -> list[str]:
    return [chart.title for chart in drawn(turns, outcome, **more)]


def ballots(*scores: tuple[float, float]) -> list[Turn]:
    return [
        turn("judge", "verdict", round, round, round + 1, {"summary": "So.", "score_a": a, "score_b": b})
        for round, (a, b) in enumerate(scores, 1)
    ]


def scorecard(topics: list[TopicVerdict]) -> Scorecard:
    return Scorecard(
        summary="Good.",
        categories=[CategoryScore(category="demand", before=5, after=6.5)],
        topics=topics,
        not_judged=[],
        overall_before=5,
        overall_after=6.5,
        debated=True,
        models={},
    )


VERDICT = Verdict(
    winner="a",
    score_a=7,
    score_b=4,
    stance_a="pro",
    stance_b="con",
    no_new_substantive_arguments=False,
    fallback=False,
    models={},
    summary="A.",
)
TOPIC = TopicVerdict(
    number=1,
    name="Need",
    category="demand",
    winner="advocate",
    score_advocate=8,
    score_challenger=5,
    confidence="high",
    change=1.5,
    reasoning="So.",
)


def test_a_debate_without_turns_has_no_charts() -> None:
    assert charts_for(record(), [], {}) == ()


def test_scores_before_and_after_are_shown_of_an_evaluation() -> None:
    (chart,) = drawn([], scorecard([TOPIC]), format=EVALUATION)
    assert (chart.title, chart.rows) == (
        "Points out of 10, before and after",
        (("demand", "5.0", "6.5", "+1.5"), ("overall", "5.0", "6.5", "+1.5")),
    )
    assert chart.finding == "The score rose"


def test_scores_that_nothing_was_argued_about_are_shown_once() -> None:
    (chart,) = drawn([], scorecard([]), format=EVALUATION)
    assert (chart.title, chart.rows) == ("Scores", (("demand", "6.5"), ("overall", "6.5")))


def test_a_score_that_is_no_number_makes_no_chart() -> None:
    assert drawn([], scorecard([TOPIC]).model_copy(update={"overall_after": float("nan")}), format=EVALUATION) == ()


def test_a_judges_scores_are_shown_by_round_under_the_names_of_the_sides() -> None:
    chart, when = drawn(ballots((6, 5), (7.5, 5), (0, 10)))
    assert (chart.title, when.title) == ("Scores by round", "Who spoke when")
    assert chart.header == ("round", "For", "Against")
    assert chart.rows == (("1", "6", "5"), ("2", "7.5", "5"), ("3", "0", "10"))


def test_a_score_without_a_side_is_that_of_whoever_gives_it() -> None:
    turns = [turn("skeptic", "critique", 1, 0, 1, {"score": 4}), turn("skeptic", "critique", 2, 1, 2, {"score": 8})]
    chart, _ = drawn(turns, format=CRITIQUE)
    assert (chart.header, chart.rows) == (("round", "Skeptic’s score"), (("1", "4"), ("2", "8")))


@pytest.mark.parametrize("bad", [None, "8", True, float("nan"), float("inf"), -1, 11, [8], {}])
def test_what_is_no_score_is_left_out(bad: object) -> None:
    turns = [*ballots((6, 5), (7, 4)), turn("judge", "verdict", 3, 3, 4, {"score_a": 8, "score_b": bad})]  # type: ignore[dict-item]
    chart, _ = drawn(turns)
    assert chart.rows == (("1", "6", "5"), ("2", "7", "4"), ("3", "8", "–"))


def test_a_placeholder_for_an_unreadable_verdict_is_no_score() -> None:
    first, second, third = ballots((6, 5), (5, 5), (7, 4))
    fallback = Turn(
        position=1,
        seat="judge",
        kind="verdict",
        round=2,
        content="",
        data=second.data,
        marks=("fallback",),
        started_at=2,
        finished_at=3,
    )
    chart, _ = drawn([first, fallback, third])
    assert chart.rows == (("1", "6", "5"), ("3", "7", "4"))


def test_rounds_that_were_played_side_by_side_and_a_single_one_have_no_course() -> None:
    first, second = ballots((6, 5), (7, 4))
    argued = [turn("debater_a", "argument", round, 0, 1) for round in (1, 2)]
    assert titles_of([*argued, first, second]) == ["Who spoke when"]
    assert titles_of([first]) == ["Who spoke when"]
    assert titles_of([argued[0], first, argued[1], second]) == ["Scores by round", "Who spoke when"]


def measured(*rounds: RoundFacts) -> Decision:
    return Decision(
        summary="REST.",
        perspectives=[],
        agreement=[],
        tensions=[],
        conditions=[],
        dissent="",
        confidence="High",
        reasons=[],
        rounds=list(rounds),
        tasks=[],
        acceptance=[],
    )


def test_novelty_and_repetition_are_shown_by_seat_with_their_thresholds() -> None:
    outcome = measured(
        RoundFacts(round=1, novelty={}, repetition={}, late=[]),
        RoundFacts(round=2, novelty={"debater_1": 0.8, "debater_2": 1}, repetition={"debater_1": 0.05}, late=[]),
        RoundFacts(round=3, novelty={"debater_1": 0.333}, repetition={"debater_1": 0.625}, late=["debater_2"]),
    )
    chosen: JsonObject = {"perspectives": ["Performance Advocate", "Operational Simplicity"]}
    analysed = [turn("moderator", "analysis", None, 0, 1, {})]
    new, repeated, _ = drawn(analysed, outcome, format=PANEL, chosen=chosen)
    assert (new.title, new.header) == (
        "New wording, by round",
        ("round", "Performance Advocate", "Operational Simplicity"),
    )
    assert new.rows == (("2", "80%", "100%"), ("3", "33%", "–"))
    assert (repeated.title, repeated.header) == ("What was repeated, by round", ("round", "Performance Advocate"))
    assert repeated.rows == (("2", "5%"), ("3", "62%"))
    assert ("stale below 40%" in shown(new), "repetitive above 60%" in shown(repeated)) == (True, True)


def test_a_first_round_alone_repeats_nothing_and_has_no_chart() -> None:
    assert titles_of([], measured(RoundFacts(round=1, novelty={}, repetition={}, late=[])), format=PANEL) == []


def paid(seat: str, tokens: int, cost: float | None) -> Turn:
    return Turn(
        position=0,
        seat=seat,
        kind="argument",
        round=1,
        content="",
        usage=Usage(output_tokens=tokens, calls=1, cost=cost),
    )


def test_tokens_and_cost_are_added_up_by_seat_and_held_against_their_limits() -> None:
    turns = [paid("debater_a", 300, 0.25), paid("judge", 100, 0.5), paid("debater_a", 200, 0.125)]
    silent = Turn(position=3, seat="human", kind="remark", round=None, content="Go on.")
    limits = {"max_total_output_tokens": 8000, "max_cost": 2.0}
    tokens, cost, _ = charts_for(record(**limits), [*turns, silent], TITLES)
    assert (tokens.title, cost.title) == ("Output tokens", "Cost")
    assert tokens.rows == (("Debater A", "500"), ("Judge", "100"), ("together", "600"), ("limit", "8,000"))
    assert cost.rows == (("Debater A", "$0.3750"), ("Judge", "$0.5000"), ("together", "$0.8750"), ("limit", "$2.00"))


def test_a_cost_that_is_unknown_or_nothing_is_not_shown_unless_it_is_limited() -> None:
    known, unknown, free = paid("judge", 1, 0.5), paid("debater_a", 1, None), paid("judge", 1, 0.0)
    assert titles_of([known, unknown], max_cost=2.0) == ["Output tokens", "Who spoke when"]
    assert titles_of([free]) == ["Output tokens", "Who spoke when"]
    assert titles_of([free], max_cost=2.0) == ["Output tokens", "Cost", "Who spoke when"]


def test_outcomes_without_rounds_have_no_course() -> None:
    answer = FinalAnswer(
        summary="So.",
        templates={},
        rounds=[],
        issues=[],
        open_issues=[],
        ended="ready",
        early_stopped=False,
        quality_score=8,
        auto_score=8,
        models={},
    )
    assert (titles_of([], VERDICT), titles_of([], answer, format=CRITIQUE)) == ([], [])


DEBATES = {
    "duel": (
        Stage(judged(ballot(6, 5), ballot(7, 4)), settings={"judge": "each_round", "max_rounds": 2}),
        ["Scores by round"],
    ),
    "panel": (
        Stage(Panelists(), format=PANEL, settings={"max_rounds": 2}),
        ["New wording, by round", "What was repeated, by round"],
    ),
    "critique": (Stage(format=CRITIQUE, settings={"max_rounds": 2}), ["Scores by round"]),
    "evaluation": (
        Stage(format=EVALUATION, settings={"idea": "We sell solar panels."}),
        ["Points out of 10, before and after"],
    ),
}


@pytest.mark.parametrize("name", DEBATES)
async def test_a_debate_of_each_format_has_its_charts(name: str) -> None:
    stage, own = DEBATES[name]
    await stage.run()
    record, turns = await stage.record(), await stage.turns()
    reading = Reading(StoredDebate(record, turns), stage.format)
    charts = charts_for(record, turns, reading.titles, reading.charts)
    for chart in charts:
        check(chart)
    assert [chart.title for chart in charts] == [*own, "Output tokens", "Who spoke when"]


def test_hostile_titles_reach_no_chart_unescaped_and_no_table_unreadable() -> None:
    turns = [paid("debater_a", 300, 0.25), *ballots((6, 5), (7, 4))]
    declared = LineChart("Scores by round", [Series(HOSTILE, {1: 6, 2: 7}), Series(HOSTILE, {1: 5, 2: 4})])
    charts = charts_for(record(), turns, dict.fromkeys(TITLES, HOSTILE), [declared])
    readable = "\"><script>alert(1)</script>' onload=x ��[31m��</svg>&amp;"
    assert [chart.title for chart in charts] == ["Scores by round", "Output tokens", "Cost", "Who spoke when"]
    assert (charts[0].header, charts[1].rows[0]) == (("round", readable, readable), (readable, "300"))
    for chart in charts:
        check(chart)
        assert "<script" not in chart.svg


def test_every_chart_on_a_page_has_ids_of_its_own() -> None:
    outcome = measured(RoundFacts(round=2, novelty={"judge": 0.5}, repetition={"judge": 0.5}, late=[]))
    charts = drawn([paid("judge", 1, 0.5), *ballots((6, 5), (7, 4))], outcome, format=PANEL)
    ids = [name for chart in charts for name in _ids(chart)]
    assert (len(ids), len({*ids})) == (10, 10)


def _ids(chart: Chart) -> list[str]:
    return re.findall(r' id="([^"]*)"', chart.svg)


# Words and numbers


@given(names, st.floats(0, 400))
def test_words_are_cut_to_their_room(text: str, room: float) -> None:
    cut = fitting(text, room)
    assert width_of(cut) <= max(room, width_of("…"))
    assert cut.endswith("…") or width_of(cut) == width_of(text)


@given(st.floats(1e-3, 1e9), st.integers(2, 10))
def test_ticks_are_few_even_and_round(high: float, most: int) -> None:
    found = ticks(high, most)
    assert (found[0], len(found) <= most + 1, found[-1] <= high * (1 + 1e-6)) == (0, True, True)
    if len(found) > 1:
        assert f"{found[1]:.0e}"[0] in "125"
        assert list(found) == pytest.approx([at * found[1] for at in range(len(found))])


# The stylesheet

THEMES = dict(zip(("light", "dark"), TOKENS_OF_ALL.split("@media (prefers-color-scheme: dark)"), strict=True))
# How the three kinds of colour blindness mix the light that reaches the eye (Machado et al. 2009, complete).
EYES = {
    "usual": np.eye(3),
    "no red": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "no green": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
    "no blue": np.array([[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]),
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def colours(theme: str) -> dict[str, Colour]:
    return {
        name.removeprefix("seat-"): _light(colour)
        for name, colour in re.findall(r"--([\w-]+): (#\w{6})", THEMES[theme].partition("/* Base */")[0])
    }


def _light(colour: str) -> Colour:
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one: Colour, other: Colour) -> float:
    darker, lighter = sorted(float(XYZ[1] @ colour) for colour in (one, other))
    return (lighter + 0.05) / (darker + 0.05)


def difference(one: Colour, other: Colour, eye: str) -> float:
    """The distance in CIELAB; from about 2 on it is seen, from 10 on at a glance."""
    return float(np.linalg.norm(_seen(one, eye) - _seen(other, eye)))


def _seen(colour: Colour, eye: str) -> Colour:
    x, y, z = np.cbrt(XYZ @ np.clip(EYES[eye] @ colour, 0.001, 1) / XYZ.sum(axis=1))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("theme", THEMES)
def test_marks_and_words_stand_out_from_the_paper(theme: str) -> None:
    found = colours(theme)
    on_paper = {name: contrast(colour, found["paper"]) for name, colour in found.items()}
    assert min(on_paper[name] for name in ("ink", "soft")) >= 4.5
    assert min(on_paper[name] for name in ("1", "2", "3", "4", "5", "6", "good", "bad")) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("eye", EYES)
def test_the_first_three_seats_look_alike_to_no_eye_and_every_seat_has_a_shape(theme: str, eye: str) -> None:
    found = colours(theme)
    pairs = combinations("123", 2)
    assert min(difference(found[one], found[other], eye) for one, other in pairs) >= 15
    assert len({repr(shape) for shape in SHAPES}) == 6


def test_every_class_that_is_drawn_is_styled() -> None:
    pictures = "".join(chart.svg for make in SMALL.values() if (chart := make()))
    pictures += "".join(mark for make in SMALL.values() if (chart := make()) for mark, _ in chart.key)
    drawn = {kind for kinds in re.findall(r'class="([^"]*)"', pictures) for kind in kinds.split()}
    assert {kind for kind in drawn if not re.search(rf"\.{kind}\b", STYLE + TOKENS_OF_ALL)} == set()


# Judgings


def judged_margins(*scores: tuple[float, float]) -> MarginChart:
    judgings = [
        Judging(position=at, mirrored=bool(at % 2), wording=at // 2, score_a=a, score_b=b)
        for at, (a, b) in enumerate(scores)
    ]
    trust = Trust(level="Low", stability=weigh(judgings))
    (chart,) = margins_of(Outcome(summary="", trust=trust), ("Debater A", "Debater B"))
    return chart


def test_every_judging_is_a_dot_in_the_picture_and_a_row_of_its_table() -> None:
    drawn = margins("judgings", judged_margins((8, 5), (6, 5), (6, 6), (7, 6)), (0, 1))
    picture = ElementTree.fromstring(drawn.svg)
    dots = list(picture.iter(f"{SVG}circle"))
    assert [mark.get("class") for mark in dots] == ["judged", "judged mirrored", "judged", "judged mirrored"]
    assert len({(mark.get("cx"), mark.get("cy")) for mark in dots}) == 4  # two with the same margin stand on each other
    middle = number(marks(drawn, "zero")[0], "x1")
    assert [float(mark.get("cx", "")) < middle for mark in dots] == [True, True, False, True]  # A is ahead on the left
    assert drawn.finding == "Debater A ahead in 3 of 4 judgings"
    assert drawn.header == ("", "shown first", "Debater A", "Debater B", "margin")
    assert drawn.rows == (
        ("1", "Debater A", "8", "5", "3"),
        ("2", "Debater B", "6", "5", "1"),
        ("3", "Debater A", "6", "6", "0"),
        ("4", "Debater B", "7", "6", "1"),
    )
    assert "Debater A ahead by 1.2 on average; judgings 3, 1, 0, 1" in drawn.svg


def test_an_outcome_that_was_judged_once_has_no_picture_of_judgings() -> None:
    assert list(margins_of(None, ("a", "b"))) == []
    assert list(margins_of(Outcome(summary="", trust=Trust(level="Low")), ("a", "b"))) == []

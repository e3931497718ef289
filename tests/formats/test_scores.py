"""How verdicts move scores, and how scorecards are shown, compared and ranked."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core.charts import signed
from moot.core.debate import Record, Status
from moot.core.table import Bar, Rows
from moot.formats.evaluation.scorecard import CategoryScore, Scorecard, TopicVerdict, compare, last_of, ranking
from moot.formats.evaluation.scores import CERTAINTY, MAX_CHANGE, ScoreVerdict, adjust, change, overall
from moot.formats.evaluation.settings import Level

points = st.floats(0, 10)
levels: st.SearchStrategy[Level] = st.sampled_from(["low", "medium", "high"])
verdicts = st.builds(ScoreVerdict, points, points, levels, st.booleans())
categories = st.sampled_from(["problem", "solution", "market", "team"])


@pytest.mark.parametrize(
    ("advocate", "challenger", "confidence", "moved"),
    [
        (7, 4, "high", 1.2),
        (7, 4, "medium", 0.84),
        (7, 4, "low", 0.48),
        (4, 7, "high", -1.2),
        (3, 9, "high", -2.0),
        (10, 0, "high", 2.0),
        (6, 5, "high", 0.4),
        (8.2, 7.2, "high", 0.4),
        (7.2, 8.2, "low", -0.16),
        (8.2, 7.21, "high", 0.0),
        (6, 5.5, "high", 0.0),
        (5, 5, "low", 0.0),
    ],
)
def test_a_verdict_moves_a_score_by_margin_and_confidence(
    advocate: float, challenger: float, confidence: Level, moved: float
) -> None:
    assert change(ScoreVerdict(advocate, challenger, confidence)) == pytest.approx(moved)


@given(verdicts, points)
def test_an_adjusted_score_stays_on_the_scale_and_within_what_one_topic_may_move(
    verdict: ScoreVerdict, score: float
) -> None:
    after = adjust([verdict], score)
    assert 0 <= after <= 10
    assert abs(after - score) <= MAX_CHANGE + 1e-9


@given(verdicts, points)
def test_a_score_moves_towards_the_winner_and_not_at_all_without_one(verdict: ScoreVerdict, score: float) -> None:
    after = adjust([verdict], score)
    match verdict.winner:
        case "advocate":
            assert after >= score
        case "challenger":
            assert after <= score
        case "draw":
            assert after == score


@given(points, points, levels, points)
def test_a_verdict_that_could_not_be_read_moves_nothing(
    advocate: float, challenger: float, confidence: Level, score: float
) -> None:
    assert adjust([ScoreVerdict(advocate, challenger, confidence, fallback=True)], score) == score


@given(points, points, points, levels, points)
def test_the_better_the_advocate_did_the_higher_the_score(
    worse: float, better: float, challenger: float, confidence: Level, score: float
) -> None:
    worse, better = sorted((worse, better))
    before, after = (adjust([ScoreVerdict(given, challenger, confidence)], score) for given in (worse, better))
    assert after >= before


@given(points, points, points)
def test_the_surer_the_arbiter_the_further_a_score_moves(advocate: float, challenger: float, score: float) -> None:
    moved = [abs(adjust([ScoreVerdict(advocate, challenger, confidence)], score) - score) for confidence in CERTAINTY]
    assert moved == sorted(moved)


@given(verdicts, points, points)
def test_of_two_scores_the_higher_stays_the_higher(verdict: ScoreVerdict, one: float, other: float) -> None:
    lower, higher = sorted((one, other))
    assert adjust([verdict], lower) <= adjust([verdict], higher)


@given(verdicts, points)
def test_sides_that_change_places_move_the_score_as_far_the_other_way(verdict: ScoreVerdict, score: float) -> None:
    swapped = replace(verdict, score_advocate=verdict.score_challenger, score_challenger=verdict.score_advocate)
    assert change(swapped) == -change(verdict)


@given(st.lists(verdicts, max_size=8), points, st.randoms(use_true_random=False))
def test_topics_on_one_category_add_up_in_any_order(several: list[ScoreVerdict], score: float, random: Random) -> None:
    after = adjust(several, score)
    assert 0 <= after <= 10
    assert after == pytest.approx(min(10, max(0, score + sum(map(change, several)))))
    random.shuffle(several)
    assert adjust(several, score) == after


@given(st.dictionaries(categories, points, min_size=1), st.dictionaries(categories, st.floats(0.01, 100)))
def test_the_overall_score_lies_between_the_lowest_and_the_highest(
    scores: dict[str, float], weights: dict[str, float]
) -> None:
    assert min(scores.values()) - 1e-9 <= overall(scores, weights) <= max(scores.values()) + 1e-9


def test_the_overall_score_is_the_mean_by_weight() -> None:
    scores = {"problem": 8.0, "solution": 5.0, "market": 2.0}
    assert overall(scores, {}) == 5
    assert overall(scores, {"problem": 2, "market": 0}) == 7


# Scorecards


def card(*scores: tuple[str, float, float], before: float, after: float, topics: bool = True) -> Scorecard:
    judged = TopicVerdict(
        number=1,
        name="Problem validity",
        category="problem",
        winner="advocate",
        score_advocate=7,
        score_challenger=4,
        confidence="high",
        change=1.2,
        reasoning="It was better.",
    )
    return Scorecard(
        summary="",
        categories=[CategoryScore(category=name, before=one, after=other) for name, one, other in scores],
        topics=[judged] if topics else [],
        not_judged=[],
        overall_before=before,
        overall_after=after,
        debated=topics,
        models={},
    )


FIRST = card(("problem", 7, 7.3), ("solution", 6, 4.8), ("team", 5, 5), before=6, after=5.7)


def test_a_scorecard_shows_before_and_after_as_bars() -> None:
    assert FIRST.headline() == "6.0 → 5.7 overall; problem +0.3, solution −1.2, team 0.0"
    assert drawn(FIRST.table()) == (
        ("", "before", "after", "difference"),
        ("problem", "7.0", "7.3", "+0.3"),
        ("solution", "6.0", "4.8", "−1.2"),
        ("team", "5.0", "5.0", "0.0"),
        ("overall", "6.0", "5.7", "−0.3"),
    )


def drawn(rows: Rows) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(map(str, row)) for row in rows)


def test_the_scores_of_a_table_are_numbers_that_each_surface_draws_its_own_way() -> None:
    assert FIRST.table()[1] == ("problem", Bar(7), Bar(7.3), "+0.3")


def test_a_scorecard_without_verdicts_shows_scores_alone() -> None:
    scored = card(("problem", 7, 7), ("solution", 6, 6), before=6.5, after=6.5, topics=False)
    assert scored.headline() == "6.5 overall; problem 7.0, solution 6.0"
    assert drawn(scored.table()) == (
        ("", "score"),
        ("problem", "7.0"),
        ("solution", "6.0"),
        ("overall", "6.5"),
    )


@given(points)
def test_a_bar_is_always_ten_blocks_long(score: float) -> None:
    blocks, number = Bar(score).drawn.split(" ")
    assert len(blocks) == 10
    assert float(number) == pytest.approx(score, abs=0.0501)


@pytest.mark.parametrize(
    ("points", "text"), [(0.25, "+0.2"), (-1.234, "−1.2"), (0.04, "0.0"), (-0.04, "0.0"), (2, "+2.0")]
)
def test_differences_carry_their_sign(points: float, text: str) -> None:
    assert signed(points) == text


def test_two_evaluations_are_compared_category_by_category() -> None:
    second = card(("problem", 7, 7.3), ("solution", 6, 6.5), ("market", 3, 4), before=5.3, after=5.9)
    assert drawn(compare(FIRST, second)) == (
        ("", "last time", "now", "difference"),
        ("problem", "7.3", "7.3", "0.0"),
        ("solution", "4.8", "6.5", "+1.7"),
        ("market", "–", "4.0", "–"),
        ("team", "5.0", "–", "–"),
        ("overall", "5.7", "5.9", "+0.2"),
    )


def test_ideas_are_ranked_by_their_score_afterwards_and_share_a_rank_when_it_is_the_same() -> None:
    low, high = (card(("problem", 5, score), before=5, after=score) for score in (4.0, 8.0))
    assert drawn(ranking([("tea", low), ("rain", high), ("ale", low), ("fog", FIRST)])) == (
        ("rank", "idea", "before", "after", "difference"),
        ("1", "rain", "5.0", "8.0", "+3.0"),
        ("2", "fog", "6.0", "5.7", "−0.3"),
        ("3", "ale", "5.0", "4.0", "−1.0"),
        ("3", "tea", "5.0", "4.0", "−1.0"),
    )


def test_the_last_evaluation_of_an_idea_is_the_newest_that_finished() -> None:
    def record(key: str, status: Status, outcome: Scorecard | None = None, format: str = "evaluation") -> Record:
        kept = outcome.model_dump(mode="json") if outcome else None
        return Record(
            id="DEB-1",
            format=format,
            format_version=1,
            topic="Rain",
            settings={"idea_key": key},
            seats={},
            created_at=0.0,
            status=status,
            outcome=kept,
        )

    older = card(("problem", 1, 2), before=1, after=2)
    records = [
        record("rain", Status.RUNNING),
        record("fog", Status.FINISHED, older),
        record("rain", Status.FINISHED, older, format="duel"),
        record("rain", Status.FINISHED, FIRST),
        record("rain", Status.FINISHED, older),
    ]
    found = last_of(records, "rain")
    assert found
    assert found.model_copy(update={"idea_digest": ""}) == FIRST
    assert last_of(records, "snow") is None


def test_an_earlier_evaluation_that_cannot_be_read_any_more_is_passed_over() -> None:
    older = Record(
        id="DEB-rain2345",
        format="evaluation",
        format_version=1,
        topic="Rain",
        settings={"idea_key": "rain"},
        seats={},
        created_at=0.0,
        status=Status.FINISHED,
        outcome=FIRST.model_dump(mode="json"),
    )
    changed = replace(older, outcome={"once": "otherwise"})
    found = last_of([changed, older], "rain")
    assert found
    assert found.model_copy(update={"idea_digest": ""}) == FIRST
    assert last_of([changed], "rain") is None

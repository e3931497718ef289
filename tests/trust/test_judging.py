"""Several judgings: what they say together, and that a judge's known faults are found and cancelled.

The judge is simulated, but reads the real prompt and fills in the real form.
"""

from __future__ import annotations

from math import erf, sqrt
from random import Random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated import simulated

from moot.core.debate import Turn
from moot.core.trust import JudgeNoise, Judging, Trust
from moot.formats.duel.format import DuelSettings, Verdict
from moot.testing import SimulatedJudge
from moot.trust.judging import _is_clear, balanced, call, learned_noise, mirrored_order, spreads, views, weigh

NOISE = 0.8


def judging(a: float, b: float, mirrored: bool = False, counted: bool = True) -> Judging:
    return Judging(position=0, mirrored=mirrored, wording=0, score_a=a, score_b=b, counted=counted)


def pairs(*scores: tuple[float, float]) -> list[Judging]:
    return [judging(a, b, bool(at % 2)) for at, (a, b) in enumerate(scores)]


# Pure functions


@pytest.mark.parametrize("number", [2, 4, 6, 8, 10, 12])
def test_every_wording_is_judged_once_as_it_was_and_once_mirrored(number: int) -> None:
    assert sorted(views(number)) == sorted((mirrored, at) for mirrored in (False, True) for at in range(number // 2))


@pytest.mark.parametrize("number", [3, 5, 11, 0, 13])
def test_judgings_come_in_pairs(number: int) -> None:
    with pytest.raises(ValueError, match=r"even|greater|less"):
        DuelSettings(judgings=number)


@pytest.mark.parametrize(("depth", "most"), [("quick", 1), ("normal", 4), ("careful", 8)])
def test_depth_says_how_often_is_judged_unless_a_number_is_given(depth: str, most: int) -> None:
    assert DuelSettings.model_validate({"depth": depth}).most_judgings == most
    assert DuelSettings.model_validate({"depth": depth, "judgings": 6}).most_judgings == 6


def test_mirrored_the_speeches_of_a_round_change_places_and_a_person_s_words_stay() -> None:
    said = [("a", 1), ("human", None), ("b", 1), ("a", 2), ("b", 2), ("a", 3)]
    turns = [
        Turn(position=at, seat=seat, kind="argument", round=round, content="") for at, (seat, round) in enumerate(said)
    ]
    assert mirrored_order(turns, ("a", "b")) == (2, 1, 0, 4, 3, 5)


def test_the_formulas_by_hand() -> None:
    found = weigh(pairs((8, 5), (6, 5), (7, 6), (7, 6)))
    assert found
    assert (found.score_a, found.score_b, found.margin, found.order_effect) == (7.0, 5.5, 1.5, 0.5)
    # Residuals 1, 0, -1, 0: s² = 2 / 2, moderated (4 · 1.44 + 2) / 6, t of 6 degrees 2.447.
    half = 2.447 * sqrt((4 * 1.44 + 2) / 6) / 2
    assert (found.low, found.high) == pytest.approx((1.5 - half, 1.5 + half))
    assert (found.flips, found.holds) == (0.0, 4)


def test_two_judgings_alone_have_the_usual_noise() -> None:
    found = weigh(pairs((8, 4), (8, 5)))
    assert found
    assert found.high - found.margin == pytest.approx(2.776 * 1.2 / sqrt(2))


def test_flips_are_the_share_of_pairs_that_disagree() -> None:
    found = weigh(pairs((8, 5), (5, 5), (8, 5), (8, 5)))
    assert found
    assert (found.flips, found.holds) == (0.5, 3)


def test_what_cannot_be_read_leaves_with_its_twin() -> None:
    given = [*pairs((8, 5), (9, 1)), judging(5, 5, counted=False), judging(0, 9, mirrored=True)]
    found = weigh(given)
    assert found
    assert [each.counted for each in found.judgings] == [True, True, False, False]
    assert (found.margin, len(found.counted)) == (5.5, 2)


@pytest.mark.parametrize("given", [[judging(8, 5)], [judging(8, 5), judging(5, 5, True, counted=False)]])
def test_without_a_whole_pair_nothing_is_claimed(given: list[Judging]) -> None:
    assert weigh(given) is None
    assert not any(each.counted for each in balanced(given))


scores = st.integers(0, 10).map(float)


@given(st.lists(st.tuples(scores, scores), min_size=1, max_size=6).flatmap(lambda half: st.just(half * 2)))
def test_whoever_is_called_a_the_judgings_say_the_same(given: list[tuple[float, float]]) -> None:
    one = weigh(pairs(*given))
    other = weigh([judging(each.score_b, each.score_a, not each.mirrored) for each in pairs(*given)])
    assert one
    assert other
    assert (one.margin, one.low, one.high) == pytest.approx((-other.margin, -other.high, -other.low))
    assert one.order_effect == pytest.approx(other.order_effect)
    assert (one.flips, one.holds) == (other.flips, other.holds)


# A judge with known faults


def duels(
    number: int, merits: tuple[float, float], settings: dict[str, object] | None = None, **faults: float
) -> list[Verdict]:
    judge = SimulatedJudge(merits, **faults)  # type: ignore[arg-type]
    return [simulated(judge, at, **(settings or {"judgings": 4})) for at in range(number)]


def effects(found: list[Verdict]) -> list[float]:
    return [verdict.trust.stability.order_effect for verdict in found if verdict.trust and verdict.trust.stability]


def margins(found: list[Verdict]) -> list[float]:
    return [verdict.score_a - verdict.score_b for verdict in found]


def unmirrored(found: list[Verdict]) -> list[float]:
    """The margins that judgings would have published of which none is mirrored."""
    every = [verdict.trust.stability.judgings for verdict in found if verdict.trust and verdict.trust.stability]
    return [fmean(each.margin for each in judgings if not each.mirrored) for judgings in every]


@pytest.mark.parametrize("order", [0.0, 0.5, 1.0, 2.0])
def test_what_a_judge_gives_to_the_side_it_reads_first_is_measured_and_cancelled(order: float) -> None:
    found = duels(200, (6.4, 5.6), order=order, noise=NOISE)
    assert fmean(effects(found)) == pytest.approx(order, abs=0.15)
    assert fmean(margins(found)) == pytest.approx(0.8, abs=0.13)
    assert fmean(unmirrored(found)) == pytest.approx(0.8 + order, abs=0.2), "what it would be with mirroring off"


def test_one_judging_publishes_the_order_effect_as_if_it_were_merit() -> None:
    found = duels(100, (6.4, 5.6), {"judgings": 1}, order=2.0, noise=NOISE)
    assert fmean(margins(found)) > 0.8 + 1.5


@pytest.mark.parametrize("faults", [{"label": 2.0}, {"order": 1.0, "label": 1.0}])
def test_what_a_judge_gives_to_a_name_cancels_too(faults: dict[str, float]) -> None:
    assert fmean(margins(duels(200, (6.4, 5.6), noise=NOISE, **faults))) == pytest.approx(0.8, abs=0.13)


def rounded_calls(margin: float) -> dict[str, float]:
    """How probable each call is where two scores with noise are rounded: theory."""
    a, b = _rounded(6 + margin / 2), _rounded(6 - margin / 2)
    found = {"a": 0.0, "b": 0.0, "undecided": 0.0}
    for one, p in a.items():
        for other, q in b.items():
            found[call(one - other)] += p * q
    return found


def _rounded(mean: float) -> dict[int, float]:
    below = [0.5 * (1 + erf((score + 0.5 - mean) / NOISE / sqrt(2))) for score in range(11)]
    below[-1] = 1.0
    return {score: below[score] - (below[score - 1] if score else 0.0) for score in range(11)}


@pytest.mark.parametrize(("margin", "order"), [(1.0, 1.0), (0.0, 0.0), (2.0, 2.0)])
def test_judgings_flip_as_often_as_theory_says(margin: float, order: float) -> None:
    found = duels(200, (6 + margin / 2 - order / 2, 6 - margin / 2 - order / 2), order=order, noise=NOISE)
    same, across = [], []
    for verdict in found:
        assert verdict.trust
        assert verdict.trust.stability
        calls = [call(each.margin) for each in verdict.trust.stability.judgings]
        across += [one != other for one, other in zip(calls[::2], calls[1::2], strict=True)]
        same += [one != other for one, other in zip(calls[:2], calls[2:], strict=False)]
    first, second = rounded_calls(margin + order), rounded_calls(margin - order)
    assert fmean(across) == pytest.approx(1 - sum(first[each] * second[each] for each in first), abs=0.07)
    within = fmean(1 - sum(p * p for p in shown.values()) for shown in (first, second))
    assert fmean(same) == pytest.approx(within, abs=0.07)


def verdicts(
    number: int, judgings: int, order: float, noise: float = NOISE, known: JudgeNoise | None = None
) -> list[tuple[float, Verdict]]:
    """The true margin and what came out, of debates that are as different as debates are."""
    settings = {"judgings": judgings, "noise": known.model_dump() if known else None}
    found = []
    for at in range(number):
        true = Random(at).gauss(0, 2)
        judge = SimulatedJudge((6 + true / 2, 6 - true / 2), order=order, noise=noise)
        found.append((true, simulated(judge, at, **settings)))
    return found


def wrong(found: list[tuple[float, Verdict]]) -> float:
    """The share of wrong verdicts; where the sides are level nobody can win rightly."""
    right = [(true, verdict.winner) for true, verdict in found]
    return fmean(winner != "undecided" and winner != ("a" if true > 0 else "b") for true, winner in right)


def undecided(found: list[tuple[float, Verdict]]) -> float:
    return fmean(verdict.winner == "undecided" for _, verdict in found)


def test_a_judge_that_favours_the_first_side_is_wrong_once_and_right_in_pairs() -> None:
    once, several, unbiased = verdicts(600, 1, 1.5), verdicts(600, 4, 1.5), verdicts(600, 4, 0.0)
    assert wrong(once) >= 0.15
    assert wrong(several) <= 0.025
    assert undecided(several) - undecided(unbiased) <= 0.05


def test_the_interval_holds_the_true_margin_as_often_as_it_says() -> None:
    assert 0.93 <= coverage(verdicts(400, 4, 1.0)) <= 0.995


def coverage(found: list[tuple[float, Verdict]]) -> float:
    parts = [(true, verdict.trust.stability) for true, verdict in found if verdict.trust and verdict.trust.stability]
    return fmean(part.low <= true <= part.high for true, part in parts)


def test_the_interval_of_a_noisy_judge_is_right_once_its_earlier_debates_are_known() -> None:
    earlier = [spreads(verdict.trust) for _, verdict in verdicts(25, 4, 1.0, noise=2.0) if verdict.trust]
    known = learned_noise(earlier, {"x:judge"})
    assert known
    assert known.points == pytest.approx(2 * sqrt(2), abs=0.5)
    assert coverage(verdicts(400, 4, 1.0, noise=2.0)) < 0.9, "what is usual is too little for it"
    assert 0.93 <= coverage(verdicts(400, 4, 1.0, noise=2.0, known=known)) <= 0.995


def drawn(number: int, noise: float, chance: Random) -> list[tuple[float, list[Judging]]]:
    """True margins and the judgings of them, as in `verdicts` but without prompts: two, and four when it is close."""
    found = []
    for _ in range(number):
        true = chance.gauss(0, 2)
        means = [(7 + true / 2, 6 - true / 2), (6 + true / 2, 7 - true / 2)] * 2
        scores = [[min(10, max(0, round(chance.gauss(mean, noise)))) for mean in pair] for pair in means]
        four = pairs(*((a, b) for a, b in scores))
        found.append((true, four[:2] if _is_clear(four[:2]) else four))
    return found


@pytest.mark.parametrize("noise", [0.4, 0.8, 1.2, 1.6, 2.0])
def test_on_average_25_debates_tell_enough_of_any_judge(noise: float) -> None:
    """No lucky 25 of them: the mean over 80 times 25, each before other debates."""
    chance, held = Random(1), []
    for _ in range(80):
        trusts = [Trust(level="Low", stability=weigh(judgings)) for _, judgings in drawn(25, noise, chance)]
        known = learned_noise(map(spreads, trusts), {""})
        later = [(true, weigh(judgings, known)) for true, judgings in drawn(100, noise, chance)]
        held += [found.low <= true <= found.high for true, found in later if found]
    assert 0.935 <= fmean(held) <= 0.99


def test_on_average_the_usual_noise_is_enough_for_scores_of_a_noise_of_0_8() -> None:
    later = [(true, weigh(judgings)) for true, judgings in drawn(8000, 0.8, Random(1))]
    assert 0.97 <= fmean(found.low <= true <= found.high for true, found in later if found) <= 0.995


def test_of_a_judge_nothing_is_learned_from_two_judgings_or_from_another_judge() -> None:
    two, four = weigh(pairs((8, 5), (6, 5))), weigh(pairs((8, 5), (6, 5), (7, 6), (7, 6)))
    assert learned_noise(map(spreads, [Trust(level="Low", stability=two), Trust(level="Low")]), {""}) is None
    assert learned_noise(map(spreads, [Trust(level="Low", stability=four)]), {"another"}) is None
    known = learned_noise(map(spreads, [Trust(level="Low", stability=four)]), {""})
    assert known == JudgeNoise(points=1.137, debates=1, models=[""])
    noisy = known.model_copy(update={"points": 3.0})
    another = noisy.model_copy(update={"models": ["another"]})
    found = [weigh(pairs((8, 5), (6, 5)), noise) for noise in (noisy, another)]
    assert [each and each.noise for each in found] == [noisy, None]


def test_a_judge_that_says_the_same_whatever_it_is_shown_is_not_stable_but_biased() -> None:
    """It gives 8 to the side it reads first and 5 to the other."""
    (found,) = duels(1, (5, 5), order=3.0)
    assert found.trust
    assert found.trust.stability
    assert (found.winner, found.trust.level, found.trust.stability.order_effect) == ("undecided", "Low", 3.0)
    assert "which side was shown first mattered more than what was argued" in found.trust.reasons


def test_a_judge_to_whom_order_makes_no_difference_is_not_said_to_go_by_it() -> None:
    (found,) = duels(1, (6, 6))
    assert found.trust
    assert found.trust.stability
    assert (found.winner, found.trust.stability.order_effect) == ("undecided", 0.0)
    assert "which side was shown first mattered more than what was argued" not in found.trust.reasons


def test_one_point_for_whoever_is_read_first_wins_a_quick_duel_and_no_other() -> None:
    (quick,) = duels(1, (6, 6), {"depth": "quick"}, order=1.0)
    (normal,) = duels(1, (6, 6), {"depth": "normal"}, order=1.0)
    assert (quick.headline(), normal.headline()) == ("Debater A (pro) wins, 7 : 6", "Undecided, 6.5 : 6.5")
    assert normal.trust_text() == (
        "Trust: Low; undecided in 0 of 4 judgings, margin 0.0 (−1.2 to 1.2); the side shown first got 1.0 more"
    )

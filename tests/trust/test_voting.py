"""Decision rules: known elections, what each rule promises for any votes, and that no tie is decided by chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import isclose

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from moot.trust.voting import (
    RULES,
    Ranking,
    Result,
    Rule,
    approval,
    borda,
    copeland,
    decide,
    instant_runoff,
    majority_judgment,
    plurality,
    shuffled,
    supermajority,
    unanimity,
    weighted,
    wilson,
)

TENNESSEE = {
    "Memphis Nashville Chattanooga Knoxville": 42,
    "Nashville Chattanooga Knoxville Memphis": 26,
    "Chattanooga Knoxville Nashville Memphis": 15,
    "Knoxville Chattanooga Nashville Memphis": 17,
}
NON_MONOTONE = {"a b c": 39, "b c a": 35, "c a b": 26}
RAISED = {"a b c": 49, "b c a": 25, "c a b": 26}
"""The same, but for ten who put a first now instead of b."""


def ranking(text: str) -> Ranking:
    return [frozenset(group.split("=")) for group in text.split()]


def election(counts: Mapping[str, int]) -> dict[str, Ranking]:
    return {f"{text} {at}": ranking(text) for text, number in counts.items() for at in range(number)}


def test_in_tennessee_each_rule_elects_whom_it_is_known_to_elect() -> None:
    voters = election(TENNESSEE)
    firsts = [next(iter(each[0])) for each in voters.values()]
    assert plurality(firsts).winner == "Memphis"
    assert plurality(firsts, over=Fraction(1, 2))[0::3] == (None, "threshold")
    assert supermajority(firsts)[0::3] == (None, "threshold")
    assert instant_runoff(voters.values()).winner == "Knoxville"
    assert copeland(voters.values()).winner == "Nashville"
    points = {"Memphis": 126.0, "Nashville": 194.0, "Chattanooga": 173.0, "Knoxville": 107.0}
    assert borda(voters) == Result("Nashville", points)


def test_a_cycle_has_no_winner_under_any_rule_that_compares() -> None:
    voters = election({"a b c": 1, "b c a": 1, "c a b": 1})
    everybody = frozenset("abc")
    for found in (copeland(voters.values()), borda(voters), instant_runoff(voters.values())):
        assert (found.winner, found.tied, found.why) == (None, everybody, "tie")


def test_the_known_case_in_which_more_votes_lose_an_instant_run_off_is_kept() -> None:
    assert instant_runoff(election(NON_MONOTONE).values()).winner == "a"
    assert instant_runoff(election(RAISED).values()).winner == "c"


def test_a_borda_count_need_not_elect_whom_a_majority_puts_first() -> None:
    voters = election({"a b c": 3, "b c a": 2})
    assert borda(voters).winner == "b"
    assert copeland(voters.values()).winner == "a"


def test_two_thirds_and_everybody_mean_at_least_that() -> None:
    assert supermajority(["a", "a", "b"]).winner == "a"
    assert supermajority(["a", "a", "a", "b", "b"])[0::3] == (None, "threshold")
    assert unanimity(["a", "a"]).winner == "a"
    assert unanimity(["a", "b", "a"])[0::3] == (None, "threshold")


def test_who_is_approved_by_most_wins() -> None:
    assert approval([{"a", "b"}, {"b"}, {"c"}]) == Result("b", {"a": 1.0, "b": 2.0, "c": 1.0})
    assert approval([["a", "a"], {"b"}]).tied == {"a", "b"}


def test_a_vote_counts_as_much_as_its_weight() -> None:
    assert weighted({"x": "a", "y": "b", "z": "b"}, {"x": 2.5}).winner == "a"
    assert weighted({"x": "a", "y": "b"}, {}).why == "tie"


def test_the_highest_median_wins_and_between_equal_ones_the_grades_beside_it() -> None:
    grades = {"x": {"a": 5, "b": 4}, "y": {"a": 3, "b": 3}, "z": {"a": 1, "b": 3}}
    assert majority_judgment(grades) == Result("b", {"a": 3, "b": 3})
    assert majority_judgment({"x": {"a": 4, "b": 1}, "y": {"a": 3}}).winner == "a"
    assert majority_judgment({"x": {"a": 4, "b": 4}}).tied == {"a", "b"}


def test_reviewers_leave_their_own_out_and_nobody_loses_points_by_it() -> None:
    rankings = {"x": ranking("a b c"), "y": ranking("b a c"), "z": ranking("c a b")}
    own = {"x": "a", "y": "b", "z": "c"}
    # Without their own: x says b c, y says a c, z says a b.
    assert borda(rankings, own=own) == Result("a", {"a": 1.0, "b": 0.5, "c": 0.0})


def test_tied_places_share_their_points_and_whatever_is_left_out_comes_last() -> None:
    assert borda({"x": ranking("a b=c"), "y": ranking("c")}).tally == {"a": 2.5, "b": 1.0, "c": 2.5}


@pytest.mark.parametrize("rule", RULES)
def test_too_few_votes_and_none_at_all_are_told(rule: Rule) -> None:
    assert decide(rule, {}, ["a", "b"])[0::3] == (None, "no_votes")
    assert decide(rule, {"x": ["a"], "y": ["a"]}, ["a", "b"], quorum=3)[0::3] == (None, "quorum")
    assert decide(rule, {"x": ["a"], "y": ["a"], "z": ["a"]}, ["a", "b"], quorum=3).winner == "a"


def test_who_wins_whichever_of_the_last_leaves_has_won_and_otherwise_it_is_a_tie() -> None:
    assert instant_runoff(election({"a": 3, "b a": 1, "c a": 1}).values()).winner == "a"
    assert instant_runoff(election({"a": 2, "b": 2, "c a": 1}).values()).winner == "a"
    assert instant_runoff(election({"a": 1, "b": 1}).values()).tied == {"a", "b"}


def test_each_reader_has_an_order_of_its_own_that_never_changes() -> None:
    options = ("Postgres", "SQLite", "a file")
    orders = {shuffled(options, f"question debater_{at}") for at in range(40)}
    assert len(orders) == 6
    assert shuffled(options, "question debater_1") == shuffled(tuple(reversed(options)), "question debater_1")
    firsts = [shuffled(options, f"{at}")[0] for at in range(3000)]
    assert all(abs(firsts.count(option) / 3000 - 1 / 3) < 0.03 for option in options)


def test_the_interval_of_a_share_is_wilson_s() -> None:
    assert wilson(5, 5) == pytest.approx((0.5655, 1.0), abs=1e-4)
    assert wilson(4, 5) == pytest.approx((0.3755, 0.9638), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)


# What holds for any votes

OPTIONS = ("a", "b", "c", "d")
ballots = st.lists(st.permutations(OPTIONS), min_size=1, max_size=9)
rules = st.sampled_from(RULES)


def voted(rule: Rule, votes: Sequence[Sequence[str]]) -> Result:
    named = [vote[:2] for vote in votes] if rule == "approval" else votes
    return decide(rule, {str(at): vote for at, vote in enumerate(named)}, OPTIONS)


@given(rules, ballots, st.randoms())
def test_it_does_not_matter_who_cast_which_vote(rule: Rule, votes: list[list[str]], chance: object) -> None:
    other = list(votes)
    chance.shuffle(other)  # type: ignore[attr-defined]
    assert voted(rule, votes) == voted(rule, other)


@given(rules, ballots, st.permutations(OPTIONS))
def test_it_does_not_matter_what_an_option_is_called(rule: Rule, votes: list[list[str]], other: list[str]) -> None:
    called = dict(zip(OPTIONS, other, strict=True))
    before, after = voted(rule, votes), voted(rule, [[called[each] for each in vote] for vote in votes])
    assert after.winner == (before.winner and called[before.winner])
    assert after.tied == {called[each] for each in before.tied}
    assert after.tally == {called[option]: points for option, points in before.tally.items()}


@given(rules.filter(lambda rule: rule != "instant_runoff"), ballots, st.data())
def test_whoever_has_won_still_wins_when_somebody_ranks_it_higher(
    rule: Rule, votes: list[list[str]], data: st.DataObject
) -> None:
    winner = voted(rule, votes).winner
    assume(winner is not None)
    at = data.draw(st.integers(0, len(votes) - 1))
    place = votes[at].index(str(winner))
    higher = [each for each in votes[at] if each != winner]
    higher.insert(data.draw(st.integers(0, place)), str(winner))
    assert voted(rule, [*votes[:at], higher, *votes[at + 1 :]]).winner == winner


@given(st.sampled_from([rule for rule in RULES if rule in ("plurality", "copeland", "instant_runoff")]), ballots)
def test_whom_more_than_half_put_first_wins(rule: Rule, votes: list[list[str]]) -> None:
    firsts = [vote[0] for vote in votes]
    favourite = max(OPTIONS, key=firsts.count)
    assume(2 * firsts.count(favourite) > len(firsts))
    assert voted(rule, votes).winner == favourite


@given(rules, ballots)
def test_there_is_a_winner_or_a_reason_and_never_both(rule: Rule, votes: list[list[str]]) -> None:
    found = voted(rule, votes)
    assert (found.winner is None) == (found.why != "")
    assert bool(found.tied) == (found.why == "tie")
    assert set(found.tally) == set(OPTIONS)


@given(st.lists(st.permutations(OPTIONS), min_size=1, max_size=9))
def test_borda_hands_out_as_many_points_as_there_are_pairs(votes: list[list[str]]) -> None:
    assert isclose(sum(voted("borda", votes).tally.values()), 6 * len(votes))

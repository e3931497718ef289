"""Claims and the turns they came from."""

from __future__ import annotations

import pytest

from moot.core.debate import Turn
from moot.trust.links import linked, opposed


def said(position: int, content: str) -> Turn:
    return Turn(position=position, seat="debater_1", kind="opening", round=1, content=content)


def test_a_claim_links_to_two_turns_at_most_and_to_nothing_unlike_it() -> None:
    turns = [said(at, "Redis is quick. And good.") for at in (3, 5, 8)] + [said(9, "Cows eat grass all day.")]
    assert linked("Redis is quick.", turns) == [5, 8]
    assert linked("Cows eat grass.", turns) == [9]
    assert linked("Completely different matters.", turns) == []
    assert linked("Redis is quick.", []) == []


OPENING = (
    "The scarce resource here is not milliseconds per read but CPU on one primary. Redis takes the reads off the "
    "primary. Prices change 9,000 times an hour."
)


@pytest.mark.parametrize(
    ("claim", "turns"),
    [
        ("the scarce resource here is not milliseconds per read but CPU", [2]),
        ("the scarce resource here is milliseconds per read, not CPU on the primary", []),
        ("Redis does not take the reads off the primary", []),
        ("Prices change 9,000 times in an hour", [2]),
        ("Prices change 90,000 times an hour", []),
    ],
)
def test_no_claim_links_to_a_turn_that_negates_it_or_has_another_figure(claim: str, turns: list[int]) -> None:
    assert linked(claim, [said(2, OPENING)]) == turns


def test_a_turn_that_says_it_literally_comes_before_those_that_say_something_like_it() -> None:
    turns = [said(2, "No grant for us, and no very large renovation then."), said(7, "I say: no grant, no renovation.")]
    assert linked("No grant, no renovation", turns) == [7]


@pytest.mark.parametrize(
    ("one", "other", "are"),
    [
        ("The replica cannot read the tables.", "The replica can read the tables.", True),
        ("Das Becken ist nicht sicher.", "Das Becken ist sicher.", True),
        ("Das Becken trägt sich nicht.", "Das Becken trägt sich.", True),
        ("It is safe, and I do not see a cost.", "It is safe.", False),
        ("Nobody knows it.", "Nobody knows it here.", False),
    ],
)
def test_who_says_not_of_what_another_says_opposes_it(one: str, other: str, are: bool) -> None:
    assert opposed(one, other) == opposed(other, one) == are

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


@pytest.mark.parametrize(
    ("claim", "turn", "links"),
    [
        ("Redis is safe for production.", "Redis isn't safe for production.", False),
        ("Redis is unsafe for production.", "Redis is safe for production.", False),
        ("The move saves 30 percent of the rent.", "The move saves 13 percent of the rent.", False),
        ("The move saves 30,000 euros a year.", "The move saves 30k euros a year.", True),
        ("Redis took 0.9 ms.", "PostgreSQL took 0.9 ms. Redis took 2.4 ms.", False),
        ("The pool should stay open.", "Nobody says the pool should stay open.", False),
        ("The pool should stay open.", "I do not think that the pool should stay open.", False),
        ("The pool should stay open.", "I say that the pool should stay open.", True),
        ("The pool should stay open.", "I doubt that the pool should stay open.", False),
        ("Redis is safe for prices.", "It is false that Redis is safe for prices.", False),
        ("Attendance rose by 20% in a year.", "Attendance fell by 20% in a year.", False),
        ("The pool loses 410,000 euros a year.", "The pool earns 410,000 euros a year.", False),
        ("The switch is possible this year.", "The switch is impossible this year.", False),
        ("Closing the pool is illegal.", "Closing the pool is legal.", False),
        ("Costs will increase by a fifth within a year.", "Within a year costs will increase by a fifth.", True),
        ("Das Becken ist sicher für Kinder.", "Das Becken ist keineswegs sicher für Kinder.", False),
        ("Das Becken ist sicher für Kinder.", "Das Becken ist für Kinder sicher.", True),
        ("Wir empfehlen den Umbau.", "Wir empfehlen den Umbau nicht.", False),
        ("Es ist sicher für uns alle.", "Es ist nicht wahr, dass es sicher für uns alle ist.", False),
        ("Die Sanierung dauert für uns 3,5 Monate.", "Die Sanierung dauert für uns 35 Monate.", False),
        ("Le bassin est sûr pour les enfants.", "Le bassin n'est pas sûr pour les enfants.", False),
        ("Le bassin est sûr pour les enfants.", "Le bassin n'est jamais sûr pour les enfants.", False),
        ("Le bassin est sûr pour les enfants.", "Oui, le bassin est sûr pour les enfants.", True),
        ("Les travaux coûtent 1 850 euros.", "Les travaux coûtent 1 950 euros.", False),
        ("La piscina es segura para los niños.", "La piscina nunca es segura para los niños.", False),
        ("المسبح آمن للأطفال اليوم.", "المسبح ليس آمنا للأطفال اليوم.", False),
        ("المسبح آمن للأطفال اليوم.", "المسبح غير آمن للأطفال اليوم.", False),
        ("المسبح آمن للأطفال اليوم.", "نعم، المسبح آمن للأطفال اليوم.", True),
    ],
)
def test_a_link_is_sure_or_there_is_none_in_every_language(claim: str, turn: str, links: bool) -> None:
    assert linked(claim, [said(2, turn)]) == ([2] if links else [])


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


def test_a_claim_is_linked_to_a_sentence_that_first_says_what_it_is_not() -> None:
    said = "A loss that recurs is not a subsidy but a decision taken again every year: 2.1 million in ten years."
    turn = Turn(position=4, seat="debater_1", kind="opening", round=1, content=said)
    assert linked("A loss that recurs is a decision taken again every year", [turn]) == [4]
    assert linked("A loss that recurs is a subsidy", [turn]) == []

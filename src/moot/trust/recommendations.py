"""Whether two recommendations can be the same one, by their words alone: whoever says that they are may be wrong."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import NamedTuple

from moot.sources.quotes import negations, words
from moot.text.language import language_of, small_words
from moot.trust.links import STEM, negated, values

ALIKE = 0.5
"""Of two sentences that share so many of their words, one “not” or another figure makes the difference."""


class _Said(NamedTuple):
    """The beginnings of words, of those that are negated, and the figures."""

    plain: Set[str]
    negated: Set[str]
    figures: Set[float]


def differ(one: str, other: str, options: Sequence[str] = ()) -> bool:
    """Whether they name different options, have no word in common, or differ in a “not” or a figure alone."""
    a, b = _said(one), _said(other)
    own = _own_words(options)
    for_a, for_b = ({option for option in options if said.plain & own[option]} for said in (a, b))
    if for_a and for_b:
        return for_a.isdisjoint(for_b) or _contradict(a, b, set().union(*own.values()))
    return not (a.plain | a.negated) & (b.plain | b.negated) or _contradict(a, b, set())


def _contradict(a: _Said, b: _Said, named: Set[str]) -> bool:
    """Options that are `named` are no matter of “not”: “this, not that” is “this rather than that”."""
    all_of_a, all_of_b = a.plain | a.negated, b.plain | b.negated
    if len(all_of_a & all_of_b) < ALIKE * len(all_of_a | all_of_b):
        return False
    negates = (a.negated & b.plain | b.negated & a.plain) - named
    return bool(negates) or bool(a.figures and b.figures and a.figures.isdisjoint(b.figures))


def _own_words(options: Sequence[str]) -> dict[str, Set[str]]:
    """Of each option the words that no other one has."""
    stems = {option: _stems(option) for option in options}
    return {
        option: stems[option].difference(*(stems[each] for each in options if each != option)) for option in options
    }


def _said(text: str) -> _Said:
    denied = set(negated(text))
    return _Said(_stems(text) - denied, denied, values(text, language_of(text)))


def _stems(text: str) -> set[str]:
    known = small_words() | negations()
    return {word[:STEM] for word in words(text).split() if word not in known and word != "i" and not word.isdigit()}

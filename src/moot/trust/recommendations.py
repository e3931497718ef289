"""Whether two recommendations can be the same one, by their words alone: whoever says that they are may be wrong."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import NamedTuple

from moot.sources.quotes import negations, words
from moot.text.language import language_of, recognised, seems_english
from moot.trust.links import STEM, is_small, negated, values

ALIKE = 0.5
"""Of two sentences that share so many of their words, one “not” or another figure makes the difference."""
NOT = frozenset(
    words(
        "ne pas jamais aucun aucune non não nunca jamás nenhum ningún ninguna nessun nessuna niet geen nooit inte ikke "
        "aldrig aldri nie nigdy не нет никогда без لا لن لم ليس ليست عدم دون بدون לא אין אל בלי नहीं मत "
        "不 没 別 别 勿 未 안 못"
    ).split()
)
"""“Not” in languages that moot has no file for; without what means another thing in one that it has (“mai”, “sin”)."""
EXCEPT = frozenset(
    words(
        "before until unless except yet once without bevor bis ehe solange außer vor erst ohne avant sauf sans antes "
        "hasta salvo prima senza"
    ).split()
)
"""With one of these, a sentence may only say when, or how: “not before May” is “in May”."""


class _Said(NamedTuple):
    """The beginnings of words, of those that are negated, and the figures; and what else “not” may be."""

    text: str
    plain: Set[str]
    negated: Set[str]
    figures: Set[float]
    digits: Set[str]
    says_when: bool
    foreign_not: bool


def differ(one: str, other: str, options: Sequence[str] = ()) -> bool:
    """Whether they name different options, have no word in common, or differ in a “not” or a figure alone."""
    a, b = _said(one), _said(other)
    for_a, for_b, own = _named(a, b, options)
    if for_a and for_b:
        return for_a.isdisjoint(for_b) or _contradict(a, b, own)
    return not (a.plain | a.negated) & (b.plain | b.negated) or _contradict(a, b, set())


def clearly_differ(one: str, other: str, options: Sequence[str] = ()) -> bool:
    """Whether nobody can mean the same by them: other words alone are no other recommendation, nor is “not before”."""
    a, b = _said(one), _said(other)
    for_a, for_b, own = _named(a, b, options)
    if for_a and for_b and for_a.isdisjoint(for_b):
        return True
    unsure = a.says_when or b.says_when or (a.negated and b.negated)  # “buy none, repair it”: “repair it, don't buy”
    return not unsure and _contradict(a, b, own if for_a and for_b else set())


def cannot_tell(one: str, other: str, topic: str) -> bool:
    """Whether they are so alike that one “not” would be the difference, in a language where that may be overlooked."""
    a, b = _said(one), _said(other)
    text = f"{topic} {one} {other}"
    return words(one) != words(other) and _alike(a, b) and not (recognised(text) or seems_english(text))


def _named(a: _Said, b: _Said, options: Sequence[str]) -> tuple[Set[str], Set[str], Set[str]]:
    """The options that either names, and the words by which they are told from each other."""
    own = _own_words(options)
    for_a, for_b = ({option for option in options if _names(said, option, own[option])} for said in (a, b))
    return for_a, for_b, set().union(*own.values())


def _names(said: _Said, option: str, own: Set[str]) -> bool:
    """By a word that no other option has; one without such a word, as “keep it as it is” may be, by all it has."""
    return bool((said.plain | said.digits) & own) if own else f" {words(option)} " in f" {said.text} "


def _contradict(a: _Said, b: _Said, named: Set[str]) -> bool:
    """Options that are `named` are no matter of “not”: “this, not that” is “this rather than that”."""
    if not _alike(a, b):
        return False
    negates = (a.negated & b.plain | b.negated & a.plain) - named
    other_figures = a.figures and b.figures and a.figures.isdisjoint(b.figures)
    return bool(negates or other_figures) or a.foreign_not != b.foreign_not


def _alike(a: _Said, b: _Said) -> bool:
    all_of_a, all_of_b = a.plain | a.negated, b.plain | b.negated
    return len(all_of_a & all_of_b) >= ALIKE * len(all_of_a | all_of_b)


def _own_words(options: Sequence[str]) -> dict[str, Set[str]]:
    """Of each option the words that no other one has."""
    stems = {option: _stems(option) | _digits(option) for option in options}
    return {
        option: stems[option].difference(*(stems[each] for each in options if each != option)) for option in options
    }


def _said(text: str) -> _Said:
    denied, spoken = set(negated(text)), set(words(text).split())
    return _Said(
        words(text),
        _stems(text) - denied,
        denied,
        values(text, language_of(text)),
        _digits(text),
        says_when=not spoken.isdisjoint(EXCEPT),
        foreign_not=recognised(text) is None and not spoken.isdisjoint(NOT - negations()),
    )


def _stems(text: str) -> set[str]:
    known = negations() | NOT
    return {word[:STEM] for word in words(text).split() if not (word in known or is_small(word) or word.isdigit())}


def _digits(text: str) -> set[str]:
    return {word for word in words(text).split() if word.isdigit()}

"""Whether two recommendations can be the same one, by their words alone: whoever says that they are may be wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from itertools import islice
from typing import NamedTuple

from moot.sources.quotes import negations, plain_words, words
from moot.text.language import language_of, recognised, seems_english
from moot.trust.figures import figures
from moot.trust.links import CLAUSE, STEM, is_small, negated, opposites

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
AND = frozenset({"et", "mais", "y", "pero"})
LIMITING = frozenset({"avant", "sauf", "sans", "antes", "hasta", "salvo", "prima", "senza"})
"""Words of other such languages that join two parts of a sentence, or limit what it says."""

ALL_BUT = re.compile(
    r"\b(?:anything (?:but|except|other than|besides)|(?:everything|any \w+|every \w+) (?:except|other than|besides)|"
    r"alles (?:außer|andere als)|tout sauf|todo (?:menos|excepto|salvo)|tutto tranne)(?: for)? ",
    re.IGNORECASE,
)
"""They say “not” of what comes after them."""
ONLY = re.compile(
    r"\b(?:nothing (?:but|except|other than)|nichts (?:als|außer)|rien que|nada (?:más )?que) ", re.IGNORECASE
)
"""They do not, although a word in them does."""


class _Said(NamedTuple):
    """The beginnings of words, of those that are negated, and the figures; and what else “not” may be."""

    text: str
    plain: Set[str]
    kept: Set[str]
    """Those of the plain ones that stand behind no “not” and no “instead of”."""
    negated: Set[str]
    figures: Set[tuple[str, float]]
    """What is counted, and how many."""
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
    # “buy none, repair it”: “repair it, don't buy”
    unsure = a.says_when != b.says_when or (a.negated != b.negated and a.negated and b.negated)
    return _other_figures(a, b) or (not unsure and _contradict(a, b, own if for_a and for_b else set()))


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
    return bool((said.kept | said.digits) & own) if own else f" {words(option)} " in f" {said.text} "


def _contradict(a: _Said, b: _Said, named: Set[str]) -> bool:
    """Options that are `named` are no matter of “not”: “this, not that” is “this rather than that”."""
    if _opposite(a, b) or _other_figures(a, b):
        return True
    negates = (a.negated & b.kept | b.negated & a.kept) - named
    swapped = not named and a.kept & (b.plain - b.kept) and b.kept & (a.plain - a.kept)
    return _alike(a, b) and (bool(negates or swapped) or a.foreign_not != b.foreign_not)


def _other_figures(a: _Said, b: _Said) -> bool:
    """Of the same things; 3 buses are no other figure than 1.2 million."""
    (counts_a, values_a), (counts_b, values_b) = (
        ({what for what, _ in said.figures}, {value for _, value in said.figures}) for said in (a, b)
    )
    return _alike(a, b) and bool(counts_a & counts_b) and values_a.isdisjoint(values_b)


def _opposite(a: _Said, b: _Said) -> bool:
    """Whether one says to raise or to open what the other says to lower or to close."""
    return any(
        a.kept & ups and not a.plain & downs and b.kept & downs and not b.plain & ups and _alike(a, b, ups | downs)
        for ups, downs in opposites()
    )


def _alike(a: _Said, b: _Said, but: Set[str] = frozenset()) -> bool:
    all_of_a, all_of_b = ((said.plain | said.negated) - but for said in (a, b))
    return len(all_of_a & all_of_b) >= ALIKE * len(all_of_a | all_of_b)


def _own_words(options: Sequence[str]) -> dict[str, Set[str]]:
    """Of each option the words that no other one has."""
    stems = {option: _stems(option) | _digits(option) for option in options}
    return {
        option: stems[option].difference(*(stems[each] for each in options if each != option)) for option in options
    }


def _said(said: str) -> _Said:
    text = ALL_BUT.sub("not ", ONLY.sub("", " ".join(said.split())))
    denied, spoken = {*negated(text), *_rejected(text)}, set(words(text).split())
    plain = _stems(text) - denied
    return _Said(
        words(text),
        plain,
        plain & _stems(" ".join(_kept(text))),
        denied,
        set(_counted(text)),
        _digits(text),
        says_when=not spoken.isdisjoint(plain_words("limiting") | LIMITING),
        foreign_not=recognised(text) is None and not spoken.isdisjoint(NOT - negations()),
    )


def _kept(text: str) -> Iterator[str]:
    """The words that are not behind “not” or “instead of”, up to the end of the clause or the next “and”."""
    joining = plain_words("joining") | AND
    for clause, _ in CLAUSE.findall(text.casefold()):
        until: Set[str] = frozenset()
        for word in words(clause).split():
            if word in until:
                until = frozenset()
            elif until:
                continue
            elif word in plain_words("rather"):
                until = joining | plain_words("toward")
            elif word in plain_words("negations", "rejecting"):
                until = joining
            yield word


def _rejected(text: str) -> Iterator[str]:
    """The word that a verb of rejecting is about, unless that is negated itself."""
    for clause, _ in CLAUSE.findall(text.casefold()):
        said = words(clause).split()
        verb = next((at for at, word in enumerate(said) if word in plain_words("rejecting")), len(said))
        if plain_words("negations", "rather").isdisjoint(said[:verb]):
            yield from islice((word[:STEM] for word in said[verb + 1 :] if not is_small(word)), 1)


def _counted(text: str) -> Iterator[tuple[str, float]]:
    for figure in figures(text, language_of(text)):
        behind = re.search(rf"{re.escape(figure.text)}\W*(\w*)", text)
        yield figure.unit or (behind[1][:STEM].casefold() if behind else ""), figure.value


def _stems(text: str) -> set[str]:
    known = negations() | NOT
    return {word[:STEM] for word in words(text).split() if not (word in known or is_small(word) or word.isdigit())}


def _digits(text: str) -> set[str]:
    return {word for word in words(text).split() if word.isdigit()}

"""Which turns a claim came from: those that say it, never one that says the opposite or another figure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from functools import cache

from rapidfuzz.fuzz import token_set_ratio, token_sort_ratio

from moot.core.debate import Turn
from moot.sources.quotes import contains, negations, plain_words, words
from moot.text.language import (
    Language,
    Opposites,
    known_words,
    language_of,
    languages,
    recognised,
    seems_english,
    sentences,
)
from moot.trust.figures import figures

LINKED = 55.0
"""A claim so like a sentence of a turn, out of 100, came from there."""
LITERAL = 200.0
MAX_LINKS, CLOSE = 2, 10.0
"""At most so many turns, and only those nearly as like it as the likest."""
MAX_COMPARED = 1000
"""Characters of a claim and of a sentence; comparing takes their product."""
HALF = 0.5
"""A sentence shorter than this share of a claim does not say all of it."""
STEM = 4
"""So many letters of a word are the same in “take” and “takes”."""
MAX_NOT = 6
"""Letters; what means “not” is hardly longer, “jamais” or “nunca”."""
WITHOUT = ("un", "in", "im", "il", "ir", "dis")
CLAUSE = re.compile(r"([^,;:.!?()–—]+)([,;:.!?()–—]?)")


def linked(claim: str, turns: Sequence[Turn]) -> list[int]:
    """The turns that a claim came from, the likeliest ones, in order; those that say it literally, if any do."""
    claim = claim[:MAX_COMPARED]
    scores = [(_likeness(claim, turn.content), turn.position) for turn in turns]
    best = max((score for score, _ in scores), default=0.0)
    likely = sorted((each for each in scores if each[0] >= max(LINKED, best - CLOSE)), reverse=True)[:MAX_LINKS]
    return sorted(position for _, position in likely)


def _likeness(claim: str, text: str) -> float:
    """To the sentence that is most like it and does not contradict it."""
    if contains(claim, text):
        holders = [sentence for sentence in sentences(text) if contains(claim, sentence)]
        if not holders or not all(opposed(claim, sentence) for sentence in holders):
            return LITERAL
    language = language_of(text)
    told = recognised(text) is not None or seems_english(text)
    claimed = values(claim, language)
    likely = (
        score
        for sentence in sentences(text)
        if (score := _alike(claim, part := sentence[:MAX_COMPARED])) >= LINKED
        and not (claimed - (said := values(part, language)) and said - claimed)
        and not (opposed(claim, part) if told else _may_be_opposed(claim, part))
    )
    return max(likely, default=0.0)


def _may_be_opposed(one: str, other: str) -> bool:
    """Whether a short word stands in one alone: in a language without a file, any may mean “not”."""
    return any(len(word) <= MAX_NOT for word in set(words(one).split()) ^ set(words(other).split()))


def _alike(claim: str, sentence: str) -> float:
    short = len(sentence) < HALF * len(claim)
    return token_sort_ratio(claim, sentence) if short else token_set_ratio(claim, sentence)


def values(text: str, language: Language) -> set[float]:
    return {figure.value for figure in figures(text, language)}


def opposed(one: str, other: str) -> bool:
    """Whether one says “not”, un- or “false” of what the other says without it, or “rises” where that says “falls”."""
    ones, others = (set(words(text).split()) for text in (one, other))
    apart = ones ^ others
    undone = {f"{start}{word}" for word in apart if len(word) >= STEM for start in WITHOUT} & apart
    denied = ones.isdisjoint(plain_words("denying")) != others.isdisjoint(plain_words("denying"))
    return bool(undone) or denied or _opposite(ones, others) or _negates(one, other) or _negates(other, one)


def _opposite(ones: Set[str], others: Set[str]) -> bool:
    """Whether one says “rises” where the other says “falls”, and neither says both."""
    a, b = ({word[:STEM] for word in each} for each in (ones, others))
    return any(
        not a.isdisjoint(ups) and a.isdisjoint(downs) and not b.isdisjoint(downs) and b.isdisjoint(ups)
        for ups, downs in opposites()
    )


def _negates(one: str, other: str) -> bool:
    plain = {word[:STEM] for word in words(other).split()} - set(negated(other))
    return not plain.isdisjoint(negated(one))


def negated(text: str) -> Iterator[str]:
    """Of each negation the word it is about: the next in its clause that is more than grammar, or the last before.

    Whoever does not believe something denies what comes after, behind a comma too.
    """
    denies = False
    for clause, mark in CLAUSE.findall(text.casefold()):
        before, waiting = "", denies
        denies = False
        for word in words(clause).split():
            if word in negations():
                waiting = True
            elif waiting and word in known_words("saying", "believing"):
                denies = True
            elif not is_small(word):
                if waiting:
                    yield word[:STEM]
                before, waiting, denies = word, False, False
        if waiting and before and not denies:
            yield before[:STEM]
        denies = denies and mark == ","


@cache
def opposites() -> tuple[Opposites, ...]:
    """Beginnings of words that cannot be said of the same thing, either way round, in all languages."""
    pairs = (pair for each in languages().values() for pair in each.opposites)
    return tuple(each for one, other in pairs for each in ((one, other), (other, one)))


def is_small(word: str) -> bool:
    """Whether it is grammar: a small word of a language, or a letter, as in “not a subsidy”."""
    return word in known_words("common") or (len(word) == 1 and word.isascii() and word.isalpha())

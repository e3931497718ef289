"""How much of an argument was said before: by its speaker a round ago, or by anybody.

Counts words and knows no meaning: it tells a copy from a new argument, not a good one from a bad one. What an embedder
says of meaning is found by the library, in the sentences that `telling` picks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from moot.sources.phrases import Triple, triples
from moot.sources.quotes import words
from moot.text.language import sentences

REPEATS = 0.6
"""An argument of which so much stood in its speaker's previous round repeats it."""
STALE = 0.40
"""An argument less new than this brings nothing."""

SAME_MEANING = 0.55
"""Two sentences whose vectors of the built-in embedder are so near mean the same (bench/meaning.py)."""
MEANS_THE_SAME = 0.5
"""A speech with so many sentences that mean what its speaker said before repeats it in meaning."""
MIN_TELLING, MIN_WORDS = 4, 4
"""Speeches of fewer sentences, and sentences of fewer words, tell nothing by their meaning."""

SAME = 80.0
"""Two sentences so alike, out of 100, are one."""
CONTAINED = 0.8
"""A sentence with so many of its word triples in a text was said there, however it was cut."""
MAX_COMPARED, MAX_CHARACTERS = 300, 20_000
"""So many sentences of a text, and so much of it, are compared with those of another: comparing takes the square."""
AS_LONG = 0.6
"""A sentence much longer than another says more, even if it holds every word of it."""

QUOTED = re.compile(r'"[^"\n]*"|“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»')


def repetition(text: str, previous: str) -> float:
    """The share of a text, by words, whose sentences stood in the previous one already."""
    before = _sentences(previous[:MAX_CHARACTERS])[:MAX_COMPARED]
    known = set(triples(words(previous).split()))
    total = repeated = read = 0
    for number, sentence in enumerate(_sentences(text)):
        length, read = len(sentence.split()), read + len(sentence)
        total += length
        compared = number < MAX_COMPARED and read <= MAX_CHARACTERS
        if _contained(sentence, known) or (compared and _repeated(sentence, before)):
            repeated += length
    return repeated / total if total else 0.0


@lru_cache(maxsize=256)
def telling(text: str) -> tuple[str, ...]:
    """The sentences of a text whose meaning can be compared."""
    said = sentences(text[:MAX_CHARACTERS])
    found = tuple(sentence for sentence in said if len(words(sentence).split()) >= MIN_WORDS)
    return found[:MAX_COMPARED] if len(found) >= MIN_TELLING else ()


@dataclass(slots=True)
class SpokenBefore:
    """What was said in the rounds so far: word triple → the round that had it first."""

    question: str
    rounds: int = 0
    _first: dict[Triple, int] = field(default_factory=dict)

    def add_round(self, texts: Iterable[str]) -> None:
        self.rounds += 1
        for text in texts:
            for triple in _own_triples(text, self.question):
                self._first.setdefault(triple, self.rounds)

    def novelty(self, text: str, round: int) -> float:
        """The share of a text's triples that no round before had; quotes and the question's words don't count."""
        triples = _own_triples(text, self.question)
        new = sum(self._first.get(triple, round) >= round for triple in triples)
        return new / len(triples) if triples else 0.0


@lru_cache(maxsize=64)
def _sentences(text: str) -> tuple[str, ...]:
    return tuple(sentence for part in sentences(text) if (sentence := words(part)))


@lru_cache(maxsize=512)
def _own_triples(text: str, question: str) -> tuple[Triple, ...]:
    own = (word for word in words(QUOTED.sub(" ", text)).split() if word not in _asked(question))
    return tuple(triples(tuple(own)))


@lru_cache(maxsize=16)
def _asked(question: str) -> frozenset[str]:
    return frozenset(words(question).split())


def _contained(sentence: str, known: set[Triple]) -> bool:
    said = list(triples(sentence.split()))
    return sum(triple in known for triple in said) >= CONTAINED * len(said)


def _repeated(sentence: str, before: Sequence[str]) -> bool:
    from rapidfuzz.fuzz import token_set_ratio  # much to import, and only panels need it
    from rapidfuzz.process import extractOne

    long_enough = [earlier for earlier in before if len(earlier) >= AS_LONG * len(sentence)]
    return extractOne(sentence, long_enough, scorer=token_set_ratio, score_cutoff=SAME) is not None

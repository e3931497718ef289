"""The fixed words around what models write, in the language of the question; and where sentences end.

The English words stand in the code, as the keys of the others: a language is one file, `languages/<code>.toml`, and
what it does not translate stays English.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, TypeAlias, get_args

FOLDER = Path(__file__).parent / "languages"
_END = re.compile(r"(?<=[.!?؟…।۔])[\"”»')\]*_]*\s+|(?<=[。！？])(?![」』）])|(?<=[。！？][」』）])(?!と)|\n+")
_WORD = re.compile(r"[^\W\d_]+")
_MAY_GO_ON = re.compile(r"(?:^|[\s(])(?:(?:\w\.){1,4}|\d{1,2}\.)$")
"""An initial (“U.S.”, the “z.” of “z. B.”) or a small number (“3. Oktober”): a dot that may end nothing."""
_SPOKEN = re.compile(r"(?:[!?…]|\.\.\.)$")
"""“Really?” he asked."""
_ITEM = re.compile(r"(?:^|\n)\s*\d{1,3}\.$")
LONGEST = 24
"""Characters before a dot that tell whether it ends a sentence."""
MAX_READ = 2000
"""Characters of a text from which its language is told."""
SOME, FEW = 0.1, 5
"""The share of small words that makes a question English, and the number of words under which it need not have any."""
ENOUGH = 0.2
"""A text with fewer of a language's small words is perhaps written in another."""

WordKind: TypeAlias = Literal[
    "common", "negations", "saying", "believing", "adverbs", "articles",
    "joining", "rather", "toward", "rejecting", "limiting", "denying",
]  # fmt: skip
"""What each is for stands in `languages/en.toml`."""
Opposites: TypeAlias = tuple[frozenset[str], frozenset[str]]
"""Beginnings of words that cannot be said of the same thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """A language whose fixed words moot knows. Call it with an English sentence to get that in the language."""

    code: str
    name: str
    words: Mapping[WordKind, frozenset[str]]
    opposites: tuple[Opposites, ...] = ()
    abbreviations: frozenset[str]
    """What ends with a dot and ends no sentence, in lower case."""
    phrases: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, english: str, **values: object) -> str:
        phrase = self.phrases.get(english, english)
        return phrase.format(**values) if values else phrase

    def count(self, number: int, one: str, many: str) -> str:
        """The sentence for one thing, or the one with `{n}` for none or many."""
        return self(one) if number == 1 else self(many, n=number)


def language_of(text: str, chosen: str = "") -> Language:
    """The one that was chosen, by code or name, or that the text is written in; English when that has no file."""
    known = languages()
    if chosen:
        named = (each for each in known.values() if chosen.casefold() in (each.code, each.name.casefold()))
        return next(named, known["en"])
    return known[_told(text[:MAX_READ])[0]]


@cache
def languages() -> Mapping[str, Language]:
    """By code, English first."""
    found = {path.stem: _read(path) for path in sorted(FOLDER.glob("*.toml"))}
    return {"en": found["en"], **found}


def _read(path: Path) -> Language:
    whole = tomllib.loads(path.read_text(encoding="utf-8"))
    pairs = ([frozenset(side.split()) for side in pair] for pair in whole.get("opposites", ()))
    return Language(
        code=path.stem,
        name=whole["name"],
        words={kind: frozenset(whole.get(kind, "").split()) for kind in get_args(WordKind)},
        opposites=tuple((one, other) for one, other in pairs),
        abbreviations=frozenset(whole["abbreviations"]),
        phrases=whole.get("phrases", {}),
    )


def recognised(text: str) -> Language | None:
    """The language that a text is written in, if moot has a file for it and the text says enough to tell."""
    code, share = _told(text[:MAX_READ])
    return languages()[code] if share >= ENOUGH else None


def seems_english(text: str) -> bool:
    """Whether a text has some of English's small words, or is too short to have any and has no other's letters."""
    code, share = _told(text[:MAX_READ])
    if not text.isascii() and sum(char.isascii() for char in text) < len(text) * 0.9:
        return False
    return code == "en" and (share >= SOME or len(_WORD.findall(text)) < FEW)


@lru_cache(maxsize=256)
def _told(text: str) -> tuple[str, float]:
    """The likeliest language, and the share of its small words in the text."""
    words = [word.casefold() for word in _WORD.findall(text)]
    counts = {code: sum(word in each.words["common"] for word in words) for code, each in languages().items()}
    likeliest = max(counts, key=counts.__getitem__)
    return likeliest, counts[likeliest] / max(1, len(words))


def sentences(text: str) -> list[str]:
    """The sentences of a text in any language; a dot within “U.S.”, “e.g.” or “z. B.” ends none."""
    return list(_joined(text))


def _joined(text: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(text):
        if end[0] and "\n" not in end[0] and _goes_on(text, end.start(), end.end()):
            continue
        if part := text[start : end.end()].strip():
            yield part
        start = end.end()
    if rest := text[start:].strip():
        yield rest


def _goes_on(text: str, dot: int, following: int) -> bool:
    """Whether a sentence goes on behind the dot it seems to end with."""
    ending = text[max(0, dot - LONGEST) : dot]
    if _ITEM.search(ending) or (_SPOKEN.search(ending) and text[following : following + 1].islower()):
        return True
    if not text[dot].isspace():  # a closing mark
        return False
    last = " " + ending.casefold()
    if last.endswith(_abbreviations()):
        return True
    if not _MAY_GO_ON.search(last):
        return False
    word = _WORD.match(text, following)
    return not (word and word[0][0].isupper() and word[0].casefold() in known_words("common"))


@cache
def _abbreviations() -> tuple[str, ...]:
    """Of all languages, each behind what may stand before it."""
    known = (short for each in languages().values() for short in each.abbreviations)
    return tuple(before + short for short in known for before in (" ", "("))


@cache
def known_words(*kinds: WordKind) -> frozenset[str]:
    """Those of all languages."""
    return frozenset().union(*(each.words[kind] for each in languages().values() for kind in kinds))

"""The viewpoints of a panel: the built-in catalog, the user's own, and which of them suit a question.

A perspective values something and pays for it with something else. Two oppose each other when one pays with what the
other values; a set without such a pair would only agree. Knows no model: this is what a panel falls back on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import combinations, permutations
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BaseModel, Field, StringConstraints, ValidationInfo, field_validator

from moot.core.format import NEW
from moot.core.prompts import PERSON
from moot.errors import InvalidInput
from moot.sources.quotes import words
from moot.sources.source import CONTROL, NAME

MIN_PERSPECTIVES, MAX_PERSPECTIVES = 2, 4
USUAL = 3
"""So many take part unless the question is one or the other."""

BINARY = re.compile(r"\b(?:or|vs|versus)\b", re.IGNORECASE)
LISTED = re.compile(r",\s*(?:\S+\s+){0,2}(?:or|vs|versus)\b", re.IGNORECASE)
PAYS = re.compile(
    r"\b(?:accept|trade|give up|sacrifice|pay|tolerate)(?:s|ing)?\b(?P<costs>.+?)"
    r"\b(?:for|to gain|to get|in exchange|in return)\b(?P<values>.+)",
    re.IGNORECASE,
)
EMPTY_WORDS = frozenset({"a", "advocate", "and", "first", "for", "in", "of", "the", "to"})
"""Words of a name that say nothing about what it stands for."""


SPEAKERS = frozenset({"person", "you", "human", "user", "system", "assistant", "moderator", "clock", "library"})
"""What others are called in prompts, as is PERSON: no perspective may pass for one of them."""
LOOKALIKES = str.maketrans("аеорсухіјѕһԁԛԝкмнтвαορυνικτ", "aeopcyxijshdqwkmhtbaopuvikt")
"""Small letters of Cyrillic and Greek that are read as Latin ones."""

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, pattern=rf"^[^<>{CONTROL}]+$")]
Axis = Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True, min_length=1, max_length=40)]
Keyword = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=60)]


class Perspective(BaseModel, extra="forbid", frozen=True):
    """A viewpoint, not a person: what it wants first, and what it gives up for that."""

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=60, pattern=NAME)]
    priorities: Annotated[tuple[Annotated[Line, Field(max_length=80)], ...], Field(min_length=1, max_length=8)]
    trade_offs: Annotated[Line, Field(max_length=300, title="Gives up")]
    values: tuple[Axis, ...] = Field((), max_length=12, description="axes it stands for; else read from the above")
    costs: tuple[Axis, ...] = Field((), max_length=12, description="axes it pays with; else read from the above")
    keywords: tuple[Keyword, ...] = Field((), max_length=200, description="words of a question that call for it")

    @field_validator("name")
    @classmethod
    def _is_its_own(cls, name: str, info: ValidationInfo) -> str:
        if info.context == NEW and _passes_for_another(name):
            raise ValueError(f"{name!r} is what somebody else in the debate is called; choose another name")
        return name


def _passes_for_another(name: str) -> bool:
    read = words(re.sub(r"[-\u2010-\u2015\u2212]", " ", name)).translate(LOOKALIKES).split()
    said = {*read} - {"a", "an", "the", "this"}
    return (bool(said) and said <= SPEAKERS) or PERSON.removeprefix("the ") in " ".join(read)


class _File(BaseModel):
    perspectives: tuple[Perspective, ...]
    axes: dict[str, tuple[str, ...]]


class _Trade(NamedTuple):
    values: frozenset[str]
    costs: frozenset[str]


def catalog(custom: Sequence[Perspective], first: int | None = None) -> tuple[Perspective, ...]:
    """The built-in perspectives, or the first of them, then the user's own; one of the same name takes their place."""
    return _distinct([*_file().perspectives[:first], *custom])


def find(catalog: Iterable[Perspective], name: str) -> Perspective | None:
    return next((perspective for perspective in catalog if _key(perspective.name) == _key(name)), None)


def opposed(a: Perspective, b: Perspective) -> bool:
    """Whether one of them pays with what the other values."""
    one, other = _trade(a), _trade(b)
    return not (one.costs.isdisjoint(other.values) and other.costs.isdisjoint(one.values))


def exchanged(chosen: Sequence[Perspective]) -> list[tuple[str, str]]:
    """What each of them gives up, beside all that the others want."""
    return [(_given_up(one), wanted) for one, other in permutations(chosen, 2) for wanted in other.priorities]


def _given_up(perspective: Perspective) -> str:
    match = PAYS.search(perspective.trade_offs)
    return match["costs"] if match else perspective.trade_offs


def fault(chosen: Sequence[Perspective], opposition: bool = True) -> str | None:
    """Why these cannot debate with each other, and what to do; None if they can. Opposition may be left out of it."""
    if not MIN_PERSPECTIVES <= len(chosen) <= MAX_PERSPECTIVES:
        missing = MIN_PERSPECTIVES - len(chosen)
        change = f"{missing} more" if missing > 0 else f"{len(chosen) - MAX_PERSPECTIVES} fewer"
        allowed = f"{MIN_PERSPECTIVES} to {MAX_PERSPECTIVES}"
        return f"a panel takes {allowed} perspectives, not {len(chosen)}; choose {change}"
    keys = [_key(perspective.name) for perspective in chosen]
    for at, perspective in enumerate(chosen):
        if keys[at] in keys[:at]:
            return f"{perspective.name!r} is chosen twice; choose each perspective once"
    if not opposition or any(opposed(a, b) for a, b in combinations(chosen, 2)):
        return None
    names = ", ".join(perspective.name for perspective in chosen)
    return f"nothing to debate: none of {names} values what another gives up; exchange one for another that does"


def by_keywords(
    topic: str, catalog: Sequence[Perspective], number: int | None, chosen: Sequence[Perspective] = ()
) -> tuple[Perspective, ...]:
    """A set that can debate, made of those chosen as far as possible and of what the words of the topic call for.

    Where nobody would be opposed to anybody, the last and least relevant gives way, a chosen one too if need be.
    """
    kept = _distinct(chosen)
    ranked = _ranked(topic, _distinct([*catalog, *kept]))
    if not any(opposed(a, b) for a, b in combinations(ranked, 2)):
        raise InvalidInput(
            "no two perspectives of the catalog oppose each other; add one that values what another gives up"
        )
    wanted = _number(number, topic, kept)
    others = [perspective for perspective in ranked if perspective not in kept]
    team = (*kept, *others)[:wanted]
    return team if fault(team) is None else _mended(team, ranked)


def _mended(team: tuple[Perspective, ...], ranked: Sequence[Perspective]) -> tuple[Perspective, ...]:
    """Exchange the last for an opponent of the others; if they have none, the last two for the best opposed pair."""
    stay = team[:-1]
    for newcomer in ranked:
        if newcomer not in team and any(opposed(newcomer, other) for other in stay):
            return (*stay, newcomer)
    pairs = [(i + j, pair) for (i, a), (j, b) in combinations(enumerate(ranked), 2) if opposed(*(pair := (a, b)))]
    return (*team[:-2], *min(pairs, key=lambda pair: pair[0])[1])


def _number(number: int | None, topic: str, kept: Sequence[Perspective]) -> int:
    if number is not None and not MIN_PERSPECTIVES <= number <= MAX_PERSPECTIVES:
        raise InvalidInput(f"a panel takes {MIN_PERSPECTIVES} to {MAX_PERSPECTIVES} perspectives, not {number}")
    binary = len(BINARY.findall(topic)) == 1 and not LISTED.search(topic)
    return number or min(MAX_PERSPECTIVES, max(len(kept), MIN_PERSPECTIVES if binary else USUAL))


def _key(name: str) -> str:
    return " ".join(name.split()).casefold()


def _distinct(perspectives: Iterable[Perspective]) -> tuple[Perspective, ...]:
    """One of each name, the last in the place of the first."""
    return tuple({_key(perspective.name): perspective for perspective in perspectives}.values())


@cache
def _file() -> _File:
    import yaml  # slow to import

    return _File.model_validate(yaml.safe_load(Path(__file__).with_name("perspectives.yaml").read_text("utf-8")))


# What a text speaks of: its words and phrases against lists of words, by their stems


def _ranked(topic: str, perspectives: Sequence[Perspective]) -> list[Perspective]:
    """The most relevant first, by words found in the topic; the catalog's order decides between equals."""
    stems = _stems(topic)

    def found(perspective: Perspective) -> int:
        return sum(len(term.split()) for term in _terms(perspective) if term in stems)

    return sorted(perspectives, key=found, reverse=True)


@lru_cache(maxsize=1024)
def _terms(perspective: Perspective) -> tuple[str, ...]:
    """What to look for in a topic: the keywords and priorities, each once, and beside them the words of the name."""
    name = [word for word in words(perspective.name).split() if word not in EMPTY_WORDS]
    terms = dict.fromkeys(map(_stems, (*perspective.keywords, *perspective.priorities, *name)))
    return tuple(term for term in (*terms, *map(_stems, name)) if term.strip())


@lru_cache(maxsize=1024)
def _trade(perspective: Perspective) -> _Trade:
    """What it values and what it pays with: as stated, else as "will accept X for Y" reads."""
    match = PAYS.search(perspective.trade_offs)
    gains, gives = (match["values"], match["costs"]) if match else ("", perspective.trade_offs)
    values = frozenset(perspective.values) or _axes(". ".join((*perspective.priorities, gains)))
    costs = frozenset(perspective.costs) or _axes(gives) - (frozenset() if match else values)
    return _Trade(values, costs)


def _axes(text: str) -> frozenset[str]:
    stems = _stems(text)
    return frozenset(axis for axis, names in _file().axes.items() if any(_stems(name) in stems for name in names))


@lru_cache(maxsize=256)
def _stems(text: str) -> str:
    """The words without their endings, with a space around each."""
    return f" {' '.join(map(_stem, words(text).split()))} "


def _stem(word: str) -> str:
    """So much of a word that caching, cached, caches and cache are one."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    short = re.sub(r"(?<=..[^s])s$|(?<=..[^e])ed$|(?<=...)(?:es|ing)$", "", word)
    if short != word and re.search(r"([^aeiouls])\1$", short):
        short = short[:-1]  # debugging → debug
    return short[:-1] if len(short) > 3 and short.endswith("e") else short

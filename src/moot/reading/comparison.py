"""Two debates side by side: what was different in their making, what each came to, and what was claimed in both.

Claims are the same when they are made of the same words, or nearly: no model compares them. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import NamedTuple

from pydantic import BaseModel, Field, JsonValue
from rapidfuzz.fuzz import token_set_ratio, token_sort_ratio

from moot.core.claims import Claim
from moot.core.duration import span_seconds
from moot.core.trust import Trust
from moot.reading.debate import Reading
from moot.reading.views import DebateView, debate_view
from moot.reading.words import cost_text
from moot.trust.links import opposed

SAME_SET, SAME_SORT = 75.0, 55.0
"""Two claims so alike, out of 100, by the words they share and by all their words, are one."""
LIKE = 0.5
"""Texts that share less than this share of their words are two texts, not two versions of one."""
MAX_CLAIM = 400
MAX_WORDS = 2000
"""Words of a text that are compared one by one."""


class Piece(NamedTuple):
    """A stretch of one of two texts, and whether the other has it too."""

    text: str
    differs: bool


class PairView(BaseModel):
    name: str
    a: str
    b: str
    differs: bool


class SharedClaimView(BaseModel):
    a: Claim
    b: Claim


class ComparedClaims(BaseModel):
    both: list[SharedClaimView] = Field(description="made of the same words in both, or nearly; no model compares them")
    only_a: list[Claim]
    only_b: list[Claim]


@dataclass(frozen=True)  # no slots: what is costly is computed once
class Comparison:
    a: Reading
    b: Reading

    @property
    def same_question(self) -> bool:
        return self.a.record.topic.split() == self.b.record.topic.split()

    @property
    def same_outcome(self) -> bool:
        """Whether both came to the same headline, word for word."""
        return self.a.headline is not None and self.a.headline == self.b.headline

    @property
    def relation(self) -> str:
        """How one came of the other, if it did."""
        for one, other in ((self.a, self.b), (self.b, self.a)):
            origin = one.record.origin
            if origin and origin.debate == other.record.id:
                return f"{one.record.id} was {origin}"
        return "two debates of one question" if self.same_question else "two questions"

    @cached_property
    def setup(self) -> tuple[PairView, ...]:
        """What was chosen for each."""
        return tuple(_setup(self.a, self.b))

    @property
    def different(self) -> tuple[str, ...]:
        return tuple(pair.name for pair in self.setup if pair.differs)

    @cached_property
    def taken(self) -> tuple[PairView, ...]:
        """What each took."""
        a, b = _taken(self.a), _taken(self.b)
        return tuple(_pair(name, a[name], b[name]) for name in a)

    @cached_property
    def claims(self) -> ComparedClaims:
        return matched(*(each.ledger.claims if each.ledger else () for each in (self.a, self.b)))


def matched(a: Sequence[Claim], b: Sequence[Claim]) -> ComparedClaims:
    """Each claim with the one that is most like it, those that are most alike first."""
    likely = sorted(
        ((score, at, to) for at, one in enumerate(a) for to, other in enumerate(b) if (score := _alike(one, other))),
        key=lambda each: (-each[0], each[1], each[2]),
    )
    found: dict[int, int] = {}
    for _, at, to in likely:
        if at not in found and to not in found.values():
            found[at] = to
    return ComparedClaims(
        both=[SharedClaimView(a=a[at], b=b[to]) for at, to in sorted(found.items())],
        only_a=[claim for at, claim in enumerate(a) if at not in found],
        only_b=[claim for at, claim in enumerate(b) if at not in found.values()],
    )


def _alike(one: Claim, other: Claim) -> float:
    """How alike two claims are, out of 200; 0 when they are not the same, or one says “not” of what the other says."""
    if one.text == other.text:
        return 200.0
    a, b = one.text[:MAX_CLAIM].casefold(), other.text[:MAX_CLAIM].casefold()
    shared, whole = token_set_ratio(a, b), token_sort_ratio(a, b)
    if shared < SAME_SET or whole < SAME_SORT or _numbers(a) != _numbers(b) or opposed(a, b):
        return 0.0
    return shared / 2 + whole / 2


def _numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:[.,]\d+)*", text))


def marked(a: str, b: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Two texts with the words marked that the other has not in that place; none where nearly all would be."""
    words = [re.findall(r"\S+\s*", text)[:MAX_WORDS] for text in (a, b)]
    keys = [[word.strip().casefold() for word in each] for each in words]
    matcher = SequenceMatcher(None, keys[0], keys[1], autojunk=False)
    if matcher.ratio() < LIKE:
        return (Piece(a, False),) if a else (), (Piece(b, False),) if b else ()
    found: tuple[list[Piece], list[Piece]] = ([], [])
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        for pieces, own, start, end in ((found[0], words[0], a0, a1), (found[1], words[1], b0, b1)):
            if start < end:
                pieces.append(Piece("".join(own[start:end]), tag != "equal"))
    return tuple(found[0]), tuple(found[1])


# What was chosen, and what it took

LEFT_OUT = {"model", "models", "temperatures", "max_tokens", "sources", "extend_runtime", "whole_sources"}
"""Settings that are told in another way, or are none of a reader's concern."""


def _setup(a: Reading, b: Reading) -> Iterator[PairView]:
    yield _pair("format", _format(a), _format(b))
    yield _pair("models", a.models_text, b.models_text)
    settings = a.record.settings, b.record.settings
    left_out = LEFT_OUT | a.format.hidden
    for name in (name for name in settings[0] if name in settings[1] and name not in left_out):
        values = [_value(each.get(name)) for each in settings]
        always = name in ("depth", "max_rounds", "stances")
        if always or values[0] != values[1]:
            yield _pair(name.replace("_", " "), *values)
    yield _pair("sources", _sources(a), _sources(b))


def _pair(name: str, a: str, b: str) -> PairView:
    return PairView(name=name, a=a, b=b, differs=a != b)


def _format(reading: Reading) -> str:
    return f"{reading.record.format}, version {reading.record.format_version}"


def _sources(reading: Reading) -> str:
    return ", ".join(each.name for each in reading.sources.sources) or "none"


def _value(value: JsonValue) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_value(each)}" for name, each in value.items()) or "–"
    if isinstance(value, list):
        return ", ".join(map(_value, value)) or "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value is None or value == "" else f"{value:g}" if isinstance(value, float) else str(value)


def _taken(reading: Reading) -> dict[str, str]:
    usage = reading.usage
    return {
        "rounds": str(reading.rounds),
        "time": f"{span_seconds(reading.turns):.0f} s",
        "calls": str(usage.calls),
        "tokens": f"{usage.input_tokens:,} in, {usage.output_tokens:,} out",
        "cost": cost_text(usage),
        "ended": reading.reason or "–",
    }


# Both as JSON


class SideView(BaseModel):
    """What one of the two came to."""

    debate: DebateView
    summary: str | None
    lead: str
    trust: Trust | None
    next_steps: list[str]


class ComparisonView(BaseModel):
    relation: str = Field(description="how one came of the other, if it did")
    same_question: bool
    same_outcome: bool = Field(description="whether both headlines are the same, word for word")
    a: SideView
    b: SideView
    setup: list[PairView] = Field(description="what was chosen for each")
    taken: list[PairView] = Field(description="what each took")
    claims: ComparedClaims


def comparison_view(both: Comparison) -> ComparisonView:
    return ComparisonView(
        relation=both.relation,
        same_question=both.same_question,
        same_outcome=both.same_outcome,
        a=_side(both.a),
        b=_side(both.b),
        setup=list(both.setup),
        taken=list(both.taken),
        claims=both.claims,
    )


def _side(reading: Reading) -> SideView:
    outcome = reading.outcome
    return SideView(
        debate=debate_view(reading),
        summary=outcome.summary if outcome else None,
        lead=outcome.lead if outcome else "",
        trust=outcome.trust if outcome else None,
        next_steps=list(reading.next_steps),
    )

"""Quotes and what they were taken from: who cites which source, and whether the words really stand there.

A quote counts as verified only when it stands in its source word for word. Case, punctuation and white space may
differ, words may not: a likeness, however close, is shown beside the quote and never taken for it.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from rapidfuzz.fuzz import partial_ratio_alignment, ratio

from moot.text.plain import normalized

Verdict = Literal["verified", "near", "missing"]
Span: TypeAlias = tuple[int, int]
"""Where something begins and ends in the normal form of a text."""

NEAR = 85.0
"""So like its quote, out of 100, is a passage that the speaker must have meant."""
MIN_WORDS = 3
"""Anything shorter that stands between quotation marks is a name or a term."""
MAX_QUOTE = 2000
"""Characters; a mark further away opens something else."""
SHORT_GAP = 12
"""Words; an ellipsis over so few must not hide a negation."""
ALIGNED = 120
"""Characters; what is longer is not slid along the whole text, which can take minutes."""
PAIRS, ANCHORS = 32, 8
"""So many pairs of words of a long quote are looked for, and so many places of each are tried."""
MAX_PARTS, MAX_NEAR = 8, 24
"""A quote in more parts, or one after so many others that are not found, is found word for word or not at all."""
NEGATIONS = frozenset({"cannot", "neither", "never", "no", "none", "nor", "not", "t", "without"})
"""The `t` is what is left of "isn't"."""

OPENING = {'"': '"', "”": "“„", "“": "„", "»": "«", "«": "»"}
"""Closing mark → the marks that may open it."""
CITED = re.compile(rf"([{''.join(OPENING)}])[\s.,;:!?…*_–—-]{{0,6}}[\[(]\s?(S[1-9]\d{{0,2}})\b", re.IGNORECASE)
ELLIPSIS = re.compile(r"[\[(]?(?:…|\.{3,}|\. \. \.)[\])]?")
BLOCK_QUOTE = re.compile(r"^[ \t]*>[ \t>]*", re.MULTILINE)
HYPHEN = re.compile(r"(?<=[^\W\d_])(?:[-‐‑–]|[-‐\u00ad][ \t]*\r?\n[ \t]*)(?=[^\W\d_])")
MINUS = re.compile(r"(?<![^\s(])-(?=\d)")
CONTROL = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
"""Characters that have no place in a line."""
NAME = rf'^[^<>"{CONTROL}]+$'
"""A name stands in tags and headings: one line, and nothing that could end them."""


class Source(BaseModel):
    """A document that a debate may cite; the first is S1, the second S2."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120, pattern=NAME)]
    text: Annotated[str, StringConstraints(pattern=r"\S"), Field(json_schema_extra={"contentMediaType": "text/plain"})]


class Citation(NamedTuple):
    """Words between quotation marks, and the tag of the source they are said to stand in."""

    quote: str
    tag: str


class Match(NamedTuple):
    """Whether a quote stands in a text, and the passage most like it when it only nearly does."""

    verdict: Verdict
    passage: str | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """A citation and what became of it."""

    quote: str
    tag: str
    verdict: Verdict
    passage: str | None = None
    """What the source says instead, of a quote that is near."""


def tags(sources: Sequence[Source]) -> dict[str, Source]:
    return {f"S{number}": source for number, source in enumerate(sources, 1)}


def check(quote: str, text: str, *, look_near: bool = True) -> Match:
    """Look for the quote; an ellipsis in it stands for whatever the text says between its parts."""
    parts = _parts(quote)
    if places := _places(parts, _normal(text)):
        hidden = _hidden_negation(places, _normal(text))
        return Match("near", _original(text, *hidden)) if hidden else Match("verified")
    if not look_near or len(parts) > MAX_PARTS or len(quote) > MAX_QUOTE:  # comparing takes its time
        return Match("missing")
    passages = [_nearest(part, text) for part in parts if len(parts) == 1 or _long_enough(part)]
    found = [passage for passage in passages if passage]
    return Match("near", " … ".join(found)) if found and len(found) == len(passages) else Match("missing")


def contains(quote: str, text: str) -> bool:
    """Whether the quote stands in the text word for word."""
    places = _places(_parts(quote), _normal(text))
    return bool(places) and not _hidden_negation(places, _normal(text))


def words(text: str) -> str:
    """The words of a text in small letters, with one space between them and nothing else."""
    return " ".join(_composed(text).translate(_LETTERS).split())


def check_all(text: str, sources: Sequence[Source]) -> tuple[Checked, ...]:
    """Check everything a text cites; what is cited from a source that does not exist is missing."""
    return tuple(_checked(cited(text), tags(sources)))


def _checked(citations: Iterator[Citation], known: Mapping[str, Source]) -> Iterator[Checked]:
    unverified = 0
    for quote, tag in citations:
        found = check(quote, known[tag].text, look_near=unverified < MAX_NEAR) if tag in known else Match("missing")
        unverified += found.verdict != "verified"
        yield Checked(quote, tag, *found)


# Finding what is quoted: from each tag backwards, so that a mark which is never closed spoils nothing


def cited(text: str) -> Iterator[Citation]:
    """Every span of three or more words between double quotation marks that a tag such as [S1] follows."""
    end = 0
    for match in CITED.finditer(text):
        closing = match.start()
        start = _opened(text, max(end, closing - MAX_QUOTE), closing)
        end = match.end()
        quote = " ".join(text[start:closing].split()) if start is not None else ""
        if _long_enough(words(quote)):
            yield Citation(quote, match[2].upper())


def _opened(text: str, first: int, closing: int) -> int | None:
    """Where the quote that ends here begins; inner quotes are stepped over, unless their marks don't add up."""
    close = text[closing]
    marks = [at for at in range(closing - 1, first - 1, -1) if text[at] == close or text[at] in OPENING[close]]
    nearest = None
    depth = 1
    for at in marks:
        if not _opens(text, at, close):
            depth += 1
            continue
        depth -= 1
        nearest = at if nearest is None else nearest
        if not depth:
            return at + 1
    if nearest is None and marks:
        nearest = marks[0]
    return None if nearest is None else nearest + 1


def _opens(text: str, at: int, close: str) -> bool:
    """Whether this mark opens a quote; a straight one does at the beginning of a word."""
    if text[at] != close:
        return True
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    return close == '"' and not after.isspace() and not (before.isalnum() or before in {*".,;!?%)]…'’"})


# Comparing: both sides as words in small letters with one space between them


class _Letters(dict[int, str]):
    """What each character becomes; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        self[code] = becomes = _plain(chr(code))
        return becomes


def _plain(char: str) -> str:
    category = unicodedata.category(char)
    plain = unicodedata.normalize("NFKC", char).casefold()
    if category == "Lo" and unicodedata.east_asian_width(char) == "W":
        return f" {plain} "  # written without spaces: each is a word
    if category[0] in "LM" or category == "Nd":
        return plain
    if category in {"No", "Sc"} or (category == "Sm" and char not in "|~") or char in "%‰":
        return f" {plain} "  # 10² is not 102, and 5 % is not $5
    return "" if category == "Cf" or char == "\0" else " "


_LETTERS = _Letters()


def _composed(text: str) -> str:
    """One form for each character, in hyphens and line marks too; no longer or shorter after the first step."""
    text = normalized("NFC", text)
    text = BLOCK_QUOTE.sub(lambda mark: " " * len(mark[0]), text)
    text = HYPHEN.sub(lambda mark: "\0" * len(mark[0]), text)
    return MINUS.sub("−", text)


@lru_cache(maxsize=16)
def _normal(text: str) -> str:
    """The words with a space around each, so that only whole words match."""
    return f" {words(text)} "


@lru_cache(maxsize=16)
def _spans(text: str) -> array[int]:
    """Of each word the beginning and the end in the composed text, with the punctuation that clings to it."""
    spans = array("L")
    for match in re.finditer(r"\S+", _composed(text)):
        spans.extend(match.span() * len(match[0].translate(_LETTERS).split()))
    return spans


def _long_enough(part: str) -> bool:
    return part.count(" ") >= MIN_WORDS - 1


def _parts(quote: str) -> list[str]:
    return [found for part in ELLIPSIS.split(quote) if (found := words(part))]


def _places(parts: Sequence[str], normal: str) -> list[Span]:
    """Where the parts stand in this order; empty if one does not, or is so short that it would be found anywhere."""
    if len(parts) > 1 and not all(map(_long_enough, parts)):
        return []
    places: list[Span] = []
    end = 0
    for part in parts:
        start = normal.find(f" {part} ", end)
        if start < 0:
            return []
        end = start + len(part) + 1
        places.append((start, end))
    return places


def _hidden_negation(places: Sequence[Span], normal: str) -> Span | None:
    """The two parts, with what is between them, whose ellipsis turns what was said into its opposite."""
    for (start, gap), (gap_end, end) in pairwise(places):
        hidden = normal[gap:gap_end].split()
        if len(hidden) <= SHORT_GAP and not NEGATIONS.isdisjoint(hidden):
            return (start, end)
    return None


def _nearest(part: str, text: str) -> str | None:
    """The passage of the text that is most like these words, if one is very much like them."""
    normal = _normal(text)
    if len(part) * NEAR > len(normal) * 100:  # a text so much shorter would be found within the quote
        return None
    place = _aligned(part, normal) if len(part) <= ALIGNED else _anchored(part, normal)
    return _original(text, *place) if place else None


def _original(text: str, start: int, end: int) -> str:
    """What the text says at a place of its normal form, in whole words."""
    normal, spans = _normal(text), _spans(text)
    first = normal.count(" ", 0, start + 1) - 1  # a place may begin at the space before a word
    last = normal.count(" ", 0, end - 1) - 1
    return normalized("NFC", text)[spans[2 * first] : spans[2 * last + 1]]


def _aligned(part: str, normal: str) -> Span | None:
    alignment = partial_ratio_alignment(part, normal, score_cutoff=NEAR)
    return (alignment.dest_start, alignment.dest_end) if alignment else None


def _anchored(part: str, normal: str) -> Span | None:
    """Where most of the part's word pairs would put it: a long part is bound to share some with what it is near to."""
    votes: Counter[int] = Counter()
    pairs = list(re.finditer(r"(?=(?<!\S)(\S+ \S+))", part))
    for pair in pairs[:: 1 + len(pairs) // PAIRS]:
        at = -1
        for _ in range(ANCHORS):
            at = normal.find(pair[1], at + 1)
            if at < 0:
                break
            votes[max(0, at - pair.start())] += 1
    windows = [(ratio(part, normal[at : at + len(part)]), at) for at, _ in votes.most_common(ANCHORS)]
    score, at = max(windows, default=(0.0, 0))
    return (at, min(at + len(part), len(normal))) if score >= NEAR else None

"""Quotes and what they were taken from: who cites which source, and whether the words really stand there.

A quote counts as verified only when it stands in its source word for word. Case, punctuation, white space and other
typography (1850 for 1,850, 2 x for 2 ×, [is]) may differ, words may not: a likeness, however close, is shown beside the
quote and never taken for it.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import islice, pairwise
from typing import Literal, NamedTuple, TypeAlias

from moot.sources.citations import BLOCK_MARK, MAX_QUOTE, Citation, citations
from moot.sources.source import Source, tags
from moot.text.language import WordKind, known_words, language_of, recognised, seems_english
from moot.text.plain import normalized

Verdict = Literal["verified", "near", "missing", "no_source", "unclear"]
"""`unclear`: it leaves words out, in a language in which moot cannot tell whether they negate what was said."""
Span: TypeAlias = tuple[int, int]
"""Where something begins and ends in a text or in its normal form."""

NEAR = 85.0
"""So like its quote, out of 100, is a passage that the speaker must have meant."""
MIN_WORDS, MIN_UNTAGGED = 3, 5
"""Words; what is shorter between quotation marks is a name or a term. Without a tag it takes more to be a quote."""
MAX_UNTAGGED = 100
"""So many quotes without a tag are looked for in all sources."""
SHORT_GAP = 12
"""Words; an ellipsis over so few must not hide a negation."""
ALIGNED = 120
"""Characters; what is longer is not slid along the whole text, which can take minutes."""
PAIRS, ANCHORS = 32, 8
"""So many pairs of words of a long quote are looked for, and so many places of each are tried."""
EDGE = 24
"""Characters by which a passage may be off."""
MAX_PARTS, MAX_NEAR = 8, 24
"""A quote in more parts, or one after so many others that are not found, is found word for word or not at all."""
CUT_OFF = re.compile(r"[^\W\d_] \w+(?:[.,;:!?]\W*|\n?)$")
"""A clause with its last word: “We recommend it not.”"""
SENTENCE, NO_END = 200, re.compile(r"[\w'’]+\s")
ELLIPSIS = re.compile(r"[\[(]?(?:…|\.{3,}|\. \. \.)[\])]?")
HYPHEN = re.compile(r"(?<=[^\W\d_])(?:[-‐‑–]|[-‐\u00ad][ \t]*\r?\n[ \t]*)(?=[^\W\d_])")
BROKEN = re.compile(r"(?<=[^\W\d_])[-‐] (?=[^\W\d_])")
"""A word that the end of a line has broken, in a quote without that line's end."""
MINUS = re.compile(r"(?<![^\s(])-(?=\d)")
TIMES = re.compile(r"(?<=\d)( ?)[xX](?![^\W\d_])")
MONEY = re.compile(r"(?<!\w)([€$£¥])([ \u00a0]?)(\d(?:[\d.,\0]*\d)?)")
OTHER_SCRIPT = re.compile("[٠-٩۰-۹०-९০-৯๐-๙٬\u064b-\u0652\u0670ـ]")
"""Digits of other scripts, and what Arabic may write or leave out: vowels, a longer line, a sign between thousands."""
GLUED = re.compile(r"(\d)(?=[^\W\d_])")
"""350kg is 350 kg."""
GROUPED = {
    sign: re.compile(
        rf"(?<![\d.,])[1-9]\d{{0,2}}([{sign} '’\u00a0\u2009\u202f])\d{{3}}(?:\1\d{{3}})*(?!\d|[.,]\d{{3}}(?!\d))"
    )
    for sign in (",", ".")
}
"""Numbers with a sign between thousands; the other one then begins a fraction."""
ADDED = re.compile(r"\[([^\W\d_]{1,3})\](?=[^\W\d_])|\[(?=[^\W\d_])[^\[\]\d…]{1,40}\]")
"""Square brackets in a quote: a letter in another case, or words that whoever quotes has added."""


class Match(NamedTuple):
    """Whether a quote stands in a text, and when it only nearly or perhaps does, the passage most like it."""

    verdict: Verdict
    passage: str | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """A citation and what became of it."""

    quote: str
    tag: str
    """Where it is said to stand, or, if it does not say so, where it stands; "" if that is nowhere."""
    verdict: Verdict
    passage: str | None = None
    """What the source says instead, of a quote that is near; or where words were left out, if that is unclear."""

    @property
    def false(self) -> bool:
        """Whether it says what its source does not say."""
        return self.verdict not in ("verified", "unclear")


def check(quote: str, text: str, *, look_near: bool = True) -> Match:
    """Look for the quote; an ellipsis in it stands for whatever the text says between its parts."""
    normal = _normal(text)
    for parts in (readings := _readings(quote, text)):
        if places := _places(parts, normal):
            return _verified_if_nothing_is_hidden(places, text)
    parts = readings[0]
    if not look_near or len(parts) > MAX_PARTS or len(quote) > MAX_QUOTE:  # comparing takes its time
        return Match("missing")
    passages = [_nearest(part, text) for part in parts if len(parts) == 1 or _long_enough(part)]
    found = [passage for passage in passages if passage]
    return Match("near", " … ".join(found)) if found and len(found) == len(passages) else Match("missing")


def places(quote: str, text: str) -> list[Span]:
    """Where the parts of a quote stand in a text that says them word for word, in the text's NFC form."""
    found = (_places(parts, _normal(text)) for parts in _readings(quote, text))
    return [_span(text, *place) for place in next(filter(None, found), ())]


def contains(quote: str, text: str) -> bool:
    """Whether the quote stands in the text word for word."""
    return check(quote, text, look_near=False).verdict == "verified"


def words(text: str) -> str:
    """The words of a text in small letters, with one space between them and nothing else."""
    return " ".join(_composed(text).translate(_LETTERS).split())


def cited(text: str, known: Collection[str] = ()) -> Iterator[Citation]:
    """What is quoted in a text with a tag, in three words or more, or without one, in five or more."""
    for found in citations(text, known):
        if _long_enough(words(found.quote), MIN_WORDS if found.tag else MIN_UNTAGGED):
            yield found


def check_all(text: str, sources: Sequence[Source], said: Sequence[str] | None = None) -> tuple[Checked, ...]:
    """Check everything a text quotes from sources.

    One without a tag counts if it does not stand in what anybody said before; without knowing what was said, only
    those with a tag do.
    """
    known = tags(sources)
    found = ((quote, "" if _is_a_name(tag, text, known) else tag) for quote, tag in cited(text, known))
    return tuple(_with_its_not(each, text, known) for each in _checked(found, known, said))


def _with_its_not(checked: Checked, text: str, known: Mapping[str, Source]) -> Checked:
    """One that begins right behind a “not” is false, unless whoever quotes says “not” before it, or names a thing."""
    thing = words(checked.quote[:40]).split(" ")[0] in known_words("articles")
    if thing or checked.verdict != "verified" or not (passage := _behind_not(checked.quote, known[checked.tag].text)):
        return checked
    before = re.split(r"[.!?]\s", text[max(0, (at := text.find(checked.quote)) - SENTENCE) : at])[-1]
    denies = not negations().isdisjoint(words(before).split())
    return checked if denies else replace(checked, verdict="near", passage=passage)


def _behind_not(quote: str, text: str) -> str | None:
    """What the text says, with the “not” before it, if it nowhere says it without."""
    normal = _normal(text)
    part = next(parts[0] for parts in _readings(quote, text) if _places(parts, normal))
    starts = [found.start() for found in islice(re.finditer(f"(?= {re.escape(part)} )", normal), ANCHORS)]
    found = [(normal.rfind(" ", 0, at), at) for at in starts]
    known = negations() - {"noch"}  # that is “still”, too
    passages = [_original(text, begin, at + len(part) + 1) for begin, at in found if normal[begin + 1 : at] in known]
    return passages[0] if len(passages) == len(found) and all(map(NO_END.match, passages)) else None


def _is_a_name(tag: str, text: str, known: Mapping[str, Source]) -> bool:
    """Whether what looks like a tag, of no source and never in brackets, is a word of the sources: Amazon's S3."""
    if not tag or tag in known or re.search(rf"[\[(][^\])\n]*\b{tag}\b", text, re.IGNORECASE):
        return False
    return any(re.search(rf"\b{tag}\b", source.text) for source in known.values())


def _checked(
    found: Iterator[tuple[str, str]], known: Mapping[str, Source], said: Sequence[str] | None
) -> Iterator[Checked]:
    unverified = untagged = 0
    for quote, tag in found:
        untagged += not tag
        if not tag and (said is None or untagged > MAX_UNTAGGED or any(contains(quote, each) for each in said)):
            continue
        checked = _in_source(quote, tag, known, unverified < MAX_NEAR) if tag else _in_any(quote, known, unverified)
        if checked.verdict == "missing" and not tag and (quote.endswith("?") or _is_a_title(quote)):
            continue
        unverified += checked.verdict != "verified"
        yield checked


def _is_a_title(quote: str) -> bool:
    """Whether All Long Words of It Begin so, which only English does: the name of a book, which no source need have."""
    return seems_english(quote) and all(word.istitle() for word in re.findall(r"[^\W\d_]{4,}", quote))


def _in_source(quote: str, tag: str, known: Mapping[str, Source], look_near: bool) -> Checked:
    if tag not in known:
        return Checked(quote, tag, "no_source")
    return Checked(quote, tag, *check(quote, known[tag].text, look_near=look_near))


def _in_any(quote: str, known: Mapping[str, Source], unverified: int) -> Checked:
    """The source in which a quote without a tag stands, or else the first that has something like it."""
    exact = (_in_source(quote, tag, known, False) for tag in known)
    near = (_in_source(quote, tag, known, unverified < MAX_NEAR) for tag in known)
    found = (checked for search in (exact, near) for checked in search if checked.verdict != "missing")
    return next(found, Checked(quote, "", "missing"))


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
    text = BLOCK_MARK.sub(lambda mark: " " * len(mark[0]), text)
    text = HYPHEN.sub(lambda mark: "\0" * len(mark[0]), text)
    return TIMES.sub(r"\1×", MINUS.sub("−", text))


def _compared(text: str, sign: str) -> str:
    """The composed text with numbers in one form, without what separates their thousands; no longer or shorter."""
    text = OTHER_SCRIPT.sub(lambda char: str(unicodedata.decimal(char[0], "\0")), _composed(text))
    if sign:
        text = GROUPED[sign].sub(lambda number: re.sub(r"\D", "\0", number[0]), text)
    return MONEY.sub(r"\3\2\1", text)


def _words(compared: str) -> list[str]:
    return GLUED.sub(r"\1 ", compared.translate(_LETTERS)).split()


@lru_cache(maxsize=16)
def _sign(text: str) -> str:
    """What separates thousands in a text."""
    return "," if language_of(text).code == "en" else "."


@lru_cache(maxsize=16)
def _normal(text: str) -> str:
    """The words with a space around each, so that only whole words match."""
    return f" {' '.join(_words(_compared(text, _sign(text))))} "


@lru_cache(maxsize=16)
def _spans(text: str) -> array[int]:
    """Of each word the beginning and the end in the composed text, with the punctuation that clings to it."""
    spans = array("L")
    for match in re.finditer(r"\S+", _compared(text, _sign(text))):
        spans.extend(match.span() * len(_words(match[0])))
    return spans


def _long_enough(part: str, least: int = MIN_WORDS) -> bool:
    return part.count(" ") >= least - 1


def _readings(quote: str, text: str) -> list[list[str]]:
    """The parts of a quote: with its numbers read as those of the text, as elsewhere, and as they stand there."""
    quote = ADDED.sub(_without_added, quote)
    return [
        [found for part in ELLIPSIS.split(written) if (found := " ".join(_words(_compared(part, sign))))]
        for written in dict.fromkeys([quote, BROKEN.sub("", quote)])
        for sign in (_sign(text), *GROUPED, "")
    ]


def _without_added(bracket: re.Match[str]) -> str:
    """What was added goes, unless it turns the quote into its opposite."""
    if bracket[1] and (len(bracket[1]) == 1 or bracket[1].casefold() not in negations()):
        return bracket[1]
    return bracket[0] if not negations().isdisjoint(words(bracket[0]).split()) else " "


@cache
def plain_words(*kinds: WordKind) -> frozenset[str]:
    """The words of all languages of these kinds as `words` writes them; of “isn't” that is the `t`."""
    return frozenset(words(word).split()[-1] for word in known_words(*kinds))


negations = partial(plain_words, "negations")


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


def _verified_if_nothing_is_hidden(places: Sequence[Span], text: str) -> Match:
    """An ellipsis over a few words may turn what was said into its opposite, and so may an end before the last one."""
    normal = _normal(text)
    for (start, gap), (gap_end, end) in pairwise(places):
        hidden = normal[gap:gap_end].split()
        if not hidden or len(hidden) > SHORT_GAP:
            continue
        if not negations().isdisjoint(hidden):
            return Match("near", _original(text, start, end))
        if recognised(text) is None:
            return Match("unclear", _original(text, start, end))
    start, end = places[-1]
    cut_off = normal.find(" ", end + 1)
    if normal[end + 1 : cut_off] in negations():
        begin, stop = _span(text, start, cut_off)
        if CUT_OFF.search(normalized("NFC", text)[begin : stop + 1]):
            return Match("near", _original(text, start, cut_off))
    return Match("verified")


def _nearest(part: str, text: str) -> str | None:
    """The passage of the text that is most like these words, if one is very much like them."""
    normal = _normal(text)
    if len(part) * NEAR > len(normal) * 100:  # a text so much shorter would be found within the quote
        return None
    place = _aligned(part, normal) if len(part) <= ALIGNED else _anchored(part, normal)
    return _original(text, *_cut_alike(part, normal, *place)) if place else None


def _cut_alike(part: str, normal: str, start: int, end: int) -> Span:
    """The place from the first to the last word of the part, if these stand close to its beginning and end."""
    first, last = f" {part.partition(' ')[0]} ", f" {part.rpartition(' ')[2]} "
    begins = normal.find(first, max(0, start - len(first)), start + EDGE)
    ends = normal.rfind(last, max(0, end - EDGE), end + len(last))
    cut = (begins if begins >= 0 else start, ends + len(last) - 1 if ends >= 0 else end)
    return cut if cut[0] < cut[1] else (start, end)


def _original(text: str, start: int, end: int) -> str:
    """What the text says at a place of its normal form, from a word's beginning to a word's end."""
    begin, end = _span(text, start, end)
    return normalized("NFC", text)[begin:end]


def _span(text: str, start: int, end: int) -> Span:
    normal, spans = _normal(text), _spans(text)
    start = _at_a_word(normal, start)
    first = normal.count(" ", 0, start + 1) - 1  # a place may begin at the space before a word
    last = normal.count(" ", 0, end - 1) - 1
    return spans[2 * first], spans[2 * last + 1]


def _at_a_word(normal: str, start: int) -> int:
    """A word of which only the end was found is none of the passage's, unless it negates it."""
    if normal[start] == " ":
        return start
    begin, end = normal.rfind(" ", 0, start) + 1, normal.find(" ", start)
    return begin if 2 * (end - start) >= end - begin or normal[begin:end] in negations() else end


def _aligned(part: str, normal: str) -> Span | None:
    from rapidfuzz.fuzz import partial_ratio_alignment  # much to import, and seldom needed

    alignment = partial_ratio_alignment(part, normal, score_cutoff=NEAR)
    return (alignment.dest_start, alignment.dest_end) if alignment else None


def _anchored(part: str, normal: str) -> Span | None:
    """Where most of the part's word pairs would put it: a long part is bound to share some with what it is near to."""
    from rapidfuzz.fuzz import ratio

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

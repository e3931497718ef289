"""Where citations lead: each tag of a text to its source, and there to the page, the section or the words it quotes.

A tag stands in square brackets, [S1] or [S3 p. 12], or without them, S1 says. Without them it is one only if there is
such a source, and neither the question nor a source has it as a word of its own: S3 may be the name of something.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from moot.sources.citations import Found, found_in
from moot.sources.quotes import Checked, Span, check_all, contains, places
from moot.sources.source import Source, tags
from moot.text.plain import normalized

Use: TypeAlias = Literal["carried", "cited", "unused"]
"""`carried`: what the decision rests on cites it."""
Fault: TypeAlias = Literal["no_source", "not_yet", "no_page", "other_page", "no_section", "not_found", "misquoted"]
"""`not_yet`: whoever cites it spoke before it was found."""

MAX_PART = 40_000
"""Characters of a long source that are shown at once."""
BRACKETED = 80
"""Characters before a tag in which the bracket may open that it stands in."""
_RANGE = r"\d{1,5}(?!\d)(?:\s?[-–—]\s?\d{1,5}(?!\w))?"
_PAGES = rf"(?P<pages>{_RANGE}(?:(?:,|\s?&|\s(?:and|und))\s?{_RANGE}(?=[^\[\]()\n]{{0,40}}[\])]))*)"
_NUMBER = r"\d{1,3}(?:\.\d{1,3}){0,4}"
_TAG = re.compile(
    r"(?:(?<![\w/.#-])|(?<=\b[Ss]\d-)|(?<=\b[Ss]\d\d-))(?P<tag>[Ss][1-9]\d{0,2})\b(?!-(?![Ss][1-9])\w|/\w|\.\w)"
    rf"(?:,?\s?(?:pp?\.?|pages?|S\.|Seiten?)\s?{_PAGES}"
    r"|,?\s?§\s?(?P<section>[^\]\[\n]{1,80}?)\s?(?=[\])]|[,;]\s?[Ss][1-9])"
    rf"|,?\s?(?:§|(?i:section|sec\.|Abschnitt))\s?(?P<number>{_NUMBER})(?![\w.]*\d))?"
)
_NUMBERED = re.compile(_NUMBER)
_TITLED = r"[.:)]?(?:\s+[^\W\d_].{0,100}(?<![.,;])|$)"
"""What stands behind the number of a heading."""
_OPENED = re.compile(r"\[[^\[\]\n]*$")
_TAG_LIKE = re.compile(r"\bS[1-9]\d{0,2}\b")


class Reference(NamedTuple):
    """A tag in a text, what it names beside the source, and what is quoted with it."""

    start: int
    end: int
    tag: str
    pages: tuple[Span, ...] = ()
    """The first and the last of each range."""
    section: str = ""
    quote: str = ""


class Target(NamedTuple):
    """A place in a source, and the name of the anchor there; "" at its top."""

    at: int
    anchor: str


class Passage(NamedTuple):
    """A piece of a source that turns quote, or name by its heading; `exact` unless they quote it in other words."""

    start: int
    end: int
    exact: bool
    turns: tuple[int, ...]


class Unresolved(NamedTuple):
    """A citation that leads nowhere; `says` is what the source says instead, or the page on which it does."""

    turn: int
    cited: str
    fault: Fault
    quote: str = ""
    says: str = ""


class SourceText:
    """The text of a source in its NFC form, in which places are found and which is shown part by part."""

    def __init__(self, text: str) -> None:
        self._given = text

    @cached_property
    def text(self) -> str:
        return normalized("NFC", self._given)

    @cached_property
    def pages(self) -> tuple[int, ...]:
        """Where each page begins; none in a text without pages."""
        breaks = [found.end() for found in re.finditer("\f\n?", self.text)]
        return (0, *breaks) if breaks else ()

    @cached_property
    def parts(self) -> tuple[Span, ...]:
        """Parts that end with a line, unless that is longer than a part."""
        found: list[Span] = []
        start = 0
        while len(self.text) - start > MAX_PART:
            cut = max(self.text.rfind(mark, start + MAX_PART // 2, start + MAX_PART) for mark in "\n\f")
            end = start + MAX_PART if cut < 0 else cut + 1
            found.append((start, end))
            start = end
        return (*found, (start, len(self.text)))

    def page_at(self, at: int) -> int | None:
        return sum(begin <= at for begin in self.pages) or None

    def part_at(self, at: int) -> int:
        """From 1."""
        return sum(start <= at for start, _ in self.parts)

    def page(self, number: int) -> int | None:
        """Where a page begins, if there is one of that number."""
        return self.pages[number - 1] if 0 < number <= len(self.pages) else None

    def has_pages(self, named: Iterable[Span]) -> bool:
        return all(self.page(number) is not None for each in named for number in each)

    def other_page(self, quote: str, named: Sequence[Span]) -> int | None:
        """The page on which a quote stands; None if it does on those that are named for it, or reaches there."""
        found = [page for place in places(quote, self.text) for page in map(self.page_at, place) if page]
        there = any(first <= page <= last for first, last in named for page in found)
        if there or any(contains(quote, self.text[self.page(first) : self.page(last + 1)]) for first, last in named):
            return None
        return next(iter(found), None)

    def section(self, title: str) -> Span | None:
        """The heading of this number or these words; else the first line that ends with them."""
        wanted = title.strip(" .,;:\"'“”#").casefold()
        if not wanted:
            return None
        numbered = _NUMBERED.fullmatch(wanted) and re.compile(
            rf"(?:§\s?|section |abschnitt )?{re.escape(wanted)}{_TITLED}"
        )
        found: list[tuple[bool, Span]] = []
        for line in re.finditer(r"[^\n\f]+", self.text):
            bare = line[0].casefold().strip(" #*\t")
            if numbered and numbered.fullmatch(bare):
                found.append((not line[0].startswith("#"), line.span()))
            elif not numbered and bare.endswith(wanted):
                found.append((bare != wanted, line.span()))
        return min(found)[1] if found else None


@dataclass(frozen=True, slots=True)
class SourceUse:
    """What became of one source; `turns` are those that cite it."""

    tag: str
    name: str
    source: SourceText
    use: Use
    turns: tuple[int, ...]
    passages: tuple[Passage, ...]

    def words(self, passage: Passage) -> str:
        return self.source.text[passage.start : passage.end]


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What a debate has made of its sources."""

    sources: tuple[SourceUse, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()

    def of_use(self, use: Use) -> tuple[SourceUse, ...]:
        return tuple(each for each in self.sources if each.use == use)


class Index:
    """The sources of a debate, in which references are found and followed; made by `index`."""

    def __init__(self, sources: Sequence[Source], topic: str) -> None:
        self._sources = tags(sources)
        self._all = tuple(sources)
        words = {word for text in (topic, *(each.text for each in sources)) for word in _TAG_LIKE.findall(text)}
        self._bare = self._sources.keys() - words
        self._names = words - self._sources.keys()
        self._texts = {tag: SourceText(source.text) for tag, source in self._sources.items()}
        self._cited: dict[tuple[str, int], _Cited] = {}
        self._near: dict[tuple[str, str], int] = {}

    @property
    def has_sources(self) -> bool:
        return bool(self._sources)

    def source(self, tag: str) -> SourceText | None:
        return self._texts.get(tag)

    def references(self, text: str) -> list[Reference]:
        """The tags of a text, in order."""
        if not self._sources:
            return []
        quoted = sorted(each for each in found_in(text, self._sources) if each.citation.tag)
        return [found for match in _TAG.finditer(text) if (found := self._reference(text, match, quoted))]

    def _reference(self, text: str, match: re.Match[str], quoted: Sequence[Found]) -> Reference | None:
        at, tag = match.start(), match["tag"].upper()
        last = bisect_right(quoted, at, key=lambda each: each.start)
        before = quoted[max(0, last - 1) : last]
        quote = next((each.citation.quote for each in before if each.citation.tag == tag and at < each.end), "")
        opened = _OPENED.search(text[max(0, at - BRACKETED) : at])
        if not (opened or match["tag"] in self._bare or (quote and tag not in self._names)):
            return None
        section = (match["section"] or match["number"] or "").strip()
        return Reference(at, match.end(), tag, _ranges(match["pages"] or ""), section, quote)

    def target(self, found: Reference) -> Target | None:
        """Where in its source a reference leads: to the quoted words, else to the section or page, else to the top.

        None where there is no such source. Words that are quoted wrongly are found if a report knows them.
        """
        source = self.source(found.tag)
        if source is None:
            return None
        quoted = places(found.quote, self._sources[found.tag].text) if found.quote else ()
        section = source.section(found.section) if found.section else None
        at = quoted[0][0] if quoted else section[0] if section else self._near.get((found.tag, found.quote))
        if at is not None:
            return Target(at, f"at-{at}")
        first = found.pages[0][0] if found.pages else 0
        page = source.page(first)
        return Target(0, "") if page is None else Target(page, f"page-{first}")

    def report(
        self,
        said: Mapping[int, str],
        basis: Iterable[str] = (),
        linked: Collection[int] = (),
        looked_up: Sequence[int] = (),
    ) -> SourceReport:
        """What turns cite, by position; a decision rests on the words of `basis` and on the turns it is `linked` to.

        The last sources were `looked_up` in turns at these positions: nobody could quote them before.
        """
        if not self._sources:
            return SourceReport()
        found = {turn: self._look(text, sum(at > turn for at in looked_up)) for turn, text in said.items()}
        carried = {each.tag for text in basis for each in self.references(text)}
        carried |= {tag for text in basis for tag in _between(text, self.references(text))}
        carried |= {tag for turn in linked if turn in found for tag in found[turn].rightly}
        uses = (self._use(tag, found, tag in carried) for tag in self._sources)
        faults = (fault._replace(turn=turn) for turn, each in found.items() for fault in each.faults)
        return SourceReport(tuple(uses), tuple(faults))

    def _use(self, tag: str, found: Mapping[int, _Cited], carried: bool) -> SourceUse:
        turns = tuple(turn for turn, each in found.items() if tag in each.tags)
        by_place: dict[tuple[int, int, bool], list[int]] = {}
        for turn, each in found.items():
            for place in each.places.get(tag, ()):
                by_place.setdefault(place, []).append(turn)
        passages = tuple(Passage(*place, tuple(dict.fromkeys(by))) for place, by in sorted(by_place.items()))
        use: Use = "carried" if carried else "cited" if turns else "unused"
        return SourceUse(tag, self._sources[tag].name, self._texts[tag], use, turns, passages)

    def doubtful(self, text: str) -> set[Reference]:
        """The tags of a text that lead nowhere, or to something else than is said of them."""
        faults = {(each.cited, each.quote) for each in self.faults(text)}
        return {each for each in self.references(text) if (_written(each), each.quote) in faults}

    def faults(self, text: str) -> list[Unresolved]:
        """What in a text leads nowhere; of no turn in particular."""
        return self._look(text, 0).faults

    def _look(self, text: str, unknown: int) -> _Cited:
        """What a text cites that was said before the last sources were known; looked for once, however often shown."""
        if known := self._cited.get((text, unknown)):
            return known
        cited = self._cited[text, unknown] = _Cited()
        if references := self.references(text):
            checked = {(each.tag, each.quote): each for each in check_all(text, self._all)}
            for each in references:
                if each.tag in self._sources and int(each.tag[1:]) > len(self._all) - unknown:
                    cited.faults.append(Unresolved(0, _written(each), "not_yet", each.quote))
                else:
                    self._add(cited, each, checked.get((each.tag, each.quote)))
            cited.tags.update(_between(text, references) & self._sources.keys())
        return cited

    def _add(self, cited: _Cited, found: Reference, quote: Checked | None) -> None:
        source = self.source(found.tag)
        if fault := _fault(found, source, quote):
            cited.faults.append(Unresolved(0, _written(found), fault[0], found.quote, fault[1]))
        if source is None:
            return
        cited.tags.add(found.tag)
        if not (quote and quote.false):
            cited.rightly.add(found.tag)
        own = cited.places.setdefault(found.tag, [])
        if quote and quote.verdict == "verified":
            exact = places(quote.quote, self._sources[found.tag].text)
            own.extend((start, start + len(source.text[start:end].rstrip(",;:.")), True) for start, end in exact)
        elif quote and quote.passage:
            parts = [(source.text.find(part), len(part)) for part in quote.passage.split(" … ")]
            near = [(at, at + length, False) for at, length in parts if at >= 0]
            own.extend(near)
            if near:
                self._near[found.tag, found.quote] = near[0][0]
        if found.section and (span := source.section(found.section)):
            own.append((*span, True))


@lru_cache(maxsize=8)
def index(sources: tuple[Source, ...], topic: str) -> Index:
    return Index(sources, topic)


@dataclass(frozen=True, slots=True)
class _Cited:
    """What one text cites: tags, those that it quotes rightly, the places it quotes, and what leads nowhere."""

    tags: set[str] = field(default_factory=set)
    rightly: set[str] = field(default_factory=set)
    places: dict[str, list[tuple[int, int, bool]]] = field(default_factory=dict)
    faults: list[Unresolved] = field(default_factory=list)


def _fault(found: Reference, source: SourceText | None, quote: Checked | None) -> tuple[Fault, str] | None:
    """Why it leads nowhere, and what the source says instead."""
    if source is None:
        return "no_source", ""
    if quote and quote.false:
        return ("misquoted", quote.passage) if quote.passage else ("not_found", "")
    if not source.has_pages(found.pages):
        return "no_page", ""
    verified = quote is not None and quote.verdict == "verified"
    if found.pages and verified and (page := source.other_page(found.quote, found.pages)):
        return "other_page", f"p. {page}"
    return ("no_section", "") if found.section and not source.section(found.section) else None


def _written(found: Reference) -> str:
    """S3, S3 p. 12–14, 16 or S3 § Results."""
    pages = ", ".join(f"{first}–{last}" if last > first else f"{first}" for first, last in found.pages)
    return f"{found.tag}{f' p. {pages}' if pages else ''}{f' § {found.section}' if found.section else ''}"


def _between(text: str, references: Sequence[Reference]) -> set[str]:
    """The tags that [S1–S3] means and does not write."""
    ends = ((a, b) for a, b in pairwise(references) if text[a.end : b.start].strip() in ("-", "–", "—"))
    return {f"S{number}" for a, b in ends for number in range(int(a.tag[1:]) + 1, int(b.tag[1:]))}


def _ranges(pages: str) -> tuple[Span, ...]:
    """`12-14, 16` are 12 to 14 and 16 to 16."""
    found = ([int(number) for number in re.findall(r"\d+", each)] for each in re.findall(_RANGE, pages))
    return tuple((each[0], max(each)) for each in found)

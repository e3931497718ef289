"""A long text in passages that can be embedded, quoted and found again; each knows where in the text it stands.

A passage ends where its section or its page does, and a table stays whole while it can.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

SIZE = 900
"""Characters of a passage."""
MAX_TABLE = 2400
"""Characters of a table that stays whole."""
CAPTION = 300
"""Characters of what may stand before a table, in its passage."""
LONGEST = MAX_TABLE + CAPTION
"""Characters of a passage: whoever hands some out has room for so many at least."""

_BORDERS = (
    re.compile(r"\n\s*\n"),  # paragraphs
    re.compile(r"(?<=[.!?…])\s+|(?<=[.!?…][\"'”’»)\]])\s+|(?<=[。！？])|\n"),  # sentences, and the lines of a list
    re.compile(r"\s+"),  # words
)
"""Each takes time in proportion to the text, whatever the text is."""
_PLACE = re.compile(
    r"(?P<page>\f)|^(?:(?P<fence>```|~~~)|(?P<marks>\#{1,6})[ \t]+(?P<title>\S.{0,200})"
    r"|(?P<number>\d{1,3}(?:\.\d{1,3}){1,4})\.?[ \t]+(?P<named>[^\W\d_a-zß-ÿ].{0,80})(?<![.,;:])$)",
    re.MULTILINE,
)
"""Where a page begins, code begins or ends, and headings of markdown or of a numbered report."""
_TABLE = re.compile(r"(?:^[ \t]*\|.*(?:\n|\Z))+", re.MULTILINE)
_TABLE_HEAD = re.compile(r"[ \t]*\|.*\n[ \t]*\|[ \t:|-]*\n")


@dataclass(frozen=True, slots=True)
class Passage:
    start: int
    text: str
    headings: tuple[str, ...] = ()
    """Of the sections that it stands in, the outermost first."""
    page: int | None = None
    """None in a text without pages."""
    head: str = ""
    """The head of the table of which it is a later part."""

    @property
    def whole(self) -> str:
        """The text as somebody understands who reads nothing else."""
        return self.head + self.text


class _Span(NamedTuple):
    start: int
    end: int
    is_table: bool = False
    head: str = ""
    """Of the table that it is a later part of."""


class _Section(NamedTuple):
    span: _Span
    headings: tuple[str, ...]
    page: int | None


def cut(text: str, size: int = SIZE) -> tuple[Passage, ...]:
    """Passages of at most `size` characters, tables apart, that hold all of the text but the white space between."""
    return tuple(passage for section in _sections(text) for passage in _passages(text, section, size))


def _passages(text: str, section: _Section, size: int) -> Iterator[Passage]:
    for start, end, _, head in _joined(_blocks(text, section.span, size), size):
        yield Passage(start, text[start:end], section.headings, section.page, head)


def outline(text: str) -> Iterator[tuple[int, str]]:
    """The headings of a text with how deep each stands."""
    for place in _places(text):
        if not place["page"]:
            yield _heading(place)


def _places(text: str) -> Iterator[re.Match[str]]:
    """Where pages and headings begin, but for what stands in code."""
    in_code = False
    for place in _PLACE.finditer(text):
        in_code ^= bool(place["fence"])
        if not place["fence"] and (not in_code or place["page"]):
            yield place


def _heading(place: re.Match[str]) -> tuple[int, str]:
    level = len(place["marks"] or "") or place["number"].count(".") + 1
    return level, (place["title"] or f"{place['number']} {place['named']}").strip("# \t")


def _sections(text: str) -> Iterator[_Section]:
    """The text from heading to heading and page to page; headings that follow one another begin one section."""
    headings: dict[int, str] = {}
    start = body = 0
    page = 1 if "\f" in text else None
    for place in _places(text):
        if text[body : place.start()].strip():
            yield _Section(_Span(start, place.start()), tuple(headings.values()), page)
            start = place.start()
        body = place.end()
        if place["page"]:
            page, start = (page or 1) + 1, place.end() if start == place.start() else start
            continue
        level, title = _heading(place)
        headings = {at: each for at, each in headings.items() if at < level} | {level: title}
    yield _Section(_Span(start, len(text)), tuple(headings.values()), page)


def _blocks(text: str, span: _Span, size: int) -> Iterator[_Span]:
    """The pieces of a section, in which a table is one unless it is very long; then its rows are."""
    start = span.start
    for table in _TABLE.finditer(text, span.start, span.end):
        yield from _pieces(text, _Span(start, table.start()), size, _BORDERS)
        start, whole = table.end(), _stripped(text, _Span(*table.span()))
        if whole.end - whole.start <= max(size, MAX_TABLE):
            yield whole._replace(is_table=True)
        else:
            yield from _rows(text, whole, size)
    yield from _pieces(text, _Span(start, span.end), size, _BORDERS)


def _rows(text: str, table: _Span, size: int) -> Iterator[_Span]:
    found = _TABLE_HEAD.match(text, table.start, table.end)
    head = found[0] if found and found.end() - found.start() <= CAPTION else ""
    for piece in _pieces(text, table, size, _BORDERS[1:]):
        yield piece._replace(head="" if piece.start < table.start + len(head) else head)


def _pieces(text: str, span: _Span, size: int, borders: Sequence[re.Pattern[str]]) -> Iterator[_Span]:
    """Paragraphs; of those that are too long their sentences; of sentences their words; of words what fits."""
    start, end, *_ = _stripped(text, span)
    if end - start <= size:
        yield from [_Span(start, end)] if start < end else []
    elif not borders:
        yield from (_Span(at, min(at + size, end)) for at in range(start, end, size))
    else:
        for part in _parts(text, _Span(start, end), borders[0]):
            yield from _pieces(text, part, size, borders[1:])


def _stripped(text: str, span: _Span) -> _Span:
    part = text[span.start : span.end]
    start = span.start + len(part) - len(part.lstrip())
    return _Span(start, start + len(part.strip()))


def _parts(text: str, span: _Span, border: re.Pattern[str]) -> Iterator[_Span]:
    start = span.start
    for match in border.finditer(text, span.start, span.end):
        yield _Span(start, match.start())
        start = match.end()
    yield _Span(start, span.end)


def _joined(pieces: Iterator[_Span], size: int) -> Iterator[_Span]:
    """Neighbours in one passage as long as it holds them; a table with what announces it."""
    held: _Span | None = None
    for piece in pieces:
        most = max(size, piece.end - piece.start + CAPTION) if piece.is_table else size
        if held and piece.end - held.start <= most:
            held = held._replace(end=piece.end)
            continue
        if held:
            yield held
        held = piece
    if held:
        yield held

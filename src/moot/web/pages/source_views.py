"""What the page of a source shows: its text part by part, with every quoted passage marked, and who quotes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from moot.reading.debate import Reading
from moot.reading.sources import find_source, read_text, use_text
from moot.sources.references import Index, Passage, Reference, SourceUse

MAX_LISTED = 200
"""Passages that the list above the text holds."""


class Piece(NamedTuple):
    """A run of the text that is marked or is not; `page` is the number of the page that begins with it."""

    text: str
    anchor: str = ""
    page: int | None = None
    exact: bool | None = None
    """None when nobody quotes it."""
    turns: tuple[int, ...] = ()
    """Of the passages that end with it."""


class Quoted(NamedTuple):
    href: str
    text: str
    exact: bool
    page: int | None
    turns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SourcePage:
    use: SourceUse
    use_text: str
    read: str
    """What was read of it, where it is too long to be read whole."""
    part: int
    pieces: tuple[Piece, ...]
    quoted: tuple[Quoted, ...]
    more: int
    """How many passages the list leaves out."""


def source_page(reading: Reading, tag: str, part: int) -> SourcePage:
    """One part of a source, from 1; the last where there is none of that number. Raises NotFound."""
    use = find_source(reading, tag)
    part = max(1, min(part, len(use.source.parts)))
    quoted = (
        Quoted(
            source_url(use, passage.start, f"at-{passage.start}"),
            use.words(passage),
            passage.exact,
            use.source.page_at(passage.start),
            passage.turns,
        )
        for passage in use.passages[:MAX_LISTED]
    )
    more = max(0, len(use.passages) - MAX_LISTED)
    words = use_text(reading.record.language, use.use)
    return SourcePage(use, words, read_text(reading, use.tag), part, tuple(_pieces(use, part)), tuple(quoted), more)


def source_url(use: SourceUse, at: int, anchor: str) -> str:
    """To a place in a source, from the page of the source."""
    return f"?part={use.source.part_at(at)}#{anchor}"


def href(index: Index, debate_id: str, found: Reference) -> str | None:
    """Where a reference leads, from any page; None when there is no such source."""
    target, source = index.target(found), index.source(found.tag)
    if target is None or source is None:
        return None
    part = source.part_at(target.at)
    return "".join(
        (
            f"/debates/{debate_id}/sources/{found.tag}",
            f"?part={part}" if part > 1 else "",
            f"#{target.anchor}" if target.anchor else "",
        )
    )


def _pieces(use: SourceUse, part: int) -> Iterator[Piece]:
    """The text of a part, cut wherever a passage or a page begins or ends."""
    first, last = use.source.parts[part - 1]
    own = [each for each in use.passages if each.start < last and each.end > first]
    pages = {at: number for number, at in enumerate(use.source.pages, 1) if first <= at < last}
    cuts = {first, last, *pages, *(at for each in own for at in each[:2] if first < at < last)}
    over: list[Passage] = []
    waiting = sorted(own, key=lambda each: each.start, reverse=True)
    for start, end in pairwise(sorted(cuts)):
        over = [each for each in over if each.end > start]
        anchor = ""
        while waiting and waiting[-1].start <= start:
            anchor = f"at-{waiting[-1].start}" if waiting[-1].start == start else anchor
            over.append(waiting.pop())
        ending = tuple(sorted({turn for each in over if each.end == end for turn in each.turns}))
        exact = any(each.exact for each in over) if over else None
        yield Piece(use.source.text[start:end].replace("\f", ""), anchor, pages.get(start), exact, ending)

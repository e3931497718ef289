"""What the page of a source shows: its text part by part, with every quoted passage marked, and who quotes it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from moot.reading.debate import Reading
from moot.reading.sources import find_source, read_text, use_text
from moot.sources.quotes import Span
from moot.sources.references import Index, Passage, Reference, SourceUse

MAX_LISTED = 200
"""Passages that the list above the text holds."""
_PIPE = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"[|:\- \t]*-[|:\- \t]*")


class Piece(NamedTuple):
    """A run of the text that is marked or is not; `page` is the number of the page that begins with it."""

    text: str
    anchor: str = ""
    page: int | None = None
    exact: bool | None = None
    """None when nobody quotes it."""
    turns: tuple[int, ...] = ()
    """Of the passages that end with it."""


Cell: TypeAlias = tuple[Piece, ...]


class Block(NamedTuple):
    """A run of text, or a table of it."""

    pieces: tuple[Piece, ...] = ()
    header: tuple[Cell, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()


class Quoted(NamedTuple):
    href: str
    text: str
    exact: bool
    page: int | None
    turns: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePage:
    use: SourceUse
    use_text: str
    read: str
    """What was read of it, where it is too long to be read whole."""
    part: int
    blocks: tuple[Block, ...]
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
    return SourcePage(
        use=use,
        use_text=words,
        read=read_text(reading, use.tag),
        part=part,
        blocks=tuple(_blocks(use, part)),
        quoted=tuple(quoted),
        more=more,
    )


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


def _pieces(use: SourceUse, span: Span, more_cuts: Collection[int]) -> Iterator[tuple[int, Piece]]:
    """The text of a part, cut wherever a passage or a page begins or ends, and where else it is wanted."""
    first, last = span
    own = [each for each in use.passages if each.start < last and each.end > first]
    pages = {at: number for number, at in enumerate(use.source.pages, 1) if first <= at < last}
    cuts = {first, last, *pages, *more_cuts, *(at for each in own for at in each[:2] if first < at < last)}
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
        yield start, Piece(use.source.text[start:end].replace("\f", ""), anchor, pages.get(start), exact, ending)


# Tables, as CSV files and markdown have them: lines that begin and end with a pipe


class _Table(NamedTuple):
    span: Span
    rows: tuple[tuple[Span, ...], ...]
    """Where the cells stand in the text."""
    is_headed: bool


def _blocks(use: SourceUse, part: int) -> Iterator[Block]:
    span = use.source.parts[part - 1]
    tables = tuple(_tables(use.source.text, *span))
    cuts = {
        at for table in tables for cell in (table.span, *(cell for row in table.rows for cell in row)) for at in cell
    }
    pieces = list(_pieces(use, span, cuts))
    starts, done = [start for start, _ in pieces], 0
    for table in tables:
        begins, ends = (bisect_left(starts, at) for at in table.span)
        if begins > done:
            yield Block(tuple(piece for _, piece in pieces[done:begins]))
        rows = tuple(_filled(table, pieces[begins:ends]))
        yield Block(header=rows[0] if table.is_headed else (), rows=rows[table.is_headed :])
        done = ends
    if pieces[done:]:
        yield Block(tuple(piece for _, piece in pieces[done:]))


def _tables(text: str, first: int, last: int) -> Iterator[_Table]:
    """Two lines or more, one below the other."""
    lines: list[Span] = []
    at = first
    for line in [*text[first:last].split("\n"), ""]:
        bare = line.strip(" \t\r")
        if len(bare) > 1 and bare[0] == bare[-1] == "|":
            lines.append((at, at + len(line)))
        else:
            if len(lines) > 1:
                yield _table(text, lines, min(at, last))
            lines = []
        at += len(line) + 1


def _table(text: str, lines: Sequence[Span], end: int) -> _Table:
    is_headed = _RULE.fullmatch(text[slice(*lines[1])].strip("\r")) is not None
    rows = (_cells(text, line) for at, line in enumerate(lines) if not (is_headed and at == 1))
    return _Table((lines[0][0], end), tuple(rows), is_headed)


def _cells(text: str, line: Span) -> tuple[Span, ...]:
    pipes = [found.start() for found in _PIPE.finditer(text, *line)]
    cells = ((before + 1, behind) for before, behind in pairwise(pipes))
    return tuple(
        (end - len(text[start:end].lstrip(" \t")), start + len(text[start:end].rstrip(" \t"))) for start, end in cells
    )


def _filled(table: _Table, pieces: Sequence[tuple[int, Piece]]) -> Iterator[tuple[Cell, ...]]:
    """The cells with their words; what a mark has between them is left out, and its anchor and turns go to a cell."""
    at, anchor = 0, ""
    for row in table.rows:
        cells: list[Cell] = []
        for start, end in row:
            cell: list[Piece] = []
            while at < len(pieces) and pieces[at][0] < max(start, end):
                place, piece = pieces[at]
                at += 1
                if place < start:
                    anchor = piece.anchor or anchor
                else:
                    cell.append(piece._replace(text=piece.text.replace("\\|", "|"), anchor=piece.anchor or anchor))
                    anchor = ""
            behind = pieces[at][1].turns if cell and at < len(pieces) else ()
            if behind and cell[-1].exact is not None:
                cell[-1] = cell[-1]._replace(turns=tuple(sorted({*cell[-1].turns, *behind})))
            cells.append(tuple(cell))
        yield tuple(cells)

"""A long text in passages that can be embedded, quoted and found again; each knows where in the text it begins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from moot.retrieval.embed import Embedder

_BORDERS = (
    re.compile(r"\n\s*\n"),  # paragraphs
    re.compile(r"(?<=[.!?…])\s+|(?<=[.!?…][\"'”’»)\]])\s+|(?<=[。！？])|\n"),  # sentences, and the lines of a list
    re.compile(r"\s+"),  # words
)
"""Each takes time in proportion to the text, whatever the text is."""


@dataclass(frozen=True, slots=True)
class Passage:
    start: int
    text: str


class _Span(NamedTuple):
    start: int
    end: int


def cut(text: str, size: int = 900) -> tuple[Passage, ...]:
    """Passages of at most `size` characters that hold all of the text but the white space between them."""
    pieces = _pieces(text, _Span(0, len(text)), size, _BORDERS)
    return tuple(Passage(start, text[start:end]) for start, end in _joined(pieces, size))


async def relevant(embedder: Embedder, passages: Sequence[Passage], query: str, top_k: int) -> tuple[Passage, ...]:
    """The passages closest to the query, in the order in which they stand in the text."""
    if not passages or top_k < 1:
        return ()
    vectors = await embedder.embed([passage.text for passage in passages], "document")
    (wanted,) = await embedder.embed([query], "query")
    scores = vectors @ wanted
    best = sorted(range(len(passages)), key=lambda at: (-float(scores[at]), at))[:top_k]
    return tuple(passages[at] for at in sorted(best, key=lambda at: passages[at].start))


def _pieces(text: str, span: _Span, size: int, borders: Sequence[re.Pattern[str]]) -> Iterator[_Span]:
    """Paragraphs; of those that are too long their sentences; of sentences their words; of words what fits."""
    start, end = _stripped(text, span)
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
    """Neighbours in one passage as long as it holds them."""
    held: _Span | None = None
    for piece in pieces:
        if held and piece.end - held.start <= size:
            held = _Span(held.start, piece.end)
            continue
        if held:
            yield held
        held = piece
    if held:
        yield held

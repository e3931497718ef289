"""What a source has in it, for those who cannot read all of it: its size and its headings."""

from __future__ import annotations

from functools import lru_cache

from moot.sources.passages import outline
from moot.sources.source import Source

SHORTEST = 80
"""Characters; where not even so many are left for each source, none has headings."""


def size(text: str) -> str:
    pages = text.count("\f") + 1
    return f"{len(text):,} characters" + (f", {pages} pages" if pages > 1 else "")


@lru_cache(maxsize=8)
def headings(sources: tuple[Source, ...], room: int) -> tuple[tuple[str, ...], ...]:
    """For each source its outermost headings, as deep as there is room for; each source has the same share of it."""
    share = room // max(1, len(sources))
    return tuple(_headings(source.text, share) if share >= SHORTEST else () for source in sources)


def _headings(text: str, room: int) -> tuple[str, ...]:
    known = list(outline(text))
    for depth in sorted({level for level, _ in known}, reverse=True):
        shown = tuple("  " * (level - 1) + title for level, title in known if level <= depth)
        if sum(map(len, shown)) <= room:
            return shown
    return ()

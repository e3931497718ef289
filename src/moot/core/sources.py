"""The sources of a debate as all its seats know them, from the first prompt to the last. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from moot.core.debate import Settings, Turn
from moot.core.research import Call
from moot.sources.passages import outline
from moot.sources.source import Source, tags

if TYPE_CHECKING:
    from moot.core.script import Debate


HEADINGS = 6000
"""Characters of the headings of all long sources together."""
SHORTEST = 80
"""Characters; where not even so many are left for each source, none has headings."""
SEE_ABOVE = "It stands above."


class Shown(NamedTuple):
    """A source in a prompt: its text where all are shown whole, else what it has in it."""

    tag: str
    name: str
    size: str
    text: str = ""
    headings: tuple[str, ...] = ()


def looked_up(debate: Debate[Any], turn: Turn) -> Iterator[Shown | Call]:
    """What a turn of research has brought: sources with their tags, passages of others, and calls that failed."""
    for call in debate.calls(turn):
        if source := call.source:
            tag, position = debate.findings[source]
            yield Shown(tag, source.name, size(source.text), source.text if position == turn.position else SEE_ABOVE)
        else:
            yield call


def are_whole(settings: Settings) -> bool:
    """Whether everybody reads all of them; else each speaker is handed passages."""
    return sum(len(source.text) for source in settings.sources) <= settings.whole_sources


def read_whole(debate: Debate[Any]) -> bool:
    return debate.once("whole sources", lambda: are_whole(debate.settings))


def shown(debate: Debate[Any]) -> tuple[Shown, ...]:
    known = tags(debate.settings.sources)
    if read_whole(debate):
        return tuple(Shown(tag, each.name, size(each.text), _paged(tag, each.text)) for tag, each in known.items())
    room = min(HEADINGS, debate.settings.whole_sources // 4)
    found = zip(known.items(), headings(tuple(debate.settings.sources), room), strict=True)
    return tuple(Shown(tag, each.name, size(each.text), headings=inside) for (tag, each), inside in found)


def _paged(tag: str, text: str) -> str:
    """The text with the number of each page before it, by which it is cited."""
    pages = text.split("\f")
    if len(pages) == 1:
        return text
    return "\n".join(f"[{tag} p. {number}]\n{page.strip()}" for number, page in enumerate(pages, 1))


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

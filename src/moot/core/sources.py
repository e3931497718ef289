"""The sources of a debate as all its seats know them, from the first prompt to the last. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from moot.core.debate import Settings, Turn
from moot.core.research import Call, calls
from moot.sources.contents import headings, size
from moot.sources.source import tags

if TYPE_CHECKING:
    from moot.core.script import Debate


HEADINGS = 6000
"""Characters of the headings of all long sources together."""


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
    for call in calls(turn):
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

"""Markdown that somebody else wrote as HTML that can do nothing: for turns, questions and whole documents of a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from markdown_it.token import Token
from markupsafe import Markup

from moot.export.html import ATTRIBUTES, SCHEMES, cleaned, reader_of
from moot.sources.references import Index, Reference
from moot.text.markdown import split_front_matter
from moot.text.plain import printable
from moot.web.pages.source_views import href
from moot.web.schemas import DEBATE_ID

MAX_ENTRY = 3
LEFT_OUT = {"transcript"}
"""Sections of a document that a page shows in its own way."""
_CLASSES = {"p": {"heading"}, "a": {"turn-link", "cite", "doubtful"}, "em": {"nowhere"}}
_SCROLLING = '<div class="scroll" tabindex="0" role="group" aria-label="Table">'
_TURN = re.compile(r"turn-([0-9]+)")
_SOURCE = re.compile(
    rf"/debates/{DEBATE_ID}/sources/S[0-9]{{1,3}}(?:\?part=[0-9]{{1,4}})?(?:#(?:at|page)-[0-9]{{1,8}})?"
)


class Entry(NamedTuple):
    """A line of a document's table of contents."""

    anchor: str
    level: int
    title: str


class RenderedDocument(NamedTuple):
    html: Markup
    contents: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Citing:
    """The sources of the debate that a text is from, to which its tags lead."""

    debate: str
    index: Index

    def cited(self, text: str) -> Iterator[Cited]:
        doubtful = self.index.doubtful(text)
        for found in self.index.references(text):
            yield Cited(found, href(self.index, self.debate, found), found in doubtful)


class Cited(NamedTuple):
    """A tag of a text, where it leads, and whether that is not what is said of it."""

    reference: Reference
    href: str | None
    doubtful: bool


_SPEECHES: WeakKeyDictionary[Index, dict[tuple[str, str], Markup]] = WeakKeyDictionary()
"""Of debates with sources, as long as these are kept."""


def cited_speech(text: str, citing: Citing) -> Markup:
    """A turn whose tags lead to their sources."""
    if not citing.index.has_sources:
        return speech(text)
    known = _SPEECHES.setdefault(citing.index, {})
    if (citing.debate, text) not in known:
        known[citing.debate, text] = _speech(text, citing)
    return known[citing.debate, text]


@lru_cache(maxsize=2048)
def speech(text: str) -> Markup:
    """A turn, whose headings are no headings of the page, and which cannot be linked into."""
    return _speech(text)


def _speech(text: str, citing: Citing | None = None) -> Markup:
    reader = reader_of(footnotes=False)
    tokens = _headed(reader.parse(printable(text)))
    _cite(tokens, citing)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "p"
            token.attrs = {"class": "heading"} if token.nesting == 1 else {}
    return _cleaned(reader.renderer.render(tokens, reader.options, {}))


def document(text: str, lead: str = "", citing: Citing | None = None) -> RenderedDocument:
    """An outcome's document below a page's own title; what repeats the title or the `lead` is left out.

    A footnote that names a turn becomes a link to that turn of the page.
    """
    reader = reader_of(footnotes=True)
    env: dict[str, Any] = {}
    tokens = reader.parse(split_front_matter(printable(text))[1], env)
    tokens = _headed(list(_own_words(_without_footnotes(tokens), lead)))
    contents = tuple(_numbered(tokens))
    _cite(tokens, citing)
    for token in tokens:
        for part in token.children or ():
            _link_turn(part)
    return RenderedDocument(_cleaned(reader.renderer.render(tokens, reader.options, env)), contents)


def _cleaned(html: str) -> Markup:
    attributes = {**ATTRIBUTES, "li": set[str](), "p": set[str]()}
    clean = cleaned(html, attributes, attribute_filter=_no_page_of_ours, allowed_classes=_CLASSES)
    clean = clean.replace("<table>", f"{_SCROLLING}<table>").replace("</table>", "</table></div>")
    return Markup(clean)  # noqa: S704 - nothing is left but tags that are allowed


def _no_page_of_ours(tag: str, name: str, value: str) -> str | None:
    """A link leads to another site, within the page or to a source, never to something that this server does."""
    leads = value.startswith("#") or value.partition(":")[0].lower() in SCHEMES or _SOURCE.fullmatch(value)
    return value if name != "href" or leads else None


def _headed(tokens: list[Token]) -> list[Token]:
    """Without headers of a table that say nothing."""
    for before, inside, behind in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if before.type == "th_open" and not inside.content:
            before.tag = behind.tag = "td"
    return tokens


def _without_footnotes(tokens: Sequence[Token]) -> Iterator[Token]:
    inside = False
    for token in tokens:
        inside = inside or token.type == "footnote_block_open"
        if not inside:
            yield token
        inside = inside and token.type != "footnote_block_close"


def _own_words(tokens: Iterator[Token], lead: str) -> Iterator[Token]:
    """Without the title, the lead, the anchors, and the sections that stand elsewhere on the page."""
    blocks = list(_blocks(tokens))
    skipping = False
    for block in blocks:
        first, words = block[0], block[1].content if len(block) > 1 else ""
        if first.type == "heading_open" and first.tag in ("h1", "h2"):
            skipping = first.tag == "h2" and words.strip().lower() in LEFT_OUT
        title = first.type == "heading_open" and first.tag == "h1"
        told = first.type == "paragraph_open" and (_plain(block[1]) == lead or words.startswith('<a id="turn-'))
        if not (skipping or title or told):
            yield from block


def _blocks(tokens: Iterator[Token]) -> Iterator[list[Token]]:
    block: list[Token] = []
    for token in tokens:
        block.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield block
            block = []


def _numbered(tokens: Sequence[Token]) -> Iterator[Entry]:
    """Give every heading an anchor of its own, and no level that skips one."""
    level = 1
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            level = min(int(token.tag[1:]), level + 1)
            token.tag = tokens[number + 2].tag = f"h{level}"
            token.attrSet("id", f"part-{number}")
            if level <= MAX_ENTRY:
                yield Entry(f"part-{number}", level, _plain(tokens[number + 1]))


def _cite(tokens: Sequence[Token], citing: Citing | None) -> None:
    """Make links of the tags of every paragraph, heading and cell."""
    for token in tokens if citing else ():
        if token.type == "inline" and token.children and citing:
            token.children = [*_cited(token.children, list(citing.cited("".join(map(_words, token.children)))))]


def _cited(parts: Sequence[Token], found: Sequence[Cited]) -> Iterator[Token]:
    at = linked = 0
    left = list(reversed(found))
    for part in parts:
        linked += part.nesting if part.type in ("link_open", "link_close") else 0
        start, at = at, at + len(_words(part))
        own = []
        while left and left[-1][0].end <= at:
            own.append(left.pop())
        if part.type == "text" and not linked:
            yield from _split(part.content, [each for each in own if each[0].start >= start], start)
        else:
            yield part


def _split(text: str, found: Sequence[Cited], start: int) -> Iterator[Token]:
    done = 0
    for reference, link, doubtful in found:
        begin, end = reference.start - start, reference.end - start
        yield _text(text[done:begin])
        kind = "cite doubtful" if doubtful else "cite"
        tag, attributes = ("a", {"href": link, "class": kind}) if link else ("em", {"class": "nowhere"})
        yield Token("cite_open", tag, 1, attrs=dict(attributes))
        yield _text(text[begin:end])
        yield Token("cite_close", tag, -1)
        done = end
    yield _text(text[done:])


def _text(text: str) -> Token:
    return Token("text", "", 0, content=text)


def _words(part: Token) -> str:
    if part.type in ("softbreak", "hardbreak"):
        return "\n"
    return part.content if part.type in ("text", "code_inline") else ""


def _link_turn(part: Token) -> None:
    """`[^turn-7]` as a link to turn 7."""
    label = str((part.meta or {}).get("label", ""))
    if part.type == "footnote_ref" and (found := _TURN.fullmatch(label)):
        part.type, part.tag = "html_inline", ""
        part.content = f' <a class="turn-link" href="#turn-{found[1]}">turn {found[1]}</a>'


def _plain(inline: Token) -> str:
    return "".join(part.content for part in inline.children or () if part.type in ("text", "code_inline"))

"""Markdown that somebody else wrote as HTML that can do nothing: for turns, questions and whole documents of a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from markdown_it.token import Token
from markupsafe import Markup

from moot.export.html import ATTRIBUTES, SCHEMES, cleaned, reader_of
from moot.text.markdown import split_front_matter
from moot.text.plain import printable

MAX_ENTRY = 3
LEFT_OUT = {"transcript"}
"""Sections of a document that a page shows in its own way."""
_CLASSES = {"p": {"heading"}, "a": {"turn-link"}}
_TURN = re.compile(r"turn-([0-9]+)")


class Entry(NamedTuple):
    """A line of a document's table of contents."""

    anchor: str
    level: int
    title: str


class RenderedDocument(NamedTuple):
    html: Markup
    contents: tuple[Entry, ...]


@lru_cache(maxsize=2048)
def speech(text: str) -> Markup:
    """A turn, whose headings are no headings of the page, and which cannot be linked into."""
    reader = reader_of(footnotes=False)
    tokens = _headed(reader.parse(printable(text)))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "p"
            token.attrs = {"class": "heading"} if token.nesting == 1 else {}
    return _cleaned(reader.renderer.render(tokens, reader.options, {}))


def document(text: str, lead: str = "") -> RenderedDocument:
    """An outcome's document below a page's own title; what repeats the title or the `lead` is left out.

    A footnote that names a turn becomes a link to that turn of the page.
    """
    reader = reader_of(footnotes=True)
    env: dict[str, Any] = {}
    tokens = reader.parse(split_front_matter(printable(text))[1], env)
    tokens = _headed(list(_own_words(_without_footnotes(tokens), lead)))
    contents = tuple(_numbered(tokens))
    for token in tokens:
        for part in token.children or ():
            _link_turn(part)
    return RenderedDocument(_cleaned(reader.renderer.render(tokens, reader.options, env)), contents)


def _cleaned(html: str) -> Markup:
    attributes = {**ATTRIBUTES, "li": set[str](), "p": set[str]()}
    clean = cleaned(html, attributes, attribute_filter=_no_page_of_ours, allowed_classes=_CLASSES)
    return Markup(clean)  # noqa: S704 - nothing is left but tags that are allowed


def _no_page_of_ours(tag: str, name: str, value: str) -> str | None:
    """A link leads to another site or within the page, never to something that this server does."""
    leads = value.startswith("#") or value.partition(":")[0].lower() in SCHEMES
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


def _link_turn(part: Token) -> None:
    """`[^turn-7]` as a link to turn 7."""
    label = str((part.meta or {}).get("label", ""))
    if part.type == "footnote_ref" and (found := _TURN.fullmatch(label)):
        part.type, part.tag = "html_inline", ""
        part.content = f' <a class="turn-link" href="#turn-{found[1]}">turn {found[1]}</a>'


def _plain(inline: Token) -> str:
    return "".join(part.content for part in inline.children or () if part.type in ("text", "code_inline"))

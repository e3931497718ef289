"""A markdown document as one HTML file that needs nothing else: no scripts, no requests, fit for screen and paper."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin

from moot.export.charts import figures
from moot.text.markdown import split_front_matter
from moot.text.plain import one_line

HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
TABLES = {"table", "thead", "tbody", "tr", "th", "td"}
PARTS = {"a", "blockquote", "br", "code", "em", "hr", "li", "ol", "p", "pre", "s", "section", "strong", "sup", "ul"}
TAGS = PARTS | HEADINGS | TABLES
ATTRIBUTES = {"a": {"href", "id"}, "ol": {"start"}, **{tag: {"id"} for tag in ("blockquote", "li", "p", *HEADINGS)}}
SCHEMES = {"http", "https", "mailto"}
FOLDER = Path(__file__).parent / "style"
"""What documents look like, `page.html` around them. `tokens.css` is what drawings need besides: the seats' colours are
those of the pages."""
_ANCHOR = re.compile(r'<a id="(turn-[0-9]+|source-s[0-9]+(?:-at-[0-9]+)?)"></a>')


class Drawings(NamedTuple):
    """What is drawn of a debate: our own HTML, and the titles before and of the charts."""

    figures: Sequence[str] = ()
    map: str = ""
    outcome: str = "Outcome"
    charts: str = "Charts"


NOTHING = Drawings()


def page(markdown_text: str, title: str, drawings: Drawings = NOTHING) -> str:
    """The whole file; front matter is for tools and left out, and each turn keeps its anchor.

    Charts come after the part that is called as the outcome is, or else after the first one; the map is the last.
    """
    body, sheets = _body(split_front_matter(markdown_text)[1]), [FOLDER / "document.css"]
    if drawings.figures or drawings.map:
        sheets.append(FOLDER / "tokens.css")
    if drawings.figures:
        first = max(body.find(f"<h2>{escape(drawings.outcome)}</h2>"), body.find("<h2"))
        place = body.find("<h2", first + 1)
        at = place if place > first else len(body)
        drawn = f'<h2>{escape(drawings.charts)}</h2>\n<div class="figures">{"".join(drawings.figures)}</div>\n'
        body = f"{body[:at]}{drawn}{body[at:]}"
        sheets += [figures.FOLDER / "charts.css", FOLDER / "figures.css"]
    if drawings.map:
        body += f'<figure class="drawn">{drawings.map}</figure>\n'
        sheets += [figures.FOLDER / "claim_map.css", FOLDER / "map.css"]
    style = "".join(sheet.read_text("utf-8") for sheet in sheets)
    whole = (FOLDER / "page.html").read_text("utf-8")
    return whole.format(title=escape(one_line(title)), style=style, body=body)


def _body(text: str) -> str:
    reader = reader_of(footnotes=True)
    notes: dict[str, Any] = {}
    tokens = reader.parse(text, notes)
    _move_anchors(tokens)
    return cleaned(reader.renderer.render(tokens, reader.options, notes))


@cache
def reader_of(*, footnotes: bool) -> MarkdownIt:
    """Reads markdown that somebody else wrote: no HTML and no pictures."""
    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
    return reader.use(footnote_plugin) if footnotes else reader


def cleaned(html: str, attributes: Mapping[str, set[str]] = ATTRIBUTES, **more: Any) -> str:
    """Without anything that could do something."""
    rel = "noopener noreferrer nofollow"
    return nh3.clean(str(html), tags=TAGS, attributes=dict(attributes), url_schemes=SCHEMES, link_rel=rel, **more)


def _move_anchors(tokens: Sequence[Token]) -> None:
    """Give the name of an anchor that stands alone to the block after it."""
    for at, token in enumerate(tokens[:-2]):
        if token.type == "inline" and token.level == 1 and (found := _ANCHOR.fullmatch(token.content)):
            tokens[at - 1].hidden = tokens[at + 1].hidden = True
            token.children = []
            tokens[at + 2].attrSet("id", found[1])

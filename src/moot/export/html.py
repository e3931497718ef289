"""A markdown document as one HTML file that needs nothing else: no scripts, no requests, fit for screen and paper."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from typing import Any, NamedTuple

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin

from moot.export.charts.figures import FOLDER
from moot.text.markdown import split_front_matter
from moot.text.plain import one_line

HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
TABLES = {"table", "thead", "tbody", "tr", "th", "td"}
PARTS = {"a", "blockquote", "br", "code", "em", "hr", "li", "ol", "p", "pre", "s", "section", "strong", "sup", "ul"}
TAGS = PARTS | HEADINGS | TABLES
ATTRIBUTES = {"a": {"href", "id"}, "ol": {"start"}, **{tag: {"id"} for tag in ("blockquote", "li", "p", *HEADINGS)}}
SCHEMES = {"http", "https", "mailto"}
_ANCHOR = re.compile(r'<a id="(turn-[0-9]+|source-s[0-9]+(?:-at-[0-9]+)?)"></a>')

STYLE = """\
:root { color-scheme: light dark; --paper: #fdfdfb; --ink: #1f2328; --soft: #5b626b; --line: #dcdfe3; --tint: #f2f3f1;
  --link: #0a58b5 }
@media (prefers-color-scheme: dark) { :root { --paper: #15181c; --ink: #e3e6ea; --soft: #a0a8b2; --line: #343a42;
  --tint: #1e2227; --link: #82b7ff } }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1.0625rem/1.65 Charter, "Bitstream Charter",
  "Iowan Old Style", Georgia, serif; overflow-wrap: anywhere }
main { max-width: 42rem; margin: 0 auto; padding: 3.5rem 1.25rem 6rem }
h1, h2, h3, h4, h5, h6, th { font-family: system-ui, -apple-system, "Segoe UI", sans-serif; line-height: 1.25 }
h1 { font-size: 2rem; letter-spacing: -.015em; margin: 0 0 .5rem; text-wrap: balance }
h1 + p { color: var(--soft); margin: 0 0 2.5rem; font: .875rem/1.5 system-ui, -apple-system, sans-serif }
h2 { font-size: 1.35rem; margin: 3rem 0 1rem; padding-top: 1.25rem; border-top: 1px solid var(--line) }
h3 { font-size: 1.0625rem; margin: 2.25rem 0 .5rem; scroll-margin-top: 1rem }
h4, h5, h6 { font-size: 1rem; margin: 1.5rem 0 .25rem; color: var(--soft) }
h3:target, blockquote:target { background: var(--tint); box-shadow: -.5rem 0 0 var(--tint), .5rem 0 0 var(--tint) }
p, ul, ol, blockquote, pre, table { margin: 0 0 1rem }
ul, ol { padding-left: 1.4rem }
a { color: var(--link); text-underline-offset: .15em }
blockquote { margin-left: 0; padding-left: 1rem; border-left: 3px solid var(--line); color: var(--soft) }
code { font: .875em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; background: var(--tint);
  padding: .1em .3em; border-radius: 4px }
pre { background: var(--tint); padding: .9rem 1rem; border-radius: 8px; white-space: pre-wrap }
pre code { padding: 0; background: none }
table { width: 100%; border-collapse: collapse; font-size: .9375rem; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .45rem .75rem .45rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
th { color: var(--soft); font-weight: 600; font-size: .8125rem }
hr { border: 0; border-top: 1px solid var(--line); margin: 2rem 0 }
@media print { :root { color-scheme: light; --paper: #fff; --ink: #000; --soft: #444; --line: #bbb; --tint: #f4f4f4;
  --link: #000 }
  body { font-size: 10.5pt } main { max-width: none; padding: 0 } h1, h2, h3, h4 { break-after: avoid }
  pre, blockquote, tr { break-inside: avoid } }
"""

TOKENS = """\
:root { --card: #fff; --sunk: #ebe8e0; --edge: #8b8c88; --accent: #0b6567; --accent-tint: #e4f0ef; --good: #22693f;
  --bad: #a3271f; --sans: system-ui, -apple-system, "Segoe UI", sans-serif; --t-2: .8125rem; --t-3: .875rem;
  --t-4: .9375rem; --serif: Charter, Georgia, serif; --mono: ui-monospace, Menlo, Consolas, monospace;
  --seat-0: #565c64; --seat-1: #1d62c4; --seat-2: #96340a; --seat-3: #3d1a78; --seat-4: #1b5a3c;
  --seat-5: #bb3d73; --seat-6: #7a6a0c }
@media screen and (prefers-color-scheme: dark) { :root { --card: #1b1f23; --sunk: #2a3035; --edge: #747c83;
  --accent: #6ed1cb; --accent-tint: #16302f; --good: #86d3a1; --bad: #ff9d92; --seat-0: #a7adb4; --seat-1: #62a9f8;
  --seat-2: #f8845a; --seat-3: #d2c5ff; --seat-4: #7ff0ab; --seat-5: #d08fb2; --seat-6: #e8bd2c } }
.seat-0 { --seat: var(--seat-0) } .seat-1 { --seat: var(--seat-1) } .seat-2 { --seat: var(--seat-2) }
.seat-3 { --seat: var(--seat-3) } .seat-4 { --seat: var(--seat-4) } .seat-5 { --seat: var(--seat-5) }
.seat-6 { --seat: var(--seat-6) }
"""
"""What drawings need besides; the colours of seats are those of the pages."""

CHARTS = """\
.figures { display: grid; gap: 1.75rem 1.5rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 18rem), 1fr)) }
.figures .wide { grid-column: 1 / -1 } .figures .scroll > .chart { min-inline-size: 36rem } .scroll { overflow-x: auto }
.figures figure { font-family: var(--sans); break-inside: avoid } .figures table { font-size: .8125rem; margin: 0 }
"""

MAP = """\
.drawn { width: min(100vw - 2rem, 78rem); margin: 3rem 0 0 calc(50% - min(50vw - 1rem, 39rem)); overflow-x: auto }
.drawn figcaption span { white-space: nowrap; color: var(--seat) } .drawn figcaption svg { width: .75rem }
.drawn figcaption { margin: 0 0 1rem; color: var(--soft); font: .875rem/1.5 system-ui, sans-serif }
@media (max-width: 46rem) { .drawn { display: none } }
@media print { .drawn { display: block; width: auto; margin: 2rem 0 0; overflow: visible }
  .drawn .map.map { min-inline-size: 0; max-inline-size: 100% } }
"""

PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main>
{body}</main>
</body>
</html>
"""


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
    body, style = _body(split_front_matter(markdown_text)[1]), STYLE
    if drawings.figures or drawings.map:
        style += TOKENS
    if drawings.figures:
        first = max(body.find(f"<h2>{escape(drawings.outcome)}</h2>"), body.find("<h2"))
        place = body.find("<h2", first + 1)
        at = place if place > first else len(body)
        drawn = f'<h2>{escape(drawings.charts)}</h2>\n<div class="figures">{"".join(drawings.figures)}</div>\n'
        body = f"{body[:at]}{drawn}{body[at:]}"
        style += (FOLDER / "charts.css").read_text("utf-8") + CHARTS
    if drawings.map:
        body += f'<figure class="drawn">{drawings.map}</figure>\n'
        style += (FOLDER / "claim_map.css").read_text("utf-8") + MAP
    return PAGE.format(title=escape(one_line(title)), style=style, body=body)


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

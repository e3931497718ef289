"""The words of HTML and Word documents as plain text: headings with #, lists with -, tables with | between cells.

Only `extract` calls this, in a process of its own: what a hostile document takes in time or memory ends there.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from io import BytesIO
from typing import IO
from xml.parsers import expat
from zipfile import ZipFile

import nh3

from moot.errors import InvalidInput

MAX_UNPACKED = 200_000_000
"""Bytes of all that a Word document holds."""

HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
BLOCKS = {*HEADINGS, "p", "div", "li", "pre", "blockquote", "dt", "dd", "tr", "td", "th", "table", "caption"}
UNREAD = {"script", "style", "template", "noscript", "nav", "svg", "iframe", "object", "select", "button"}
DOCUMENT = "word/document.xml"
PARTS = (DOCUMENT, "word/footnotes.xml", "word/endnotes.xml")
HEADING_STYLE = re.compile(r"heading ([1-6])", re.IGNORECASE)
CHARSET = re.compile(rb"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
CHUNK = 1 << 16


class Blocks:
    """Takes tags and words as they come, and gives the text they make; a table within a table is words in its cell."""

    def __init__(self) -> None:
        self._done: list[str] = []
        self._words: list[str] = []
        self._prefix = ""
        self._tables = 0
        self._rows: list[list[str]] = []
        self._verbatim = False

    def open(self, tag: str) -> None:
        if tag == "br":
            self._words.append("\n")
        elif tag in BLOCKS and not self._tables:
            self._finish()
            self._prefix = HEADINGS.get(tag) or ("- " if tag == "li" else "")
            self._verbatim = tag == "pre"
        elif tag in BLOCKS:
            self._words.append(" ")
        if tag == "table":
            self._tables += 1
        elif tag == "tr" and self._tables == 1:
            self._rows.append([])

    def add(self, words: str) -> None:
        self._words.append(words)

    def close(self, tag: str) -> None:
        if tag in ("td", "th") and self._tables == 1 and self._rows:
            self._rows[-1].append(self._said(""))
        elif tag == "table" and self._tables:
            self._tables -= 1
            if not self._tables:
                self._done += filter(None, (self._said(""), table(self._rows)))
                self._rows = []
        elif tag in BLOCKS and not self._tables:
            self._finish()

    def text(self) -> str:
        self._finish()
        return "\n\n".join(self._done)

    def _finish(self) -> None:
        if said := self._said("\n"):
            self._done.append(self._prefix + said)
        self._prefix, self._verbatim = "", False

    def _said(self, newline: str) -> str:
        said, self._words = "".join(self._words), []
        if self._verbatim:
            return said.strip("\n")
        lines = (" ".join(line.split()) for line in (said.split("\n") if newline else [said]))
        return newline.join(filter(None, lines))


def table(rows: list[list[str]]) -> str:
    """Rows of cells as a table that people and models read; its first row is its head."""
    filled = [[" ".join(cell.split()) for cell in row] for row in rows if any(map(str.strip, row))]
    lines = [f"| {' | '.join(row)} |" for row in filled]
    return "\n".join([*lines[:1], "|" + " --- |" * len(filled[0]), *lines[1:]]) if lines else ""


# HTML


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks = Blocks()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.blocks.open(tag)

    def handle_data(self, data: str) -> None:
        self.blocks.add(data)

    def handle_endtag(self, tag: str) -> None:
        self.blocks.close(tag)


def html_text(html: str) -> str:
    page = _Page()
    for words in _text_lines(nh3.clean(html, tags=BLOCKS | {"br"}, attributes={}, clean_content_tags=UNREAD)):
        page.feed(words)
    page.close()
    return page.blocks.text()


def _text_lines(html: str) -> Iterator[str]:
    """A line's end is a space unless the markup says otherwise."""
    inside = 0
    for part in re.split(r"(</?pre>)", html):
        inside += {"<pre>": 1, "</pre>": -1}.get(part, 0)
        yield part if inside else part.replace("\n", " ")


def charset(data: bytes) -> str | None:
    """The encoding that a page names, if there is one of that name."""
    found = CHARSET.search(data, 0, 2048)
    try:
        return codecs.lookup(found[1].decode()).name if found else None
    except LookupError:
        return None


# Word


def docx_text(data: bytes) -> str:
    with ZipFile(BytesIO(data)) as archive:
        if sum(info.file_size for info in archive.infolist()) > MAX_UNPACKED:
            raise InvalidInput(f"unpacks to over {MAX_UNPACKED // 1_000_000} MB; give the part that matters")
        names = set(archive.namelist())
        if DOCUMENT not in names:
            raise InvalidInput("is no Word document; save it as .docx, or give its text")
        levels = _levels(archive.open("word/styles.xml")) if "word/styles.xml" in names else {}
        read = [_document(archive.open(name), levels) for name in PARTS if name in names]
    return "\n\n".join(filter(None, read))


def _levels(styles: IO[bytes]) -> dict[str, str]:
    """Style → the heading it is; styles are named in English whatever language their ids are in."""
    levels: dict[str, str] = {}
    style = ""

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal style
        if tag == "w:style":
            style = attributes.get("w:styleId", "")
        elif tag == "w:name" and (name := attributes.get("w:val", "")):
            if found := HEADING_STYLE.fullmatch(name):
                levels[style] = f"h{found[1]}"
            elif name.lower() == "title":
                levels[style] = "h1"

    _parse(styles, start)
    return levels


def _document(content: IO[bytes], levels: dict[str, str]) -> str:
    blocks = Blocks()
    tags = {"w:p": "p", "w:tbl": "table", "w:tr": "tr", "w:tc": "td"}
    spoken = hidden = False

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal spoken, hidden
        hidden = hidden or tag == "mc:Fallback"  # the same once more, for old programs
        spoken = tag == "w:t" and not hidden
        if tag == "w:pStyle" and (level := levels.get(attributes.get("w:val", ""))):
            blocks.open(level)
        elif tag == "w:numPr":
            blocks.open("li")
        elif tag in ("w:br", "w:cr"):
            blocks.open("br")
        elif tag == "w:tab":
            blocks.add(" ")
        elif tag in tags and not hidden:
            blocks.open(tags[tag])

    def end(tag: str) -> None:
        nonlocal spoken, hidden
        spoken = False
        if tag == "mc:Fallback":
            hidden = False
        elif tag in tags and not hidden:
            blocks.close(tags[tag])

    def say(words: str) -> None:
        if spoken:
            blocks.add(words)

    _parse(content, start, end, say)
    return blocks.text()


def _parse(content: IO[bytes], start: object, end: object = None, say: object = None) -> None:
    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, say  # type: ignore[assignment]
    parser.StartDoctypeDeclHandler = _no_doctype
    while data := content.read(CHUNK):
        parser.Parse(data)
    parser.Parse(b"", True)


def _no_doctype(*_: object) -> None:
    """No Word document declares entities: only what is made to be unpacked without end."""
    raise InvalidInput("declares entities, which no Word document does; save it anew")

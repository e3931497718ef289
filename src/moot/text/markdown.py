"""Markdown that cannot break out of the document it stands in, and front matter. Pure."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from moot.text.plain import shortened_at_word

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

Fields: TypeAlias = Mapping[str, str | int | list[str]]


_FRONT_MATTER = re.compile(r"---\n(.*?\n)---\n", re.DOTALL)


def split_front_matter(text: str) -> tuple[str, str]:
    """The lines between the dashes at the top, or "", and all that follows."""
    found = _FRONT_MATTER.match(text)
    return (found[1], text[found.end() :]) if found else ("", text)


def front_matter(fields: Fields) -> str:
    """YAML between two lines of dashes, for the top of a markdown file."""
    import yaml

    whole = yaml.dump(dict(fields), Dumper=_dumper(), allow_unicode=True, sort_keys=False, width=sys.maxsize)
    return f"---\n{whole}---\n"


def body(document: str) -> str:
    """A document for readers who have just seen the turns: no front matter, and footnotes only as numbers of turns."""
    text = split_front_matter(document)[1]
    text = re.sub(r"^\[\^turn-\d+\]:.*\Z", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"\[\^turn-(\d+)\]", r" (turn \1)", text).strip()


def table_of(cells: Sequence[Sequence[object]]) -> str:
    """A table whose first row is its header."""
    header, *rows = (f"| {' | '.join(in_line(str(cell)) for cell in row)} |" for row in cells)
    return "\n".join([header, "|" + " --- |" * len(cells[0]), *rows])


@cache
def _dumper() -> type[Any]:
    """Writes whatever holds a line break on one line, so that readers who go by lines read the same."""
    import yaml  # slow to import

    class Dumper(yaml.SafeDumper):
        pass

    Dumper.add_representer(
        str,
        lambda dumper, value: dumper.represent_scalar(
            "tag:yaml.org,2002:str", value, style=None if value.isprintable() else '"'
        ),
    )
    return Dumper


MAX_TITLE = 120


MAX_HEADING = 3  # of those that are the document's own


_MAX_LEVEL = 16  # the reader looks no deeper than 20 levels; others might


_END = "end of the text"


_LINE_BREAK = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")


_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")  # bidi among them


def contained(text: str, level: int) -> str:
    """Markdown that somebody else wrote, for a place below a heading of this level, which it cannot leave.

    Its headings become smaller ones, its HTML and pictures text; open code is closed, and it defines no links.
    Put it after a heading, a table or a paragraph: a list before it would take in what it begins with.
    """
    written = readable(text).strip("\n")
    tamed = _tamed(written, level)
    return tamed if _stays(tamed, level) else _literal(written)


def edited(text: str, edit: Callable[[str], str]) -> str:
    """Markdown with what is no code in it changed, passage by passage."""
    lines = text.split("\n")
    tokens = _reader().parse(text)
    for start, end in reversed(list(_passages(tokens, len(lines)))):
        lines[start:end] = _outside_code("\n".join(lines[start:end]), edit).split("\n")
    return "\n".join(lines)


def in_line(text: str) -> str:
    """Text as a part of one line of markdown, shown letter by letter."""
    return re.sub(r"([\\`*_\[\]<>|~#!&$])", r"\\\1", " ".join(readable(text).split()))


def bullets(texts: Iterable[str]) -> str:
    """Texts as a list, each in a line of its own."""
    return "\n".join(f"- {in_line(text)}" for text in texts)


def in_title(text: str) -> str:
    """Text as a title: in one line, and not longer than one."""
    return in_line(shortened_at_word(" ".join(text.split()), MAX_TITLE))


def unmarked(text: str) -> str:
    """A line of markdown in its words alone, for places that show letters as they are: **so** is so."""
    if not re.search(r"[*_`]", text):
        return text
    parts = _reader().parseInline(text)[0].children or ()
    return "".join(" " if part.type in ("softbreak", "hardbreak") else part.content for part in parts)


def readable(text: str) -> str:
    return _INVISIBLE.sub("\ufffd", _LINE_BREAK.sub("\n", text))


def _tamed(text: str, level: int) -> str:
    """The text with what would reach beyond its place taken back, as far as the block structure tells."""
    lines = text.split("\n")
    tokens = _reader().parse(text)
    for start, end in _passages(tokens, len(lines)):
        lines[start:end] = _outside_code("\n".join(lines[start:end]), _escaped).split("\n")
    for token in tokens:
        if token.type == "heading_open" and token.map:
            _lower(lines, token, token.map, level)
    return "\n".join([*lines, *_missing_fence(tokens, lines)])


def _passages(tokens: Sequence[Token], count: int) -> Iterator[tuple[int, int]]:
    """The lines that are read together, as code between backticks may go over several; blocks of code are left out."""
    untouched = {at for token in tokens if token.type in ("fence", "code_block") for at in range(*token.map or (0, 0))}
    whole = {token.map[0]: token.map[1] for token in tokens if token.type == "inline" and token.map}
    at = 0
    while at < count:
        end = max(whole.get(at, at + 1), at + 1)
        if at not in untouched:
            yield at, end
        at = end


def _outside_code(passage: str, edit: Callable[[str], str]) -> str:
    done, made = 0, []
    for start, end in _code_spans(passage):
        made += [edit(passage[done:start]), passage[start:end]]
        done = end
    return "".join([*made, edit(passage[done:])])


def _escaped(text: str) -> str:
    text = re.sub(r"\\?<", "&lt;", text)
    text = text.replace("]:", r"]\:")  # a link defined here would work in the whole document
    return re.sub(r"(?<!\\)!\[", r"\![", text)  # a picture would be fetched when the document is opened


def _code_spans(text: str) -> Iterator[tuple[int, int]]:
    """From each run of backticks to the next that is as long."""
    runs = [(found.start(), found.end()) for found in re.finditer("`+", text)]
    starts = defaultdict(list)
    for start, end in runs:
        starts[end - start].append(start)
    done = 0
    for start, end in runs:
        alike = starts[end - start]
        closing = bisect_right(alike, start)
        if start >= done and closing < len(alike) and text[start - 1 : start] != "\\":
            done = alike[closing] + end - start
            yield start, done


def _lower(lines: list[str], heading: Token, span: Sequence[int], level: int) -> None:
    """Make a heading one below `level`; one that is underlined becomes a paragraph."""
    if heading.markup.startswith("#"):
        marks = "#" * min(6, level + len(heading.markup))
        lines[span[0]] = lines[span[0]].replace(heading.markup, marks, 1)
    else:
        lines[span[1] - 1] = re.sub(r"[=-]+\s*$", "", lines[span[1] - 1])


def _missing_fence(tokens: Sequence[Token], lines: Sequence[str]) -> list[str]:
    last = tokens[-1] if tokens else None
    if last is None or last.type != "fence" or last.map is None:
        return []
    closed = last.map[1] - last.map[0] > 1 and re.fullmatch(
        rf" {{0,3}}{re.escape(last.markup)}{last.markup[0]}*\s*", lines[last.map[1] - 1]
    )
    return [] if closed else [last.markup]


def _stays(text: str, level: int) -> bool:
    """Whether a reader of markdown that takes HTML sees this text end where it ends, with nothing it may not hold."""
    env: dict[str, object] = {}
    tokens = _reader(html=True).parse(f"{text}\n\n{_END}", env)
    parts = [*tokens, *(part for token in tokens for part in token.children or ())]
    return (
        [(token.level, token.content) for token in tokens[-2:]] == [(1, _END), (0, "")]
        and all(part.level < _MAX_LEVEL for part in parts)
        and not env.get("references")
        and not any(part.type in ("html_block", "html_inline", "image") for part in parts)
        and all(int(part.tag[1:]) > level for part in parts if part.type == "heading_open")
    )


def _literal(text: str) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


@cache
def _reader(*, html: bool = False) -> MarkdownIt:
    """Without HTML it also knows no definitions of links: it reads a text as it will be once both are escaped."""
    from markdown_it import MarkdownIt  # slow to import

    reader = MarkdownIt("commonmark", {"html": html}).enable("table")
    return reader if html else reader.disable(["reference", "html_block", "html_inline"])

"""A document with its citations as links to a section that holds the sources, and what is quoted of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from moot.reading.debate import Reading
from moot.reading.sources import fault_text, use_text
from moot.sources.references import Index, Passage, Reference, SourceUse
from moot.text.markdown import bullets, edited, in_line, split_front_matter

_ESCAPED = re.compile(r"\\\[(?=[^\[\]\\\n]{0,40}[Ss][1-9])([^\[\]\\\n]{1,120})\\\](?![(:])")
"""A tag whose brackets are escaped, as every bracket is in a line of a document; but not what would be a link then."""


def with_sources(reading: Reading, text: str, *, turns: bool = False) -> str:
    """The document of a debate, with its sources behind it; `turns` says whether it has an anchor for each turn."""
    if not reading.sources.sources:
        return text
    words = split_front_matter(text)[1]
    front = text[: len(text) - len(words)]
    blocks = "\n\n".join(_section(reading, turns))
    return f"{front}{edited(words, partial(_linked, reading.source_index)).rstrip()}\n\n{blocks}\n"


def _linked(index: Index, text: str) -> str:
    """A piece of markdown in which each tag leads to its source."""
    text = _ESCAPED.sub(r"[\1]", text)
    done, made = 0, []
    for found in index.references(text):
        target = index.target(found)
        if target is None or text[found.end : found.end + 2] == "](":
            continue
        anchor = f"#{_anchor(found.tag, target.at if target.anchor.startswith('at-') else None)}"
        start, end = _with_brackets(text, found)
        made += [text[done:start], f"[{text[found.start : found.end]}]({anchor})"]
        done = end
    return "".join([*made, text[done:]])


def _with_brackets(text: str, found: Reference) -> tuple[int, int]:
    """The reference, with the brackets around it where nothing else stands in them."""
    start, end = found.start, found.end
    return (start - 1, end + 1) if text[start - 1 : start] == "[" and text[end : end + 1] == "]" else (start, end)


def _anchor(tag: str, at: int | None = None) -> str:
    return f"source-{tag.lower()}" + ("" if at is None else f"-at-{at}")


def _section(reading: Reading, turns: bool) -> Iterator[str]:
    say, report = reading.record.language, reading.sources
    yield f"## {say('Sources')}"
    for each in (*report.of_use("carried"), *report.of_use("cited")):
        yield from _used(reading, each, turns)
    if unused := report.of_use("unused"):
        yield f"### {say('Never used')}"
        yield "\n".join(f"- {each.tag}: {in_line(each.name)}" for each in unused)
    if report.unresolved:
        yield f"### {say('Citations that lead nowhere: {number}', number=len(report.unresolved))}"
        yield bullets(fault_text(reading, found) for found in report.unresolved)


def _used(reading: Reading, each: SourceUse, turns: bool) -> Iterator[str]:
    say = reading.record.language
    yield f'<a id="{_anchor(each.tag)}"></a>'
    yield f"### {each.tag}: {in_line(each.name)}"
    by = ", ".join(_turn(reading, turn, turns) for turn in each.turns)
    yield f"{use_text(say, each.use)}{': ' if by else ''}{by}"
    for passage in each.passages:
        yield f'<a id="{_anchor(each.tag, passage.start)}"></a>'
        yield f"> {_quoted(reading, each, passage, turns)}"


def _quoted(reading: Reading, each: SourceUse, passage: Passage, turns: bool) -> str:
    say, page = reading.record.language, each.source.page_at(passage.start)
    where = [f"p. {page}"] if page else []
    where += [_turn(reading, turn, turns) for turn in passage.turns]
    where += [] if passage.exact else [say("quoted in other words")]
    return f"{in_line(each.words(passage))} ({', '.join(where)})"


def _turn(reading: Reading, position: int, linked: bool) -> str:
    words = reading.record.language("turn {number}", number=position)
    return f"[{words}](#turn-{position})" if linked else words

"""The sources of a debate in the terminal: what became of each, and one with what is quoted of it marked."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from moot.reading.debate import Reading
from moot.reading.sources import (
    fault_text,
    find_source,
    read_text,
    source_with_text,
    sources_view,
    summary_lines,
    use_text,
)
from moot.sources.references import SourceUse
from moot.terminal.tables import INDENT, print_json, say
from moot.text.plain import printable, shortened

MAX_SHOWN = 300
"""Characters of a passage in the list."""


def show_sources(reading: Reading, as_json: bool) -> None:
    if as_json:
        print_json(sources_view(reading).model_dump(mode="json"))
        return
    console = Console()
    if not reading.sources.sources:
        say(console, f"{reading.record.id} was given no sources.")
    for each in reading.sources.sources:
        _print_use(console, reading, each)
    if read := read_text(reading):
        say(console, read)
    for found in reading.sources.unresolved:
        say(console, f"! {fault_text(reading, found)}", "yellow")
    for line in summary_lines(reading):
        say(console, line, "bold")


def _print_use(console: Console, reading: Reading, each: SourceUse) -> None:
    words = reading.record.language
    cited = f", {', '.join(words('turn {number}', number=turn) for turn in each.turns)}" if each.turns else ""
    size = f"{len(each.source.text):,} characters"
    say(
        console, f"{each.tag} {each.name} ({size}): {use_text(words, each.use)}{cited}", "bold" if each.turns else "dim"
    )
    for passage in each.passages:
        page = each.source.page_at(passage.start)
        where = f"p. {page}, " if page else ""
        mark = "“" if passage.exact else "≈ “"
        text = shortened(" ".join(each.words(passage).split()), MAX_SHOWN)
        turns = ", ".join(words("turn {number}", number=turn) for turn in passage.turns)
        say(console, f"{INDENT}{mark}{text}” ({where}{turns})")


def show_source(reading: Reading, tag: str, as_json: bool) -> None:
    """Its text; on a terminal with every quoted passage marked."""
    if as_json:
        print_json(source_with_text(reading, tag).model_dump(mode="json"))
        return
    console, each = Console(), find_source(reading, tag)
    if not console.is_terminal:
        console.file.write(printable(each.source.text).rstrip("\n") + "\n")
        return
    say(console, f"{each.tag} {each.name}", "bold")
    console.print(_marked(each), soft_wrap=True)


def _marked(each: SourceUse) -> Text:
    text, shown = Text(), 0
    for passage in each.passages:
        if passage.end > shown:
            start = max(shown, passage.start)
            text.append(printable(each.source.text[shown:start]))
            text.append(
                printable(each.source.text[start : passage.end]), style="reverse" if passage.exact else "yellow"
            )
            shown = passage.end
    return text.append(printable(each.source.text[shown:]))

"""A debate as a markdown document for people: what was asked, what came out, and every turn.

What models and people wrote cannot break it: it keeps its formatting as long as it stays in its place, and is shown
letter by letter otherwise.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby

from markdown_it import MarkdownIt
from markdown_it.token import Token

from moot.export.decision import front_matter
from moot.export.trace import iso
from moot.model import Outcome, Record, Turn

LONGEST_TITLE = 120
_DEEPEST_HEADING = 3  # of those that are the document's own
_DEEPEST = 16  # the reader looks no deeper than 20 levels; others might
_END = "end of the text"
_LINE_BREAK = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")  # bidi among them


def markdown(record: Record, turns: Sequence[Turn], titles: Mapping[str, str], outcome: Outcome | None) -> str:
    """The whole document; `titles` says how readers call a seat."""
    blocks = [
        *_heading(record, titles),
        *_outcome(record, outcome),
        *(block for name, own in _sections(turns) for block in (f"## {name}", *_turns(own, titles))),
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def contained(text: str, level: int) -> str:
    """Markdown that somebody else wrote, for a place below a heading of this level, which it cannot leave.

    Its headings become smaller ones, its HTML and pictures text; open code is closed, and it defines no links.
    Put it after a heading, a table or a paragraph: a list before it would take in what it begins with.
    """
    written = _readable(text).strip("\n")
    tamed = _tamed(written, level)
    return tamed if _stays(tamed, level) else _literal(written)


def in_line(text: str) -> str:
    """Text as a part of one line of markdown, shown letter by letter."""
    return re.sub(r"([\\`*_\[\]<>|~#!&$])", r"\\\1", " ".join(_readable(text).split()))


def _heading(record: Record, titles: Mapping[str, str]) -> Iterator[str]:
    question = " ".join(_readable(record.topic).split())
    title = question if len(question) <= LONGEST_TITLE else f"{question[: LONGEST_TITLE - 1].rstrip()}…"
    yield _front_matter(record, question, titles).rstrip("\n")
    yield f"# {in_line(title)}"
    facts = [record.format, record.id, iso(record.created_at)[:10], record.status, record.stop_reason or ""]
    yield " · ".join(in_line(fact.replace("_", " ")) for fact in facts if fact)
    if title != record.topic.strip():
        yield "## Question"
        yield contained(record.topic, _DEEPEST_HEADING)


def _front_matter(record: Record, question: str, titles: Mapping[str, str]) -> str:
    models = [
        f"{titles.get(seat, seat)}: {chosen.model.rpartition('#')[2]}"  # the server's address is nobody's business
        for seat, chosen in record.seats.items()
    ]
    return front_matter(
        {
            "title": question,
            "debate": record.id,
            "format": record.format,
            "date": iso(record.created_at)[:10],
            "status": str(record.status),
            **({"stop_reason": record.stop_reason} if record.stop_reason else {}),
            "models": models,
        }
    )


def _outcome(record: Record, outcome: Outcome | None) -> Iterator[str]:
    yield "## Outcome"
    if outcome is None:
        yield f"There is none: the debate is {record.status}."
        return
    yield f"**{in_line(outcome.headline())}**"
    if table := outcome.table():
        yield _table(table)
    yield contained(outcome.summary, _DEEPEST_HEADING)
    if outcome.caveats:
        yield "Before you trust it:"
        yield "\n".join(f"- {in_line(caveat)}" for caveat in outcome.caveats)


def _table(table: Sequence[Sequence[str]]) -> str:
    header, *rows = (f"| {' | '.join(map(in_line, row))} |" for row in table)
    return "\n".join([header, "|" + " --- |" * len(table[0]), *rows])


def _sections(turns: Sequence[Turn]) -> Iterator[tuple[str, Iterable[Turn]]]:
    """Round by round; a turn of no round between two belongs to the one before it."""
    rounds = [turn.round for turn in turns]
    last = max((at for at, round in enumerate(rounds) if round is not None), default=-1)
    names = []
    for at, round in enumerate(rounds):
        if round is not None:
            names.append(f"Round {round}")
        elif at > last:
            names.append("Closing" if last >= 0 else "Turns")
        else:
            names.append(names[-1] if names else "Opening")
    for name, pairs in groupby(zip(names, turns, strict=True), key=lambda pair: pair[0]):
        yield name, [turn for _, turn in pairs]


def _turns(turns: Iterable[Turn], titles: Mapping[str, str]) -> Iterator[str]:
    for turn in turns:
        yield f'<a id="turn-{turn.position}"></a>'
        yield f"### {in_line(titles.get(turn.seat, turn.seat.capitalize()))} · {in_line(turn.kind)}"
        if turn.marks:
            yield f"*{in_line(', '.join(turn.marks))}*"
        yield contained(turn.content, _DEEPEST_HEADING)


# What somebody else wrote


def _readable(text: str) -> str:
    return _INVISIBLE.sub("\ufffd", _LINE_BREAK.sub("\n", text))


def _tamed(text: str, level: int) -> str:
    """The text with what would reach beyond its place taken back, as far as the block structure tells."""
    lines = text.split("\n")
    tokens = _reader().parse(text)
    untouched = {at for token in tokens if token.type in ("fence", "code_block") for at in range(*token.map or (0, 0))}
    for start, end in _passages(tokens, len(lines), untouched):
        lines[start:end] = _without_html("\n".join(lines[start:end])).split("\n")
    for token in tokens:
        if token.type == "heading_open" and token.map:
            _lower(lines, token, token.map, level)
    return "\n".join([*lines, *_missing_fence(tokens, lines)])


def _passages(tokens: Sequence[Token], count: int, untouched: set[int]) -> Iterator[tuple[int, int]]:
    """The lines that are read together, as code between backticks may go over several."""
    whole = {token.map[0]: token.map[1] for token in tokens if token.type == "inline" and token.map}
    at = 0
    while at < count:
        end = max(whole.get(at, at + 1), at + 1)
        if at not in untouched:
            yield at, end
        at = end


def _without_html(passage: str) -> str:
    done, made = 0, []
    for start, end in _code_spans(passage):
        made += [_escaped(passage[done:start]), passage[start:end]]
        done = end
    return "".join([*made, _escaped(passage[done:])])


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
        and all(part.level < _DEEPEST for part in parts)
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
    reader = MarkdownIt("commonmark", {"html": html}).enable("table")
    return reader if html else reader.disable(["reference", "html_block", "html_inline"])

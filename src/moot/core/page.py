"""What readers see of an outcome, as data: a format declares it, every surface lays it out its way. Pure.

The decision comes first, then how far to trust it, then sections in the order in which a reader wants them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from moot.core.charts import ChartData
from moot.core.table import Rows
from moot.core.trust import Level
from moot.text.language import sentences
from moot.text.plain import capitalized

Look: TypeAlias = Literal["check", "flag", "turn", "plus", "file"]
"""What stands before a line: something settled, a goal, what may still turn, what speaks for it, a document."""
MAX_HEADLINE = 240
LEAD_SENTENCES = 2


class Line(NamedTuple):
    """A sentence or two; `strong` is how it begins, `seat` whose it is, `turns` where it was said."""

    text: str
    strong: str = ""
    seat: str = ""
    turns: tuple[int, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Lines:
    """Folded under a line when it has one."""

    lines: tuple[Line, ...]
    look: Look = "check"
    fold: str = ""


@dataclass(frozen=True, slots=True)
class Quoted:
    """What somebody holds against it, set apart."""

    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Prose:
    """A text in markdown; folded under a line when it has one, a document when it is what was asked for."""

    text: str
    fold: str = ""
    is_document: bool = False


class Card(NamedTuple):
    title: str
    text: str = ""
    seat: str = ""
    chosen: bool = False
    tag: str = ""
    lines: tuple[Line, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Cards:
    """Things of one kind side by side: options, perspectives."""

    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class Steps:
    """The next steps of the outcome, to be ticked, and how it is known that all is done."""

    done_when: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    chart: ChartData


@dataclass(frozen=True, slots=True)
class Table:
    rows: Rows


class IssueCard(NamedTuple):
    """Something held against an answer, what was replied, and what became of it."""

    number: int
    status: str
    status_text: str
    severity: str
    severity_text: str
    where: str
    quote: str
    raised: Line
    replies: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class Issues:
    issues: tuple[IssueCard, ...]


class Argument(NamedTuple):
    claim: str
    text: str
    quote: str = ""
    found: bool = True
    """Whether the quote stands where it should."""
    note: str = ""


class Side(NamedTuple):
    seat: str
    position: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Sides:
    sides: tuple[Side, ...]


class DecidedBy(NamedTuple):
    """A claim that judgings named, by its id, and in how many of them."""

    claim: str
    times: int
    of: int


@dataclass(frozen=True, slots=True)
class Decisive:
    claims: tuple[DecidedBy, ...]


Part: TypeAlias = Lines | Quoted | Prose | Cards | Steps | Figure | Table | Issues | Sides | Decisive


class Block(NamedTuple):
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Beside:
    """Blocks next to each other where there is room."""

    blocks: tuple[Block, ...]


class Section(NamedTuple):
    """`facts` stand beside its title, the first of them as a tag in the colour of a seat."""

    id: str
    title: str
    parts: tuple[Part | Beside, ...]
    facts: tuple[str, ...] = ()
    seat: str = ""


class SideScore(NamedTuple):
    seat: str
    name: str
    score: float
    won: bool


class Fact(NamedTuple):
    what: str
    detail: str


class TrustBlock(NamedTuple):
    """How far it can be relied on: why so far, why no further, what would lift it, and up to four facts; without a
    level where nobody has examined that."""

    level: Level | None
    why: str = ""
    reasons: tuple[str, ...] = ()
    lifts: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()


class OutcomePage(NamedTuple):
    label: str
    headline: str
    lead: str = ""
    whole: Prose | None = None
    """All of the words from which headline and lead are taken."""
    scores: tuple[SideScore, ...] = ()
    trust: TrustBlock | None = None
    sections: tuple[Section, ...] = ()


class Told(NamedTuple):
    """A text as a page begins with it."""

    headline: str
    lead: str


def told(text: str, lead: str = "") -> Told:
    """A text up to its first colon or full stop, and the sentences after that where nobody wrote a lead."""
    first, *others = sentences(" ".join(text.split())) or [""]
    headline, rest = _cut(first)
    following = " ".join([*([rest] if rest else []), *others][:LEAD_SENTENCES])
    return Told(headline, lead or following)


def _cut(sentence: str) -> tuple[str, str]:
    head, colon, rest = sentence.partition(": ")
    if not colon or len(head) > MAX_HEADLINE:
        head, rest = sentence, ""
    head = head.strip().removesuffix(".").removesuffix("。")
    if len(head) > MAX_HEADLINE:
        head = f"{head[: MAX_HEADLINE - 1].rsplit(' ', 1)[0]}…"
        rest = rest or sentence
    return head, capitalized(rest)


def bold_to_colon(text: str) -> Line:
    """A condition, bold up to its first colon or full stop where more follows."""
    head, colon, rest = text.partition(": ")
    if colon and rest:
        return Line(capitalized(rest), strong=head.removesuffix(".") + ".")
    first, *others = sentences(text) or [text]
    return Line(" ".join(others), strong=first) if others else Line(text)


def opening(text: str, number: int = 3) -> str:
    """Its first sentences."""
    return " ".join(sentences(" ".join(text.split()))[:number])


def lines_of(*texts: str) -> tuple[Line, ...]:
    return tuple(map(Line, texts))


def listed(texts: Sequence[str], look: Look) -> tuple[Lines, ...]:
    """The parts of a section that has nothing but these; none without any."""
    return (Lines(lines_of(*texts), look),) if texts else ()


def present(*sections: Section | None) -> tuple[Section, ...]:
    """Those in which there is something."""
    return tuple(each for each in sections if each and each.parts)


def charts_in(page: OutcomePage) -> Iterator[ChartData]:
    """In the order in which a reader meets them."""
    return (part.chart for part in parts_in(page) if isinstance(part, Figure))


def parts_in(page: OutcomePage) -> Iterator[Part]:
    """All of its sections, also those that stand beside each other."""
    for section in page.sections:
        for part in section.parts:
            if isinstance(part, Beside):
                yield from (each for block in part.blocks for each in block.parts)
            else:
                yield part

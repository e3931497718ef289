"""Where each figure of an outcome comes from: a source, the question, or whoever said it first.

Figures are compared by value: 4.6 million is 4,600,000, and 1.850 in a German speech is 1,850 in an English source.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from math import isclose
from types import MappingProxyType
from typing import Any, NamedTuple

from moot.core.debate import Turn
from moot.core.script import Debate
from moot.text.language import Language, language_of
from moot.text.markdown import in_line
from moot.trust.quotes import GROUPED

MAX_SHOWN, MAX_OPERANDS = 40, 32
ROUNDED = 0.005
"""What was computed may be off by this share."""
NUMBER = re.compile(
    r"(?<![\w.,:/^-])(?P<digits>\d++(?:[.,'’\u00a0\u2009\u202f]\d++)*+)(?![:/]\d)"
    r"(?P<percent>\s?[%‰])?(?:\s(?P<scale>[^\W\d_]{3,9}))?"
)
SCALES = {
    **dict.fromkeys(("thousand", "tausend"), 3),
    **dict.fromkeys(("million", "millions", "millionen", "mio"), 6),
    **dict.fromkeys(("billion", "billions", "milliarde", "milliarden", "mrd"), 9),
}


class Figure(NamedTuple):
    """A number as it is written, and what it is worth."""

    text: str
    value: float


def figures(text: str, language: Language) -> Iterator[Figure]:
    """Every number of a text; dates, times and versions are none."""
    sign = "," if language.code == "en" else "."
    for match in NUMBER.finditer(text):
        written, value = match[0], _value(match["digits"], sign)
        if value is None:
            continue
        scale = SCALES.get((match["scale"] or "").casefold())
        if match["scale"] and scale is None:
            written = written[: match.start("scale") - match.start()].rstrip()
        yield Figure(written, round(value * 10 ** (scale or 0), 12))


def provenance(
    debate: Debate[Any], text: str, speakers: Mapping[str, str], sources: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """A line for each figure of an outcome's text; `speakers` maps the seats that may have said it first to names,
    `sources` the names of what was given to its text."""
    given = _given(debate, sources)
    said = _first_said(debate, {*speakers, "human"})
    names = {**speakers, "human": debate.language("a person")}
    shown = {figure.value: figure.text for figure in figures(text, debate.language) if _tells(figure)}
    return [
        f"{written}: {given.get(value) or _speaker(debate, value, said.get(value), names, list(given))}"
        for value, written in islice(shown.items(), MAX_SHOWN)
    ]


def section(lines: Sequence[str], say: Language, level: int = 2) -> str:
    """As a part of an outcome's document; "" without figures."""
    listed = "\n".join(f"- {in_line(line)}" for line in lines)
    return f"{'#' * level} {say('Figures and where they come from')}\n\n{listed}" if lines else ""


def _tells(figure: Figure) -> bool:
    """Whether a figure says more than a number of things that anybody can count."""
    return figure.value >= 10 or figure.value % 1 != 0 or not figure.text[-1].isdigit()


def _given(debate: Debate[Any], sources: Mapping[str, str]) -> dict[float, str]:
    """What stands in a source or in the question."""
    asked = dict.fromkeys(
        (figure.value for figure in figures(debate.topic, debate.language)), debate.language("the question")
    )
    for name, source in reversed([*sources.items()]):
        asked |= {figure.value: name for figure in figures(source, language_of(source))}
    return asked


def _first_said(debate: Debate[Any], seats: Collection[str]) -> dict[float, Turn]:
    said: dict[float, Turn] = {}
    for turn in debate.transcript:
        if turn.seat in seats:
            for figure in figures(turn.content, debate.language):
                said.setdefault(figure.value, turn)
    return said


def _speaker(
    debate: Debate[Any], value: float, turn: Turn | None, names: Mapping[str, str], given: Sequence[float]
) -> str:
    say = debate.language
    if turn is None:
        return say("said by nobody before the closing")
    if turn.round is None:
        return names[turn.seat]
    own = [figure.value for figure in islice(figures(turn.content, say), MAX_OPERANDS)]
    derived = given and _derived(value, dict.fromkeys([*own, *given[:MAX_OPERANDS]]))
    what = {"name": names[turn.seat], "round": turn.round}
    return say("{name}, round {round}, derived", **what) if derived else say("{name}, round {round}", **what)


def _derived(value: float, others: Iterable[float]) -> bool:
    """Whether it is the sum, difference, product, quotient or percentage of two others; 30 could be that of any."""
    if len(f"{value:f}".replace(".", "").strip("0")) < 2:
        return False
    operands = [other for other in others if other and other != value]
    return any(
        isclose(found, value, rel_tol=ROUNDED)
        for one, other in product(operands, repeat=2)
        for found in (one + other, one - other, one * other, one / other, one * other / 100)
    )


def _value(digits: str, sign: str) -> float | None:
    if GROUPED[sign].fullmatch(digits.partition("." if sign == "," else ",")[0]):
        digits = re.sub(rf"[{sign}'’\u00a0\u2009\u202f]", "", digits)
    plain = digits.replace(",", ".")
    return float(plain) if re.fullmatch(r"\d{1,18}(?:\.\d{1,12})?", plain) else None

"""Where each figure of an outcome comes from: a source, the question, or whoever said it first.

Figures are compared by value: 4.6 million is 4,600,000, and 1.850 in a German speech is 1,850 in an English source.
What they measure must not differ: 28 MB do not come from 28 days.
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
from moot.sources.quotes import GROUPED
from moot.text.language import Language, language_of
from moot.text.markdown import in_line

MAX_SHOWN, MAX_OPERANDS = 40, 32
ROUNDED = 0.005
"""What was computed may be off by this share."""
NUMBER = re.compile(
    r"(?<![\w.,:/^-])(?P<digits>\d++(?:[.,'’\u00a0\u2009\u202f]\d++)*+)(?![:/]\d)"
    r"(?P<percent>\s?[%‰])?(?:\s(?P<scale>[^\W\d_]{3,9}))?"
)
_MONTH = (
    "jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz|apr(?:il)?|may|mai|june?|juni|july?|juli|aug(?:ust)?|"
    "sept?(?:ember)?|oct(?:ober)?|oktober|nov(?:ember)?|dec(?:ember)?|dezember"
)
_OF_MONTH = re.compile(rf"(?:st|nd|rd|th|\.)?(?:\sof)?\s(?:{_MONTH})\b", re.IGNORECASE)
_MONTH_BEFORE = re.compile(rf"\b(?:{_MONTH})\.?\s$", re.IGNORECASE)
_UNIT = re.compile(r"[\s-]?([^\W\d_]+|[%‰€$£°])")
MEASURES = {
    unit: measure
    for measure, units in {
        "share": "% ‰ percent prozent",
        "money": "€ $ £ euro euros eur dollar dollars usd pound pounds cent cents",
        "size": "kb mb gb tb byte bytes",
        "time": "ms s second seconds min minute minutes hour hours day days week weeks month months year years "
        "sekunde sekunden minuten stunde stunden tag tage tagen woche wochen monat monate monaten jahr jahre jahren",
        "length": "mm cm m km metre metres meter kilometre kilometres kilometer mile miles",
        "weight": "g kg tonne tonnes tonnen",
        "energy": "w kw mw kwh mwh watt",
    }.items()
    for unit in units.split()
}
"""What a word or sign after a figure says that it measures."""
SCALES = {
    **dict.fromkeys(("thousand", "tausend"), 3),
    **dict.fromkeys(("million", "millions", "millionen", "mio"), 6),
    **dict.fromkeys(("billion", "billions", "milliarde", "milliarden", "mrd"), 9),
}


class Figure(NamedTuple):
    """A number as it is written, and what it is worth."""

    text: str
    value: float
    measure: str = ""
    """What it measures, where that can be told."""

    def may_be(self, other: Figure) -> bool:
        return self.value == other.value and not (self.measure and other.measure and self.measure != other.measure)


def figures(text: str, language: Language) -> Iterator[Figure]:
    """Every number of a text; dates, times and versions are none."""
    sign = "," if language.code == "en" else "."
    for match in NUMBER.finditer(text):
        written, value = match[0], _value(match["digits"], sign)
        if value is None or _is_day(text, match, value):
            continue
        scale = SCALES.get((match["scale"] or "").casefold())
        if match["scale"] and scale is None:
            written = written[: match.start("scale") - match.start()].rstrip()
        unit = _UNIT.match(text, match.end("digits") if scale is None else match.end())
        measure = MEASURES.get(unit[1].casefold(), "") if unit else ""
        yield Figure(written, round(value * 10 ** (scale or 0), 12), measure)


def _is_day(text: str, match: re.Match[str], value: float) -> bool:
    """31 August, August 31, 31. August."""
    if not (1 <= value <= 31 and value % 1 == 0):
        return False
    before = text[max(0, match.start() - 12) : match.start()]
    return bool(_OF_MONTH.match(text, match.end("digits")) or _MONTH_BEFORE.search(before))


def provenance(
    debate: Debate[Any], text: str, speakers: Mapping[str, str], sources: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """A line for each figure of an outcome's text; `speakers` maps the seats that may have said it first to names,
    `sources` the names of what was given to its text."""
    shown: dict[float, Figure] = {}
    for figure in figures(text, debate.language):
        if _tells(figure):
            shown.setdefault(figure.value, figure)
    if not shown:
        return []
    given, said = list(_given(debate, sources)), list(_said(debate, {*speakers, "human"}))
    names = {**speakers, "human": debate.language("a person")}
    operands = list(dict.fromkeys(figure.value for figure, _ in given))
    given = [each for each in given if each[0].value in shown]
    return [
        f"{figure.text}: {_origin(debate, figure, given, said, names, operands)}"
        for figure in islice(shown.values(), MAX_SHOWN)
    ]


def _origin(
    debate: Debate[Any],
    figure: Figure,
    given: Sequence[tuple[Figure, str]],
    said: Sequence[tuple[Figure, Turn]],
    names: Mapping[str, str],
    operands: Sequence[float],
) -> str:
    if (source := next((name for other, name in given if figure.may_be(other)), None)) is not None:
        return source
    if (turn := next((turn for other, turn in said if figure.may_be(other)), None)) is not None:
        return _speaker(debate, figure.value, turn, names, operands)
    return debate.language("said by nobody before the closing")


def section(lines: Sequence[str], say: Language, level: int = 2) -> str:
    """As a part of an outcome's document; "" without figures."""
    listed = "\n".join(f"- {in_line(line)}" for line in lines)
    return f"{'#' * level} {say('Figures and where they come from')}\n\n{listed}" if lines else ""


def _tells(figure: Figure) -> bool:
    """Whether a figure says more than a number of things that anybody can count."""
    return figure.value >= 10 or figure.value % 1 != 0 or not figure.text[-1].isdigit()


def _given(debate: Debate[Any], sources: Mapping[str, str]) -> Iterator[tuple[Figure, str]]:
    """What stands in a source or in the question."""
    for name, source in sources.items():
        yield from ((figure, name) for figure in figures(source, language_of(source)))
    yield from ((figure, debate.language("the question")) for figure in figures(debate.topic, debate.language))


def _said(debate: Debate[Any], seats: Collection[str]) -> Iterator[tuple[Figure, Turn]]:
    for turn in debate.transcript:
        if turn.seat in seats:
            yield from ((figure, turn) for figure in figures(all_said(turn), debate.language))


def all_said(turn: Turn) -> str:
    """The words of a turn, and those beside them: what somebody recommends, concedes, would change their mind for."""
    beside = (value for key, value in (turn.data or {}).items() if key != "content")
    texts = (text for value in beside for text in (value if isinstance(value, list) else [value]))
    return "\n".join([turn.content, *(text for text in texts if isinstance(text, str))])


def _speaker(debate: Debate[Any], value: float, turn: Turn, names: Mapping[str, str], given: Sequence[float]) -> str:
    say = debate.language
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

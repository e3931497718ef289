"""Where each figure of an outcome comes from: a source, the question, or whoever said it first.

Figures are compared by value: 4.6 million is 4,600,000, and 1.850 in a German speech is 1,850 in an English source.
What they count must not differ: 28 MB do not come from 28 days, nor $5 from 5 €.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise, product
from math import isclose
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from moot.core.debate import Turn
from moot.core.script import Debate
from moot.sources.quotes import GROUPED
from moot.text.language import Language, known_words, language_of, seems_english, sentences
from moot.text.markdown import bullets

MAX_SHOWN, MAX_OPERANDS = 40, 32
LARGE = 1000
ROUNDED, EXACT = 0.005, 1e-9
"""What was computed from figures beside it may be off by this share; from one that stands elsewhere, not at all."""
NUMBER = re.compile(
    r"(?<![\dA-Za-zÀ-ɏ_.,:/^])(?<![A-Za-zÀ-ɏ]-)(?P<minus>[-−])?"
    r"(?P<digits>[1-9]\d{0,2}(?>(?: \d{3})+)(?!\d)(?:[.,]\d++)?|\d++(?>(?:[.,'’٬٫\u00a0\u2009\u202f]\d++)*))"
    r"(?![:/]\d|[²³¹⁰⁴-⁹])"
    r"(?P<percent>\s?[%‰٪％])?"
    r"(?:(?P<glued>[kKMB]|bn|mn|m(?=\b))(?!\w)|\s?(?P<million>M)(?=\s?[€$£])|(?P<signs>[千万萬億亿천만억])"
    r"|[\s-](?P<scale>[^\W\d_]{3,9}))?"
)
NO_FIGURE = re.compile(
    r"https?://\S+|\b\d{4}-\d\d(?:-\d\d)?\b|\bv?(?!\d{1,3}(?:\.\d{3})+\b)\d+(?:\.\d+){2,}|\b\d[\d.]*(?:e|\^)[-+]?\d+|\b(?:v|version|release)\.?\s?\d[\d.]*"
    r"|(?:\bpp?\.|\bpages?|\bseiten?|§|\bno\.|\bnr\.|#)\s?\d[\d–-]*",
    re.IGNORECASE,
)
"""Dates, versions, pages and numbers of things."""
_KNOWN = tomllib.loads(Path(__file__).with_name("figures.toml").read_text("utf-8"))
_MONTH = "|".join(_KNOWN["months"])
_DAY_AND_MONTH = re.compile(r"\b\d{1,2}\.\s?\d{1,2}\.(?!\d)")
_OF_MONTH = re.compile(rf"(?:st|nd|rd|th|\.)?(?:\sof)?\s(?:{_MONTH})\b", re.IGNORECASE)
_MONTH_BEFORE = re.compile(rf"\b(?:{_MONTH})\.?\s$", re.IGNORECASE)
_UNIT = re.compile(r"(?:\s?[–—-]\s?\d[\d.,]*)?[\s-]?([^\W\d_]+|[%‰٪％€$£¥°])")
"""Behind a figure, or behind the range that it begins."""
_NEXT = re.compile(r"(?:\s[^\W\d_]+){1,3}")
_MONEY_BEFORE = re.compile(r"([€$£¥]|\b(?:EUR|USD|GBP|CHF|JPY))\s?[-−]?$")
UNITS = {alias: unit for unit, aliases in _KNOWN["units"].items() for alias in aliases.split()}
"""What a word or sign beside a figure says that it counts."""
SCALES = {word: int(zeros) for zeros, words in _KNOWN["scales"].items() for word in words.split()}


class Figure(NamedTuple):
    """A number as it is written, and what it is worth."""

    text: str
    value: float
    unit: str = ""
    """What it counts, where that can be told."""
    behind: frozenset[str] = frozenset()
    """The beginnings of the words behind it that may say so."""

    def may_be(self, other: Figure) -> bool:
        """Whether it may have come from the other: 11 from 11 days or 11%, 11 days from 11, but 11% only from 11%; a
        fall of 11% from −11%."""
        alike = self.unit == other.unit or not self.unit or (not other.unit and self.unit != "%")
        return self.value in (other.value, abs(other.value)) and alike

    def seems(self, other: Figure) -> bool:
        """Whether nothing beside them says that they count different things, 40 nurses and 40 km, where many things are
        so many; 38 visitors may have given 38 answers."""
        same = self.unit == other.unit or not self.behind or not other.behind or self.behind & other.behind
        return self.may_be(other) and (bool(same) or not _common(self.value))


def figures(text: str, language: Language) -> Iterator[Figure]:
    """Every number of a text; dates, times, versions and pages are none."""
    text = NO_FIGURE.sub(" ", text)
    if language.code == "de":
        text = _DAY_AND_MONTH.sub(" ", text)
    sign = _thousands(text, language)
    for match in NUMBER.finditer(text):
        value = _value(match["digits"], sign)
        if value is None or _is_day(text, match, value):
            continue
        before = _MONEY_BEFORE.search(text[max(0, match.start() - 5) : match.start("digits")])
        scale, end = _scale(match, bool(before))
        behind = _UNIT.match(text, end)
        unit = before[1] if before else behind[1] if behind else ""
        if match["minus"]:
            value = -value
        shown = end if scale or match["percent"] is None else match.end("percent")
        counted = UNITS.get(unit.casefold(), "")
        yield Figure(text[match.start() : shown], round(value * 10**scale, 12), counted, _behind(text, end))


def _behind(text: str, end: int) -> frozenset[str]:
    """“40 registered nurses”; nothing where grammar comes next, as in “30 for all”."""
    next_words = said[0].casefold().split() if (said := _NEXT.match(text, end)) else []
    known = known_words("common")
    return frozenset(word[:4] for word in next_words if next_words[0] not in known and word not in known)


def _common(value: float) -> bool:
    """30 could be anything."""
    return len(f"{value:f}".replace(".", "").strip("0")) <= 2


def _thousands(text: str, language: Language) -> str:
    """What separates them; either sign where the language has no file and its words are not English."""
    if language.code != "en":
        return "."
    return "," if seems_english(text) else ",."


def _scale(match: re.Match[str], is_money: bool) -> tuple[int, int]:
    """The zeros that a word or sign adds to a figure, and where that ends; 5m are metres, £5m are not."""
    for name in ("glued", "million", "signs", "scale"):
        said = match[name]
        if said and (said != "m" or is_money) and (scale := SCALES.get(said.casefold(), 0)):
            return scale, match.end(name)
    return 0, match.end("digits")


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
    shown: list[Figure] = []
    for figure in figures(text, debate.language):
        if _tells(figure) and not any(figure.may_be(other) for other in shown):
            shown.append(figure)
    if not shown:
        return []
    given, said = list(_given(debate, sources)), list(_said(debate, {*speakers, "human"}))
    names = {**speakers, "human": debate.language("a person")}
    operands = list(dict.fromkeys(figure.value for figure, _ in given))
    values = {figure.value for figure in shown}
    given = [each for each in given if not values.isdisjoint((each[0].value, abs(each[0].value)))]
    written = Counter(figure.text for figure in shown)
    return [
        f"{_named(figure, written)}: {_origin(debate, figure, given, said, names, operands)}"
        for figure in shown[:MAX_SHOWN]
    ]


def _named(figure: Figure, written: Mapping[str, int]) -> str:
    """With its unit where the same number stands for two things."""
    return f"{figure.text} {figure.unit}".rstrip() if written[figure.text] > 1 else figure.text


def _origin(
    debate: Debate[Any],
    figure: Figure,
    given: Sequence[tuple[Figure, str]],
    said: Sequence[tuple[Figure, Turn]],
    names: Mapping[str, str],
    operands: Sequence[float],
) -> str:
    for alike in (figure.seems, figure.may_be):
        if (source := next((name for other, name in given if alike(other)), None)) is not None:
            return source
        if (turn := next((turn for other, turn in said if alike(other)), None)) is not None:
            return _speaker(debate, figure.value, turn, names, operands)
    return debate.language("said by nobody before the closing")


def section(lines: Sequence[str], say: Language, level: int = 2) -> str:
    """As a part of an outcome's document; "" without figures."""
    return f"{'#' * level} {say('Figures and where they come from')}\n\n{bullets(lines)}" if lines else ""


def _tells(figure: Figure) -> bool:
    """Whether a figure says more than a number of things that anybody can count."""
    return abs(figure.value) >= 10 or figure.value % 1 != 0 or not figure.text[-1].isdigit()


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
    what = {"name": names[turn.seat], "round": turn.round}
    said = ["", *sentences(all_said(turn))]
    beside = (
        [figure.value for part in pair for figure in figures(part, say)]
        for pair in pairwise(said)
        if value in (figure.value for figure in figures(pair[1], say))
    )
    derived = given and _derived(value, next(beside, ()), given)
    return say("{name}, round {round}, derived", **what) if derived else say("{name}, round {round}", **what)


def _derived(value: float, beside: Iterable[float], given: Iterable[float]) -> bool:
    """Whether it is the sum, difference, product, quotient or percentage of two figures beside it, or exactly one of
    the last three of one beside it and one given; a large one also the product of two given. 30 could be any."""
    if len(f"{value:f}".replace(".", "").strip("0")) < 2:
        return False
    near, far = (
        [each for each in islice(dict.fromkeys(some), MAX_OPERANDS) if each and each != value]
        for some in (beside, given)
    )
    mixed = (_results(pair)[2:] for pair in chain(product(near, far), product(far, near)))
    products = ([one * other, one * other / 100] for one, other in product(far, repeat=2) if abs(value) >= LARGE)
    return any(
        isclose(found, value, rel_tol=tolerance)
        for results, tolerance in (
            (map(_results, product(near, repeat=2)), ROUNDED),
            (mixed, EXACT),
            (products, EXACT),
        )
        for found in chain.from_iterable(results)
    )


def _results(pair: tuple[float, ...]) -> list[float]:
    one, other = pair
    return [one + other, one - other, one * other, one / other, one * other / 100]


def _value(digits: str, sign: str) -> float | None:
    digits = digits.replace("٬", "’").replace("٫", "," if "." in sign else ".")
    if re.fullmatch(r"[^.,]*(?:\.\d{3})+,\d+", digits):
        sign = "."
    elif re.fullmatch(r"[^.,]*(?:,\d{3})+\.\d+", digits):
        sign = ","
    for each in sign:
        if GROUPED[each].fullmatch(digits.partition("." if each == "," else ",")[0]):
            digits = re.sub(rf"[{each} '’\u00a0\u2009\u202f]", "", digits)
            break
    plain = digits.replace(",", ".")
    return float(plain) if re.fullmatch(r"\d{1,18}(?:\.\d{1,12})?", plain) else None

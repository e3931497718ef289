"""A debate as an argument map in Argdown (https://argdown.org): who holds what, and what speaks for and against it.

Knows no format: each tells its own points. Every point stands on one line of its own, and whatever would be syntax in
what models and people wrote is escaped, so that it can neither break out nor add a point or an arrow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import count

from moot.core.events import TurnFinished
from moot.core.points import Point
from moot.core.record import iso
from moot.reading.debate import Reading
from moot.text.plain import shortened_at_word

MAX_TITLE = 80
MAX_TEXT = 600
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]")  # bidi too
_SYNTAX = re.compile(r"[\\@#*_\[<{]|/(?=[/*])|=(?==)|[.:](?=\S)")
_NO_TITLE = re.compile(r"[\\@#\[\]<>{}()]")


def argdown(reading: Reading) -> str:
    """The whole map; each point names the turns in which it was made."""
    record = reading.record
    points = [point for point in reading.points if _line(point.text)]
    speakers = {event.position: event.title for event in reading.events}
    names = _names(points, {event.position: _turn_title(event) for event in reading.events})
    blocks = [
        _front_matter(reading),
        f"# {_escaped(_line(record.title), MAX_TITLE)}",
        *("\n".join(_block(point, names, speakers)) for point in points),
    ]
    return "\n\n".join(blocks) + "\n"


def _front_matter(reading: Reading) -> str:
    """Between two lines of equals signs, which therefore no value may hold."""
    record, headline = reading.record, reading.headline
    values = {
        "title": _line(record.title),
        **({"asked": _line(record.topic)} if record.title != record.topic else {}),
        "debate": record.id,
        "format": record.format,
        "date": iso(record.created_at)[:10],
        "status": str(record.status),
        **({"origin": str(record.origin)} if record.origin else {}),
        **({"outcome": _line(headline)} if headline else {}),
    }
    lines = "\n".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in values.items())
    return "\n".join(["===", lines.replace("==", r"=\u003d"), "==="])


def _turn_title(turn: TurnFinished) -> str:
    return f"{turn.title}, {turn.kind}" + ("" if turn.round is None else f" of round {turn.round}")


def _names(points: Iterable[Point], turn_titles: Mapping[int, str]) -> dict[str, str]:
    """Key → the point's name between its brackets; Argdown takes two points of one name for the same."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for point in points:
        called = point.title or next((turn_titles[at] for at in point.turns if at in turn_titles), point.key)
        title = _title(called) or "Point"
        free = next(name for number in count(1) if (name := _numbered(title, number)) not in taken)
        taken.add(free)
        names[point.key] = f"[{free}]" if point.claim else f"<{free}>"
    return names


def _numbered(title: str, number: int) -> str:
    return title if number == 1 else f"{title}, no. {number}"


def _block(point: Point, names: Mapping[str, str], speakers: Mapping[int, str]) -> Iterator[str]:
    made = [position for position in point.turns if position in speakers]
    tags = [*dict.fromkeys(speakers[position] for position in made), *point.tags]
    parts = [f"{names[point.key]}:", _escaped(_line(point.text), MAX_TEXT), *map(_tag, tags)]
    yield " ".join([*parts, f"{{turns: {made}}}"] if made else parts)
    yield from (f"  +> {names[key]}" for key in point.supports if key in names)
    yield from (f"  -> {names[key]}" for key in point.attacks if key in names)


def _line(text: str) -> str:
    return " ".join(_INVISIBLE.sub(" ", text).split())


def _escaped(line: str, longest: int) -> str:
    return _SYNTAX.sub(r"\\\g<0>", shortened_at_word(line, longest))


def _title(text: str) -> str:
    """Nothing can be escaped between a point's brackets."""
    return shortened_at_word(_line(_NO_TITLE.sub(" ", text)).lstrip("- "), MAX_TITLE)


def _tag(text: str) -> str:
    return f"#({_title(text)})"

"""Text that several rooms shorten, escape, clean or name files by. Pure."""

from __future__ import annotations

import functools
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pydantic import JsonValue

MAX_SLUG = 60
DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}
"""What no file can be named on Windows, whatever it ends in."""


_LETTERS_AND_MARKS = re.compile(r"[\w\s\x00-\u02ff]*[^\w\s\x00-\u02ff]{0,32}")


def normalized(form: Literal["NFC", "NFKD"], text: str) -> str:
    """Unicode's normal form of a text, in which at most 32 marks that follow each other are put in order.

    To order them all takes the square of their number, and no letter of any language has as many.
    """
    return "".join(unicodedata.normalize(form, piece) for piece in _LETTERS_AND_MARKS.findall(text))


def slug(title: str) -> str:
    """The title as part of a file name, at most 60 of a-z, 0-9 and dashes, broken at a word."""
    letters = normalized("NFKD", title.casefold()).encode("ascii", "ignore").decode()
    whole = re.sub(r"[^a-z0-9]+", "-", letters).strip("-")
    if len(whole) > MAX_SLUG:
        whole = whole[: MAX_SLUG + 1].rpartition("-")[0] or whole[:MAX_SLUG]
    return f"{whole}-decision" if whole in DEVICES else whole or "decision"


def shortened(text: str, length: int) -> str:
    """At most so many characters; what was cut ends in …"""
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def shortened_at_word(text: str, length: int) -> str:
    """The same, cut at a word where that leaves more than half: many languages have no spaces between words."""
    if len(text) <= length:
        return text
    cut = text[: length - 1]
    at = cut.rfind(" ")
    return f"{cut[:at] if at > length // 2 else cut}…"


def capitalized(text: str) -> str:
    """With a capital at its beginning, and all else as it is."""
    return text[:1].upper() + text[1:]


def one_line(text: str) -> str:
    """Text somebody else wrote in one line of letters that can be printed."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


SECRET_NAMES = re.compile(
    r"(^|_)(key|token|secret|headers|credentials?)(_|$)|passw(or)?d|apikey|database_url", re.IGNORECASE
)
MIN_SECRET = 8
"""A shorter one is a word of every other line."""


def secrets_of(environ: Mapping[str, str]) -> Iterator[str]:
    """The values that nobody may read, by the names of their variables."""
    return (value for name, value in environ.items() if SECRET_NAMES.search(name))


def hiding(secrets: Iterable[str], shown: str = "[hidden]") -> Callable[[str], str]:
    """Shows something else in the place of every secret, also where JSON writes it with other characters."""
    long = [secret for secret in secrets if len(secret) >= MIN_SECRET]
    written = (json.dumps, functools.partial(json.dumps, ensure_ascii=False))
    forms = {*long, *(write(secret)[1:-1] for secret in long for write in written)}
    if not forms:
        return str
    longest_first = "|".join(map(re.escape, sorted(forms, key=len, reverse=True)))
    return functools.partial(re.compile(longest_first).sub, lambda _: shown)


def whole_number(text: str) -> int | None:
    """A number that somebody typed, of at most nine digits; None when it is none."""
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else None


CHARACTERS_PER_TOKEN = 4  # for estimates, when the server counts nothing


def estimated_tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)


def clean(value: JsonValue) -> JsonValue:
    """The same without what no database keeps: NUL, half surrogate pairs, integers beyond 64 bits."""
    if isinstance(value, int) and value.bit_length() > 63:
        return str(value)
    if isinstance(value, str):
        text = value.replace("\0", "\ufffd")
        return text if text.isascii() else text.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {str(clean(key)): clean(item) for key, item in value.items()}
    return value


JOINERS = "\u200c\u200d"
"""Invisible, but Persian, Hindi and many emoji are not themselves without them."""


INVISIBLE = "\r\xad\u200b\u200e\u200f\u2060\ufeff"


def printable(text: str) -> str:
    """Text somebody else wrote, unable to steer the terminal. Each letter is treated alike wherever it stands."""
    return text if text.isprintable() else "".join(map(_printable_letter, text))


def in_one_line(text: str) -> str:
    return " ".join(printable(text).split())


def comma_separated(value: object) -> object:
    """The names in a text, as they are typed or stand in a variable; what is no text stays as it is."""
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


@functools.lru_cache(maxsize=4096)
def _printable_letter(letter: str) -> str:
    if letter.isprintable() or letter in "\n\t\f" + JOINERS:
        return letter
    if letter in INVISIBLE:
        return ""
    match unicodedata.category(letter):
        case "Zs":
            return letter
        case "Zl" | "Zp":
            return "\n"
        case _:
            return "\ufffd"

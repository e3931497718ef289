"""Read a structured answer: its readable text while the JSON is still arriving, the whole when it is there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal

from pydantic import JsonValue, ValidationError
from pydantic_core import from_json

from moot.core.debate import Answer
from moot.text.plain import clean


class Unreadable(ValueError):
    """A reply that is not the answer asked for; the message tells the model what is wrong."""


class SpeechStream:
    """Shows a speech as it arrives, with neutral names replaced by the seats' titles."""

    def __init__(self, titles: Mapping[str, str], show: Callable[[str], None]) -> None:
        self._titles = titles
        self._beginnings = {name[:end] for name in titles for end in range(len(name) + 1)}
        self._show = show
        self.restart()

    def restart(self) -> Callable[[str], None]:
        if not self._titles:
            return self._show
        self._held = ""
        """A last word that may still grow into a name."""
        self._inside = False
        """The next letters go on with a word that is already shown, and so is no name."""
        return self.feed

    def feed(self, text: str) -> None:
        text = self._held + text
        start, cut = 0, len(text)
        while self._inside and start < len(text) and _in_word(text[start]):
            start += 1
        while cut > start and _in_word(text[cut - 1]):
            cut -= 1
        if text[cut:] not in self._beginnings:
            cut = len(text)
        self._held = text[cut:]
        if cut:
            self._inside = _in_word(text[cut - 1])
            self._show(text[:start] + rename(text[start:cut], self._titles))

    def finish(self) -> None:
        """Show what was held back."""
        if self._titles and self._held:
            self._show(rename(self._held, self._titles))


class AnswerStream:
    """Shows one field's text as its JSON arrives, with neutral names replaced by the seats' titles."""

    def __init__(self, field: str, titles: Mapping[str, str], show: Callable[[str], None]) -> None:
        self._field = field
        self._titles = titles
        self._show = show
        self.restart()

    def restart(self) -> Callable[[str], None]:
        self._pieces: list[str] = []
        self._length = self._read_at = 0
        """So long it must be before it is read again: reading it at every token would take for ever."""
        self._shown = 0
        return self.feed

    def feed(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)
        if self._length < self._read_at:
            return
        self._read_at = self._length * 33 // 32
        raw = "".join(self._pieces)
        start = raw.find("{")
        if start < 0:
            return
        try:
            partial = from_json(raw[start:], allow_partial="trailing-strings")
        except ValueError:
            return
        value = partial.get(self._field) if isinstance(partial, dict) else None
        if isinstance(value, str):
            self._show_up_to(rename(_settled(str(clean(value))), self._titles))

    def finish(self, text: str) -> str:
        """Show what was held back of the field's whole text; return it as it was shown."""
        readable = rename(text, self._titles).strip()
        self._show_up_to(readable)
        return readable

    def _show_up_to(self, readable: str) -> None:
        if len(readable) > self._shown:
            self._show(readable[self._shown :])
            self._shown = len(readable)


def parse(text: str, answer: type[Answer], *, cut: bool = False) -> Answer:
    """The answer in a reply, whatever stands around it; of one that was cut, what had arrived if that will do."""
    start, end = text.find("{"), text.rfind("}")
    if cut and start >= 0:
        return _read(text[start:], answer, allow_partial="trailing-strings")
    if start < 0 or end < start:
        if start < 0 and (prose := answer.from_prose(str(clean(text)))):
            return prose
        raise Unreadable("there is no JSON object in it")
    return _read(text[start : end + 1], answer)


def _read(text: str, answer: type[Answer], allow_partial: Literal["trailing-strings"] | bool = False) -> Answer:
    try:
        value: JsonValue = from_json(text, allow_partial=allow_partial)
    except ValueError as error:
        raise Unreadable(f"it is not valid JSON: {error}") from None
    try:
        return answer.model_validate(clean(value))
    except ValidationError as error:
        raise Unreadable(_told(error)) from None


def _told(error: ValidationError) -> str:
    """What is wrong, as the model is told it: in pydantic's words, which recorded debates were repaired with."""
    found = ((".".join(map(str, fault["loc"])) or "all", fault) for fault in error.errors())
    said = (f"{place}: {'not known' if fault['type'] == 'extra_forbidden' else fault['msg']}" for place, fault in found)
    return "; ".join(said).replace("Value error, ", "")


def rename(text: str, titles: Mapping[str, str]) -> str:
    for name in titles:
        if name in text:
            return re.sub(rf"\b({'|'.join(map(re.escape, titles))})\b", lambda match: titles[match[0]], text)
    return text


def renamed(value: JsonValue, titles: Mapping[str, str]) -> JsonValue:
    """Data with the seats' titles for neutral names wherever it says something."""
    if isinstance(value, str):
        return rename(value, titles)
    if isinstance(value, list):
        return [renamed(part, titles) for part in value]
    if isinstance(value, dict):
        return {key: renamed(part, titles) for key, part in value.items()}
    return value


def _in_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _settled(text: str) -> str:
    """Without its last word, which may still grow into a name, and without space at its ends."""
    end = len(text)
    while end and _in_word(text[end - 1]):
        end -= 1
    return text[:end].strip()

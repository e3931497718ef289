"""A document that a debate may cite."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field, StringConstraints
from pydantic_core import PydanticCustomError

WHOLE = 60_000
"""Characters of sources that everybody reads whole, unless a model's window is known to be too small for it."""
MAX_NAME = 120
CONTROL = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
"""Characters that have no place in a line."""
NAME = rf'^[^<>"{CONTROL}]+$'
"""A name stands in tags and headings: one line, and nothing that could end them."""
_NOT_IN_NAMES = re.compile(rf'[<>"{CONTROL}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]')
"""Nor what turns the direction of what follows: a name must not look like another."""


def as_name(text: str, instead: str = " ") -> str:
    """Text that can stand in a name, with something else for each sign that cannot."""
    return _NOT_IN_NAMES.sub(instead, text)


def _one_line(name: str) -> str:
    if not re.match(NAME, name):
        raise PydanticCustomError("name", 'has a sign that no name can have: take <, >, " and line breaks out')
    return name


def _not_empty(text: str) -> str:
    if not text or text.isspace():
        raise PydanticCustomError("empty", "is empty; give the document's text, or leave the source out")
    return text


class Source(BaseModel, extra="forbid", frozen=True):
    """A document that a debate may cite; the first is S1, the second S2."""

    name: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_NAME),
        AfterValidator(_one_line),
    ]
    text: Annotated[str, AfterValidator(_not_empty), Field(json_schema_extra={"contentMediaType": "text/plain"})]


def tags(sources: Sequence[Source]) -> dict[str, Source]:
    return {f"S{number}": source for number, source in enumerate(sources, 1)}


def text_by_tag(sources: Sequence[Source]) -> dict[str, str]:
    return {tag: source.text for tag, source in tags(sources).items()}

"""Fields of structured answers that read a sloppy form as what it means; missing substance is not made up.

The bounds in their schemas are for servers that write by grammar, whose small models would else never end.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
)

MAX_ITEMS = 12

_POINTS = re.compile(r"\s*(-?\d+(?:[.,]\d+)?)\s*(?:(?:/|out of)\s*(100?)\b)?")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")


def text(value: object) -> object:
    """Words, whatever form they came in."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "\n".join(str(text(part)) for part in value)
    if isinstance(value, dict):
        return "; ".join(str(text(part)) for part in value.values())
    return str(value)


def texts(value: object) -> object:
    """A list of words: one text stands for its lines."""
    parts = value if isinstance(value, list) else str(text(value)).splitlines()
    lines = (_BULLET.sub("", str(text(part))).strip() for part in parts)
    return [line for line in lines if any(map(str.isalpha, line))]


def number(value: object) -> object:
    """`8/10`, `8 out of 10` and `80/100` are 8; what holds no number is left to be refused."""
    found = _POINTS.match(value) if isinstance(value, str) else None
    if not found:
        return value
    return float(found[1].replace(",", ".")) / (10 if found[2] == "100" else 1)


def letters(value: object) -> object:
    """A choice by its letters alone: `**Critical**` is critical."""
    return re.sub(r"[^a-z]", "", value.casefold()) if isinstance(value, str) else value


def flag(value: object) -> object:
    return False if value is None else value


def objects(value: object, *, most: int = MAX_ITEMS) -> list[dict[str, Any]]:
    """A list of objects, where one stands for itself; whatever else is in it is none."""
    parts = value if isinstance(value, list) else [value]
    return [part for part in parts if isinstance(part, dict)][:most]


def readable(form: type[BaseModel], most: int | None = None) -> Callable[[object], list[BaseModel]]:
    """Of a list of forms, or one, those that can be read: what is said in no known form is not said."""

    def read(value: object) -> list[BaseModel]:
        found: list[BaseModel] = []
        for part in (value if isinstance(value, list) else [value])[:most]:
            with suppress(ValidationError):
                found.append(form.model_validate(part))
        return found

    return read


def first(parts: list[Any]) -> list[Any]:
    return parts[:MAX_ITEMS]


def at_most(number: int, of: str = "maxLength") -> Any:
    """A bound that the schema tells; what is longer is welcome all the same."""
    return Field(json_schema_extra={of: number})


Text: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=True), BeforeValidator(text)]
Words: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), BeforeValidator(text)]
Texts: TypeAlias = Annotated[
    list[Annotated[str, at_most(240)]], at_most(6, "maxItems"), BeforeValidator(texts), AfterValidator(first)
]
Flag: TypeAlias = Annotated[bool, BeforeValidator(flag)]
# The schema says integer because grammars can bound integers; half points are welcome all the same.
_INTEGER: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 10}
Score: TypeAlias = Annotated[
    float,
    Field(ge=0, le=10, allow_inf_nan=False),
    BeforeValidator(number),
    WithJsonSchema(_INTEGER),
]
ScoreOrNone: TypeAlias = Annotated[Score | None, WithJsonSchema(_INTEGER)]

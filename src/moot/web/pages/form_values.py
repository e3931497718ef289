"""What was typed into a form as settings, and settings as what would have been typed.

Reads the JSON schema of settings: which widget a field has says how its text is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal, TypeAlias

import orjson
from pydantic import JsonValue
from pydantic.json_schema import GenerateJsonSchema

from moot.core.debate import BY_SEAT, Settings
from moot.core.format import AnyFormat
from moot.errors import InvalidInput

Widget: TypeAlias = Literal[
    "choice", "flag", "number", "line", "text", "list", "pairs", "json", "seats", "rows", "number_or_list"
]
Posted: TypeAlias = Mapping[str, Sequence[str]]
Schema: TypeAlias = Mapping[str, Any]

LONG = 1000
"""A text that may be longer than this gets several lines."""
MAX_DIGITS = 3
"""Of the number of a row."""


@cache
def schemas(format: AnyFormat) -> Mapping[str, Schema]:
    """The schema of each setting, with all it refers to written out."""
    whole = format.settings.model_json_schema(schema_generator=_DeclaredTitles)
    usual = Settings.model_json_schema(schema_generator=_DeclaredTitles)["properties"]
    known = whole.get("$defs", {})
    titles = {name: {"title": schema["title"]} for name, schema in usual.items()}
    return {name: titles.get(name, {}) | _resolved(schema, known) for name, schema in whole["properties"].items()}


class _DeclaredTitles(GenerateJsonSchema):
    """A schema without the titles that pydantic makes up from names."""

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


def _resolved(schema: Any, known: Mapping[str, Any]) -> Any:
    """The schema with what it refers to written out."""
    if isinstance(schema, list):
        return [_resolved(part, known) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if reference := schema.get("$ref"):
        return _resolved(
            {**known[reference.rpartition("/")[2]], "title": "", **{k: v for k, v in schema.items() if k != "$ref"}},
            known,
        )
    return {key: _resolved(part, known) for key, part in schema.items()}


def alternatives(schema: Schema) -> list[Schema]:
    return [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]


def is_optional(schema: Schema) -> bool:
    return any(each.get("type") == "null" for each in schema.get("anyOf", ()))


def widget_of(name: str, schema: Schema) -> Widget:
    first, *others = alternatives(schema)
    if others:
        with_rows = any(_items(each) for each in others)
        return "number_or_list" if with_rows and first.get("type") == "integer" else "json"
    if "enum" in first:
        return "choice"
    match first.get("type"):
        case "boolean":
            return "flag"
        case "integer" | "number":
            return "number"
        case "string":
            return "text" if first.get("maxLength", 0) > LONG or "contentMediaType" in first else "line"
        case "array":
            return "rows" if _items(first) else "list" if first.get("items", {}).get("type") == "string" else "json"
        case "object" if isinstance(first.get("additionalProperties"), dict) and "properties" not in first:
            return "seats" if name in BY_SEAT else "pairs" if _is_plain(first["additionalProperties"]) else "json"
    return "json"


def _is_plain(schema: Schema) -> bool:
    return schema.get("type") in ("string", "integer", "number", "boolean")


def _items(schema: Schema) -> Mapping[str, Schema]:
    """The fields of the objects in an array that are required, or can be chosen from."""
    kinds = alternatives(schema.get("items", {})) if schema.get("type") == "array" else []
    item = next((each for each in kinds if "properties" in each), {})
    wanted = item.get("required", ())
    return {name: part for name, part in item.get("properties", {}).items() if name in wanted or "enum" in part}


def rows_of(schema: Schema) -> Mapping[str, Schema]:
    return next((found for each in alternatives(schema) if (found := _items(each))), {})


def read(widget: Widget, full: str, schema: Schema, posted: Posted) -> JsonValue:
    text = last(posted, full).strip()
    match widget:
        case "flag":
            return text == "on"
        case "seats":
            values = {key.removeprefix(f"{full}."): last(posted, key).strip() for key in posted if under(key, full)}
            return {seat: value for seat, value in values.items() if value}
        case "pairs":
            return dict(_pairs(text))
        case "list":
            return [part.strip() for line in text.splitlines() for part in line.split(",") if part.strip()]
        case "json":
            return _json(text)
        case "rows":
            return [*_filled(full, schema, posted)] or (None if is_optional(schema) else [])
        case "number_or_list":
            return [*posted.get(f"{full}.pick", ()), *_filled(full, schema, posted)] or text or None
        case _:
            return None if not text and is_optional(schema) else text


def _filled(full: str, schema: Schema, posted: Posted) -> Iterator[JsonValue]:
    parts = rows_of(schema)
    for number in row_numbers(full, parts, posted):
        row = {
            name: read(widget_of(name, part), f"{full}.{number}.{name}", part, posted) for name, part in parts.items()
        }
        yield {name: value for name, value in row.items() if value or name not in parts}


def row_numbers(full: str, parts: Mapping[str, Schema], posted: Posted) -> list[int]:
    """The rows in which somebody has written something; a choice alone is nothing."""
    written = [name for name, schema in parts.items() if "enum" not in schema]
    places = (key.removeprefix(f"{full}.").split(".") for key in posted if last(posted, key).strip())
    return sorted({int(place[0]) for place in places if _is_row(place, written)})


def _is_row(place: Sequence[str], parts: Sequence[str]) -> bool:
    number, *rest = place
    return number.isdecimal() and len(number) <= MAX_DIGITS and len(rest) == 1 and rest[0] in parts


def _pairs(text: str) -> Iterator[tuple[str, JsonValue]]:
    for line in filter(str.strip, text.splitlines()):
        key, separator, value = line.partition("=")
        if not separator:
            raise InvalidInput(f"{line.strip()!r} is not of the form name = value; write one pair on each line")
        yield key.strip(), value.strip()


def _json(text: str) -> JsonValue:
    try:
        value: JsonValue = orjson.loads(text) if text else None
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"this is no JSON: {error.msg}, line {error.lineno}") from None
    return value


def as_posted(full: str, name: str, schema: Schema, value: JsonValue) -> Posted:
    """What a browser would post of a field that shows this value."""
    widget = widget_of(name, schema)
    posted: dict[str, list[str]] = {full: [_text(widget, value)]}
    if isinstance(value, dict) and widget == "seats":
        posted |= {f"{full}.{seat}": [str(chosen)] for seat, chosen in value.items()}
    if isinstance(value, list) and widget in ("rows", "number_or_list"):
        posted[full] = [""]
        posted[f"{full}.pick"] = [each for each in value if isinstance(each, str)]
        rows = (each for each in value if isinstance(each, dict))
        for number, row in enumerate(rows):
            parts = rows_of(schema)
            posted |= {
                f"{full}.{number}.{part}": [_text(widget_of(part, parts[part]), row.get(part))] for part in parts
            }
    return posted


def _text(widget: Widget, value: JsonValue) -> str:
    if value is None or widget == "seats":
        return ""
    if isinstance(value, bool):
        return "on" if value else ""
    if isinstance(value, list) and widget == "list":
        return ", ".join(map(str, value))
    if isinstance(value, dict) and widget == "pairs":
        return "\n".join(f"{key} = {each}" for key, each in value.items())
    if isinstance(value, dict | list):
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    return f"{value:g}" if isinstance(value, float) and value < 1e6 else str(value)


def under(key: str, full: str) -> bool:
    return key == full or key.startswith(f"{full}.")


def last(posted: Posted, name: str, otherwise: str = "") -> str:
    """What was posted under a name; of several the last counts."""
    values = posted.get(name, ())
    return values[-1] if values else otherwise

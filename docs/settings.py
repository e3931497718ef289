"""Write docs/settings.md, every setting there is: python docs/settings.py"""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import Any

from moot.core.debate import Settings
from moot.formats import built_in
from moot.settings import AppSettings

HEAD = """# Settings

A setting comes from the environment (`MOOT_PORT=80`, `MOOT_MODELS__JUDGE=openai:gpt-4.1`), then from `moot.yaml` in the
working directory or wherever `MOOT_CONFIG` says, then from `moot.yaml` in the user's configuration directory, then it
has its default. Names that are no setting are refused. What a folder's `moot.yaml` may decide by itself:
[security](security.md).

## Of moot

{own}

## Of every format

Given for one debate (`--set max_rounds=3`, the form, `settings` over HTTP), or for all debates of a format under
`formats` in `moot.yaml`.

{every}

## Of each format
{formats}"""


def text() -> str:
    shared = set(Settings.model_fields)
    formats = "".join(f"\n### {format.name}\n\n{_table(format.settings, shared)}\n" for format in built_in())
    return HEAD.format(own=_table(AppSettings), every=_table(Settings), formats=formats)


def _table(model: Any, known: Container[str] = ()) -> str:
    """Those of a model's settings that are not known already, or have another default here."""
    rows = [
        f"| `{name}` | {_default(field)} | {_what(field)} |"
        for name, field in model.model_fields.items()
        if name not in known or field.default != Settings.model_fields[name].default
    ]
    return "\n".join(("| setting | default | what it is |", "|---|---|---|", *rows))


def _default(field: Any) -> str:
    if field.default_factory is not None:
        value = field.get_default(call_default_factory=True, validated_data={})
        return (
            ""
            if value in ({}, []) or "sqlite" in str(value) or not isinstance(value, str | int | float)
            else f"`{value}`"
        )
    return "" if field.default is None or field.is_required() else f"`{field.default}`"


def _what(field: Any) -> str:
    bounds = [f"{word} {limit}" for word, limit in _bounds(field)]
    return "; ".join(filter(None, [(field.description or "").replace("|", "\\|").replace("<", "&lt;"), *bounds]))


def _bounds(field: Any) -> list[tuple[str, object]]:
    words = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
    return [
        (word, getattr(each, name)) for each in field.metadata for name, word in words.items() if hasattr(each, name)
    ]


if __name__ == "__main__":
    Path(__file__).with_name("settings.md").write_text(text())

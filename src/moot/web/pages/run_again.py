"""The form of a debate that is to be run again: filled as it was asked, so that one thing can be changed."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from moot.core.debate import Record
from moot.core.format import AnyFormat
from moot.web.pages import form_values
from moot.web.pages.forms import SOURCES, defaults

FOLLOWS = {"extend_runtime", "whole_sources"}
"""Settings that follow from the models, whichever they are."""


def asked_again(
    record: Record, format: AnyFormat, configured: Mapping[str, JsonValue], swapped: bool = False
) -> dict[str, list[str]]:
    """What a browser would post of the form as the debate was asked; what this version does not know is left out."""
    usual = defaults(format, configured)
    had = {**record.settings, **(format.swapped(record.settings) if swapped and format.swapped else {})}
    posted = {"format": [format.name], "topic": [record.topic], "again": [record.id]}
    for name, schema in form_values.schemas(format).items():
        if name in had and had[name] != usual.get(name) and name not in FOLLOWS | format.hidden:
            full = name if name == SOURCES else f"{format.name}.{name}"
            posted |= {
                key: list(values) for key, values in form_values.as_posted(full, name, schema, had[name]).items()
            }
    return posted

"""Which names of models are addresses, and so not for a request to give."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from moot.errors import InvalidInput
from moot.settings import is_address


def refuse_addresses(settings: Mapping[str, JsonValue]) -> None:
    """Where models are is the owner's to say, in the configuration; a request may only name those known there."""
    for name, value in settings.items():
        if name.startswith("model"):
            for model in value.values() if isinstance(value, dict) else [value]:
                if isinstance(model, str) and is_address(model):
                    raise InvalidInput(f"{name}: {model!r} is an address; name a model, PROVIDER:MODEL, instead")

"""Names of models that are addresses: not for a request to give, and shown without what is secret in them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import JsonValue

from moot.errors import InvalidInput
from moot.settings import is_address


def refuse_addresses(settings: Mapping[str, JsonValue]) -> None:
    """Where models are is the owner's to say, in the configuration; a request may only name those known there."""
    for name, value in settings.items():
        if name.startswith(("model", "judges")):
            given = value.split(",") if isinstance(value, str) else value
            for model in given.values() if isinstance(given, dict) else given if isinstance(given, list) else [given]:
                if isinstance(model, str) and is_address(model):
                    shown = public_name(model)
                    raise InvalidInput(f"{name}: {shown!r} is an address; name a model, PROVIDER:MODEL, instead")


def public_name(name: str) -> str:
    """A server's address, or the name of a model there, without a password and what else may be a key."""
    if not re.search(r":[/\\]{2}", name):
        return name
    shown = re.sub(r"[/\\]{2}[^/\\?]*@", "//", name)  # first of all: a password may hold the # before a model
    address, mark, model = shown.rpartition("#") if "#" in shown else (shown, "", "")
    return re.sub(r"//.*@", "//", address).partition("?")[0] + mark + model


def refuse_secrets(name: str) -> None:
    """What a debate's models are called is kept with it, and shown."""
    if (public := public_name(name)) != name:
        raise InvalidInput(
            f"{public}: an address with a password or a key in it would be kept with the debate; name the server "
            "under `providers` in moot.yaml, with base_url and key_env, and give PROVIDER:MODEL"
        )

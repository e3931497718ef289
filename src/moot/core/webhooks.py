"""Who is told of debates: the addresses that settings name."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import Annotated, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, Field

from moot.core.notices import EVENTS, HookEvent


def _address(url: str) -> str:
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return url
    raise ValueError("is not an address; write one that begins with https:// or http:// and names a host")


Address: TypeAlias = Annotated[str, AfterValidator(_address)]


def _each_once(hooks: list[Webhook]) -> list[Webhook]:
    if len({hook.url for hook in hooks}) < len(hooks):
        raise ValueError("two webhooks have the same url; write one with the events of both")
    return hooks


class Webhook(BaseModel, extra="forbid", frozen=True, hide_input_in_errors=True):
    """An address that is told about debates."""

    url: Address = Field(description="an http or https address")
    events: list[HookEvent] = Field(default_factory=lambda: list(EVENTS.values()), min_length=1)
    secret_env: str | None = Field(
        None, min_length=1, description="the environment variable with the key that signs: whsec_ and base64"
    )

    @property
    def name(self) -> str:
        """What it is called where its address, which may hold a key, must not stand."""
        return f"{urlsplit(self.url).hostname} {hashlib.sha256(self.url.encode()).hexdigest()[:6]}"


Webhooks: TypeAlias = Annotated[list[Webhook], AfterValidator(_each_once)]

"""The model servers moot knows by name, as `providers.toml` has them: where they are and what they take."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from moot.core.debate import ModelKind
from moot.errors import InvalidInput, meant
from moot.llm.addresses import public_name
from moot.llm.client import Timeouts
from moot.llm.dialect import Dialect

OWN_MACHINE = Timeouts(first_token=300, total=1800)
"""A server on the user's machine may load 40 GB before its first token, and then write slowly."""


class Quirk(NamedTuple):
    """What models take whose name has the pattern in it."""

    pattern: str
    takes: Dialect


@dataclass(frozen=True, slots=True)
class Provider:
    name: str
    base_url: str
    _: KW_ONLY
    key_env: str | None = None
    """It wants a key, from this variable."""
    url_env: str | None = None
    default_model: str | None = None
    dialect: Literal["openai", "ollama"] = "openai"
    takes: Dialect = field(default_factory=Dialect)
    """What its models take of the OpenAI dialect, unless `quirks` say otherwise; the first that fits counts."""
    quirks: tuple[Quirk, ...] = ()
    path: str = ""
    """Where the API begins below an address without a path."""
    port: int | None = None
    """Where it listens when an address has neither scheme nor port."""
    own_key_env: str | None = None
    """It was perhaps started with a key by the user, who then put it into this variable."""
    local: bool = False
    """Runs on the user's own machine, free of charge."""
    looked_for: bool = False
    """Asked at its usual address when nothing is configured."""
    timeouts: Timeouts = field(default_factory=Timeouts)

    def takes_for(self, model: str) -> Dialect:
        return next((quirk.takes for quirk in self.quirks if re.search(quirk.pattern, model)), self.takes)

    def address(self, given: str | None) -> str:
        """Where its API is, from what the user gave, in any form that Ollama's own tools take too."""
        url = (given or "").strip().strip("\"'").rstrip("/") or self.base_url
        if "://" not in url:
            url = f"http://{_with_port(url, self.port)}"
        url = re.sub(r"(?<=://)0\.0\.0\.0(?=[:/]|$)", "127.0.0.1", url)  # to listen on, not to call
        try:
            parts = urlsplit(url)
            _ = parts.port  # read only when it is asked for
        except ValueError:
            message = f"the address of {self.name} cannot be used; write one such as http://gpu-1:8000/v1"
            raise InvalidInput(message) from None  # what is wrong may be a part of a password
        return url if parts.path.strip("/") else url.rstrip("/") + self.path


def _with_port(address: str, port: int | None) -> str:
    host, slash, path = address.partition("/")
    if host.count(":") > 1 and not host.startswith("["):
        host = f"[{host}]"
    if host.startswith(":"):
        host = f"127.0.0.1{host}"
    if port and not re.search(r":\d+$", host):
        host = f"{host}:{port}"
    return f"{host}{slash}{path}"


def _read(name: str, about: dict[str, Any]) -> Provider:
    paid = {"key_env": f"{name.upper()}_API_KEY", "url_env": f"{name.upper()}_BASE_URL"}
    quirks = tuple(Quirk(each["pattern"], Dialect(**each["takes"])) for each in about.pop("quirks", ()))
    takes = Dialect(**about.pop("takes", {}))
    more = {"timeouts": OWN_MACHINE} if about.get("local") else paid
    return Provider(name, **about, **more, takes=takes, quirks=quirks)


_FILE = Path(__file__).with_name("providers.toml")
BUILT_IN = tuple(_read(name, about) for name, about in tomllib.loads(_FILE.read_text("utf-8")).items())
USUAL = "deepseek"
"""The provider of a model that is named without one, where a format takes such names."""
PREFERRED: Mapping[ModelKind, str] = {"large": "ollama:qwen3:32b", "large_of_another_family": "ollama:llama3.3:70b"}
"""What a seat is meant for."""


class ModelName(NamedTuple):
    """`provider:model`; the provider is a name, `local`, or the URL of a server."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}#{self.model}" if "://" in self.provider else f"{self.provider}:{self.model}"


def parse_name(name: str, known: Mapping[str, Provider]) -> ModelName:
    if name.startswith(("http://", "https://")):
        url, _, model = name.partition("#")
        if not model:
            shown = public_name(url)
            raise InvalidInput(f"{shown!r} names no model: write {shown}#MODEL")
        return ModelName(url.rstrip("/"), model)
    provider, colon, model = name.partition(":")
    if provider != "local" and provider not in known:
        offered = ["local", *(name for name, each in known.items() if each.base_url)]  # a recording has no address
        near = meant(provider, offered)
        raise InvalidInput(
            f"no provider in {public_name(name)!r}{near or ':'} write PROVIDER:MODEL with one of {', '.join(offered)}, "
            "or http://HOST/v1#MODEL"
        )
    if not colon or not model:
        raise InvalidInput(f"{name!r} names no model: write {provider}:MODEL")
    return ModelName(provider, model)

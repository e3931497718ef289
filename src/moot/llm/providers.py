"""The model servers moot knows by name, as data: where they are, how they are paid, what they take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Literal, NamedTuple
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


_ALL = Dialect()
_COMPLETION_TOKENS = Dialect(max_tokens_field="max_completion_tokens")
_NO_THINKING = Dialect(extra={"chat_template_kwargs": {"enable_thinking": False}})


def _effort(level: str, temperature: bool = True) -> Dialect:
    return replace(_COMPLETION_TOKENS, temperature=temperature, extra={"reasoning_effort": level})


def _vendor(
    name: str,
    base_url: str,
    default_model: str | None = None,
    takes: Dialect = _ALL,
    quirks: tuple[Quirk, ...] = (),
) -> Provider:
    """A server that is paid for; variables named after it hold its key, and its address if it has another."""
    key_env, url_env = f"{name.upper()}_API_KEY", f"{name.upper()}_BASE_URL"
    return Provider(
        name, base_url, key_env=key_env, url_env=url_env, default_model=default_model, takes=takes, quirks=quirks
    )


def _own_server(name: str, port: int, takes: Dialect = _ALL) -> Provider:
    """A server that the user starts on this machine; variables named after it hold its address and perhaps a key."""
    return Provider(
        name,
        f"http://127.0.0.1:{port}",
        url_env=f"{name.upper()}_BASE_URL",
        own_key_env=f"{name.upper()}_API_KEY",
        takes=takes,
        path="/v1",
        port=port,
        local=True,
        timeouts=OWN_MACHINE,
    )


# A turn has a few hundred tokens, which a model that thinks first would spend on that. So thinking is switched off
# where the vendor says how, and kept short where it cannot be.
BUILT_IN = (
    _vendor(
        "deepseek",
        "https://api.deepseek.com",
        "deepseek-chat",
        Dialect(json_mode="object", extra={"thinking": {"type": "disabled"}}),
        (Quirk("reasoner", Dialect(json_mode="object")),),
    ),
    _vendor(
        "openai",
        "https://api.openai.com/v1",
        "gpt-4.1-mini",
        _COMPLETION_TOKENS,
        (
            Quirk(r"^gpt-5.*chat", _COMPLETION_TOKENS),
            Quirk(r"^gpt-5\.\d", _effort("none")),
            Quirk(r"^gpt-5", _effort("minimal", temperature=False)),
            Quirk(r"^o\d", _effort("low", temperature=False)),
        ),
    ),
    _vendor("anthropic", "https://api.anthropic.com/v1", "claude-sonnet-4-5", Dialect(json_mode="none")),
    _vendor(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "gemini-2.5-flash",
        quirks=(
            Quirk(r"gemini-2\.5-flash", Dialect(extra={"reasoning_effort": "none"})),
            Quirk(r"gemini-(2\.5|[3-9])", Dialect(extra={"reasoning_effort": "low"})),
        ),
    ),
    _vendor(
        "openrouter",
        "https://openrouter.ai/api/v1",
        "deepseek/deepseek-chat",
        Dialect(extra={"reasoning": {"effort": "none"}}),
    ),
    _vendor("mistral", "https://api.mistral.ai/v1", "mistral-small-latest", Dialect(stream_options=False)),
    _vendor(
        "groq",
        "https://api.groq.com/openai/v1",
        takes=_COMPLETION_TOKENS,
        quirks=(Quirk("qwen3", _effort("none")), Quirk("gpt-oss", _effort("low"))),
    ),
    _vendor("together", "https://api.together.xyz/v1"),
    _vendor("xai", "https://api.x.ai/v1"),
    Provider(
        "ollama",
        "http://127.0.0.1:11434",
        url_env="OLLAMA_HOST",
        dialect="ollama",
        port=11434,
        local=True,
        looked_for=True,
        timeouts=OWN_MACHINE,
    ),
    _own_server("vllm", 8000, _NO_THINKING),
    _own_server("llamacpp", 8080, _NO_THINKING),
    _own_server("lmstudio", 1234),
)


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

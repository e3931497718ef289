"""The model servers moot knows by name, as data: where they are, how they are paid, what they take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from pydantic import JsonValue

from moot.core.debate import ModelKind
from moot.errors import InvalidInput
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
        return url if urlsplit(url).path.strip("/") else url.rstrip("/") + self.path


def _with_port(address: str, port: int | None) -> str:
    host, slash, path = address.partition("/")
    if host.count(":") > 1 and not host.startswith("["):
        host = f"[{host}]"
    if host.startswith(":"):
        host = f"127.0.0.1{host}"
    if port and not re.search(r":\d+$", host):
        host = f"{host}:{port}"
    return f"{host}{slash}{path}"


def _effort(level: str, temperature: bool = True) -> Dialect:
    return Dialect(
        json_mode="schema",
        max_tokens_field="max_completion_tokens",
        temperature=temperature,
        extra={"reasoning_effort": level},
    )


_NO_THINKING: Mapping[str, JsonValue] = {"chat_template_kwargs": {"enable_thinking": False}}

# A turn has a few hundred tokens, which a model that thinks first would spend on that. So thinking is switched off
# where the vendor says how, and kept short where it cannot be.
BUILT_IN = (
    Provider(
        "deepseek",
        "https://api.deepseek.com",
        key_env="DEEPSEEK_API_KEY",
        url_env="DEEPSEEK_BASE_URL",
        default_model="deepseek-chat",
        takes=Dialect(json_mode="object", extra={"thinking": {"type": "disabled"}}),
        quirks=(Quirk("reasoner", Dialect(json_mode="object")),),
    ),
    Provider(
        "openai",
        "https://api.openai.com/v1",
        key_env="OPENAI_API_KEY",
        url_env="OPENAI_BASE_URL",
        default_model="gpt-4.1-mini",
        takes=Dialect(max_tokens_field="max_completion_tokens"),
        quirks=(
            Quirk(r"^gpt-5.*chat", Dialect(max_tokens_field="max_completion_tokens")),
            Quirk(r"^gpt-5\.\d", _effort("none")),
            Quirk(r"^gpt-5", _effort("minimal", temperature=False)),
            Quirk(r"^o\d", _effort("low", temperature=False)),
        ),
    ),
    Provider(
        "anthropic",
        "https://api.anthropic.com/v1",
        key_env="ANTHROPIC_API_KEY",
        url_env="ANTHROPIC_BASE_URL",
        default_model="claude-sonnet-4-5",
        takes=Dialect(json_mode="none"),
    ),
    Provider(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        key_env="GEMINI_API_KEY",
        url_env="GEMINI_BASE_URL",
        default_model="gemini-2.5-flash",
        quirks=(
            Quirk(r"gemini-2\.5-flash", Dialect(extra={"reasoning_effort": "none"})),
            Quirk(r"gemini-(2\.5|[3-9])", Dialect(extra={"reasoning_effort": "low"})),
        ),
    ),
    Provider(
        "openrouter",
        "https://openrouter.ai/api/v1",
        key_env="OPENROUTER_API_KEY",
        url_env="OPENROUTER_BASE_URL",
        default_model="deepseek/deepseek-chat",
        takes=Dialect(extra={"reasoning": {"effort": "none"}}),
    ),
    Provider(
        "mistral",
        "https://api.mistral.ai/v1",
        key_env="MISTRAL_API_KEY",
        url_env="MISTRAL_BASE_URL",
        default_model="mistral-small-latest",
        takes=Dialect(stream_options=False),
    ),
    Provider(
        "groq",
        "https://api.groq.com/openai/v1",
        key_env="GROQ_API_KEY",
        url_env="GROQ_BASE_URL",
        takes=Dialect(max_tokens_field="max_completion_tokens"),
        quirks=(Quirk("qwen3", _effort("none")), Quirk("gpt-oss", _effort("low"))),
    ),
    Provider("together", "https://api.together.xyz/v1", key_env="TOGETHER_API_KEY", url_env="TOGETHER_BASE_URL"),
    Provider("xai", "https://api.x.ai/v1", key_env="XAI_API_KEY", url_env="XAI_BASE_URL"),
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
    Provider(
        "vllm",
        "http://127.0.0.1:8000",
        url_env="VLLM_BASE_URL",
        own_key_env="VLLM_API_KEY",
        takes=Dialect(extra=_NO_THINKING),
        path="/v1",
        port=8000,
        local=True,
        timeouts=OWN_MACHINE,
    ),
    Provider(
        "llamacpp",
        "http://127.0.0.1:8080",
        url_env="LLAMACPP_BASE_URL",
        own_key_env="LLAMACPP_API_KEY",
        takes=Dialect(extra=_NO_THINKING),
        path="/v1",
        port=8080,
        local=True,
        timeouts=OWN_MACHINE,
    ),
    Provider(
        "lmstudio",
        "http://127.0.0.1:1234",
        url_env="LMSTUDIO_BASE_URL",
        own_key_env="LMSTUDIO_API_KEY",
        path="/v1",
        port=1234,
        local=True,
        timeouts=OWN_MACHINE,
    ),
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
            raise InvalidInput(f"{name!r} names no model: write {url}#MODEL")
        return ModelName(url.rstrip("/"), model)
    provider, colon, model = name.partition(":")
    if provider != "local" and provider not in known:
        raise InvalidInput(
            f"no provider in {name!r}: write PROVIDER:MODEL with one of local, {', '.join(known)}, or http://HOST/v1#MODEL"
        )
    if not colon or not model:
        raise InvalidInput(f"{name!r} names no model: write {provider}:MODEL")
    return ModelName(provider, model)

"""The model servers moot knows by name, as data: where they are, how they are paid, what they take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from pydantic import JsonValue

from moot.errors import InvalidInput

JsonMode = Literal["schema", "object", "none"]


@dataclass(frozen=True, slots=True)
class Provider:
    name: str
    base_url: str
    key_env: str | None = None
    url_env: str | None = None
    default_model: str | None = None
    json_mode: JsonMode = "schema"
    max_tokens_field: str = "max_tokens"
    extra_body: Mapping[str, JsonValue] = field(default_factory=dict)
    path: str = ""
    """Where the API begins below the address people give."""
    local: bool = False
    """Runs on the user's own machine: found by asking, not by its key."""


BUILT_IN = (
    Provider(
        "deepseek",
        "https://api.deepseek.com/v1",
        "DEEPSEEK_API_KEY",
        "DEEPSEEK_BASE_URL",
        "deepseek-chat",
        json_mode="object",
        # It thinks by default, and a turn of 600 tokens would be spent on that.
        extra_body={"thinking": {"type": "disabled"}},
    ),
    Provider(
        "openai",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "gpt-4.1-mini",
        max_tokens_field="max_completion_tokens",
    ),
    Provider(
        "anthropic",
        "https://api.anthropic.com/v1",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "claude-sonnet-4-5",
        json_mode="none",
    ),
    Provider(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        "GEMINI_BASE_URL",
        "gemini-2.5-flash",
    ),
    Provider(
        "openrouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        "OPENROUTER_BASE_URL",
        "deepseek/deepseek-chat",
    ),
    Provider("ollama", "http://127.0.0.1:11434", None, "OLLAMA_HOST", path="/v1", local=True),
)


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

"""The port to language models: one request, its text as it arrives, one completion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from moot.core.debate import JsonObject, Usage
from moot.core.prompts import Message as Message


@dataclass(frozen=True, slots=True)
class Schema:
    """The JSON an answer must be."""

    name: str
    schema: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    model: str
    """As the server knows it, without the provider."""
    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float
    schema: Schema | None = None
    think: bool = False
    """Whether the model may think before it answers, where that can be chosen."""


FinishReason: TypeAlias = Literal["stop", "length", "over_cap"]
"""It was done, its server cut it at its cap, or its server went on and was cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    text: str
    finish_reason: FinishReason
    usage: Usage
    reasoning: str = ""
    dropped: tuple[str, ...] = ()
    """What the server would not take and the request was sent without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds; `first_token` includes connecting, sending and waiting for the response's headers."""

    connect: float = 10
    first_token: float = 120
    between_tokens: float = 60
    total: float = 600


class Client(Protocol):
    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        """Call the model once. Raises a ModelError, which carries the text that had arrived."""
        ...

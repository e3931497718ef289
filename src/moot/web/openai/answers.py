"""What the dialects share of an answer: what it is about, its pieces as a debate is played, and errors."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from moot.core.debate import Status, Usage


class DebateAnswer(NamedTuple):
    content: str
    usage: Usage
    status: Status


Playing: TypeAlias = AsyncGenerator[str | DebateAnswer, None]
"""A debate's text as it is spoken, then the answer."""


class Begun(NamedTuple):
    """A debate that runs or will run, and what the client need not be told of it, or should know."""

    debate: str
    status: Status
    """When the answer began."""
    since: int = 0
    """From this position on the person's next words can stand."""
    after: int = 0
    """The last event that the client knows."""
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class About:
    """What every part of an answer is about."""

    begun: Begun
    model: str
    url: str
    created: int
    as_json: bool

    def moot(self, status: Status) -> dict[str, Any]:
        left_out = {"left_out": self.begun.left_out} if self.begun.left_out else {}
        return {"debate": self.begun.debate, "status": status, "url": self.url, **left_out}


def fault(status: int, code: str, message: str) -> dict[str, dict[str, str | None]]:
    kinds = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
    kind = kinds.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}

"""What people add to a debate that has begun or ended: their words, ticks on its next steps, a rating, an issue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Action: TypeAlias = Literal["continue", "guide", "end", "answer", "approve", "reject"]


@dataclass(frozen=True, slots=True)
class HumanReply:
    """What a person said: the answer to the step at `position`, or words spoken at any time when that is None."""

    action: Action
    text: str = ""
    position: int | None = None
    at: float = 0.0
    who: str = ""
    """Their name, where it is known."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a step asks a person: a text, the answers it takes, the first being the usual one, and the time for it."""

    text: str
    actions: tuple[Action, ...]
    timeout_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Tick:
    """Whether a next step of an outcome is done, as whoever looked at it last has said."""

    step: int
    """Its place in the outcome, from 0."""
    done: bool
    who: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Rating:
    """How a person found the outcome."""

    stars: int
    comment: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """The issue made of a debate's outcome, and how handing it over went."""

    id: str
    title: str
    body: str
    created_at: float = 0.0
    delivered: bool = False
    attempts: int = 0
    result: str = ""

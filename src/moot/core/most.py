"""The most that a debate takes, from what each of its steps may: as prompts at their longest, tried again where need
be, under the limit that speeches share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from moot.core.debate import MAX_FAULT, Step, Usage
from moot.core.research import FOUND, RESEARCH
from moot.core.trust import CLAIMS
from moot.text.plain import CHARACTERS_PER_TOKEN, estimated_tokens

AGAIN = MAX_FAULT + 200
"""Characters in which a model is asked once more for a form."""

Price = Callable[[str, Usage], float | None]


class Player(NamedTuple):
    """Whose model answers a step."""

    asked: Step
    """What it is asked: the step, or what to look up for it."""
    model: str
    alone: bool
    """Whether it reads its own instructions again."""


class Asked(NamedTuple):
    """What one step takes at most."""

    model: str
    prompt: int
    """Its characters."""
    speeches: int
    """How many of them are speeches, all of which share a limit."""
    told: int
    """Characters of forms that code may tell it of, beside what it reads."""
    cap: int
    adds: Sequence[int]
    """Characters that each of its calls has beside its prompt."""
    limited: bool
    """Whether it shares the limit on speeches."""


class Forms:
    """What forms may hold that code tells others of: at most their whole length, wherever they are not read."""

    def __init__(self) -> None:
        self._until = [0]
        """Position → the characters of all forms before it."""
        self._noted = 0
        self._outside = 0
        """Of claims, and of all that belong to no round."""
        self._own: Counter[str] = Counter()
        """Seat → what it was told by now; where it reads its own instructions again, it reads that again."""

    def add(self, step: Step, position: int, characters: int) -> None:
        self._until += [self._until[-1]] * (position + 1 - len(self._until))
        self._until.append(self._until[-1] + characters)
        self._noted += characters if step.kind == CLAIMS else 0
        self._outside += characters if step.round is None else 0

    def told(self, step: Step, player: Player) -> int:
        if step.visible == frozenset():
            return 0
        if player.alone:
            self._own[player.asked.seat] += self._until[-1]
            return self._own[player.asked.seat]
        if isinstance(step.visible, range):
            return self._noted + self._until[min(step.visible.start, len(self._until) - 1)]
        return self._noted if step.visible is None else self._outside


@dataclass(slots=True)
class _Call:
    model: str
    input: int
    output: int
    limited: bool

    @property
    def usage(self) -> Usage:
        return Usage(input_tokens=self.input, output_tokens=self.output, calls=1, estimated=True)


def most(steps: Sequence[Asked], limit: int, price: Price) -> Usage:
    """The sum of all; speeches that share a limit write no more than that, and a token where nothing is left."""
    spoken = limit + sum(len(asked.adds) for asked in steps)
    calls = [call for asked in steps for call in _calls(asked, spoken * CHARACTERS_PER_TOKEN)]
    limited = [call for call in calls if call.limited]
    too_much = sum(call.output for call in limited) - spoken
    for call in sorted(limited, key=lambda call: _output_price(call, price)) if too_much > 0 else ():
        less = min(call.output, too_much)  # of the cheapest first
        call.output, too_much = call.output - less, too_much - less
    costs = [price(call.model, call.usage) for call in calls]
    return Usage(
        input_tokens=sum(call.input for call in calls),
        output_tokens=sum(call.output for call in calls),
        calls=len(calls),
        estimated=bool(calls),
        cost=None if not costs or None in costs else sum(cost or 0.0 for cost in costs),
    )


def added(step: Step, cap: int) -> Sequence[int]:
    """What the calls of a step have beside its prompt: a form that cannot be read is sent back and asked for again."""
    again = cap * CHARACTERS_PER_TOKEN + AGAIN
    if step.kind == RESEARCH:
        return (0, again, FOUND, FOUND + again)
    return (0, again) if step.answer else (0,)


def _calls(asked: Asked, spoken: int) -> Iterator[_Call]:
    """Where all speeches together have so many characters at most."""
    prompt = asked.prompt - max(0, asked.speeches - spoken) + asked.told
    return (_Call(asked.model, estimated_tokens(prompt + more), asked.cap, asked.limited) for more in asked.adds)


def _output_price(call: _Call, price: Price) -> float:
    """Of a token that it writes."""
    silent = Usage(input_tokens=call.input, calls=1, estimated=True)
    return ((price(call.model, call.usage) or 0.0) - (price(call.model, silent) or 0.0)) / call.output

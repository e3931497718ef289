"""What a debate will cost, before any call: its script is rehearsed on made-up turns of the expected length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile
from typing import Any, NamedTuple

from moot.core.debate import NO_USAGE, Record, Step, Turn, Usage
from moot.core.format import AnyFormat
from moot.core.prompts import Message, Prompts
from moot.core.replay import rehearse
from moot.core.script import Debate
from moot.text.plain import CHARACTERS_PER_TOKEN, estimated_tokens

TYPICAL_SHARE = 0.6
"""How much of its cap a step usually writes."""

Price = Callable[[str, Usage], float | None]


class Estimate(NamedTuple):
    """`most` is the upper bound: every step at its cap, nothing cached. `typical` is a guess, and no promise."""

    most: Usage
    typical: Usage


def estimate(record: Record, format: AnyFormat, prompts: Prompts, price: Price) -> Estimate:
    return Estimate(
        _rehearsed(record, format, prompts, price, share=1.0, cached=False),
        _rehearsed(record, format, prompts, price, share=TYPICAL_SHARE, cached=True),
    )


def _rehearsed(
    record: Record, format: AnyFormat, prompts: Prompts, price: Price, *, share: float, cached: bool
) -> Usage:
    sent: dict[str, list[str]] = {}

    def improvise(debate: Debate[Any], step: Step, position: int) -> Turn:
        seat = debate.seats.get(step.seat)
        if seat is None:
            return Turn(position, step.seat, step.kind, step.round, "")
        text = _text(prompts.messages(format, debate, step))
        output = round(debate.output_cap(step.seat) * share)
        known = max((_common(text, earlier) for earlier in sent.get(seat.model, [])), default=0) if cached else 0
        sent.setdefault(seat.model, []).append(text)
        usage = Usage(estimated_tokens(len(text)), known // CHARACTERS_PER_TOKEN, 0, output, 0, 1, estimated=True)
        usage = replace(usage, cost=price(seat.model, usage))
        data = step.answer.fallback().model_dump(mode="json") if step.answer else None
        content = "word " * (output * CHARACTERS_PER_TOKEN // 5)
        return Turn(position, step.seat, step.kind, step.round, content, data, usage, seat.model)

    turns = rehearse(record, format, improvise)
    return sum((turn.usage for turn in turns), NO_USAGE)


def _text(messages: tuple[Message, ...]) -> str:
    return "\n".join(message.content for message in messages)


def _common(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))

"""A model call from beginning to end: measured, made in its turn, priced.

What records calls, or answers them from a recording, stands in the place of the server's client.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeAlias

from moot.llm.client import Client, Completion, Request
from moot.llm.pace import Pace
from moot.llm.prices import Prices
from moot.llm.providers import ModelName

Answered: TypeAlias = Callable[[Completion], None]


class Meter(Protocol):
    def call(self, provider: str, request: Request) -> AbstractContextManager[Answered]:
        """What happens in the block is a call, and what comes of it is handed over; a ModelError passes through."""
        ...


class NoMeter:
    def call(self, provider: str, request: Request) -> AbstractContextManager[Answered]:
        return nullcontext(lambda completion: None)


@dataclass(frozen=True, slots=True)
class ModelCalls:
    """The calls to one provider; the wait for their turn is over before the client's own deadlines begin."""

    client: Client
    provider: str
    prices: Prices
    meter: Meter
    pace: Pace | None = None
    """Without one nobody waits: a recording answers at once."""

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        with self.meter.call(self.provider, request) as answered:
            async with self.pace.turn() if self.pace else nullcontext():
                completion = await self.client.complete(request, on_text)
            cost = self.prices.cost(str(ModelName(self.provider, request.model)), completion.usage)
            completion = replace(completion, usage=replace(completion.usage, cost=cost))
            answered(completion)
            return completion


class Connection(NamedTuple):
    """A client, the model's name on its server, and the pace of its provider."""

    client: Client
    model: str
    pace: Pace

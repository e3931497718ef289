"""What a debate would take: money by its models' prices, time by the pace they had lately."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from moot.core.debate import Record, Status, Turn, Usage
from moot.core.duration import Duration, duration, slowest
from moot.core.estimate import estimate
from moot.core.format import AnyFormat
from moot.core.most import Price
from moot.core.prompts import Prompts
from moot.core.stored import StoredDebate
from moot.players.library import longest_templates
from moot.retrieval.library import Library

LATELY, READ = 20, 3
"""So many of the last debates are looked through, and so many with these models are read."""


class Store(Protocol):
    async def list(self, *, limit: int, status: Status | None) -> tuple[Record, ...]: ...

    async def load(self, debate_id: str) -> StoredDebate: ...


@dataclass(frozen=True, slots=True)
class Expected:
    """What a debate takes at most and typically, and how long that may be."""

    most: Usage
    typical: Usage
    duration: Duration
    models: tuple[str, ...]
    """Those of its seats, one for each seat."""


async def expected(
    store: Store, record: Record, format: AnyFormat, prompts: Prompts, price: Price, library: Library
) -> Expected:
    templates = partial(longest_templates, library)
    most, typical = await asyncio.to_thread(estimate, record, format, prompts, price, templates)
    models = tuple(seat.model for seat in record.seats.values())
    pace = slowest({*models}, await _lately(store, {*models}))
    settings = format.open(record).settings
    limit = math.inf if settings.extend_runtime else settings.max_runtime_seconds
    return Expected(most, typical, duration(most.output_tokens, typical.output_tokens, pace, limit), models)


async def _lately(store: Store, models: set[str]) -> Sequence[Turn]:
    """The turns of the last debates with any of these models."""
    known = await store.list(limit=LATELY, status=Status.FINISHED)
    alike = [each for each in known if models & {seat.model for seat in each.seats.values()}]
    return [turn for each in alike[:READ] for turn in (await store.load(each.id)).turns]

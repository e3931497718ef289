"""What a debate would take: money by its models' prices, time by the pace they had lately."""

from __future__ import annotations

import asyncio
import gc
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from moot.app.app import App
from moot.core import prompt_files  # noqa: F401 - imported in a thread, it leaves two megabytes that only threads can use
from moot.core.debate import Record, Status, Turn, Usage
from moot.core.duration import Duration, duration, slowest
from moot.core.estimate import estimate
from moot.formats import of_record
from moot.players.library import longest_templates
from moot.store.store import Store

LATELY, READ = 20, 3
"""So many of the last debates are looked through, and so many with these models are read."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a debate takes at most and typically, and how long that may be."""

    most: Usage
    typical: Usage
    duration: Duration
    models: tuple[str, ...]
    """Those of its seats, one for each seat."""


async def expected(app: App, record: Record) -> Expected:
    for seat in record.seats.values():
        app.models.check_name(seat.model, here=not app.is_shared)
    format, templates = of_record(app.formats, record), partial(longest_templates, app.library)
    price = app.models.prices.cost
    with _no_collecting():
        most, typical = await asyncio.to_thread(estimate, record, format, app.prompts, price, templates)
    models = tuple(seat.model for seat in record.seats.values())
    pace = slowest({*models}, await _lately(app.store, {*models}))
    settings = format.open(record).settings
    limit = math.inf if settings.extend_runtime else settings.max_runtime_seconds
    return Expected(most, typical, duration(most.output_tokens, typical.output_tokens, pace, limit), models)


@contextmanager
def _no_collecting() -> Iterator[None]:
    """Almost all that an estimate makes lives to its end: to look for garbage meanwhile can take as long again.

    Of several at once the first to end has it looked for again.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


async def _lately(store: Store, models: set[str]) -> Sequence[Turn]:
    """The turns of the last debates with any of these models."""
    known = await store.list(limit=LATELY, status=Status.FINISHED)
    alike = [each for each in known if models & {seat.model for seat in each.seats.values()}]
    return [turn for each in alike[:READ] for turn in (await store.load(each.id)).turns]

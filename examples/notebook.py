"""Debates from Python, cell by cell: run one, follow one, compare several, and look at the numbers.

Open it as a notebook (most editors show the cells) or run it as it is. Set MOOT_MODEL to a real model first; with
nothing configured the tiny built-in one debates, which is enough to see it work.
"""

# %% What all cells use
from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import moot
from moot.app import App, build
from moot.core.events import TurnChunk, TurnFinished, TurnStarted
from moot.settings import load

T = TypeVar("T")
QUESTION = "A team of three should write its own job queue"


def wait_for(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result, in a script and in a notebook alike; in a notebook you may just as well write `await`."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


def show(rows: Sequence[Sequence[object]]) -> None:
    """A table in plain text; the first row is its header."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print()


# %% Run a debate, and get its outcome
verdict = wait_for(moot.run("duel", QUESTION, {"max_rounds": 1}))
print(verdict.headline())
show(verdict.table())


# %% Follow one word by word
async def follow() -> None:
    async for event in moot.stream("duel", QUESTION, {"max_rounds": 1}):
        match event:
            case TurnStarted():
                print(f"{event.title}: ", end="")
            case TurnChunk():
                print(event.text, end="", flush=True)
            case TurnFinished():
                print()
    print()


wait_for(follow())


# %% Compare: does it matter who speaks first, and for how long?
async def outcome_of(app: App, settings: dict[str, Any]) -> tuple[str, ...]:
    record = await app.create("duel", QUESTION, settings)
    await app.run(record.id, lambda event: None)
    outcome: Any = (await app.load(record.id)).record.outcome
    stance = outcome[f"stance_{outcome['winner']}"] if outcome["winner"] in "ab" else "undecided"
    return (settings["stance_a"], str(settings["max_rounds"]), stance, f"{outcome['score_a']:g}:{outcome['score_b']:g}")


async def compare() -> list[tuple[str, ...]]:
    variants = [{"stance_a": stance, "max_rounds": rounds} for stance in ("pro", "con") for rounds in (1, 2)]
    async with build(load()) as app, asyncio.TaskGroup() as group:
        running = [group.create_task(outcome_of(app, variant)) for variant in variants]
    return [task.result() for task in running]


show([("speaks first", "rounds", "wins", "scores"), *wait_for(compare())])


# %% Look at everything that was debated so far
async def numbers() -> list[tuple[object, ...]]:
    async with build(load()) as app:
        return [
            (each.format, each.debates, f"{each.rounds:.1f}", f"{each.output_tokens:.0f}") for each in await app.stats()
        ]


show([("format", "debates", "rounds", "tokens out"), *wait_for(numbers())])

"""Runs that can be interrupted between two of their steps, and what they do when they end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from moot.core.debate import Usage
from moot.core.events import Event, TurnFinished, TurnStarted
from moot.runs.in_progress import Runs

AT = datetime(2026, 1, 1, tzinfo=UTC)


def started(position: int) -> Event:
    return TurnStarted(id=1, debate="DEB-1", at=AT, seat="debater_a", kind="argument", round=1, position=position)


def finished(position: int) -> Event:
    return TurnFinished(
        id=2,
        debate="DEB-1",
        at=AT,
        seat="debater_a",
        kind="argument",
        round=1,
        position=position,
        content="So.",
        data=None,
        usage=Usage(),
        duration_ms=1,
    )


class Work:
    """A run that takes its time to leave when it is cancelled."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.leaving = asyncio.Event()
        self.may_leave = asyncio.Event()
        self.told: list[str] = []

    async def run(self) -> None:
        try:
            self.begun.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.leaving.set()
            await self.may_leave.wait()
            self.told.append("handed back")


@asynccontextmanager
async def one_run(work: Work) -> AsyncIterator[tuple[Runs, list[str]]]:
    ended: list[str] = []
    runs = Runs(lambda: ended.append("one"))
    runs.begin("DEB-1", work.run())
    await work.begun.wait()
    yield runs, ended
    work.may_leave.set()
    await runs.drain(0)
    assert ended == ["one"]
    assert work.told == ["handed back"]


async def test_a_run_is_there_until_its_work_is_done() -> None:
    work, ended = Work(), asyncio.Event()
    runs = Runs(ended.set)
    runs.begin("DEB-1", work.run())
    assert ("DEB-1" in runs, "DEB-2" in runs, len(runs)) == (True, False, 1)
    await work.begun.wait()
    runs.interrupt("DEB-1")
    await work.leaving.wait()
    assert "DEB-1" in runs
    work.may_leave.set()
    await ended.wait()
    assert ("DEB-1" in runs, len(runs)) == (False, 0)


async def test_a_run_in_the_middle_of_turns_is_interrupted_after_the_last_of_them() -> None:
    work = Work()
    async with one_run(work) as (runs, _):
        for event in (started(0), started(1)):
            runs.hear(event)
        runs.interrupt("DEB-1")
        await asyncio.sleep(0)
        runs.hear(finished(0))
        await asyncio.sleep(0)
        assert not work.leaving.is_set()
        runs.hear(finished(1))
        await work.leaving.wait()


async def test_turns_that_end_interrupt_nobody_who_may_stay() -> None:
    work = Work()
    async with one_run(work) as (runs, _):
        for event in (started(0), finished(0), started(1)):
            runs.hear(event)
        await asyncio.sleep(0)
        assert not work.leaving.is_set()


async def test_a_drain_waits_for_the_turn_in_progress() -> None:
    work = Work()
    async with one_run(work) as (runs, ended):
        work.may_leave.set()
        runs.hear(started(0))
        draining = asyncio.create_task(runs.drain(1000))
        await asyncio.sleep(0)
        assert not work.leaving.is_set()
        runs.hear(finished(0))
        await draining
        assert ended == ["one"]


async def test_a_turn_that_takes_longer_than_the_grace_is_cut_short() -> None:
    work = Work()
    async with one_run(work) as (runs, ended):
        work.may_leave.set()
        runs.hear(started(0))
        await runs.drain(0)
        assert ended == ["one"]


async def test_a_run_that_is_handing_its_debate_back_is_not_disturbed_in_that() -> None:
    work = Work()
    async with one_run(work) as (runs, ended):
        draining = asyncio.create_task(runs.drain(0))
        await work.leaving.wait()
        await asyncio.sleep(0)
        assert (ended, work.told) == ([], [])
        work.may_leave.set()
        await draining
        assert (ended, work.told) == (["one"], ["handed back"])

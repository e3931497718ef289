"""What every store promises of a debate that begins as a copy of the first turns of another."""

from __future__ import annotations

from dataclasses import replace

import pytest

from moot.core.debate import Origin, Record, SeatSettings, Status, Turn, Usage
from moot.core.engine import Control, RunResult
from moot.core.stored import StoredDebate
from moot.errors import StoreError
from moot.formats.duel.format import DUEL
from moot.reading.history import events_of
from moot.store.store import Store

SEATS = {seat.name: SeatSettings("local:x", 0.5, 100) for seat in DUEL.seats}
NEW = Record(
    id="DEB-1",
    format="duel",
    format_version=DUEL.version,
    topic="Cats?",
    settings={"max_rounds": 2},
    seats=SEATS,
    created_at=0.0,
)
FORK = replace(NEW, id="DEB-2", origin=Origin("DEB-1", 2))
TURNS = (
    Turn(
        position=0,
        seat="debater_a",
        kind="argument",
        round=1,
        content="Erstens 🎭",
        data={"scores": [1, 2.5, None]},
        usage=Usage(
            input_tokens=1200,
            cached_tokens=800,
            cache_written_tokens=5,
            output_tokens=340,
            reasoning_tokens=20,
            calls=2,
            estimated=True,
            cost=0.25,
        ),
        model="local:x",
        marks=("fallback", "cut"),
        started_at=1_700_000_000.25,
        finished_at=1_700_000_003.5,
        run=3,
        event_id=3_000_000_017,
    ),
    Turn(position=1, seat="debater_b", kind="argument", round=1, content="Zweitens", run=2, event_id=2_000_000_009),
)
COPIES = tuple(replace(turn, run=0, event_id=turn.position + 1) for turn in TURNS)


async def test_a_fork_begins_with_whole_copies_and_says_where_it_comes_from(store: Store) -> None:
    await store.create(NEW)
    created = await store.create(FORK, turns=TURNS)

    assert created == replace(FORK, created_at=created.created_at)
    assert await store.load("DEB-2") == await store.load_for_run("DEB-2") == StoredDebate(created, COPIES)
    assert (await store.load("DEB-1")).turns == ()
    assert (await store.list(limit=1)) == (created,)


async def test_a_fork_goes_on_behind_its_copies(store: Store) -> None:
    await store.create(replace(FORK, status=Status.QUEUED), turns=TURNS)

    taken = await store.take("DEB-2", "ann", 30, only_queued=True)
    assert (taken.record.run, taken.record.origin, taken.turns) == (1, FORK.origin, COPIES)
    own = Turn(
        position=2, seat="debater_a", kind="rebuttal", round=2, content="Drittens", run=1, event_id=1_000_000_001
    )
    assert await store.append("DEB-2", own) == Control()
    await store.end("DEB-2", 1, RunResult(Status.STOPPED, "stopped"))

    stored = await store.load("DEB-2")
    assert stored.turns == (*COPIES, own)
    ids = [event.id for event in events_of(stored, DUEL)]
    assert ids == [1, 2, 1_000_000_001, 1_999_999_999]


async def test_a_fork_made_twice_under_one_key_is_made_once(store: Store) -> None:
    first = await store.create(FORK, "key", turns=TURNS)

    assert await store.create(replace(FORK, id="DEB-3"), "key", turns=TURNS) == first
    assert (await store.load("DEB-2")).turns == COPIES
    assert len(await store.list(limit=9)) == 1


async def test_a_fork_under_an_id_that_is_taken_changes_nothing(store: Store) -> None:
    await store.create(NEW)
    with pytest.raises(StoreError, match="there is already a debate DEB-1"):
        await store.create(replace(FORK, id="DEB-1"), turns=TURNS)
    assert (await store.load("DEB-1")).turns == ()


async def test_outcomes_of_a_format_come_newest_first_without_what_was_deleted_or_goes_on(store: Store) -> None:
    for number in range(1, 5):
        await store.create(replace(NEW, id=f"DEB-{number}", format="panel" if number == 4 else NEW.format))
        await store.take(f"DEB-{number}", "ann", 30)
    for number in (1, 2, 4):
        await store.end(f"DEB-{number}", 1, RunResult(Status.FINISHED, "done", outcome={"number": number}))
    assert [*(await store.outcomes(NEW.format, 9)).items()] == [("DEB-2", {"number": 2}), ("DEB-1", {"number": 1})]
    assert await store.outcomes(NEW.format, 1) == {"DEB-2": {"number": 2}}
    assert await store.outcomes(NEW.format, 9, {"DEB-2"}) == {"DEB-2": None, "DEB-1": {"number": 1}}
    await store.delete("DEB-2")
    assert await store.outcomes(NEW.format, 9) == {"DEB-1": {"number": 1}}


async def test_outcomes_of_a_format_are_looked_for_among_the_newest_of_all_formats(store: Store) -> None:
    for number in range(6):
        await store.create(replace(NEW, id=f"DEB-{number}", format="panel" if number else NEW.format))
        await store.take(f"DEB-{number}", "ann", 30)
        await store.end(f"DEB-{number}", 1, RunResult(Status.FINISHED, "done", outcome={"number": number}))
    assert await store.outcomes(NEW.format, 1) == {}
    assert await store.outcomes(NEW.format, 2) == {"DEB-0": {"number": 0}}

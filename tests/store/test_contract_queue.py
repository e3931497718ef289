"""What every store promises to a queue: what is queued and when, who may take it, which attempts count, who works."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import pytest

from moot.core.changes import Wish
from moot.core.control import Control
from moot.core.debate import Failure, HumanReply, Record, Status, Turn
from moot.core.engine import RunResult
from moot.core.people import Rating
from moot.core.stored import StoredDebate
from moot.errors import Busy, Fenced, MootError, NotFound, WrongStatus
from moot.store.processes import Unfinished, Worker
from moot.store.refusals import cannot_enqueue
from moot.store.store import Store

NEW = Record(id="DEB-1", format="duel", format_version=1, topic="Cats?", settings={}, seats={}, created_at=0.0)
TURN = Turn(position=0, seat="debater_a", kind="argument", round=1, content="Because.", run=1)
ANSWER = HumanReply("continue", "", 1)
"""To the question that comes after `TURN`."""


async def taken(store: Store, lease_seconds: float = 30) -> Record:
    """A debate that is being run and has a turn."""
    await store.create(NEW)
    record = (await store.take("DEB-1", "ann", lease_seconds)).record
    await store.append("DEB-1", TURN)
    return record


async def ended(store: Store, status: Status) -> Record:
    await taken(store)
    await store.end("DEB-1", 1, RunResult(status, "why", error="what"))
    return (await store.load("DEB-1")).record


def queued(record: Record, tries_from: int) -> Record:
    """The debate as it stands in the queue: free, and without an ending."""
    return replace(
        record,
        status=Status.QUEUED,
        stop_reason=None,
        error=None,
        finished_at=None,
        owner=None,
        lease_until=None,
        tries_from=tries_from,
    )


# Into the queue


@pytest.mark.parametrize("status", Status)
def test_a_debate_that_changes_while_it_is_queued_is_refused_with_a_reason(status: Status) -> None:
    assert re.fullmatch(f"DEB-1 is {status}; [a-z ,;]+", str(cannot_enqueue(replace(NEW, status=status))))


async def test_a_debate_that_has_not_begun_is_queued(store: Store) -> None:
    created = await store.create(NEW)
    assert await store.enqueue("DEB-1") == queued(created, 0)


@pytest.mark.parametrize("status", [Status.STOPPED, Status.FAILED])
async def test_what_has_stopped_or_failed_is_queued_again_without_its_ending(store: Store, status: Status) -> None:
    record = await ended(store, status)
    after = await store.enqueue("DEB-1")
    assert after == queued(record, tries_from=1)
    assert (await store.load("DEB-1")).record == after


async def test_queueing_twice_has_one_effect(store: Store) -> None:
    await store.create(NEW)
    first = await store.enqueue("DEB-1")
    (before,) = await store.unfinished()
    assert await store.enqueue("DEB-1") == first
    (after,) = await store.unfinished()
    assert after.waiting_since == before.waiting_since


async def test_a_running_debate_is_not_queued(store: Store) -> None:
    running = await taken(store)
    assert await store.enqueue("DEB-1") == running


async def test_a_debate_whose_run_is_over_without_saying_so_is_queued_and_its_attempts_still_count(
    store: Store,
) -> None:
    record = await taken(store, lease_seconds=-1)
    assert await store.enqueue("DEB-1") == queued(record, tries_from=0)


async def test_what_is_finished_or_stopping_is_not_queued_and_the_error_says_why(store: Store) -> None:
    await ended(store, Status.FINISHED)
    with pytest.raises(WrongStatus, match="DEB-1 is finished; there is nothing left to run"):
        await store.enqueue("DEB-1")
    await store.create(replace(NEW, id="DEB-2"))
    await store.take("DEB-2", "ann", 30)
    await store.ask_to_stop("DEB-2")
    with pytest.raises(WrongStatus, match="DEB-2 is stopping; wait until its step in progress has ended, then resume"):
        await store.enqueue("DEB-2")


@pytest.mark.parametrize("due_in", [None, 1000.0])
async def test_a_run_hands_its_debate_back_to_the_queue(store: Store, due_in: float | None) -> None:
    record = await taken(store)
    await store.end("DEB-1", 1, RunResult(Status.QUEUED, "interrupted", error="no answer", due_in=due_in))
    after = (await store.load("DEB-1")).record
    assert after == replace(queued(record, 0), stop_reason="interrupted", error="no answer")
    assert [each.record for each in await store.unfinished()] == [after]
    assert (await store.take("DEB-1", "bob", 30, only_queued=True)).record.run == 2


# What people say


async def test_what_waits_is_queued_by_the_answer_to_its_question_and_by_nothing_else(store: Store) -> None:
    record = await ended(store, Status.WAITING)
    await store.say("DEB-1", HumanReply("guide", "of one's own accord"))
    with pytest.raises(WrongStatus, match="this question of DEB-1 has been answered already"):
        await store.say("DEB-1", HumanReply("continue", "", 0))
    with pytest.raises(WrongStatus, match="DEB-1 is waiting; it goes on when the person it asks has replied"):
        await store.enqueue("DEB-1")
    assert (await store.load("DEB-1")).record == record

    await store.say("DEB-1", ANSWER)

    after = (await store.load("DEB-1")).record
    assert after == queued(record, tries_from=1)
    assert await store.enqueue("DEB-1") == after


async def test_what_has_stopped_is_queued_by_an_answer(store: Store) -> None:
    await ended(store, Status.WAITING)
    stopped = await store.pause("DEB-1")
    await store.say("DEB-1", ANSWER)
    assert (await store.load("DEB-1")).record == queued(stopped, tries_from=1)


async def test_words_of_one_s_own_accord_queue_nothing(store: Store) -> None:
    record = await ended(store, Status.STOPPED)
    await store.say("DEB-1", HumanReply("guide", "Go on"))
    assert (await store.load("DEB-1")).record == record


async def test_a_run_that_is_about_to_wait_is_queued_when_its_answer_is_there(store: Store) -> None:
    record = await taken(store)
    await store.say("DEB-1", ANSWER)
    assert (await store.load("DEB-1")).record == record
    await store.end("DEB-1", 1, RunResult(Status.WAITING, due_in=1000.0))
    assert (await store.load("DEB-1")).record == queued(record, tries_from=1)


async def test_an_answer_is_heard_whichever_comes_first_the_answer_or_the_waiting(store: Store) -> None:
    async def answered(number: int) -> Status:
        debate_id = f"DEB-{number}"
        await store.create(replace(NEW, id=debate_id))
        await store.take(debate_id, "ann", 30)
        await asyncio.gather(
            store.end(debate_id, 1, RunResult(Status.WAITING)), store.say(debate_id, HumanReply("continue", "", 0))
        )
        return (await store.load(debate_id)).record.status

    assert await asyncio.gather(*map(answered, range(30))) == [Status.QUEUED] * 30


# Out of the queue


async def test_only_what_is_queued_is_taken_by_a_queue(store: Store) -> None:
    await store.create(NEW)
    with pytest.raises(WrongStatus, match="DEB-1 is created, not queued; start or resume it"):
        await store.take("DEB-1", "ann", 30, only_queued=True)
    await store.enqueue("DEB-1")
    assert (await store.take("DEB-1", "ann", 30, only_queued=True)).record.status is Status.RUNNING
    with pytest.raises(Busy):
        await store.take("DEB-1", "bob", 30, only_queued=True)


@pytest.mark.parametrize("status", [Status.WAITING, Status.STOPPED, Status.FAILED])
async def test_what_has_left_the_queue_is_not_taken_by_one(store: Store, status: Status) -> None:
    record = await ended(store, status)
    with pytest.raises(WrongStatus, match=f"DEB-1 is {status}, not queued; start or resume it"):
        await store.take("DEB-1", "bob", 30, only_queued=True)
    assert (await store.load("DEB-1")).record == record


async def test_what_a_dead_run_has_left_is_taken_by_a_queue_with_its_turns(store: Store) -> None:
    record = await taken(store, lease_seconds=-1)
    after = await store.take("DEB-1", "bob", 30, only_queued=True)
    assert after == StoredDebate(replace(record, run=2, owner="bob", lease_until=after.record.lease_until), (TURN,))
    with pytest.raises(Fenced):
        await store.append("DEB-1", replace(TURN, position=1))


async def test_a_run_is_told_what_people_have_asked_by_then(store: Store) -> None:
    await store.create(NEW)
    await store.say("DEB-1", HumanReply("remark", "And dogs?"))
    await store.say("DEB-1", HumanReply("continue", "", 0))
    await store.wish("DEB-1", Wish("judge: b", {"models": {"judge": "b"}}, 0.0))
    await store.ask_to_conclude("DEB-1")
    assert (await store.take("DEB-1", "ann", 30)).asked == Control(concluding=True, remarks=1, wishes=1)


async def test_a_debate_that_was_loaded_before_is_loaded_again_when_somebody_has_run_it_since(store: Store) -> None:
    await store.create(NEW)
    known = await store.load_for_run("DEB-1")
    first = await store.take("DEB-1", "ann", 30, known=known)
    assert (first.record.run, first.record.owner, first.turns) == (1, "ann", ())
    await store.append("DEB-1", TURN)
    await store.end("DEB-1", 1, RunResult(Status.STOPPED))
    second = await store.take("DEB-1", "bob", 30, known=known)
    assert (second.record.run, second.record.owner, second.turns) == (2, "bob", (TURN,))


async def test_a_run_loads_all_that_others_have_left_and_before_the_first_the_debate_alone(store: Store) -> None:
    created = await store.create(NEW)
    await store.rate("DEB-1", Rating(4))
    assert await store.load_for_run("DEB-1") == StoredDebate(created)
    await store.take("DEB-1", "ann", 30)
    await store.append("DEB-1", TURN)
    assert (await store.load_for_run("DEB-1")).turns == (TURN,)
    assert await store.load_for_run("DEB-1") == await store.load("DEB-1")
    with pytest.raises(NotFound):
        await store.load_for_run("DEB-2")


async def test_a_late_run_adds_no_turn_once_its_debate_is_queued_for_the_next(store: Store) -> None:
    await store.create(NEW)
    await store.take("DEB-1", "ann", -1)
    await store.enqueue("DEB-1")
    known = await store.load("DEB-1")
    with pytest.raises(Fenced, match="run 1 of DEB-1 may not write any more"):
        await store.append("DEB-1", TURN)
    second = await store.take("DEB-1", "bob", 30, known=known)
    assert second.turns == (await store.load("DEB-1")).turns


async def test_what_a_dead_run_was_to_stop_is_not_taken_by_a_queue(store: Store) -> None:
    await store.create(NEW)
    await store.take("DEB-1", "ann", 30)
    await store.ask_to_stop("DEB-1")
    await store.heartbeat("DEB-1", 1, -1)
    with pytest.raises(WrongStatus, match="DEB-1 is stopping, not queued"):
        await store.take("DEB-1", "bob", 30, only_queued=True)


async def test_a_queued_debate_that_is_stopped_is_not_taken(store: Store) -> None:
    await store.create(NEW)
    await store.enqueue("DEB-1")
    assert (await store.ask_to_stop("DEB-1")).status is Status.STOPPED
    with pytest.raises(WrongStatus, match="DEB-1 is stopped, not queued"):
        await store.take("DEB-1", "ann", 30, only_queued=True)


async def test_one_of_fifty_runs_of_a_queued_debate_begins(store: Store) -> None:
    await store.create(NEW)
    await store.enqueue("DEB-1")

    async def attempt() -> str:
        try:
            return f"run {(await store.take('DEB-1', 'ann', 30, only_queued=True)).record.run}"
        except MootError as error:
            return error.code

    results = await asyncio.gather(*(attempt() for _ in range(50)))
    assert sorted(results) == ["busy"] * 49 + ["run 1"]


# What there is to do, and who does it


async def test_unfinished_debates_come_in_the_order_in_which_they_began_to_wait(store: Store) -> None:
    for number in range(1, 7):
        await store.create(replace(NEW, id=f"DEB-{number}"))
    await store.enqueue("DEB-3")
    await store.enqueue("DEB-2")
    await store.take("DEB-4", "ann", 30)
    await store.end("DEB-4", 1, RunResult(Status.WAITING))
    await store.take("DEB-5", "ann", 30)
    await store.end("DEB-5", 1, RunResult(Status.FINISHED, "completed"))
    last = await store.create(replace(NEW, id="DEB-7", status=Status.QUEUED))

    found = await store.unfinished()

    assert [(each.record.id, each.record.status) for each in found] == [
        ("DEB-3", Status.QUEUED),
        ("DEB-2", Status.QUEUED),
        ("DEB-4", Status.WAITING),
        ("DEB-7", Status.QUEUED),
    ]
    assert found[3] == Unfinished(last, found[3].waiting_since, found[3].now)
    assert all(each.now - 60 < (each.waiting_since or 0) <= each.now for each in found)


async def test_what_is_running_is_unfinished_too(store: Store) -> None:
    running = await taken(store)
    assert [each.record for each in await store.unfinished()] == [running]


async def test_runs_in_progress_are_told_with_their_owner_also_those_that_have_died(store: Store) -> None:
    for number in range(2, 6):
        await store.create(replace(NEW, id=f"DEB-{number}", status=Status.QUEUED))
    await taken(store)
    await store.take("DEB-2", "bob", -1)
    await store.take("DEB-3", "cat", 30)
    await store.ask_to_stop("DEB-3")
    await store.take("DEB-4", "dan", -1)
    await store.delete("DEB-4")
    await store.release("DEB-2", 1)
    assert sorted(await store.running()) == [("DEB-1", 1, "ann"), ("DEB-2", 1, None), ("DEB-3", 1, "cat")]


async def test_debates_are_counted_by_status_without_the_deleted(store: Store) -> None:
    assert await store.counts() == {}
    for number in range(2, 6):
        await store.create(replace(NEW, id=f"DEB-{number}", status=Status.QUEUED if number < 4 else Status.CREATED))
    await taken(store)
    await store.delete("DEB-5")
    assert await store.counts() == {Status.QUEUED: 2, Status.CREATED: 1, Status.RUNNING: 1}


async def test_failures_are_counted_by_code(store: Store) -> None:
    assert await store.failure_counts() == {}
    await taken(store)
    for code in ("rate_limited", "taken_over", "rate_limited"):
        await store.add_failure(
            "DEB-1",
            Failure(position=1, seat="moot", kind="run", round=None, partial="", code=code, message="", at=0.0, run=1),
        )
    assert await store.failure_counts() == {"rate_limited": 2, "taken_over": 1}


async def test_that_somebody_watches_changes_nothing_one_can_read(store: Store) -> None:
    watched = await store.create(replace(NEW, status=Status.QUEUED), watched=True)
    assert watched == queued(watched, 0)
    other = await store.create(replace(NEW, id="DEB-2"))
    for _ in range(2):
        await store.watch("DEB-2")
    assert (await store.load("DEB-2")).record == other
    assert await store.enqueue("DEB-2", watched=True) == queued(other, 0)
    await store.watch("DEB-2")
    await store.watch("x")  # nobody is told of what is not there
    assert (await store.load("DEB-2")).record == queued(other, 0)


async def test_workers_are_listed_while_they_show_that_they_are_alive(store: Store) -> None:
    first, second = Worker("one", "process 1 on a machine", 4), Worker("two", "process 2 on a machine", 20)
    assert await store.workers(30) == ()
    for worker in (first, second, first):
        await store.note_worker(worker)

    found = await store.workers(30)

    assert found == (
        first._replace(started_at=found[0].started_at, seen_at=found[0].seen_at),
        second._replace(started_at=found[1].started_at, seen_at=found[1].seen_at),
    )
    assert 1_700_000_000 < found[0].started_at <= found[1].started_at <= found[1].seen_at <= found[0].seen_at
    assert await store.workers(-1) == ()
    await store.remove_worker("one")
    assert await store.workers(30) == (found[1],)
    await store.remove_worker("one")

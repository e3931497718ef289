"""What every store promises, asked of memory, SQLite and a real Postgres alike."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import replace

import pytest

from moot.core.changes import Wish
from moot.core.debate import Failure, HumanReply, Rating, Record, SeatSettings, Status, Tick, Turn, Usage, Workflow
from moot.core.engine import Control, RunResult
from moot.core.stored import StoredDebate
from moot.errors import Busy, Fenced, MootError, NotFound, StoreError, WrongStatus
from moot.store.store import Store

NEW = Record(
    id="DEB-1",
    format="duel",
    format_version=1,
    topic="Sollen Züge 🚆 fahren? — ‏שאלה — \t'quote' \"double\" \\ :name $1 %s",
    settings={"max_rounds": 5, "models": {"judge": "deepseek:deepseek-chat"}, "deep": [1, 2.5, None, True, "é"]},
    seats={"judge": SeatSettings("deepseek:deepseek-chat", 0.2, 800), "debater_a": SeatSettings("local:x", 0.7, 400)},
    created_at=0.0,
)
TURN = Turn(
    position=0,
    seat="debater_a",
    kind="argument",
    round=1,
    content="Erstens 🎭\r\n‮ zweitens \U0010ffff",
    data={"scores": {"a": 7, "b": 6.5}, "winner": None, "text": "日本語"},
    usage=Usage(
        input_tokens=1200,
        cached_tokens=800,
        cache_written_tokens=5,
        output_tokens=340,
        reasoning_tokens=20,
        calls=2,
        estimated=True,
    ),
    model="local:x",
    marks=("fallback", "cut"),
    started_at=1_700_000_000.123456,
    finished_at=1_700_000_003.654321,
    run=1,
    event_id=1_000_000_017,
)
WORKFLOW = Workflow(id="WFL-1", title="Do “it” 🚆", body="## Tasks\n\n- [ ] now")
FAILURE = Failure(
    position=0,
    seat="debater_a",
    kind="argument",
    round=1,
    partial="Erst…",
    code="reply_cut",
    message="the stream ended early",
    at=1_700_000_001.5,
    run=1,
)


async def taken(store: Store, lease_seconds: float = 30) -> Record:
    """A debate that is being run."""
    await store.create(NEW)
    return (await store.take("DEB-1", "ann", lease_seconds)).record


async def ended(store: Store, status: Status) -> Record:
    await taken(store)
    await store.end("DEB-1", 1, RunResult(status, "why"))
    return (await store.load("DEB-1")).record


def finished_at(record: Record) -> float:
    assert record.finished_at is not None
    return record.finished_at


# Creating, loading, listing


async def test_a_new_debate_is_loaded_as_it_was_created(store: Store) -> None:
    created = await store.create(NEW)

    assert created == replace(NEW, created_at=created.created_at)
    assert created.created_at > 1_700_000_000
    assert await store.load("DEB-1") == StoredDebate(created, (), ())


async def test_a_new_debate_may_be_queued(store: Store) -> None:
    assert (await store.create(replace(NEW, status=Status.QUEUED))).status is Status.QUEUED


async def test_an_id_is_given_only_once(store: Store) -> None:
    created = await store.create(NEW)

    with pytest.raises(StoreError, match="there is already a debate DEB-1; create it under another id"):
        await store.create(replace(NEW, topic="another"))

    assert await store.load("DEB-1") == StoredDebate(created, (), ())


async def test_an_unknown_debate_is_not_found(store: Store) -> None:
    calls = (
        store.load("x"),
        store.take("x", "ann", 30),
        store.ask_to_stop("x"),
        store.ask_to_conclude("x"),
        store.pause("x"),
        store.say("x", HumanReply("guide", "Hello")),
        store.rate("x", Rating(5)),
        store.tick("x", Tick(0, True)),
        store.add_workflow("x", WORKFLOW),
    )
    for call in calls:
        with pytest.raises(NotFound, match="no debate 'x'"):
            await call


async def test_debates_are_listed_newest_first(store: Store) -> None:
    first, second, third = [await store.create(replace(NEW, id=id)) for id in ("DEB-3", "DEB-1", "DEB-2")]

    assert await store.list(limit=10) == (third, second, first)
    assert await store.list(limit=2) == (third, second)


async def test_debates_are_listed_by_status(store: Store) -> None:
    await store.create(replace(NEW, id="DEB-2", status=Status.QUEUED))
    running = await taken(store)

    assert await store.list(limit=10, status=Status.RUNNING) == (running,)
    assert await store.list(limit=10, status=Status.FAILED) == ()


# Turns and failures


async def test_turns_come_back_whole_and_by_position(store: Store) -> None:
    record = await taken(store)
    plain = Turn(position=1, seat="human", kind="guidance", round=None, content="", run=1)

    assert await store.append("DEB-1", plain) == Control()
    assert await store.append("DEB-1", TURN) == Control()

    assert await store.load("DEB-1") == StoredDebate(record, (TURN, plain), ())


async def test_a_long_turn_comes_back_whole(store: Store) -> None:
    await taken(store)
    long = replace(TURN, content="Ж🎭" * 500_000)
    await store.append("DEB-1", long)

    assert (await store.load("DEB-1")).turns == (long,)


async def test_failures_come_back_by_time(store: Store) -> None:
    record = await taken(store)
    later = replace(FAILURE, at=FAILURE.at + 1, partial="", round=None)
    again = replace(later, code="model_timeout")
    for failure in (later, again, FAILURE):
        await store.add_failure("DEB-1", failure)

    assert await store.load("DEB-1") == StoredDebate(record, (), (FAILURE, later, again))


async def test_a_position_is_filled_only_once(store: Store) -> None:
    await taken(store)
    await store.append("DEB-1", TURN)

    with pytest.raises(Fenced, match="DEB-1 already has a turn at position 0"):
        await store.append("DEB-1", replace(TURN, content="another", event_id=TURN.event_id + 1))

    assert (await store.load("DEB-1")).turns == (TURN,)


async def test_a_turn_whose_answer_got_lost_on_the_way_is_stored_once_however_often_it_is_tried(store: Store) -> None:
    await taken(store)
    assert await store.append("DEB-1", TURN) == Control()
    await store.ask_to_conclude("DEB-1")
    await store.say("DEB-1", HumanReply("guide", "Go on"))

    assert await store.append("DEB-1", TURN) == Control(concluding=True, remarks=1)
    await store.ask_to_stop("DEB-1")
    assert await store.append("DEB-1", TURN) == Control(stopping="stopped", concluding=True, remarks=1)

    assert (await store.load("DEB-1")).turns == (TURN,)


async def test_a_wish_is_no_remark_and_the_run_hears_of_it_with_its_next_turn(store: Store) -> None:
    await taken(store)
    await store.wish("DEB-1", Wish("Settings changed.", {"seats": {}}))
    assert await store.said("DEB-1") == ()
    (wish,) = await store.wishes("DEB-1")
    assert wish == Wish("Settings changed.", {"seats": {}}, wish.at)
    assert wish.at > 0
    assert await store.append("DEB-1", TURN) == Control(wishes=1)
    with pytest.raises(NotFound):
        await store.wish("DEB-2", Wish("Settings changed.", {}))


async def test_a_turn_of_the_run_before_is_not_stored_again_by_the_next(store: Store) -> None:
    await taken(store, lease_seconds=-1)
    await store.append("DEB-1", TURN)
    await store.take("DEB-1", "bob", 30)

    with pytest.raises(Fenced, match="run 1 of DEB-1 may not write any more: run 2 has taken over"):
        await store.append("DEB-1", TURN)
    with pytest.raises(Fenced, match="DEB-1 already has a turn at position 0"):
        await store.append("DEB-1", replace(TURN, run=2))

    assert (await store.load("DEB-1")).turns == (TURN,)


async def test_append_tells_what_people_have_asked(store: Store) -> None:
    await taken(store)
    await store.ask_to_conclude("DEB-1")
    assert await store.append("DEB-1", TURN) == Control(concluding=True)

    await store.ask_to_stop("DEB-1")
    assert await store.append("DEB-1", replace(TURN, position=1)) == Control(stopping="stopped", concluding=True)


async def test_a_person_may_answer_while_the_debate_waits(store: Store) -> None:
    await ended(store, Status.WAITING)
    answer = Turn(position=0, seat="human", kind="guidance", round=1, content="Go on", run=1)

    assert await store.append("DEB-1", answer) == Control()
    assert (await store.load("DEB-1")).turns == (answer,)


@pytest.mark.parametrize("status", [Status.STOPPED, Status.FINISHED, Status.FAILED])
async def test_nothing_is_added_once_a_debate_has_ended(store: Store, status: Status) -> None:
    record = await ended(store, status)

    for call in (store.append("DEB-1", TURN), store.add_failure("DEB-1", FAILURE), store.heartbeat("DEB-1", 1, 30)):
        with pytest.raises(Fenced, match=f"run 1 of DEB-1 may not write any more: the debate is {status}"):
            await call
    with pytest.raises(Fenced, match=f"the debate is {status}"):
        await store.end("DEB-1", 1, RunResult(Status.FAILED, "failed"))

    assert await store.load("DEB-1") == StoredDebate(record, (), ())


async def test_a_turn_of_an_unknown_debate_is_fenced(store: Store) -> None:
    with pytest.raises(Fenced, match="there is no debate 'x' to write to"):
        await store.append("x", TURN)


# Runs


async def test_a_run_owns_the_debate_it_takes(store: Store) -> None:
    created = await store.create(NEW)

    stored = await store.take("DEB-1", "ann", 30)

    lease_until = stored.record.lease_until
    assert lease_until is not None
    assert created.created_at + 30 <= lease_until <= time.time() + 30
    running = replace(created, status=Status.RUNNING, run=1, owner="ann", lease_until=lease_until)
    assert stored == StoredDebate(running, (), ())
    assert await store.load("DEB-1") == stored


async def test_a_debate_in_another_s_hands_is_busy(store: Store) -> None:
    record = await taken(store)

    with pytest.raises(Busy, match=r"DEB-1 is being run by ann, whose lease lasts (30|[12]\d) s more"):
        await store.take("DEB-1", "bob", 30)

    assert (await store.load("DEB-1")).record == record


async def test_a_finished_debate_is_not_taken(store: Store) -> None:
    record = await ended(store, Status.FINISHED)

    with pytest.raises(WrongStatus, match="DEB-1 is finished"):
        await store.take("DEB-1", "bob", 30)

    assert (await store.load("DEB-1")).record == record


@pytest.mark.parametrize("status", [Status.STOPPED, Status.FAILED, Status.WAITING])
async def test_a_debate_that_is_not_finished_is_taken_again_with_its_turns(store: Store, status: Status) -> None:
    created = await taken(store)
    await store.append("DEB-1", TURN)
    await store.add_failure("DEB-1", FAILURE)
    await store.ask_to_conclude("DEB-1")
    await store.end("DEB-1", 1, RunResult(status, "why", error="what"))

    stored = await store.take("DEB-1", "bob", 30)

    lease_until = stored.record.lease_until
    record = replace(created, run=2, owner="bob", lease_until=lease_until, concluding=True)
    assert stored == StoredDebate(record, (TURN,), (FAILURE,), asked=Control(concluding=True))


async def test_a_heartbeat_prolongs_the_lease(store: Store) -> None:
    record = await taken(store, lease_seconds=1)
    await store.heartbeat("DEB-1", 1, 100)

    lease_until = (await store.load("DEB-1")).record.lease_until
    assert lease_until is not None
    assert record.lease_until is not None
    assert lease_until > record.lease_until + 90


async def test_a_run_that_was_frozen_past_its_lease_writes_nothing(store: Store) -> None:
    await taken(store, lease_seconds=-1)
    await store.append("DEB-1", TURN)
    second = await store.take("DEB-1", "bob", 30)

    late = (
        store.append("DEB-1", replace(TURN, position=1)),
        store.add_failure("DEB-1", FAILURE),
        store.heartbeat("DEB-1", 1, 30),
        store.end("DEB-1", 1, RunResult(Status.FINISHED, "completed", outcome={"winner": "a"})),
    )
    for call in late:
        with pytest.raises(Fenced, match="run 1 of DEB-1 may not write any more: run 2 has taken over"):
            await call
    assert await store.release("DEB-1", 1) is False

    assert await store.load("DEB-1") == second
    assert await store.append("DEB-1", replace(TURN, position=1, run=2)) == Control()


async def test_a_late_run_goes_on_when_nobody_has_taken_over(store: Store) -> None:
    await taken(store, lease_seconds=-1)

    await store.heartbeat("DEB-1", 1, 30)
    assert await store.append("DEB-1", TURN) == Control()


@pytest.mark.parametrize("status", [Status.STOPPED, Status.FINISHED, Status.FAILED])
async def test_an_ending_is_stored_and_the_debate_let_go(store: Store, status: Status) -> None:
    record = await taken(store)

    await store.end(
        "DEB-1", 1, RunResult(status, "why", outcome={"winner": "ä", "scores": [1, 2]}, error="what went wrong")
    )

    after = (await store.load("DEB-1")).record
    assert record.created_at <= finished_at(after) <= record.created_at + 5
    assert after == replace(
        record,
        status=status,
        stop_reason="why",
        outcome={"winner": "ä", "scores": [1, 2]},
        error="what went wrong",
        finished_at=after.finished_at,
        owner=None,
        lease_until=None,
    )


async def test_a_waiting_debate_has_not_ended(store: Store) -> None:
    record = await taken(store)
    await store.end("DEB-1", 1, RunResult(Status.WAITING))

    after = (await store.load("DEB-1")).record
    assert after == replace(record, status=Status.WAITING, owner=None, lease_until=None)


async def test_a_dead_run_is_released_and_the_next_begins_at_once(store: Store) -> None:
    record = await taken(store)

    assert await store.release("DEB-1", 1) is True

    assert (await store.load("DEB-1")).record == replace(record, owner=None, lease_until=None)
    assert (await store.take("DEB-1", "bob", 30)).record.run == 2
    assert await store.release("DEB-1", 1) is False


async def test_a_dead_run_that_was_to_stop_is_stopped_by_its_release(store: Store) -> None:
    record = await taken(store)
    await store.ask_to_stop("DEB-1")

    assert await store.release("DEB-1", 1) is True

    after = (await store.load("DEB-1")).record
    assert after == stopped(record, finished_at(after))
    assert await store.release("DEB-1", 1) is False


# What people ask


def stopped(record: Record, at: float) -> Record:
    return replace(record, status=Status.STOPPED, stop_reason="stopped", finished_at=at, owner=None, lease_until=None)


async def test_a_running_debate_is_asked_to_stop(store: Store) -> None:
    record = await taken(store)

    for _ in range(2):
        stopping = await store.ask_to_stop("DEB-1")
        assert stopping == replace(record, status=Status.STOPPING, stop_reason="stopped")

    assert (await store.load("DEB-1")).record == stopping
    await store.heartbeat("DEB-1", 1, 30)
    await store.end("DEB-1", 1, RunResult(Status.STOPPED, "stopped"))


@pytest.mark.parametrize("dies", [False, True])
async def test_why_a_debate_was_to_stop_is_kept_until_it_has(store: Store, dies: bool) -> None:
    await taken(store)
    await store.ask_to_stop("DEB-1", "sigterm")
    await store.ask_to_stop("DEB-1")
    if dies:
        await store.release("DEB-1", 1)
    else:
        assert await store.append("DEB-1", TURN) == Control(stopping="sigterm")
        await store.end("DEB-1", 1, RunResult(Status.STOPPED, "sigterm"))
    assert (await store.load("DEB-1")).record.stop_reason == "sigterm"


@pytest.mark.parametrize("status", [Status.CREATED, Status.QUEUED])
async def test_a_debate_that_has_not_begun_is_stopped_at_once(store: Store, status: Status) -> None:
    record = await store.create(replace(NEW, status=status))

    after = await store.ask_to_stop("DEB-1")

    assert after == stopped(record, finished_at(after))
    assert (await store.load("DEB-1")).record == after


async def test_a_waiting_debate_is_stopped_at_once(store: Store) -> None:
    record = await ended(store, Status.WAITING)

    after = await store.ask_to_stop("DEB-1")

    assert after == stopped(record, finished_at(after))


@pytest.mark.parametrize("already_asked", [False, True])
async def test_a_debate_whose_run_died_is_stopped_at_once(store: Store, already_asked: bool) -> None:
    record = await taken(store, lease_seconds=-1)
    if already_asked:
        await store.ask_to_stop("DEB-1")

    after = await store.ask_to_stop("DEB-1")

    assert after == stopped(record, finished_at(after))


@pytest.mark.parametrize("status", [Status.STOPPED, Status.FINISHED, Status.FAILED])
async def test_asking_an_ended_debate_to_stop_changes_nothing(store: Store, status: Status) -> None:
    record = await ended(store, status)

    assert await store.ask_to_stop("DEB-1") == record
    assert (await store.load("DEB-1")).record == record


async def test_a_debate_is_asked_to_conclude(store: Store) -> None:
    record = await store.create(NEW)

    assert await store.ask_to_conclude("DEB-1") == replace(record, concluding=True)
    assert (await store.load("DEB-1")).record == replace(record, concluding=True)


async def test_asking_a_finished_debate_to_conclude_changes_nothing(store: Store) -> None:
    record = await ended(store, Status.FINISHED)

    assert await store.ask_to_conclude("DEB-1") == record
    assert (await store.load("DEB-1")).record == record


# What people say


async def test_words_come_back_whole_and_in_their_order(store: Store) -> None:
    await store.create(NEW)
    words = "Erstens 🎭\r\n‮ 'zweitens' \\ :name $1"
    said = [
        await store.say("DEB-1", each)
        for each in (
            HumanReply("guide", words),
            HumanReply("continue", "", 7),
            HumanReply("guide", words),
            HumanReply("approve", "", 3),
        )
    ]
    assert [(each.action, each.text, each.position) for each in said] == [
        ("guide", words, None),
        ("continue", "", 7),
        ("guide", words, None),
        ("approve", "", 3),
    ]
    assert said[0].at > 1_700_000_000
    assert await store.said("DEB-1") == tuple(said)
    assert await store.said("x") == ()


async def test_a_question_is_answered_only_once(store: Store) -> None:
    await store.create(NEW)
    await store.create(replace(NEW, id="DEB-2"))
    first = await store.say("DEB-1", HumanReply("guide", "One", 7))

    with pytest.raises(WrongStatus, match="this question of DEB-1 has been answered already; moot show DEB-1 tells"):
        await store.say("DEB-1", HumanReply("guide", "Two", 7))

    assert await store.said("DEB-1") == (first,)
    assert (await store.say("DEB-2", HumanReply("end", "", 7))).action == "end"


async def test_append_tells_how_often_people_have_spoken_of_their_own_accord(store: Store) -> None:
    await taken(store)
    await store.say("DEB-1", HumanReply("guide", "One"))
    await store.say("DEB-1", HumanReply("continue", "", 5))
    assert await store.append("DEB-1", TURN) == Control(remarks=1)
    await store.say("DEB-1", HumanReply("guide", "Two"))
    assert await store.append("DEB-1", replace(TURN, position=1)) == Control(remarks=2)


async def test_a_debate_that_waits_is_paused_and_can_be_taken_again(store: Store) -> None:
    record = await ended(store, Status.WAITING)

    after = await store.pause("DEB-1")

    assert after == replace(
        record, status=Status.STOPPED, stop_reason="checkpoint_timeout", finished_at=finished_at(after)
    )
    assert (await store.load("DEB-1")).record == after
    assert (await store.take("DEB-1", "bob", 30)).record.status is Status.RUNNING


@pytest.mark.parametrize("status", [Status.STOPPED, Status.FINISHED, Status.FAILED])
async def test_a_debate_that_has_ended_is_not_paused(store: Store, status: Status) -> None:
    record = await ended(store, status)
    assert await store.pause("DEB-1") == record


async def test_a_running_debate_is_not_paused(store: Store) -> None:
    record = await taken(store)
    assert await store.pause("DEB-1") == record


# Ratings and workflows


async def test_the_latest_word_on_a_next_step_counts(store: Store) -> None:
    created = await store.create(NEW)
    await store.tick("DEB-1", Tick(2, True, "Anna"))
    undone = await store.tick("DEB-1", Tick(2, False, "Bülent"))
    done = await store.tick("DEB-1", Tick(0, True))
    assert (undone, done) == (Tick(2, False, "Bülent", undone.at), Tick(0, True, "", done.at))
    assert undone.at > 1_700_000_000
    assert await store.load("DEB-1") == StoredDebate(created, ticks=(done, undone))


async def test_what_somebody_said_keeps_their_name(store: Store) -> None:
    await store.create(NEW)
    said = await store.say("DEB-1", HumanReply("guide", "Schneller", who="Anna"))
    assert await store.said("DEB-1") == (said,) == (HumanReply("guide", "Schneller", None, said.at, "Anna"),)


async def test_the_latest_rating_counts(store: Store) -> None:
    created = await store.create(NEW)
    await store.rate("DEB-1", Rating(2, "Zu kurz 🎭"))
    rating = await store.rate("DEB-1", Rating(5))
    assert rating == Rating(5, "", rating.at)
    assert rating.at > 1_700_000_000
    assert await store.load("DEB-1") == StoredDebate(created, (), (), rating)


async def test_a_debate_has_one_workflow_the_first(store: Store) -> None:
    created = await store.create(NEW)
    first = await store.add_workflow("DEB-1", WORKFLOW)
    assert first == replace(WORKFLOW, created_at=first.created_at)
    assert first.created_at > 1_700_000_000
    assert await store.add_workflow("DEB-1", Workflow(id="WFL-2", title="another", body="")) == first
    assert await store.load("DEB-1") == StoredDebate(created, workflow=first)


async def test_deliveries_are_noted_and_attempts_add_up(store: Store) -> None:
    await store.create(NEW)
    first = await store.add_workflow("DEB-1", WORKFLOW)
    await store.note_delivery("DEB-1", replace(first, attempts=3, result="503"))
    noted = await store.note_delivery("DEB-1", replace(first, delivered=True, attempts=1, result="sent"))
    assert noted == replace(first, delivered=True, attempts=4, result="sent")
    assert (await store.load("DEB-1")).workflow == noted


async def test_a_workflow_that_is_due_is_taken_by_one_until_its_time_is_over(store: Store) -> None:
    await store.create(NEW)
    made = await store.add_workflow("DEB-1", WORKFLOW, -1.0)
    assert await store.take_workflow(-1.0) == ("DEB-1", made)  # for no time at all
    assert await store.take_workflow(60.0) == ("DEB-1", made)
    assert [await store.take_workflow(60.0), await store.take_workflow(60.0, "DEB-1")] == [None, None]
    failed = await store.note_delivery("DEB-1", replace(made, attempts=1, result="503"))
    assert await store.take_workflow(60.0) is None  # until somebody asks for it
    assert await store.take_workflow(60.0, "DEB-1") == ("DEB-1", failed)
    await store.note_delivery("DEB-1", replace(made, delivered=True, attempts=1))
    assert await store.take_workflow(60.0, "DEB-1") is None


async def test_a_workflow_that_is_only_kept_is_due_when_it_is_asked_for(store: Store) -> None:
    await store.create(NEW)
    made = await store.add_workflow("DEB-1", WORKFLOW)
    assert await store.take_workflow(60.0) is None
    assert await store.take_workflow(60.0, "DEB-1") == ("DEB-1", made)


async def test_a_delivery_without_a_workflow_is_an_error(store: Store) -> None:
    await store.create(NEW)
    with pytest.raises(NotFound, match="DEB-1 has no workflow; make one: moot workflow DEB-1"):
        await store.note_delivery("DEB-1", WORKFLOW)


# Many at once


async def attempt(call: Awaitable[object]) -> object:
    """What a call gave back, or the kind of its error."""
    try:
        return await call
    except MootError as error:
        return type(error)


async def test_one_of_twenty_takes_wins(store: Store) -> None:
    await store.create(NEW)

    results = await asyncio.gather(*(attempt(store.take("DEB-1", f"worker {n}", 30)) for n in range(20)))

    assert results.count(Busy) == 19
    (won,) = (result for result in results if result is not Busy)
    assert await store.load("DEB-1") == won


async def test_one_of_twenty_turns_at_a_position_is_stored(store: Store) -> None:
    await taken(store)

    turns = [replace(TURN, content=f"turn {n}", event_id=TURN.event_id + n) for n in range(20)]
    results = await asyncio.gather(*(attempt(store.append("DEB-1", turn)) for turn in turns))

    assert results.count(Fenced) == 19
    assert (await store.load("DEB-1")).turns == (turns[results.index(Control())],)


async def test_one_of_fifty_answers_to_a_question_is_kept(store: Store) -> None:
    await store.create(NEW)

    answers = [HumanReply("guide", f"answer {n}", 7) for n in range(50)]
    results = await asyncio.gather(*(attempt(store.say("DEB-1", answer)) for answer in answers))

    assert results.count(WrongStatus) == 49
    assert await store.said("DEB-1") == tuple(result for result in results if isinstance(result, HumanReply))


async def test_one_of_twenty_workflows_is_kept_and_all_get_it(store: Store) -> None:
    await store.create(NEW)

    made = [replace(WORKFLOW, id=f"WFL-{n}") for n in range(20)]
    results = await asyncio.gather(*(store.add_workflow("DEB-1", each) for each in made))

    assert {each.id for each in results} == {results[0].id}


async def test_turns_of_many_debates_are_stored_side_by_side(store: Store) -> None:
    async def debate(number: int) -> None:
        await store.create(replace(NEW, id=f"DEB-{number}"))
        await store.take(f"DEB-{number}", "ann", 30)
        for position in range(5):
            await store.append(f"DEB-{number}", replace(TURN, position=position))

    await asyncio.gather(*map(debate, range(40)))

    for number in range(40):
        turns = (await store.load(f"DEB-{number}")).turns
        assert turns == tuple(replace(TURN, position=position) for position in range(5))


async def test_a_take_and_the_turns_of_the_run_before_never_mix(store: Store) -> None:
    """A turn of run 1 is stored before run 2 begins, so that run 2 knows it, or not at all."""
    await store.create(NEW)
    await store.take("DEB-1", "ann", -1)

    appends = [attempt(store.append("DEB-1", replace(TURN, position=position))) for position in range(20)]
    *before, second = await asyncio.gather(*appends, store.take("DEB-1", "bob", 30))

    assert isinstance(second, StoredDebate)
    assert len(second.turns) == before.count(Control())
    assert await store.load("DEB-1") == second


async def test_what_is_asked_for_with_a_nul_is_not_there(store: Store) -> None:
    await store.create(NEW)
    for asked in ("\0", "DEB-1\0"):
        assert await store.list(limit=9, format=asked) == ()
        assert await store.find(asked) is None
        for call in (store.load, store.delete, store.restore, store.ask_to_stop, store.enqueue, store.ask_to_conclude):
            with pytest.raises(NotFound):
                await call(asked)
    assert [record.id for record in await store.list(limit=9)] == ["DEB-1"]

"""What runs in one process, heard in others: pieces put together, told in order, and heard again when it was lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest
from at_work import (
    PATIENCE,
    Gate,
    app_with,
    contents,
    created,
    duel_app,
    followed,
    reading,
    server_of,
    shown,
    types,
    until_heard,
    working,
)
from hypothesis import given
from hypothesis import strategies as st

from moot.core.events import DebateStarted, Event, RoundStarted, TurnChunk, TurnStarted
from moot.runs import follow as following
from moot.runs.follow import follow
from moot.runs.live import Heard
from moot.runs.notify import ASKS, EVENTS, TICK_SECONDS, Listener, Publisher, messages
from moot.runs.workers import CLAIM, PostgresQueue
from moot.store.postgres import PostgresPool
from moot.store.store import Store
from moot.testing import ScriptedModel
from stage import sensible

AT = datetime(2026, 1, 1, tzinfo=UTC)
SPEECH = ["Reason", "number", "1", "speaks", "for", "it."]
"""A turn of a duel, by its words."""
NOWHERE: Any = None
"""The server of an ear that is told by hand."""


def started(position: int = 0, id: int = 1, title: str = "") -> TurnStarted:
    return TurnStarted(
        id=id,
        debate="DEB-1",
        at=AT,
        seat="debater_a",
        kind="argument",
        round=1,
        position=position,
        model="m",
        attempt=1,
        title=title,
    )


def chunk(text: str, offset: int = 0, id: int = 2, position: int = 0) -> TurnChunk:
    return TurnChunk(
        id=id,
        debate="DEB-1",
        at=AT,
        seat="debater_a",
        kind="argument",
        round=1,
        position=position,
        offset=offset,
        text=text,
    )


def heard_by(ear: Listener, told: list[Event | str], lose: Callable[[int], bool] = lambda number: False) -> list[Any]:
    """What somebody who follows DEB-1 is told, when some messages get lost."""
    hear: Callable[[str], None] = ear._callbacks[EVENTS]
    with ear.listening("DEB-1") as heard:
        for number, message in enumerate(messages(iter(told))):
            if not lose(number):
                hear(message)
        return _all(heard)


def _all(heard: Heard) -> list[Event | None]:
    return [heard.get_nowait() for _ in range(heard.qsize())]


# Messages

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
long_texts = st.builds(lambda text, times: text * times, texts, st.integers(1, 400))
control = st.text(st.sampled_from('\0\x1b\x85\u2028\u2029\r\n\x0b\x0c\x1c\U0010ffff"\\'), min_size=1, max_size=5000)
chunks = st.builds(chunk, st.one_of(texts, long_texts, control), st.integers(0, 10**6), st.integers(1, 10**12))
events = st.one_of(
    chunks,
    st.builds(started, title=st.one_of(texts, long_texts, control)),
    st.builds(
        lambda topic: DebateStarted(id=1, debate="DEB-1", at=AT, format="duel", topic=topic, run=1),
        st.one_of(long_texts, control),
    ),
    st.just("DEB-1"),
)


@given(st.lists(events, max_size=30))
def test_no_message_is_too_long_for_postgres(told: list[Event | str]) -> None:
    for message in messages(iter(told)):
        assert 0 < len(message.encode()) < 8000


@given(st.lists(chunks.filter(lambda event: event.text), max_size=20))
def test_any_text_is_heard_as_it_was_told(told: list[Event | str]) -> None:
    assert heard_by(Listener(NOWHERE), told) == told


def test_many_little_things_make_one_message_and_what_nobody_follows_is_passed_over() -> None:
    told: list[Event | str] = [started(), chunk("One "), "DEB-1", "DEB-2", replace(chunk("Two"), debate="DEB-2")]
    (message,) = messages(iter(told))
    assert len(message.split("\n")) == 5
    assert heard_by(Listener(NOWHERE), told) == [started(), chunk("One "), None]


def test_what_is_too_long_and_no_text_is_left_to_the_store() -> None:
    assert list(
        messages(iter([DebateStarted(id=1, debate="DEB-1", at=AT, format="duel", topic="x" * 9000, run=1)]))
    ) == ["DEB-1"]


def test_a_message_of_a_newer_moot_is_passed_over() -> None:
    ear = Listener(NOWHERE)
    with ear.listening("DEB-1") as heard:
        for line in ('DEB-1 {"type": "song"}', "DEB-1 not json", 'DEB-1 {"type": "turn_chunk"}', "", "DEB-1"):
            ear._callbacks[EVENTS](line)
        assert _all(heard) == [None]


LONG = "".join(f"word{number} " for number in range(5000))


@given(st.sets(st.integers(0, 10)))
def test_of_a_long_text_with_lost_parts_nothing_is_heard_in_a_wrong_place(lost: set[int]) -> None:
    told: list[Event | str] = [started(), chunk(LONG, 0, 2), chunk("the end", len(LONG), 3)]
    for event in heard_by(Listener(NOWHERE), told, lost.__contains__):
        if isinstance(event, TurnChunk):
            assert (LONG + "the end")[event.offset : event.offset + len(event.text)] == event.text


# Between processes


@pytest.fixture
async def server(open_again: Callable[[], Awaitable[Store]]) -> PostgresPool:
    return server_of(await open_again())


class Wiretap:
    """Hears every message that is told on the database."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[str] = asyncio.Queue()

    async def next(self) -> str:
        async with asyncio.timeout(PATIENCE):
            return await self.messages.get()


@asynccontextmanager
async def wiretap(server: PostgresPool) -> AsyncIterator[Wiretap]:
    tap = Wiretap()
    connection = await asyncpg.connect(server.url)
    await connection.add_listener(EVENTS, lambda *payload: tap.messages.put_nowait(str(payload[-1])))
    try:
        yield tap
    finally:
        await connection.close()


async def test_little_pieces_are_told_together_in_order_under_their_last_id(server: PostgresPool) -> None:
    teller = Publisher(server)
    told: list[Event] = [
        RoundStarted(id=1, debate="DEB-1", at=AT, round=1),
        started(0, 2),
        started(1, 3),
        chunk("One ", 0, 4, position=0),
        chunk("Uno ", 0, 5, position=1),
        chunk("two ", 4, 6, position=0),
        chunk("dos ", 4, 7, position=1),
        chunk("three", 8, 8, position=0),
    ]
    async with wiretap(server) as tap:
        for event in told:
            teller.emit(event)
        message = await tap.next()
    ear = Listener(server)
    with ear.listening("DEB-1") as heard:
        ear._callbacks[EVENTS](message)
        assert _all(heard) == [*told[:3], chunk("Uno dos ", 0, 7, position=1), chunk("One two three", 0, 8, position=0)]


async def test_what_a_turn_said_before_it_began_anew_is_not_joined_to_what_it_says_then(server: PostgresPool) -> None:
    teller, again = Publisher(server), replace(started(0, 3), attempt=2)
    async with wiretap(server) as tap:
        for event in (started(0, 1), chunk("Wrong", 0, 2), again, chunk("Right", 0, 4)):
            teller.emit(event)
        message = await tap.next()
    ear = Listener(server)
    with ear.listening("DEB-1") as heard:
        ear._callbacks[EVENTS](message)
        assert _all(heard) == [started(0, 1), chunk("Wrong", 0, 2), again, chunk("Right", 0, 4)]


async def test_the_text_so_far_is_told_again_to_who_asks(server: PostgresPool) -> None:
    teller = Publisher(server)
    async with wiretap(server) as tap:
        for event in (started(0, 1), chunk("One ", 0, 2)):
            teller.emit(event)
        await tap.next()
        teller.emit(chunk("two ", 4, 3))
        await tap.next()
        teller.resend("DEB-1")
        message = await tap.next()
        teller.resend("DEB-2")
        teller.announce_change("DEB-1")
        assert await tap.next() == "DEB-1"
    ear = Listener(server)
    with ear.listening("DEB-1") as heard:
        ear._callbacks[EVENTS](message)
        assert _all(heard) == [started(0, 1), chunk("One two ", 0, 3), None]


class Flaky:
    """A server whose database is away for the first message."""

    def __init__(self, server: PostgresPool) -> None:
        self.place = server.place
        self.pool = self
        self.asked = server.asked
        self.lost: list[list[str]] = []
        self._server = server

    async def execute(self, sql: str, channel: str, told: list[str]) -> None:
        if not self.lost:
            self.lost.append(told)
            raise ConnectionResetError("the database is away")
        await self._server.pool.execute(sql, channel, told)


class Slow(Flaky):
    """A server whose database takes long for the first message."""

    async def execute(self, sql: str, channel: str, told: list[str]) -> None:
        self.lost.append(told)
        if len(self.lost) == 1:
            await asyncio.sleep(4 * TICK_SECONDS)
        await self._server.pool.execute(sql, channel, told)


async def test_what_is_said_while_a_message_is_on_its_way_comes_after_it(server: PostgresPool) -> None:
    slow: Any = Slow(server)
    teller = Publisher(slow)
    async with wiretap(server) as tap:
        teller.emit(started(0, 1))
        while not slow.lost:  # noqa: ASYNC110 - it is told by a task of its own
            await asyncio.sleep(0.01)
        teller.emit(chunk("One ", 0, 2))
        first, second = await tap.next(), await tap.next()
    assert ("turn_started" in first, "turn_chunk" in second) == (True, True)
    await teller.close()


async def test_what_could_not_be_told_is_looked_up_before_anything_else_is_heard(server: PostgresPool) -> None:
    flaky: Any = Flaky(server)
    teller = Publisher(flaky)
    async with wiretap(server) as tap:
        teller.emit(started(0, 1))
        teller.emit(replace(started(0, 1), debate="DEB-2"))
        await teller.close()
        teller.emit(chunk("One ", 0, 2))
        lines = (await tap.next()).split("\n")
    assert len(flaky.lost) == 1
    assert sorted(lines[:2]) == ["DEB-1", "DEB-2"]
    assert [line.partition(" ")[0] for line in lines[2:]] == ["DEB-1"]


# Whole queues

THE_LONGEST_TURN = " ".join(f"reason{number}\u2028" for number in range(3000))


async def test_a_reader_elsewhere_who_joins_in_the_middle_gets_the_text_so_far_and_then_the_rest(
    open_again: Callable[[], Awaitable[Store]],
) -> None:
    gate = Gate()
    model = ScriptedModel(lambda request: sensible(request) if request.schema else THE_LONGEST_TURN, pace=gate)
    here, there = duel_app(await open_again()), app_with(model, await open_again())
    (debate_id,) = await created(here, 1)
    async with working(here, at_once=0) as queue, working(there):
        await until_heard(server_of(here.store), 2)
        await queue.enqueue(debate_id)
        await gate.let(2000)
        await gate.reached()
        async with reading(queue, debate_id) as reader:
            await reader.until(lambda events: shown(events, 0).split() == THE_LONGEST_TURN.split()[:2000])
            await gate.let(500)
            await reader.until(lambda events: shown(events, 0).split() == THE_LONGEST_TURN.split()[:2500])
            await gate.let()
            events = await reader.to_the_end()
    assert types(events)[-1] == "debate_finished"
    assert contents(events) == {turn.position: turn.content for turn in (await here.load(debate_id)).turns}


EARS = """
    SELECT array_agg(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE 'SELECT pg_notify%AS debate_id'
"""


async def kill_ears(server: PostgresPool) -> None:
    """End all connections on which processes listen, and wait until they have others."""
    ears = await server.pool.fetchval(EARS)
    await server.pool.execute("SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid", ears)
    async with asyncio.timeout(PATIENCE):
        while len({*(await server.pool.fetchval(EARS) or ())} - {*ears}) < len(ears):
            pass


async def test_a_reader_whose_connection_is_killed_misses_nothing(
    open_again: Callable[[], Awaitable[Store]],
) -> None:
    gate = Gate()
    here, there = duel_app(await open_again()), duel_app(await open_again(), gate)
    (debate_id,) = await created(here, 1)
    async with working(here, at_once=0) as queue, working(there):
        server = server_of(here.store)
        await until_heard(server, 2)
        async with reading(queue, debate_id) as reader:
            await queue.enqueue(debate_id)
            await gate.let(2)
            await reader.until(lambda events: len(shown(events, 0).split()) == 2)
            killing = asyncio.create_task(kill_ears(server))
            await gate.let(1)  # which may be heard or not
            await killing
            await gate.let(1)
            await reader.until(lambda events: len(shown(events, 0).split()) == 4)
            await gate.let()
            events = await reader.to_the_end()
    assert types(events)[-1] == "debate_finished"
    assert [event.id for event in events] == sorted({event.id for event in events})
    assert contents(events) == {turn.position: turn.content for turn in (await here.load(debate_id)).turns}


class Deaf:
    """An ear to which some messages do not get through."""

    def __init__(self, ear: Listener) -> None:
        self._hear: Callable[[str], None] = ear._callbacks[EVENTS]
        self.losing = False
        self.lost = asyncio.Event()
        ear.on(EVENTS, self)

    def __call__(self, message: str) -> None:
        if self.losing:
            self.lost.set()
        else:
            self._hear(message)


async def test_messages_that_get_lost_are_asked_for_and_the_text_is_complete_afterwards(
    open_again: Callable[[], Awaitable[Store]],
) -> None:
    gate = Gate()
    here, there = duel_app(await open_again()), duel_app(await open_again(), gate)
    (debate_id,) = await created(here, 1)
    queue = PostgresQueue(here.runner, server_of(here.store))
    deaf = Deaf(queue._ear)
    await queue.start()
    async with working(there), reading(queue, debate_id) as reader:
        await until_heard(server_of(here.store), 2)
        await queue.enqueue(debate_id)
        await gate.let(2)
        await reader.until(lambda events: len(shown(events, 0).split()) == 2)
        deaf.losing = True
        await gate.let(2)
        await deaf.lost.wait()
        deaf.losing = False
        await gate.let(1)
        await reader.until(lambda events: len(shown(events, 0).split()) == 5)
        await gate.let()
        events = await reader.to_the_end()
    await queue.drain(0)
    assert types(events)[-1] == "debate_finished"
    assert contents(events) == {turn.position: turn.content for turn in (await here.load(debate_id)).turns}


async def test_a_turn_that_ends_just_before_its_run_hears_of_a_reader_is_told_before_the_next(
    open_again: Callable[[], Awaitable[Store]], monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    here, there = duel_app(await open_again()), duel_app(await open_again(), gate)
    server = server_of(here.store)
    ear = Listener(server)
    listening = asyncio.create_task(ear.listen())
    (debate_id,) = await created(here, 1)
    events: list[Event] = []
    asked = 0

    async def turn_ends() -> None:
        await gate.let(len(SPEECH))
        await gate.reached()

    async def ask() -> bool:
        """The first is lost on the way; when the next arrives, another speaks by then."""
        nonlocal asked
        asked += 1
        if asked == 2:
            monkeypatch.undo()
            await turn_ends()
            await server.execute("SELECT pg_notify($1, $2)", ASKS, debate_id)
        return True

    monkeypatch.setattr(following, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(following, "ANSWER_SECONDS", 0.001)
    async with working(there):
        await until_heard(server, 2)
        await here.store.enqueue(debate_id)
        await gate.reached()
        await turn_ends()
        async with asyncio.timeout(PATIENCE):
            async for event in follow(here.store, here.formats, debate_id, ear.listening(debate_id), ask=ask):
                events.append(event)
                if event.type == "turn_started":
                    await gate.let()
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    assert contents(events) == {turn.position: turn.content for turn in (await here.load(debate_id)).turns}


class LateServer:
    """A Postgres whose answer to a claim of jobs comes when the worker has heard of a reader."""

    def __init__(self, server: PostgresPool) -> None:
        self._server = server
        self.claimed, self.heard = asyncio.Event(), asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    async def fetch(self, statement: str, *arguments: Any) -> list[Any]:
        rows = await self._server.fetch(statement, *arguments)
        if statement == CLAIM and rows:
            self.claimed.set()
            await self.heard.wait()
        return rows


async def test_a_reader_who_comes_while_a_run_is_being_claimed_hears_it_from_its_first_word(
    open_again: Callable[[], Awaitable[Store]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "LOOK_SECONDS", 2 * PATIENCE)
    gate = Gate()
    here, there = duel_app(await open_again()), duel_app(await open_again(), gate)
    late: Any = LateServer(server_of(there.store))

    class Worker(PostgresQueue):
        def _resend(self, debate_id: str) -> None:
            super()._resend(debate_id)
            late.heard.set()

    (debate_id,) = await created(here, 1)
    worker = Worker(there.runner, late, 1)
    async with working(here, at_once=0) as queue:
        await worker.start()
        await until_heard(server_of(here.store), 2)
        await queue.enqueue(debate_id)
        await late.claimed.wait()
        async with reading(queue, debate_id) as reader:
            await gate.let(4)
            await reader.until(lambda events: len(shown(events, 0).split()) == 4)
            await gate.let()
            await reader.to_the_end()
        await worker.drain(PATIENCE)


async def test_readers_of_twenty_debates_at_once_see_each_to_its_end(
    open_again: Callable[[], Awaitable[Store]],
) -> None:
    here, there = duel_app(await open_again()), duel_app(await open_again())
    ids = await created(here, 20)
    async with working(here, at_once=0) as queue, working(there, at_once=20):
        for debate_id in ids:
            await queue.enqueue(debate_id)
        told = await asyncio.gather(*(followed(queue, debate_id) for debate_id in ids))
    assert [sorted(contents(events)) for events in told] == [[0, 1, 2]] * 20
    assert {types(events)[-1] for events in told} == {"debate_finished"}

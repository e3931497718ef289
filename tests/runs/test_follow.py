"""A debate followed over a way on which anything may get lost: what a reader gets is whole, in order, and told once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from at_work import app_with, contents, created, duel_app, shown, types
from hypothesis import given
from hypothesis import strategies as st

from moot.app import App
from moot.core.debate import Status
from moot.core.events import DebateFinished, DebateStopped, Event, TurnChunk, TurnFinished, TurnStarted
from moot.core.stored import StoredDebate
from moot.errors import NotFound, StoreError
from moot.runs import follow as following
from moot.runs.follow import follow
from moot.runs.live import Listeners, Live
from moot.testing import ScriptedModel
from stage import Panelists


class Way:
    """A run that is told event by event: some get lost, and what is stored is seen as far as the run has come."""

    def __init__(self, stored: StoredDebate, events: list[Event], lost: Callable[[int], bool], late: int = 0) -> None:
        self._stored = stored
        self._events = deque(enumerate(events))
        self._lost = lost
        self._late = late
        self._answers: deque[tuple[int, Event | None]] = deque()
        self._live = Live()
        self._turns = 0
        self._ended = False
        self._deaf = False
        self.asked = 0
        self.formats: Any = None

    async def load(self, debate_id: str) -> StoredDebate:
        if self._ended:
            return self._stored
        running = replace(self._stored.record, status=Status.RUNNING, outcome=None, finished_at=None)
        return StoredDebate(running, self._stored.turns[: self._turns])

    async def ask(self) -> bool:
        """The answer comes some events later."""
        self.asked += 1
        due = len(self._events) - self._late
        self._answers.extend((due, event) for event in (*self._live.so_far(self._stored.record.id), None))
        return True

    def go(self, events: int) -> None:
        """So much happens before anybody follows."""
        for _ in range(events):
            self._happen()

    def empty(self) -> bool:
        return True

    async def get(self) -> Event | None:
        while True:
            if self._answers and self._answers[0][0] >= len(self._events):
                return self._answers.popleft()[1]
            if not self._events:
                return None
            if self._deaf and not self._lost(self._events[0][0]):
                self._deaf = False  # and who hears again looks first
                return None
            number, event = self._happen()
            self._deaf = self._lost(number)
            if not self._deaf:
                return None if isinstance(event, TurnFinished | DebateFinished) else event

    def _happen(self) -> tuple[int, Event]:
        number, event = self._events.popleft()
        self._live.emit(event)
        if isinstance(event, TurnFinished):
            self._turns += 1
        self._ended = isinstance(event, DebateFinished)
        return number, event


async def follow_on(way: Way, app: App, after: int = 0) -> list[Event]:
    way.formats = app.formats
    road: Any = way
    return [
        event
        async for event in follow(road, road.formats, way._stored.record.id, nullcontext(road), after, ask=way.ask)
    ]


async def panel() -> tuple[App, StoredDebate, list[Event]]:
    """A finished panel, in which two speak at once, and the events it was told with."""
    app = app_with(ScriptedModel(Panelists(), pace=lambda: asyncio.sleep(0)))
    debate_id = (await app.create("panel", "Redis?", {"max_rounds": 1, "checkpoints": False, "depth": "quick"})).id
    events: list[Event] = []
    await app.run(debate_id, events.append)
    return app, await app.load(debate_id), events


APP, STORED, EVENTS = asyncio.run(panel())
CONTENTS = {turn.position: turn.content for turn in STORED.turns}


def check(events: list[Event]) -> None:
    assert [event.id for event in events] == sorted({event.id for event in events})
    assert contents(events) == CONTENTS
    assert types(events)[-1] == "debate_finished"
    for position in CONTENTS:
        shown(events, position)  # and there is no hole


async def test_what_nothing_is_lost_of_is_told_as_it_happened() -> None:
    events = await follow_on(Way(STORED, EVENTS, lambda number: False), APP)
    check(events)
    assert events[:-1] == EVENTS[:-1]
    assert any(
        isinstance(one, TurnChunk) and isinstance(two, TurnChunk) and one.position != two.position
        for one, two in pairwise(EVENTS)
    ), "nobody spoke at once"


@given(st.sets(st.integers(0, len(EVENTS))), st.integers(0, 8))
async def test_whatever_gets_lost_the_reader_sees_no_hole_and_all_that_is_stored(lost: set[int], late: int) -> None:
    check(await follow_on(Way(STORED, EVENTS, lost.__contains__, late), APP))


@given(st.integers(0, len(EVENTS)), st.integers(1, 60), st.integers(0, 8))
async def test_who_hears_nothing_for_a_while_asks_and_has_the_text_complete_afterwards(
    begin: int, length: int, late: int
) -> None:
    way = Way(STORED, EVENTS, range(begin, begin + length).__contains__, late)
    check(await follow_on(way, APP))


async def test_a_lost_piece_is_asked_for_and_the_text_is_whole_before_the_turn_is_stored() -> None:
    first = next(event for event in EVENTS if isinstance(event, TurnStarted))
    said = [(number, event) for number, event in enumerate(EVENTS) if isinstance(event, TurnChunk)]
    chunks = [(number, event) for number, event in said if event.position == first.position]
    way = Way(STORED, EVENTS, lambda number: number == chunks[1][0])
    events = await follow_on(way, APP)
    check(events)
    assert way.asked == 2  # when it began to follow, and for the piece
    assert shown(events, first.position) == "".join(event.text for _, event in chunks)


async def follow_here(way: Way, left: int) -> list[Event]:
    """Follow a run of this process, of which so many events are still to come."""
    debate_id = way._stored.record.id
    followed = follow(way, APP.formats, debate_id, way._live.listening(debate_id), is_heard=lambda _: True)

    async def read() -> list[Event]:
        return [event async for event in followed]

    reading = asyncio.create_task(read())
    for _ in range(left):
        await asyncio.sleep(0)
        way.go(1)
    return await reading


@pytest.mark.parametrize("here", [True, False])
@given(told=st.integers(0, len(EVENTS) - 1))
async def test_who_comes_while_two_speak_hears_both_from_their_beginning(here: bool, told: int) -> None:
    way = Way(STORED, EVENTS, lambda number: False)
    way.go(told)
    events = await (follow_here(way, len(EVENTS) - told) if here else follow_on(way, APP))
    check(events)
    begun = [event.position for event in EVENTS if isinstance(event, TurnStarted)]
    ended = [event.position for event in EVENTS[:told] if isinstance(event, TurnFinished)]
    heard = [event.position for event in events if isinstance(event, TurnStarted)]
    assert heard == [position for position in begun if position not in ended]


@pytest.mark.parametrize("number", [0, 3, 20, len(EVENTS) - 2])
async def test_who_says_what_it_has_seen_gets_the_rest(number: int) -> None:
    after = EVENTS[number].id
    events = await follow_on(Way(STORED, EVENTS, lambda number: False), APP, after)
    assert all(event.id > after for event in events)
    assert contents(events) == {
        event.position: event.content for event in EVENTS if isinstance(event, TurnFinished) and event.id > after
    }
    assert types(events)[-1] == "debate_finished"


class Away(Way):
    """A way to a store that cannot be used at first."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._away = 5

    async def load(self, debate_id: str) -> StoredDebate:
        if self._away:
            self._away -= 1
            raise StoreError("the database is away")
        return await super().load(debate_id)


async def test_a_store_that_is_away_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "LOOK_SECONDS", 0.001)
    check(await follow_on(Away(STORED, EVENTS, lambda number: False), APP))


async def test_what_nobody_tells_of_is_seen_in_the_store() -> None:
    app = duel_app()
    (debate_id,) = await created(app, 1)
    following = asyncio.create_task(anext(follow(app.store, app.formats, debate_id, Listeners().listening(debate_id))))
    await asyncio.sleep(0)
    await app.stop(debate_id)
    assert isinstance(await following, DebateStopped)


async def test_a_run_of_which_nothing_is_heard_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(following, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(following, "ANSWER_SECONDS", 0.001)
    app = duel_app()
    (debate_id,) = await created(app, 1)
    asked = 0

    async def ask() -> bool:
        nonlocal asked
        asked += 1
        if asked == 3:
            await app.stop(debate_id)
        return True

    events = follow(app.store, app.formats, debate_id, Listeners().listening(debate_id), ask=ask)
    assert isinstance(await anext(events), DebateStopped)
    assert asked == 3
    await events.aclose()


async def test_a_debate_that_is_not_there_is_not_followed() -> None:
    app = duel_app()
    (debate_id,) = await created(app, 1)
    await app.delete(debate_id)
    with pytest.raises(NotFound, match=f"no debate '{debate_id}'"):
        await anext(follow(app.store, app.formats, debate_id, Listeners().listening(debate_id)))


@pytest.mark.parametrize("here", [True, False])
async def test_the_store_is_not_looked_at_again_while_the_debate_runs_in_the_same_process(
    here: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "LOOK_SECONDS", 0.001)
    loads = 0

    class Running:
        async def load(self, debate_id: str) -> StoredDebate:
            nonlocal loads
            loads += 1
            return StoredDebate(replace(STORED.record, status=Status.RUNNING), STORED.turns)

    waits, enough = 0, asyncio.Event()

    def is_heard(debate_id: str) -> bool:
        nonlocal waits
        waits += 1
        if waits == 3:
            enough.set()
        return here

    heard: asyncio.Queue[Event | None] = asyncio.Queue()
    events = follow(Running(), APP.formats, STORED.record.id, nullcontext(heard), EVENTS[-2].id, is_heard=is_heard)
    reading = asyncio.create_task(anext(events))
    await enough.wait()
    heard.put_nowait(EVENTS[-1])
    assert await reading == EVENTS[-1]
    assert (loads == 1) is here
    await events.aclose()

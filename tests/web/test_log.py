"""The log of a debate: whoever joins or comes back at any time misses nothing and hears nothing twice."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from told import Listener

from moot.core.debate import NO_USAGE, Record, Status
from moot.core.emitter import Emitter
from moot.core.events import (
    EVENTS_PER_RUN,
    DebateFinished,
    DebateStarted,
    DebateStopped,
    Event,
    RoundStarted,
    StepRetrying,
    TurnChunk,
    TurnFinished,
    TurnStarted,
    Waiting,
)
from moot.web.stream import log as logs
from moot.web.stream.log import Frame, Log, Missed, frame

AT = datetime(2026, 1, 1, tzinfo=UTC)
ID = "DEB-1"
RECORD = Record(
    id=ID,
    format="duel",
    format_version=1,
    topic="Cats?",
    settings={},
    seats={},
    created_at=0.0,
    status=Status.RUNNING,
    run=1,
)


def decoded(frames: object) -> list[dict[str, object]]:
    return [json.loads(each.data.split(b"data: ")[1]) for each in frames]  # type: ignore[attr-defined]


class Publisher:
    """Makes the events of a run, in order."""

    def __init__(self, run: int = 1) -> None:
        self.events: list[Event] = []
        self.texts: dict[int, str] = {}
        self.emitter = Emitter(ID, run, self.events.append, AT.timestamp)
        self.emitter.emit(DebateStarted(format="duel", topic="Cats?", run=run))

    def start(self, position: int) -> None:
        self.texts[position] = ""
        self.emitter.emit(TurnStarted(seat="seat", kind="kind", round=1, position=position))

    def say(self, position: int) -> None:
        offset = len(self.texts[position])
        text = f"{position}.{offset} "
        chunk = TurnChunk(seat="seat", kind="kind", round=1, position=position, offset=offset, text=text)
        self.emitter.emit(chunk)
        self.texts[position] += text

    def finish(self, position: int) -> None:
        about = {"seat": "seat", "kind": "kind", "round": 1, "position": position, "content": self.texts[position]}
        self.emitter.emit(TurnFinished(**about, data=None, usage=NO_USAGE, duration_ms=1))  # type: ignore[arg-type]


@st.composite
def runs(draw: st.DrawFn, most_seats: int = 3) -> list[Event]:
    """Rounds in which one to three seats speak at once, words falling as they may, some beginning anew."""
    teller = Publisher()
    base = 0
    for round in range(draw(st.integers(1, 3))):
        teller.emitter.emit(RoundStarted(round=round + 1))
        seats = draw(st.integers(1, most_seats))
        for position in range(base, base + seats):
            teller.start(position)
        for position in draw(st.lists(st.integers(base, base + seats - 1), max_size=12)):
            teller.say(position)
        if most_seats > 1 and draw(st.booleans()):
            teller.start(base)
            teller.say(base)
        for position in draw(st.permutations(range(base, base + seats))):
            teller.finish(position)
        base += seats
    teller.emitter.end(DebateFinished(stop_reason="max_rounds", outcome={}, trace={}))
    return teller.events


def stored(events: list[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, TurnFinished)]


def join(events: list[Event], number: int, after: int, ahead: int = 0) -> Missed:
    """What a reader misses who comes when so many events were told; the store may be ahead of that."""
    log = Log()
    for event in events[:number]:
        log.append(event)
    over = number + ahead >= len(events)
    record = replace(RECORD, status=Status.FINISHED) if over else RECORD
    kept = stored(events[: number + ahead]) + ([events[-1]] if over else [])
    return log.missed(after, record, kept, follow=False)


@given(runs(), st.data())
def test_a_reader_who_joins_late_is_cut_off_and_returns_hears_everything_once(
    events: list[Event], data: st.DataObject
) -> None:
    listener = Listener()
    joined = data.draw(st.integers(0, len(events)))
    # A turn may be stored and not yet told; only then is the store ahead.
    next_is_turn = joined < len(events) and isinstance(events[joined], TurnFinished)
    missed = join(events, joined, 0, data.draw(st.integers(0, int(next_is_turn))))
    heard = data.draw(st.integers(0, len(missed.frames)))
    for event in decoded(missed.frames[:heard]):
        listener.hear(event)
    back = data.draw(st.integers(joined, len(events)))
    again = join(events, back, listener.last_id)
    for event in decoded(again.frames):
        listener.hear(event)
    assert again.over == (back == len(events))
    for each in map(frame, events[back:]):
        if each.id > listener.last_id:
            listener.hear(decoded([each])[0])

    told = {event.position: event.content for event in stored(events) if isinstance(event, TurnFinished)}
    assert listener.finished == told
    assert listener.endings == ["debate_finished"]


@given(st.permutations([0, 1, 2] * 3))
def test_seats_that_speak_at_once_are_heard_whole_wherever_a_reader_joins_and_is_cut_off(order: list[int]) -> None:
    teller = Publisher()
    for position in range(3):
        teller.start(position)
    for number, position in enumerate(order):
        if number == 5:
            teller.start(0)  # its first attempt broke
        teller.say(position)
    for joined in range(1, len(teller.events) + 1):
        first = join([*teller.events, teller.events[-1]], joined, 0).frames
        for cut in range(len(first) + 1):
            listener = Listener()
            for event in decoded(first[:cut]):
                listener.hear(event)
            for event in decoded(join([*teller.events, teller.events[-1]], joined, listener.last_id).frames):
                listener.hear(event)
            for event in decoded(map(frame, teller.events[joined:])):
                listener.hear(event)
            assert listener.texts == teller.texts


@given(runs(most_seats=1), st.data())
def test_a_reader_of_seats_that_speak_in_turn_gets_exactly_the_rest(events: list[Event], data: st.DataObject) -> None:
    whole = decoded(map(frame, events))
    seen = data.draw(st.integers(0, len(whole) - 1))
    assert decoded(join(events, len(events), whole[seen]["id"]).frames) == whole[seen + 1 :]  # type: ignore[arg-type]


def test_a_turn_in_progress_is_told_as_one_start_and_one_chunk() -> None:
    teller = Publisher()
    teller.start(0)
    for _ in range(3):
        teller.say(0)
    started, chunk = decoded(join(teller.events, 5, 0).frames)[1:]
    assert (started["type"], started["id"]) == ("turn_started", EVENTS_PER_RUN + 2)
    assert (chunk["id"], chunk["offset"], chunk["text"]) == (EVENTS_PER_RUN + 5, 0, teller.texts[0])


def stopped_then(status: Status, run: int) -> tuple[Log, Record]:
    teller = Publisher()
    teller.start(0)
    teller.say(0)
    teller.finish(0)
    teller.emitter.end(DebateStopped(stop_reason="stopped"))
    log = Log()
    for event in teller.events:
        log.append(event)
    return log, replace(RECORD, status=status, run=run)


def test_a_debate_that_was_resumed_and_is_queued_is_not_over() -> None:
    log, record = stopped_then(Status.QUEUED, 1)
    missed = log.missed(0, record, [], follow=False)
    assert [each["type"] for each in decoded(missed.frames)] == ["debate_started", "turn_finished"]
    assert not missed.over
    assert log.missed(2 * EVENTS_PER_RUN - 1, record, [], follow=False) == Missed([], False)


def test_who_has_seen_the_end_is_told_nothing_and_need_not_wait() -> None:
    log, record = stopped_then(Status.STOPPED, 1)
    end = DebateStopped(id=2 * EVENTS_PER_RUN - 1, debate=ID, at=AT, stop_reason="stopped")
    assert log.missed(2 * EVENTS_PER_RUN - 1, record, [end], follow=False) == Missed([], True)
    assert Log().missed(2 * EVENTS_PER_RUN - 1, record, [end], follow=False) == Missed([], True)


@pytest.mark.parametrize("follow", [True, False])
def test_who_follows_stays_while_a_person_is_asked(follow: bool) -> None:
    asked = Waiting(id=EVENTS_PER_RUN + 9, debate=ID, at=AT, seat="human", kind="guidance", round=1, position=3)
    record = replace(RECORD, status=Status.WAITING)
    missed = Log().missed(0, record, [asked], follow=follow)
    assert missed == Missed([frame(asked)], over=not follow)


def test_an_event_that_was_told_before_is_not_told_again() -> None:
    log = Log()
    event = RoundStarted(id=EVENTS_PER_RUN + 2, debate=ID, at=AT, round=1)
    assert [log.append(event), log.append(event)] == [True, False]
    assert log.frames == [frame(event)]


def test_a_long_log_keeps_its_newer_half_and_tells_the_stored_turns_instead() -> None:
    teller, log = Publisher(), Log()
    teller.start(0)
    teller.say(0)
    teller.finish(0)
    teller.start(1)
    words = "w" * 100_000
    for number in range(60):
        chunk = TurnChunk(seat="seat", kind="kind", round=1, position=1, offset=number * len(words), text=words)
        teller.emitter.emit(chunk)
    for event in teller.events:
        log.append(event)

    assert sum(len(each.data) for each in log.frames) <= logs.MAX_KEPT
    assert log.end == len(teller.events)
    missed = decoded(log.missed(0, RECORD, stored(teller.events), follow=False).frames)
    assert [each["type"] for each in missed] == ["turn_finished", "turn_started", "turn_chunk"]
    assert len(str(missed[-1]["text"])) == 6_000_000


def retry(position: int) -> StepRetrying:
    about = {"seat": "seat", "kind": "kind", "round": 1, "position": position}
    failed = {"code": "rate_limited", "error": "slow down", "attempt": 2, "attempts": 6, "seconds": 9.0}
    return StepRetrying(**about, **failed)  # type: ignore[arg-type]


def test_who_comes_late_hears_of_a_retry_until_words_come_and_not_after_its_turn() -> None:
    teller = Publisher()
    teller.start(0)
    teller.emitter.emit(retry(0))
    teller.emitter.emit(retry(0))
    during = join(teller.events, len(teller.events), 0)
    assert [each["type"] for each in decoded(during.frames)] == ["debate_started", "turn_started", "step_retrying"]
    cut_off = join(teller.events, len(teller.events), teller.events[1].id)
    assert [each["type"] for each in decoded(cut_off.frames)] == ["step_retrying"] * 2
    teller.say(0)
    spoken = join(teller.events, len(teller.events), 0)
    assert [each["type"] for each in decoded(spoken.frames)] == ["debate_started", "turn_started", "turn_chunk"]
    teller.finish(0)
    over = join(teller.events, len(teller.events), 0)
    assert [each["type"] for each in decoded(over.frames)] == ["debate_started", "turn_finished"]


def test_bytes_are_put_together_once_for_all_who_are_at_the_same_place() -> None:
    log = Log()
    for number in range(1, 5):
        log.append(RoundStarted(id=EVENTS_PER_RUN + number, debate=ID, at=AT, round=number))
    data = log.joined(2)
    assert data == b"".join(each.data for each in log.frames[2:])
    assert log.joined(2) is data


def test_a_frame_is_one_event_of_the_wire() -> None:
    event = RoundStarted(id=EVENTS_PER_RUN + 2, debate=ID, at=AT, round=1)
    data = b'{"id":1000000002,"debate":"DEB-1","at":"2026-01-01T00:00:00+00:00","round":1,"type":"round_started"}'
    assert frame(event) == Frame(
        EVENTS_PER_RUN + 2, b"id: 1000000002\nevent: round_started\ndata: " + data + b"\n\n", "told"
    )

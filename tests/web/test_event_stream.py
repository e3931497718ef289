"""Live events over real sockets: late readers, cut connections, restarts, slow readers."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from live import Gate, Live, long_words, serving, simple_app
from told import Listener

from model_server import PATIENCE
from moot.app import App, open_store
from moot.core.debate import Status
from moot.core.events import EVENTS_PER_RUN, DebateStarted, Event, TurnChunk, TurnStarted
from moot.web.stream.hub import Hub
from stage import Panelists


async def app_on(path: Path, pace: Gate | None = None) -> App:
    return simple_app(await open_store(f"sqlite:///{path}/moot.db"), pace, long_words)


async def read(live: Live, debate_id: str, listener: Listener, most: int | None = None) -> list[int]:
    """Hear what comes, at most so much of it; the ids."""
    ids: list[int] = []
    events = live.events(debate_id, listener.last_id)
    async with asyncio.timeout(PATIENCE):
        async for event in events:
            listener.hear(event)
            ids.append(event["id"])
            if len(ids) == most:
                break
    await events.aclose()  # type: ignore[attr-defined]
    return ids


# Who was there, and who was not


async def test_a_reader_who_was_there_from_the_beginning_hears_every_word() -> None:
    async with serving(simple_app()) as live:
        debate_id = await live.create(start=False, max_rounds=2)
        reading = asyncio.create_task(live.all_events(debate_id))
        await live.read_by(1)
        await live.post(f"/api/debates/{debate_id}/start")
        events = await reading
        listener = Listener()
        for event in events:
            listener.hear(event)
        assert [event["type"] for event in events if event["type"] not in ("turn_chunk", "turn_started")] == [
            "debate_started",
            "round_started",
            *["turn_finished"] * 2,
            "round_started",
            *["turn_finished"] * 2,
            "limit_reached",
            "turn_finished",
            "debate_finished",
        ]
        assert events[0]["id"] == EVENTS_PER_RUN + 1
        assert events[-1]["trace"]["id"] == debate_id
        for position in range(4):
            assert listener.texts[position] == listener.finished[position]


async def test_a_reader_who_joins_late_gets_the_turns_the_text_so_far_and_the_live_rest() -> None:
    gate = Gate(word=12 + 5)
    async with serving(simple_app(pace=gate, replies=long_words)) as live:
        debate_id = await live.create(max_rounds=1)
        await gate.reached.wait()
        listener = Listener()
        events = live.events(debate_id)
        seen = [await anext(events) for _ in range(5)]
        for event in seen:
            listener.hear(event)
        assert [(event["type"], event.get("position")) for event in seen] == [
            ("debate_started", None),
            ("round_started", None),
            ("turn_finished", 0),
            ("turn_started", 1),
            ("turn_chunk", 1),
        ]
        assert (seen[-1]["offset"], seen[-1]["text"]) == (0, "word0 word1 word2 word3 ")
        gate.opened.set()
        async for event in events:
            listener.hear(event)
        words = " ".join(f"word{number}" for number in range(12))
        assert listener.texts[1] == words
        assert listener.endings == ["debate_finished"]


async def test_seats_that_speak_at_once_are_heard_by_late_readers_without_a_gap() -> None:
    gate = Gate(word=60)
    async with serving(simple_app(pace=gate, replies=Panelists())) as live:
        debate_id = await live.create("Redis?", "panel", max_rounds=1, checkpoints=False)
        await gate.reached.wait()
        so_far = live.events(debate_id)
        told: list[dict[str, Any]] = []
        while len({each["position"] for each in told if each["type"] == "turn_chunk"}) < 2:
            told.append(await anext(so_far))
        await so_far.aclose()  # type: ignore[attr-defined]
        listeners = [Listener() for _ in told]
        for number, listener in enumerate(listeners, 1):
            assert len(await read(live, debate_id, listener, number)) == number
        gate.opened.set()
        for listener in listeners:
            await read(live, debate_id, listener)
            assert listener.endings == ["debate_finished"]
            assert listener.finished == listeners[0].finished


async def test_a_finished_debate_is_told_from_what_is_stored(tmp_path: Path) -> None:
    async with serving(await app_on(tmp_path)) as live:
        debate_id = await live.create(max_rounds=1)
        before = await live.all_events(debate_id)
    async with serving(await app_on(tmp_path)) as live:
        events = await live.all_events(debate_id)
        lasting = [event for event in before if event["type"] in ("turn_finished", "debate_finished")]
        for event in (*events, *lasting):
            event.pop("at") if event["type"] == "debate_finished" else None
        assert events == lasting
        assert await live.all_events(debate_id, events[-1]["id"]) == []


# Cut connections


async def test_a_stream_cut_again_and_again_while_it_runs_tells_what_the_uncut_one_tells() -> None:
    async with serving(simple_app(replies=long_words)) as live:
        debate_id = await live.create(start=False, max_rounds=3)
        whole = asyncio.create_task(live.all_events(debate_id))
        await live.read_by(1)
        await live.post(f"/api/debates/{debate_id}/start")
        listener, ids = Listener(), list[int]()
        ids += await read(live, debate_id, listener, 1)
        while not listener.endings:
            ids += await read(live, debate_id, listener, 3)
        assert ids == [event["id"] for event in await whole]


async def test_a_stream_cut_at_each_of_a_hundred_positions_has_no_gap_and_no_repeat() -> None:
    async with serving(simple_app(replies=long_words)) as live:
        debate_id = await live.create(start=False, max_rounds=5)
        whole = asyncio.create_task(live.all_events(debate_id))
        await live.read_by(1)
        await live.post(f"/api/debates/{debate_id}/start")
        events = await whole
        assert len(events) > 130
        for cut in range(100):
            rest = await live.all_events(debate_id, events[cut]["id"])
            assert rest == events[cut + 1 :]


async def test_a_stream_cut_at_any_position_goes_on_after_a_restart_of_the_server(tmp_path: Path) -> None:
    gate = Gate(word=100)
    before: list[dict[str, object]] = []
    async with serving(await app_on(tmp_path, gate)) as live:
        debate_id = await live.create(start=False)
        events = live.events(debate_id)
        reading = asyncio.create_task(anext(events))  # type: ignore[arg-type]
        await live.read_by(1)
        await live.post(f"/api/debates/{debate_id}/start")
        before.append(await reading)
        await gate.reached.wait()
        async for event in events:
            before.append(event)
            if len(before) == 100:
                break
        await events.aclose()  # type: ignore[attr-defined]
    async with serving(await app_on(tmp_path)) as live:
        assert (await live.ended(debate_id))["type"] == "debate_finished"
        turns = {turn["position"]: turn["content"] for turn in (await whole_debate(live, debate_id))["turns"]}
        for cut in range(100):
            listener = Listener()
            for event in before[: cut + 1]:
                listener.hear(event)
            await read(live, debate_id, listener)
            assert listener.finished == turns
            assert listener.endings == ["debate_finished"]


async def whole_debate(live: Live, debate_id: str) -> dict[str, list[dict[str, object]]]:
    body: dict[str, list[dict[str, object]]] = (await live.get(f"/api/debates/{debate_id}")).body
    return body


async def test_the_header_of_a_browser_that_reconnects_counts_more_than_the_address() -> None:
    async with serving(simple_app()) as live:
        debate_id = await live.create(max_rounds=1)
        events = await live.all_events(debate_id)
        url = f"{live.url}/api/debates/{debate_id}/events?after=0"
        async with live.session.get(url, headers={"Last-Event-ID": str(events[-2]["id"])}) as response:
            assert (await response.text()).startswith(f"id: {events[-1]['id']}\nevent: debate_finished\n")


@pytest.mark.parametrize("after", ["-1", "x", str(2**63)])
async def test_an_id_that_cannot_be_is_refused(after: str) -> None:
    async with serving(simple_app()) as live:
        debate_id = await live.create(start=False)
        answer = await live.get(f"/api/debates/{debate_id}/events", params={"after": after})
        assert (answer.status, answer.body["error"]["code"]) == (422, "invalid_input")


# Waiting and stopping


async def test_who_follows_sees_the_debate_go_on_after_a_reply_and_who_does_not_leaves() -> None:
    async with serving(simple_app(replies=Panelists())) as live:
        debate_id = await live.create("Redis?", "panel", max_rounds=1)
        following = live.events(debate_id, follow=True)
        listener = Listener()
        async for event in following:
            listener.hear(event)
            if event["type"] == "waiting":
                break
        assert (await live.all_events(debate_id))[-1]["type"] == "waiting"
        await live.post(f"/api/debates/{debate_id}/reply", {"action": "approve"})
        async for event in following:
            listener.hear(event)
        assert listener.endings == ["waiting", "debate_finished"]


@pytest.mark.parametrize("follow", [True, False])
async def test_a_reader_of_a_queued_debate_is_told_when_it_is_stopped(follow: bool) -> None:
    gate = Gate()
    app = simple_app(pace=gate)
    app.settings.max_running = 1
    async with serving(app) as live:
        await live.create()
        debate_id = await live.create()
        reading = asyncio.create_task(live.all_events(debate_id, follow=follow))
        await live.read_by(1)
        await live.post(f"/api/debates/{debate_id}/stop")
        assert [event["type"] for event in await reading] == ["debate_stopped"]


async def test_the_stream_of_a_debate_that_waited_too_long_ends_with_its_stop() -> None:
    async with serving(simple_app(replies=Panelists())) as live:
        brief = {"max_rounds": 2, "checkpoint_timeout_seconds": 0.05}
        debate_id = await live.create("Redis?", "panel", start=False, **brief)
        reading = asyncio.create_task(live.all_events(debate_id, follow=True))
        await live.read_by(1)  # who comes later may find that it has been stopped by then
        await live.post(f"/api/debates/{debate_id}/start")
        events = await reading
        assert [event["type"] for event in events[-2:]] == ["waiting", "debate_stopped"]
        assert events[-1]["stop_reason"] == "checkpoint_timeout"
        reply = await live.post(f"/api/debates/{debate_id}/reply", {"action": "end"})
        assert (reply.status, reply.body["status"]) == (202, "queued")


async def test_the_readers_of_a_deleted_debate_are_sent_home() -> None:
    async with serving(simple_app()) as live:
        debate_id = await live.create(start=False)
        reading = asyncio.create_task(live.all_events(debate_id))
        await live.read_by(1)
        await live.ask("DELETE", f"/api/debates/{debate_id}")
        assert await reading == []


# Many, slow and silent readers


async def test_a_debate_goes_on_when_all_readers_have_gone_and_nothing_of_them_is_left() -> None:
    gate = Gate(word=3)
    async with serving(simple_app(pace=gate)) as live:
        debate_id = await live.create(max_rounds=1)
        await gate.reached.wait()
        async with aiohttp.ClientSession() as session:
            url = f"{live.url}/api/debates/{debate_id}/events"
            responses = await asyncio.gather(*(session.get(url) for _ in range(20)))
            for response in responses:
                await response.content.readline()
            assert live.hub.readers == 20
            for response in responses:
                response.close()
        await live.read_by(0)
        gate.opened.set()
        assert (await live.ended(debate_id))["type"] == "debate_finished"


async def test_a_reader_who_is_too_slow_is_sent_away_and_can_come_back() -> None:
    told: asyncio.Queue[Event] = asyncio.Queue()

    async def follow(debate_id: str, *, through_waits: bool) -> AsyncGenerator[Event, None]:
        while True:
            yield await told.get()

    async with serving(simple_app(), hub=Hub(follow)) as live:
        debate_id = await live.create(start=False)
        at = datetime.now(UTC)
        first = EVENTS_PER_RUN + 1
        told.put_nowait(DebateStarted(id=first, debate=debate_id, at=at, format="duel", topic="Cats?", run=1))
        told.put_nowait(
            TurnStarted(id=first + 1, debate=debate_id, at=at, seat="debater_a", kind="argument", round=1, position=0)
        )
        host, port = live.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=1000)
        writer.write(f"GET /api/debates/{debate_id}/events HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        await live.read_by(1)
        number, words = 0, "w" * 50_000
        async with asyncio.timeout(PATIENCE):
            while live.hub.readers:  # it reads nothing, so what is told piles up
                offset = number * len(words)
                told.put_nowait(
                    TurnChunk(
                        id=first + 2 + number,
                        debate=debate_id,
                        at=at,
                        seat="debater_a",
                        kind="argument",
                        round=1,
                        position=0,
                        offset=offset,
                        text=words,
                    )
                )
                number += 1
                await asyncio.sleep(0.001)
        assert number * len(words) < 40_000_000
        whole = b""
        with suppress(ConnectionResetError):
            while data := await reader.read(1_000_000):
                whole += data
        writer.close()
        assert not whole.endswith(b"0\r\n\r\n")  # cut, not completed
        told.put_nowait(
            TurnChunk(
                id=2 * EVENTS_PER_RUN,
                debate=debate_id,
                at=at,
                seat="debater_a",
                kind="argument",
                round=1,
                position=0,
                offset=0,
                text="end",
            )
        )
        events = live.events(debate_id, first + 1)
        async for event in events:
            if event["id"] == 2 * EVENTS_PER_RUN:
                break
        await events.aclose()  # type: ignore[attr-defined]


async def test_a_silent_stream_has_a_heartbeat() -> None:
    async with serving(simple_app(), beat_seconds=0.01) as live:
        debate_id = await live.create(start=False)
        async with live.session.get(f"{live.url}/api/debates/{debate_id}/events") as response:
            assert [await response.content.readline() for _ in range(4)] == [b": still here\n", b"\n"] * 2


async def test_streams_end_when_the_server_ends_and_the_debate_goes_on_at_the_next_start(tmp_path: Path) -> None:
    gate = Gate(word=20)
    async with serving(await app_on(tmp_path, gate)) as live:
        debate_id = await live.create(max_rounds=1)
        await gate.reached.wait()
        events = live.events(debate_id)
        async for event in events:
            if event["type"] == "turn_chunk":
                break
        live.hub.close()
        assert [event async for event in events] == []
    app = await app_on(tmp_path)
    left = (await app.load(debate_id)).record
    assert (left.status, left.stop_reason) == (Status.QUEUED, "interrupted")
    async with serving(app) as live:
        assert (await live.ended(debate_id))["type"] == "debate_finished"
        assert (await live.get(f"/api/debates/{debate_id}")).body["run"] == 2
    gc.collect()

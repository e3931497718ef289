"""Events as their readers get them: one line of JSON each, all with id, debate, at and type."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from moot.core.emitter import Emitter
from moot.core.events import (
    EVENTS_PER_RUN,
    DebateFinished,
    DebateStopped,
    Event,
    RoundStarted,
    Terminal,
    Waiting,
    encode,
)
from moot.core.replay import turn_events
from moot.errors import Refused
from moot.formats.duel.format import DUEL
from stage import ID, Stage, as_json, ballot, judged

EPOCH = "2023-11-14T22:13:20+00:00"


async def events(**stage: object) -> list[Event]:
    whole = Stage(judged(ballot()), settings={"max_rounds": 1}, **stage)  # type: ignore[arg-type]
    await whole.run()
    return whole.events


async def test_every_event_is_one_line_of_json_with_id_debate_time_and_type() -> None:
    finished, failed = await events(), await events(faults={1: Refused("no")})
    for number, event in enumerate(finished, 1):
        line = encode(event)
        assert b"\n" not in line
        decoded = as_json(event)
        id = 1_000_000_000 + number if event is not finished[-1] else 1_999_999_999
        assert (decoded["id"], decoded["debate"], decoded["type"]) == (id, ID, event.type)
        assert decoded["at"].startswith("2023-11-14T22:1")
    assert as_json(failed[-1]) == {
        "id": failed[-1].id,
        "debate": ID,
        "at": failed[-1].at.isoformat(),
        "code": "model_refused",
        "error": "no",
        "round": 1,
        "type": "debate_failed",
    }


async def test_a_debate_as_its_readers_see_it() -> None:
    shown = [as_json(event) for event in await events()]
    common = {"debate": ID, "at": EPOCH}
    assert shown[:4] == [
        {
            "id": 1_000_000_001,
            **common,
            "format": "duel",
            "topic": "Cats are better than dogs",
            "run": 1,
            "type": "debate_started",
        },
        {"id": 1_000_000_002, **common, "round": 1, "type": "round_started"},
        {
            "id": 1_000_000_003,
            **common,
            "seat": "debater_a",
            "kind": "argument",
            "round": 1,
            "position": 0,
            "model": "scripted:model",
            "attempt": 1,
            "title": "Debater A",
            "type": "turn_started",
        },
        {
            "id": 1_000_000_004,
            "debate": ID,
            "at": "2023-11-14T22:13:21+00:00",
            "seat": "debater_a",
            "kind": "argument",
            "round": 1,
            "position": 0,
            "offset": 0,
            "text": "Reason ",
            "type": "turn_chunk",
        },
    ]
    assert [event["type"] for event in shown if event["type"] != "turn_chunk"] == [
        "debate_started",
        "round_started",
        *["turn_started", "turn_finished"] * 2,
        "limit_reached",
        *["turn_started", "turn_finished"],
        "debate_finished",
    ]
    last = shown[-1]
    assert (last["stop_reason"], last["outcome"], last["trace"]["outcome"]) == (
        "max_rounds",
        last["trace"]["outcome"],
        last["outcome"],
    )


async def test_a_stored_turn_shows_as_it_did_when_it_was_new() -> None:
    stage = Stage(judged(ballot()), settings={"max_rounds": 1})
    await stage.run()
    live = [event for event in stage.events if event.type == "turn_finished"]
    assert list(turn_events(await stage.record(), await stage.turns(), DUEL)) == live
    assert as_json(live[-1])["data"]["winner"] == "a"
    assert as_json(replace(live[-1], marks=("repaired",)))["marks"] == ["repaired"]


@pytest.mark.parametrize("faults", [{}, {2: Refused("no")}])
async def test_a_run_ends_with_one_terminal_event(faults: dict[int, Refused]) -> None:
    made = await events(faults=faults)
    assert [event for event in made if isinstance(event, get_args(Terminal))] == [made[-1]]
    assert Waiting in get_args(Terminal)


def test_the_last_event_of_a_run_has_an_id_that_can_be_told_from_the_run() -> None:
    emitted: list[Event] = []
    emitter = Emitter(ID, 5, emitted.append, lambda: 0.0)
    emitter.emit(RoundStarted(round=1))
    emitter.end(DebateFinished(stop_reason="", outcome={}, trace={}))
    emitter.end(DebateStopped(stop_reason=""))
    emitter.end(Waiting(seat="human", kind="guidance", round=1, position=3))
    last = 6 * EVENTS_PER_RUN - 1
    assert [event.id for event in emitted] == [5 * EVENTS_PER_RUN + 1, last, last, last - 1]

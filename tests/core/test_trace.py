"""The trace: everything about one debate as one JSON document."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import pytest

from moot.core.debate import Record, SeatSettings, Status, Turn, Usage
from moot.core.trace import trace
from moot.formats.duel.format import DUEL
from stage import Stage, ballot, judged

RECORD = Record(
    id="DEB-1",
    format="duel",
    format_version=1,
    topic="Cats are better than dogs",
    settings={"max_rounds": 2},
    seats={"debater_a": SeatSettings("x:one", 0.7, 600), "judge": SeatSettings("x:two", 0.2, 400)},
    created_at=1_700_000_000.5,
    status=Status.FINISHED,
    stop_reason="max_rounds",
    outcome={"summary": "A was right.", "winner": "a"},
)
SPENT = Usage(input_tokens=100, cached_tokens=80, output_tokens=10, calls=1, cost=0.25)
TURNS = (
    Turn(
        position=0,
        seat="debater_a",
        kind="argument",
        round=1,
        content="Yes.",
        data=None,
        usage=SPENT,
        model="x:one",
        marks=(),
        started_at=1_700_000_001.0,
        finished_at=1_700_000_003.0,
    ),
    Turn(
        position=1,
        seat="debater_b",
        kind="argument",
        round=1,
        content="No.",
        data=None,
        usage=SPENT,
        model="x:one",
        marks=(),
        started_at=1_700_000_002.0,
        finished_at=1_700_000_004.0,
    ),
    Turn(
        position=2,
        seat="debater_a",
        kind="argument",
        round=2,
        content="Yes!",
        data=None,
        usage=SPENT,
        model="x:one",
        marks=("truncated",),
        started_at=1_700_000_100.0,
        finished_at=1_700_000_101.5,
    ),
    Turn(
        position=3,
        seat="clock",
        kind="limit",
        round=None,
        content="max_runtime_seconds",
        started_at=1_700_000_101.5,
        finished_at=1_700_000_101.5,
    ),
    Turn(
        position=4,
        seat="judge",
        kind="verdict",
        round=None,
        content="A was right.",
        data={"winner": "a"},
        usage=SPENT,
        model="x:two",
        marks=(),
        started_at=1_700_000_102,
        finished_at=1_700_000_105,
    ),
)


def usage(calls: int) -> dict[str, Any]:
    return {
        "input_tokens": 100 * calls,
        "cached_tokens": 80 * calls,
        "cache_written_tokens": 0,
        "output_tokens": 10 * calls,
        "reasoning_tokens": 0,
        "calls": calls,
        "estimated": False,
        "cost": 0.25 * calls,
    }


def test_a_small_debate_whole() -> None:
    whole = trace(RECORD, TURNS)
    assert json.loads(json.dumps(whole)) == {
        "version": 1,
        "id": "DEB-1",
        "format": "duel",
        "format_version": 1,
        "status": "finished",
        "created_at": "2023-11-14T22:13:20.500+00:00",
        "query": "Cats are better than dogs",
        "settings": {"max_rounds": 2},
        "templates_used": [],
        "sources": None,
        "rounds": [
            {
                "round": 1,
                "positions": [0, 1],
                "texts": {"debater_a": "Yes.", "debater_b": "No."},
                "seats_ms": {"debater_a": 2000, "debater_b": 2000},
                "duration_ms": 3000,
            },
            {
                "round": 2,
                "positions": [2],
                "texts": {"debater_a": "Yes!"},
                "seats_ms": {"debater_a": 1500},
                "duration_ms": 1500,
            },
        ],
        "turns": [
            {
                "position": 0,
                "seat": "debater_a",
                "kind": "argument",
                "round": 1,
                "content": "Yes.",
                "data": None,
                "usage": usage(1),
                "model": "x:one",
                "marks": [],
                "started_at": "2023-11-14T22:13:21.000+00:00",
                "finished_at": "2023-11-14T22:13:23.000+00:00",
                "duration_ms": 2000,
            },
            {
                "position": 1,
                "seat": "debater_b",
                "kind": "argument",
                "round": 1,
                "content": "No.",
                "data": None,
                "usage": usage(1),
                "model": "x:one",
                "marks": [],
                "started_at": "2023-11-14T22:13:22.000+00:00",
                "finished_at": "2023-11-14T22:13:24.000+00:00",
                "duration_ms": 2000,
            },
            {
                "position": 2,
                "seat": "debater_a",
                "kind": "argument",
                "round": 2,
                "content": "Yes!",
                "data": None,
                "usage": usage(1),
                "model": "x:one",
                "marks": ["truncated"],
                "started_at": "2023-11-14T22:15:00.000+00:00",
                "finished_at": "2023-11-14T22:15:01.500+00:00",
                "duration_ms": 1500,
            },
            {
                "position": 3,
                "seat": "clock",
                "kind": "limit",
                "round": None,
                "content": "max_runtime_seconds",
                "data": None,
                "usage": asdict(Usage()),
                "model": None,
                "marks": [],
                "started_at": "2023-11-14T22:15:01.500+00:00",
                "finished_at": "2023-11-14T22:15:01.500+00:00",
                "duration_ms": 0,
            },
            {
                "position": 4,
                "seat": "judge",
                "kind": "verdict",
                "round": None,
                "content": "A was right.",
                "data": {"winner": "a"},
                "usage": usage(1),
                "model": "x:two",
                "marks": [],
                "started_at": "2023-11-14T22:15:02.000+00:00",
                "finished_at": "2023-11-14T22:15:05.000+00:00",
                "duration_ms": 3000,
            },
        ],
        "final_answer": "A was right.",
        "total_rounds": 2,
        "early_stopped": False,
        "stop_reason": "max_rounds",
        "error": None,
        "models": {"debater_a": "x:one", "judge": "x:two"},
        "timing": {
            "total_ms": 7500,
            "rounds_ms": [3000, 1500],
            "kinds_ms": {"limit": 0, "verdict": 3000},
            "rag_ms": 0,
            "synthesis_ms": 3000,
        },
        "usage": {**usage(4), "by_seat": {"debater_a": usage(2), "debater_b": usage(1), "judge": usage(1)}},
        "quality_score": None,
        "user_rating": None,
        "auto_score": None,
        "outcome": {"summary": "A was right.", "winner": "a"},
        "origin": None,
        "ticks": [],
    }


@pytest.mark.parametrize(
    ("status", "stop_reason", "max_rounds", "early"),
    [
        (Status.FINISHED, "no_new_substantive_arguments", 5, True),
        (Status.FINISHED, "concluded", 5, True),
        (Status.FINISHED, "concluded", 2, False),
        (Status.FINISHED, "max_rounds", 2, False),
        (Status.FINISHED, "max_runtime_seconds", 5, False),
        (Status.FINISHED, "max_total_output_tokens", 5, False),
        (Status.FINISHED, "max_cost", 5, False),
        (Status.STOPPED, "stopped", 5, False),
        (Status.FAILED, "failed", 5, False),
        (Status.RUNNING, None, 5, False),
    ],
)
def test_a_debate_stopped_early_only_if_it_finished_with_rounds_left_that_no_limit_took(
    status: Status, stop_reason: str | None, max_rounds: int, early: bool
) -> None:
    record = replace(RECORD, status=status, stop_reason=stop_reason, settings={"max_rounds": max_rounds})
    assert trace(record, TURNS)["early_stopped"] is early


def test_a_debate_that_has_not_begun_has_a_trace_too() -> None:
    whole = trace(replace(RECORD, status=Status.CREATED, stop_reason=None, outcome=None), ())
    assert (whole["rounds"], whole["turns"], whole["final_answer"], whole["total_rounds"]) == ([], [], None, 0)
    assert whole["timing"] == {"total_ms": 0, "rounds_ms": [], "kinds_ms": {}, "rag_ms": 0, "synthesis_ms": 0}
    assert whole["usage"] == {**asdict(Usage()), "by_seat": {}}


def test_the_time_of_every_search_is_told() -> None:
    kinds = ("templates", "passages", "evidence", "repeats")
    turns = [
        Turn(position=at, seat="library", kind=kind, round=1, content="", started_at=at, finished_at=at + 1)
        for at, kind in enumerate(kinds)
    ]
    assert trace(RECORD, turns)["timing"]["rag_ms"] == 3000


async def test_the_trace_of_the_last_event_is_that_of_the_stored_debate() -> None:
    stage = Stage(judged(ballot()), settings={"max_rounds": 1}, format=DUEL)
    await stage.run()
    assert stage.events[-1].trace == trace(await stage.record(), await stage.turns())  # type: ignore[union-attr]

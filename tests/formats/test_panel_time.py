"""Time and tokens on a panel: limits that fit the model's pace, and nobody silenced who is speaking."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from moot.core.debate import Turn, Usage
from moot.core.events import TurnFinished
from moot.core.script import Debate
from moot.formats.panel.decision import Decision
from moot.formats.panel.format import PANEL
from moot.formats.panel.pace import round_seconds, timeout
from moot.formats.panel.settings import PanelSettings
from moot.llm.client import Completion, Request
from stage import ANALYSIS, CLEAR, FAST, Panelists, Stage
from virtualtime import run

TOPIC = "Should we use Redis or PostgreSQL for caching?"
ONE = {"checkpoints": False, "max_rounds": 1}
TWO = ("debater_1", "debater_2")


def turn(seat: str, kind: str, round: int | None, begin: float, end: float, tokens: int = 0) -> Turn:
    usage = Usage(output_tokens=tokens, calls=1)
    data = ANALYSIS if kind == "analysis" else None
    times = {"started_at": begin, "finished_at": end}
    return Turn(position=0, seat=seat, kind=kind, round=round, content="x", data=data, usage=usage, **times)


def debate(turns: Sequence[Turn], **settings: Any) -> Debate[PanelSettings]:
    return Debate("DEB-x", TOPIC, PanelSettings.model_validate(settings), {}, list(turns))


FRAMED = turn("moderator", "analysis", None, 0, 60, tokens=600)
"""Ten tokens a second, as a laptop has them."""


def test_a_round_has_the_usual_time_unless_the_pace_needs_more_or_the_person_set_it() -> None:
    fast = turn("moderator", "analysis", None, 0, 6, tokens=600)
    assert round_seconds(debate([]), 2) == 120
    assert round_seconds(debate([fast]), 2) == 120
    assert round_seconds(debate([FRAMED]), 2) == 1.5 * 2 * 2000 / 10
    assert round_seconds(debate([FRAMED], round_timeout_seconds=90), 2) == 90


def test_a_slow_moderator_takes_nothing_from_the_debaters_time() -> None:
    slow = turn("moderator", "summary", 1, 100, 5000)
    assert timeout(debate([slow], round_timeout_seconds=100), "opening", 1, TWO) == 50
    assert timeout(debate([slow], round_timeout_seconds=100), "rebuttal", 1, TWO) == 50


def test_rebuttals_keep_half_of_the_round_and_whoever_hangs_takes_from_nobody_else() -> None:
    openings = [turn(seat, "opening", 1, 0, 400) for seat in TWO]
    hung = turn("debater_1", "rebuttal", 1, 400, 425)
    assert timeout(debate(openings, round_timeout_seconds=100), "rebuttal", 1, TWO) == 25
    assert timeout(debate([*openings, hung], round_timeout_seconds=100), "rebuttal", 1, TWO) == 25
    overlong = turn("debater_1", "rebuttal", 1, 400, 900)
    assert timeout(debate([*openings, overlong], round_timeout_seconds=100), "rebuttal", 1, TWO) == 25


class Slow(Panelists):
    """Everybody speaks on when the round's time is over."""

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        reply = self(request)
        for part in (reply[:5], reply[5:10], reply[10:]):
            on_text(part)
            await asyncio.sleep(12 if self.calls[-1][0] in ("opening", "rebuttal") else 0)
        return Completion(text=reply, finish_reason="stop", usage=Usage(calls=1, output_tokens=9))


def test_a_seat_that_is_speaking_is_not_silenced_by_the_clock() -> None:
    async def debate() -> None:
        stage = Stage(format=PANEL, topic=TOPIC, settings={**ONE, "round_timeout_seconds": 60})
        stage.model = Slow()
        outcome = Decision.model_validate((await stage.run()).outcome)
        assert [found.late for found in outcome.rounds] == [[]]
        assert all(turn.content for turn in await stage.turns())

    run(debate())


async def test_who_was_not_asked_is_not_called_late() -> None:
    class Interrupted(Panelists):
        async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
            reply = self(request)
            if self.calls[-1][0] == "opening":
                await stage.store.ask_to_conclude(stage.new.id)
            return Completion(text=reply, finish_reason="stop", usage=Usage(calls=1, output_tokens=9))

    stage = Stage(format=PANEL, topic=TOPIC, settings=ONE)
    stage.model = Interrupted()
    outcome = Decision.model_validate((await stage.run()).outcome)
    assert f"{FAST} was not asked for its rebuttal in the last round" in outcome.caveats
    assert f"not everybody had their say: {FAST}, {CLEAR}" in outcome.reasons
    assert not any("late" in caveat for caveat in outcome.caveats)


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"round_timeout_seconds": 5}, "and round_timeout_seconds is 5: whoever has not begun by then misses it"),
        ({"max_runtime_seconds": 6000, "max_rounds": 5}, "of 5 rounds fit into max_runtime_seconds (6000)"),
        ({"max_runtime_seconds": 6000, "max_rounds": 5, "extend_runtime": True}, "(6000): it is raised"),
        ({}, ""),
    ],
)
async def test_a_limit_that_the_pace_cannot_keep_is_announced_before_it_bites(limits: Any, told: str) -> None:
    summary = "It takes a second to say a word. " * 10
    panelists = Panelists(summary=summary)
    base = {"checkpoints": False, "round_timeout_seconds": None, "max_runtime_seconds": 1e6, "max_rounds": 2}
    stage = Stage(panelists, format=PANEL, topic=TOPIC, settings={**base, **limits})
    await stage.run()
    notes = [event.notes for event in stage.events if isinstance(event, TurnFinished) and event.kind == "summary"]
    assert [told in note for note in notes[0]] == ([True] if told else [])

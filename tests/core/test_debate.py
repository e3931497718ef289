"""The rules of a debate as plain data: rounds, output caps, runtime, usage."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core.debate import Limits, SeatSettings, Settings, Status, Turn, Usage
from moot.core.duration import span_seconds
from moot.core.events import LimitReached
from moot.errors import ScriptChanged
from moot.formats.duel.format import DUEL
from moot.llm.client import Completion, Request
from stage import ID, Stage, ballot, judged, sensible


def turn(started_at: float, finished_at: float) -> Turn:
    return Turn(
        position=0, seat="x", kind="argument", round=1, content="", started_at=started_at, finished_at=finished_at
    )


@pytest.mark.parametrize(
    ("spans", "seconds"),
    [
        ([], 0),
        ([(10, 13)], 3),
        ([(10, 13), (13, 14)], 4),
        ([(10, 13), (1000, 1001)], 4),
        ([(10, 20), (12, 15)], 10),
        ([(12, 25), (10, 20)], 15),
        ([(10, 10)], 0),
        ([(10, 5)], 0),
    ],
)
def test_a_span_is_the_time_in_which_somebody_spoke(spans: list[tuple[float, float]], seconds: float) -> None:
    assert span_seconds(turn(*span) for span in spans) == seconds


def test_what_runs_took_adds_up_whatever_the_clock_was_set_to_between_them() -> None:
    first, again = turn(100, 110), replace(turn(104, 111), run=1)
    assert span_seconds([first, again]) == 17
    assert replace(first, finished_at=-266_398.0).duration_ms == 0


def test_usages_add_up_and_what_was_estimated_stays_so() -> None:
    one, other = (
        Usage(
            input_tokens=1,
            cached_tokens=2,
            cache_written_tokens=3,
            output_tokens=4,
            reasoning_tokens=5,
            calls=1,
            estimated=False,
            cost=0.5,
        ),
        Usage(
            input_tokens=10,
            cached_tokens=20,
            cache_written_tokens=30,
            output_tokens=40,
            reasoning_tokens=50,
            calls=2,
            estimated=True,
            cost=0.25,
        ),
    )
    assert one + other == Usage(
        input_tokens=11,
        cached_tokens=22,
        cache_written_tokens=33,
        output_tokens=44,
        reasoning_tokens=55,
        calls=3,
        estimated=True,
        cost=0.75,
    )


def test_limits_have_safe_defaults() -> None:
    limits = Limits()
    assert (limits.max_rounds, limits.max_runtime_seconds, limits.max_total_output_tokens) == (5, 600, 8000)
    assert {seat.name: seat.max_tokens for seat in DUEL.as_of(1).seats} == {
        "debater_a": 600,
        "debater_b": 600,
        "judge": 400,
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_rounds": 0},
        {"max_runtime_seconds": 0},
        {"max_runtime_seconds": float("inf")},
        {"max_total_output_tokens": 0},
        {"temperatures": {"judge": 3}},
        {"temperatures": {"judge": float("nan")}},
        {"max_tokens": {"judge": 0}},
        {"max_round": 3},
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Settings.model_validate(wrong)


def test_stored_settings_the_format_cannot_take_say_what_to_do() -> None:
    record = replace(Stage().new, settings={"max_rounds": "many", "mood": "good"})
    with pytest.raises(ScriptChanged) as caught:
        DUEL.open(record)
    assert str(caught.value) == (
        f"duel version 2 cannot take the max_rounds, mood of {ID}; run it with the version of the format that began it"
    )


# Rounds and tokens, played


class Greedy:
    """A model that writes as many tokens as it may, or so many if that is less."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.caps: list[int] = []

    async def complete(self, request: Request, on_text: Any) -> Completion:
        self.caps.append(request.max_tokens)
        text = sensible(request)
        on_text(text)
        return Completion(
            text=text, finish_reason="stop", usage=Usage(output_tokens=min(self.most, request.max_tokens), calls=1)
        )


async def played(most: int = 10**6, **settings: Any) -> tuple[Stage, Greedy]:
    stage = Stage(settings=settings)
    stage.model = model = Greedy(most)
    assert (await stage.run()).status is Status.FINISHED
    return stage, model


@pytest.mark.parametrize("judge", ["end", "each_round"])
@pytest.mark.parametrize("rounds", [1, 2, 7])
async def test_the_number_of_rounds_is_exact(rounds: int, judge: str) -> None:
    stage, _ = await played(most=10, max_rounds=rounds, judge=judge)
    assert max(turn.round or 0 for turn in await stage.turns()) == rounds
    assert (await stage.record()).stop_reason == "max_rounds"
    assert [event.reason for event in stage.events if isinstance(event, LimitReached)] == ["max_rounds"]


async def test_the_token_limit_leads_to_the_judge_whose_share_was_kept() -> None:
    stage, model = await played(max_rounds=50)
    assert (await stage.record()).stop_reason == "max_total_output_tokens"
    assert [event.reason for event in stage.events if isinstance(event, LimitReached)] == ["max_total_output_tokens"]
    assert model.caps == [*[600] * 12, 200, 200, 400]
    assert sum(turn.usage.output_tokens for turn in await stage.turns()) == 8000


@given(
    limit=st.integers(2, 9000),
    debater=st.integers(1, 1200),
    judge=st.integers(1, 900),
    most=st.integers(1, 1500),
    rounds=st.integers(1, 30),
    each_round=st.booleans(),
)
async def test_output_exceeds_its_limit_by_one_step_at_most_and_both_sides_speak_as_often(
    limit: int, debater: int, judge: int, most: int, rounds: int, each_round: bool
) -> None:
    caps = {"debater_a": debater, "debater_b": debater, "judge": judge}
    stage, model = await played(
        most,
        max_rounds=rounds,
        max_total_output_tokens=limit,
        max_tokens=caps,
        judge="each_round" if each_round else "end",
    )
    turns = await stage.turns()
    spoken = [turn.seat for turn in turns]
    assert spoken.count("debater_a") == spoken.count("debater_b")
    assert (turns[-1].seat, model.caps[-1] == judge or each_round) == ("judge", True)
    assert sum(turn.usage.output_tokens for turn in turns) <= limit + max(caps.values())
    assert (await stage.record()).stop_reason in ("max_rounds", "max_total_output_tokens")


async def test_a_verdict_asked_for_twice_stays_within_one_step_of_the_limit() -> None:
    stage = Stage(judged("unreadable", ballot()), settings={"max_total_output_tokens": 2800})
    greedy = Greedy(10**6)

    class Unclear:
        async def complete(self, request: Request, on_text: Any) -> Completion:
            completion = await greedy.complete(request, on_text)
            return replace(completion, text="unreadable") if request.schema else completion

    stage.model = Unclear()
    await stage.run()
    turns = await stage.turns()
    assert turns[-1].usage.output_tokens == 800
    assert sum(turn.usage.output_tokens for turn in turns) == 2800 + 400


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(1899, [(1, 600), (1, 600)]), (1900, [(1, 600), (1, 600), (2, 150), (2, 150)])],
)
def test_another_round_begins_only_while_a_quarter_of_its_output_is_left(
    limit: int, expected: list[tuple[int, int]]
) -> None:
    debate = DUEL.open(replace(Stage().new, settings={"max_total_output_tokens": limit}))
    rounds = debate.rounds(["debater_a", "debater_b"], closing=["judge"])
    caps = []
    with debate.until_closing():
        for number in rounds:
            for seat in ("debater_a", "debater_b"):
                cap = debate.output_cap(seat)
                caps.append((number, cap))
                at = len(debate.transcript)
                debate.add(
                    Turn(
                        position=at,
                        seat=seat,
                        kind="argument",
                        round=number,
                        content="",
                        usage=Usage(output_tokens=cap),
                    )
                )
    assert caps == expected
    assert (debate.stop_reason, debate.output_cap("judge")) == ("max_total_output_tokens", 400)


def test_what_one_seat_saves_in_the_last_round_the_other_may_use() -> None:
    debate = DUEL.open(replace(Stage().new, settings={"max_total_output_tokens": 900}))
    debate.seats = {**debate.seats, "judge": SeatSettings("x:m", 0.2, 100)}
    with debate.until_closing():
        next(iter(debate.rounds(["debater_a", "debater_b"], closing=["judge"])))
        assert debate.output_cap("debater_a") == 400
        debate.add(
            Turn(position=0, seat="debater_a", kind="argument", round=1, content="", usage=Usage(output_tokens=50))
        )
        assert debate.output_cap("debater_b") == 600

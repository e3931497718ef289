"""A duel judged several times, on the real engine: who reads what, what is left out, and deaths change nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from moot.core.debate import Status
from moot.errors import InvalidInput
from moot.formats.duel.format import Verdict
from moot.llm.client import Request
from moot.telemetry.metrics import Metrics
from moot.testing import ScriptedModel, SimulatedJudge, scripted_app
from stage import A, B, Stage, sensible

FOUR = {"max_rounds": 1, "judgings": 4}


async def played(replies: Any = sensible, **settings: Any) -> tuple[Stage, Verdict]:
    stage = Stage(replies, settings={**FOUR, **settings})
    ending = await stage.run()
    assert ending.status is Status.FINISHED, ending.error
    return stage, Verdict.model_validate(ending.outcome)


def level(request: Request) -> str:
    """Debaters who say which side they are on, and a judge who finds both alike."""
    if request.schema is None:
        return "SPOKEN FOR" if " words FOR this:" in request.messages[-1].content else "SPOKEN AGAINST"
    return json.dumps({"summary": "Even.", f"score_{A.lower()}": 6, f"score_{B.lower()}": 6})


async def test_the_first_judging_is_the_one_verdict_and_others_follow_it() -> None:
    stage, outcome = await played(level)
    assert [(seat, kind) for seat, kind, _ in (await stage.order())[2:]] == [
        ("judge", "verdict"),
        *[("judge", "rejudging")] * 3,
    ]
    assert outcome.trust
    assert outcome.trust.stability
    assert [each.mirrored for each in outcome.trust.stability.judgings] == [False, True, False, True]


async def test_a_mirrored_judging_reads_the_same_with_the_sides_exchanged_and_no_judging_reads_another() -> None:
    stage, _ = await played(level)
    shown = ["\n".join(message.content for message in each.messages) for each in stage.model.requests[2:]]
    exchanged = shown[0].replace("SPOKEN FOR", "SPOKEN *").replace("SPOKEN AGAINST", "SPOKEN FOR")
    exchanged = exchanged.replace("SPOKEN *", "SPOKEN AGAINST")
    exchanged = exchanged.replace(f"{A} speaks FOR it, {B} speaks AGAINST", f"{A} speaks AGAINST it, {B} speaks FOR")
    assert shown[1] == exchanged
    assert len(set(shown)) == 4
    assert not any("Even." in text for text in shown)


async def test_the_score_of_the_side_that_is_shown_first_comes_first_in_the_form() -> None:
    def first_wins(request: Request) -> str:
        if request.schema is None:
            return sensible(request)
        first, second = [key for key in request.schema.schema["properties"] if key.startswith("score_")]
        return json.dumps({"summary": "So.", first: 8, second: 5})

    _, outcome = await played(first_wins)
    assert outcome.trust
    assert outcome.trust.stability
    scores = [(each.score_a, each.score_b) for each in outcome.trust.stability.judgings]
    assert scores == [(8, 5), (5, 8), (8, 5), (5, 8)]
    assert (outcome.winner, outcome.trust.level) == ("undecided", "Low")
    assert outcome.summary == "In the words of a judging that alone has Debater A ahead: So."


async def test_two_judgings_that_agree_clearly_need_no_others_and_one_model_is_trusted_no_further_than_medium() -> None:
    stage, outcome = await played(SimulatedJudge((8, 4)).reply)
    assert len(await stage.turns()) == 4
    assert outcome.trust
    assert outcome.trust.level == "Medium"
    assert outcome.trust.reasons == [
        "one model, scripted:model, spoke in every seat: at most Medium; another judge would lift it"
    ]
    assert outcome.trust.summary == (
        "holds in 2 of 2 judgings, margin 4.0 (1.6 to 6.4); it made no difference which side was shown first"
    )


async def test_a_concession_is_judged_once() -> None:
    said = iter(["A reason.", "You are right.\n\nCONCEDED"])
    stage, outcome = await played(lambda request: level(request) if request.schema else next(said))
    assert (outcome.conceded, outcome.trust, len(await stage.turns())) == ("b", None, 3)


@pytest.mark.parametrize(("most", "turns"), [(0, 3), (400, 4), (799, 4), (1200, 6)])
async def test_further_judgings_have_output_tokens_of_their_own_and_what_is_left_out_is_a_reason(
    most: int, turns: int
) -> None:
    stage, outcome = await played(level, max_check_output_tokens=most)
    assert len(await stage.turns()) == turns
    left_out = "further judgings were left out: max_check_output_tokens leaves no room for them"
    assert outcome.trust
    assert (left_out in outcome.trust.reasons) == (turns < 6)


async def test_a_verdict_after_the_last_round_is_the_first_judging() -> None:
    stage, _ = await played(level, judge="each_round")
    assert [kind for _, kind, _ in await stage.order()][2:] == ["verdict", *["rejudging"] * 3]


async def test_killed_at_any_event_and_resumed_the_transcript_is_the_same() -> None:
    whole, _ = await played(level)
    expected, deaths = await whole.transcript(), 0
    while True:
        stage = Stage(level, settings=FOUR)
        if not await stage.die_at_event(deaths + 1):
            break
        deaths += 1
        if (await stage.record()).status is not Status.FINISHED:  # the last event comes after the end is stored
            await stage.run()
        assert await stage.transcript() == expected
    assert deaths > 20


# Judges of other models

JURY = {"judge_2": "scripted:second", "judge_3": "scripted:third"}


def judged_by(stage: Stage) -> list[str]:
    return [request.model for request in stage.model.requests if request.schema]


async def test_pairs_of_judgings_go_to_the_judges_in_turn_and_none_reads_another() -> None:
    stage = Stage(level, settings={**FOUR, "judgings": 6, "judges": ["scripted:second", "scripted:third"]}, models=JURY)
    ending = await stage.run()
    assert ending.status is Status.FINISHED, ending.error
    order = [seat for seat, kind, _ in await stage.order() if kind in ("verdict", "rejudging")]
    assert order == [seat for seat in ("judge", "judge_2", "judge_3") for _ in range(2)]
    assert judged_by(stage) == [model for model in ("model", "second", "third") for _ in range(2)]
    outcome = Verdict.model_validate(ending.outcome)
    assert outcome.trust
    assert outcome.trust.stability
    models = ["scripted:model", "scripted:second", "scripted:third"]
    assert [each.model for each in outcome.trust.stability.judgings] == [model for model in models for _ in range(2)]
    shown = ["\n".join(message.content for message in each.messages) for each in stage.model.requests[2:]]
    assert not any("Even." in text for text in shown)


@pytest.mark.parametrize(
    ("settings", "seats"),
    [
        ({}, ["debater_a", "debater_b", "judge"]),
        ({"judges": "scripted:b"}, ["debater_a", "debater_b", "judge", "judge_2"]),
        ({"judges": ["scripted:b", "scripted:c"]}, ["debater_a", "debater_b", "judge", "judge_2", "judge_3"]),
    ],
)
async def test_further_judges_have_seats_when_they_are_named(settings: dict[str, Any], seats: list[str]) -> None:
    record = await scripted_app(ScriptedModel(level)).create("duel", "Cats?", settings)
    assert list(record.seats) == seats
    assert [record.seats[seat].model for seat in seats[3:]] == ["scripted:b", "scripted:c"][: len(seats) - 3]


async def test_more_judges_than_there_are_seats_for_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"judges: .*at most 2"):
        await scripted_app(ScriptedModel(level)).create("duel", "Cats?", {"judges": "a:b,c:d,e:f"})


async def test_prometheus_knows_each_judge_s_order_effect_and_flips() -> None:
    metrics = Metrics()
    app = scripted_app(SimulatedJudge((6, 6), order=2.0))
    app.telemetry.metrics = metrics
    record = await app.create("duel", "Cats?", {"max_rounds": 1, "judgings": 4, "judges": "scripted:second"})
    await app.run(record.id, lambda event: None)
    told = metrics.text().decode()
    for model in ("scripted:model", "scripted:second"):
        assert f'moot_judge_order_effect_sum{{model="{model}"}} 2.0' in told
        assert f'moot_judge_flips_sum{{model="{model}"}} 1.0' in told

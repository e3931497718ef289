"""Agreement of a panel: computed from what the debaters declare, and how sure the decision is for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from moot.core.events import TurnFinished
from moot.core.format import AnyFormat
from moot.formats.panel.decision import Decision
from moot.formats.panel.format import PANEL, PANEL_2
from stage import ANALYSIS, CLEAR, FAST, GOES_ON, SAFE, Call, Panelists, Stage, new_words

TOPIC = "Should we use Redis or PostgreSQL for caching?"
ALONE = {"checkpoints": False, "max_rounds": 3}
OVER = {"summary": "It is over.", "state": "converging", "decision": "conclude"}
FOURTH = "User Experience"
THREE, FOUR = [FAST, CLEAR, SAFE], [FAST, CLEAR, SAFE, FOURTH]
TWO_FAMILIES = {"moderator": "x:llama", "debater_1": "x:qwen", "debater_2": "x:mistral"}


def declaring(positions: dict[str, tuple[str, list[str]]]) -> Callable[[Call], Any]:
    """Rebuttals in which each declares what it recommends and with whom it agrees."""

    def rebut(call: Call) -> Any:
        recommendation, agrees_with = positions[call.name]
        declared = {"recommendation": recommendation, "agrees_with": agrees_with, "would_change": f"{call.name} loses"}
        return {"content": new_words(call), **declared}

    return rebut


async def played(
    positions: dict[str, tuple[str, list[str]]],
    evaluation: Any = OVER,
    settings: Any = ALONE,
    named: Sequence[str] = (),
    format: AnyFormat = PANEL,
    **more: Any,
) -> tuple[Stage, Decision]:
    """`named` are the options that the moderator names."""
    analysis = {**ANALYSIS, "perspectives": list(positions), "options": list(named)}
    panelists = Panelists(analysis=analysis, rebuttal=declaring(positions), evaluation=evaluation)
    stage = Stage(panelists, format=format, topic=TOPIC, settings=settings, **more)
    return stage, Decision.model_validate((await stage.run()).outcome)


def remarks(stage: Stage) -> list[tuple[str, ...]]:
    return [event.notes for event in stage.events if isinstance(event, TurnFinished) and event.kind == "evaluation"]


async def test_opposite_recommendations_are_no_agreement_whatever_the_moderator_says() -> None:
    stage, outcome = await played({FAST: ("I stay with Redis.", []), CLEAR: ("I recommend PostgreSQL.", [])})
    assert (outcome.ended, outcome.confidence) == ("max_rounds", "Low")
    assert f"this is no agreement, as {FAST}, {CLEAR} declared another position or none" in remarks(stage)[0]


async def test_agreement_needs_every_seat_and_the_same_in_the_first_round_is_quick() -> None:
    both = {FAST: ("Redis.", [CLEAR]), CLEAR: ("Redis.", [FAST])}
    _, quick = await played(both, models=TWO_FAMILIES)
    assert (quick.ended, quick.confidence, quick.reasons) == (
        "quick_agreement",
        "Medium",
        ["everybody agreed in the first round"],
    )
    assert quick.lifts == ["another round, in which the recommendation has to stand against objections"]
    _, later = await played(both, [GOES_ON, OVER], models=TWO_FAMILIES)
    assert (later.ended, later.confidence, later.dissent) == ("agreed", "High", "")


async def test_one_model_in_every_seat_is_never_more_than_medium() -> None:
    _, outcome = await played({FAST: ("Redis.", [CLEAR]), CLEAR: ("Redis.", [FAST])}, [GOES_ON, OVER])
    assert (outcome.ended, outcome.confidence) == ("agreed", "Medium")
    assert "one model, scripted:model, spoke in every seat" in outcome.reasons
    assert outcome.lifts == ["debaters of different model families"]


async def test_a_majority_ends_it_after_the_second_round_names_who_dissents_and_is_at_most_medium() -> None:
    positions = {FAST: ("Redis.", [SAFE]), CLEAR: ("PostgreSQL.", []), SAFE: ("Redis.", [FAST])}
    stage, outcome = await played(positions)
    assert (outcome.ended, len(outcome.rounds), outcome.confidence) == ("majority", 2, "Medium")
    assert outcome.reasons[0] == f"{FAST}, {SAFE} agree, but not {CLEAR}"
    assert f"what would convince {CLEAR}: {CLEAR} loses" in outcome.lifts
    assert outcome.dissent == f"{CLEAR}: PostgreSQL. (Would change its mind: {CLEAR} loses)"
    assert [view.agrees for view in outcome.perspectives] == [True, False, True]
    assert f"this is no agreement, as {CLEAR} declared another position or none" in remarks(stage)[0]


async def test_two_of_four_are_no_majority() -> None:
    positions = {FAST: ("Redis.", [CLEAR]), CLEAR: ("Redis.", [FAST]), SAFE: ("None.", []), FOURTH: ("Both.", [])}
    _, outcome = await played(positions)
    assert (outcome.ended, outcome.confidence) == ("max_rounds", "Low")


async def test_all_may_come_to_one_who_stays_without_being_named_in_return_by_the_first_speaker() -> None:
    _, outcome = await played({FAST: ("Redis.", []), CLEAR: ("Redis, then.", [FAST]), SAFE: ("Redis too.", [FAST])})
    assert outcome.ended == "quick_agreement"


async def test_two_who_change_places_do_not_agree() -> None:
    """The first adopts what the other recommended before it moved itself."""
    _, outcome = await played({FAST: ("PostgreSQL.", [CLEAR]), CLEAR: ("Redis.", [])})
    assert outcome.ended == "max_rounds"


async def test_whoever_the_moderator_finds_at_odds_with_what_it_declares_does_not_count() -> None:
    both = {FAST: ("Redis.", [CLEAR]), CLEAR: ("PostgreSQL.", [FAST])}
    _, outcome = await played(both, {**OVER, "differ": [CLEAR]})
    assert outcome.ended == "max_rounds"


async def test_agreement_goes_on_while_the_moderator_wants_another_round_and_counts_at_the_end() -> None:
    both = {FAST: ("Redis.", [CLEAR]), CLEAR: ("Redis.", [FAST])}
    _, outcome = await played(both, GOES_ON, models=TWO_FAMILIES)
    assert (outcome.ended, outcome.confidence) == ("max_rounds", "High")
    assert outcome.reasons == ["every perspective declared the same recommendation"]


async def test_a_rebuttal_in_prose_declares_nothing() -> None:
    panelists = Panelists(rebuttal="I agree with everything.", evaluation=OVER)
    stage = Stage(panelists, format=PANEL, topic=TOPIC, settings=ALONE)
    assert Decision.model_validate((await stage.run()).outcome).ended == "max_rounds"


async def test_the_debate_is_not_stagnant_while_most_of_it_is_new() -> None:
    nobody = {FAST: ("Redis.", []), CLEAR: ("PostgreSQL.", [])}
    stage, outcome = await played(nobody, {**OVER, "state": "stagnating"})
    assert outcome.ended == "max_rounds"
    assert "the arguments still move: most of what was said is in new words" in remarks(stage)[1]


async def test_where_the_debaters_stand_and_what_they_answer_is_shown_below_their_turns() -> None:
    position = {"recommendation": "Redis.", "agrees_with": [CLEAR], "would_change": "a slower Redis"}
    points = {"responding_to": [f"{CLEAR}: nights"], "concedes": [f"{CLEAR}: costs"]}
    panelists = Panelists(rebuttal={"content": "So it is.", **points, **position})
    stage = Stage(panelists, format=PANEL, topic=TOPIC, settings={**ALONE, "max_rounds": 1})
    await stage.run()
    notes = next(event.notes for event in stage.events if isinstance(event, TurnFinished) and event.kind == "rebuttal")
    assert notes == (
        f"answers: {CLEAR}: nights",
        f"concedes: {CLEAR}: costs",
        "recommends: Redis.",
        f"agrees with {CLEAR}",
        "would change its mind: a slower Redis",
    )


# Straying and muting


async def test_who_strayed_is_named_below_the_evaluation_and_in_the_next_summary() -> None:
    evaluation = [{**GOES_ON, "strayed": [CLEAR]}, GOES_ON]
    panelists = Panelists(evaluation=evaluation)
    stage = Stage(panelists, format=PANEL, topic=TOPIC, settings={**ALONE, "max_rounds": 2})
    await stage.run()
    assert f"strayed from the question: {CLEAR}" in remarks(stage)[0]
    summaries = [r.messages[-1].content for r in panelists.requests if "Round 2 begins" in r.messages[-1].content]
    assert [f"lead each back to it by name: {CLEAR}." in summary for summary in summaries] == [True]


async def test_a_dissenter_who_is_muted_still_dissents() -> None:
    positions = {FAST: ("Redis.", [SAFE]), CLEAR: ("PostgreSQL.", []), SAFE: ("Redis.", [FAST])}
    muting = {**GOES_ON, "strayed": [CLEAR], "mute": [CLEAR]}
    _, outcome = await played(positions, [muting, OVER], models=TWO_FAMILIES)
    assert (outcome.ended, outcome.confidence) == ("majority", "Medium")
    assert outcome.reasons[0] == f"{FAST}, {SAFE} agree, but not {CLEAR}"
    assert outcome.dissent == f"{CLEAR}: PostgreSQL. (Would change its mind: {CLEAR} loses)"
    assert f"guidance that keeps {CLEAR} to the question" in outcome.lifts
    assert "more time for the debaters" not in outcome.lifts
    _, outcome = await played(positions, [muting, OVER], models=TWO_FAMILIES, format=PANEL_2)
    assert outcome.ended == "agreed"
    joining = {**positions, CLEAR: ("Redis.", [FAST])}
    _, outcome = await played(joining, [muting, OVER], models=TWO_FAMILIES)
    assert (outcome.ended, outcome.dissent) == ("agreed", "")


async def test_muting_one_of_two_is_refused_with_the_reason() -> None:
    panelists = Panelists(evaluation={**GOES_ON, "strayed": [CLEAR], "mute": [CLEAR]})
    stage = Stage(panelists, format=PANEL, topic=TOPIC, settings={**ALONE, "max_rounds": 1})
    await stage.run()
    assert f"{CLEAR} is not muted: two perspectives always speak" in remarks(stage)[0]


@pytest.mark.parametrize("kind", ["continue", "clarify"])
async def test_what_the_moderator_wants_to_know_from_the_person_is_the_question_of_the_checkpoint(kind: str) -> None:
    panelists = Panelists(evaluation={**GOES_ON, "decision": kind, "clarification": "How many users?"})
    stage = Stage(panelists, format=PANEL, topic=TOPIC, settings={"max_rounds": 2}, person=lambda step: None)
    question = (await stage.run()).question
    assert question is not None
    assert question.startswith("How many users?\n") == (kind == "clarify")


async def test_what_each_declared_is_told_to_whoever_has_to_agree_with_it_or_to_judge_it() -> None:
    positions = {FAST: ("Redis.", []), CLEAR: ("PostgreSQL.", [])}
    panelists = Panelists(analysis={**ANALYSIS, "perspectives": list(positions)}, rebuttal=declaring(positions))
    await Stage(panelists, format=PANEL, topic=TOPIC, settings={**ALONE, "max_rounds": 1}).run()
    lines = {name: f"- {name}: {what} Would change its mind: {name} loses" for name, (what, _) in positions.items()}
    asked = (request.messages[-1].content for request in panelists.requests)
    told = [[name for name, line in lines.items() if line in instruction] for instruction in asked]
    assert [*zip(panelists.calls, told, strict=True)][-4:] == [
        (("rebuttal", FAST), []),
        (("rebuttal", CLEAR), [FAST]),
        (("evaluation", "moderator"), [FAST, CLEAR]),
        (("synthesis", "moderator"), [FAST, CLEAR]),
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I stay with Redis.", "I recommend PostgreSQL."),
        ("Use Redis.", "Do not use Redis."),
        ("Redis einführen.", "Redis nicht einführen."),
        ("يجب أن نستخدم Redis الآن", "لا يجب أن نستخدم Redis الآن"),
        ("Adopter Redis cette année.", "Ne pas adopter Redis cette année."),
        ("Use Redis with 9,000 keys.", "Use Redis with 90,000 keys."),
        ("Use Redis instead of PostgreSQL.", "Use PostgreSQL instead of Redis."),
        ("Migrate from Redis to PostgreSQL.", "Don’t migrate from Redis to PostgreSQL."),
    ],
)
async def test_who_says_that_they_agree_and_recommends_another_thing_is_not_believed(one: str, other: str) -> None:
    both = {FAST: (one, [CLEAR]), CLEAR: (other, [FAST])}
    stage, outcome = await played(both, [GOES_ON, OVER, OVER], models=TWO_FAMILIES, named=("Redis", "PostgreSQL"))
    told = f"they say that they agree, but their recommendations differ: {FAST}: {one}; {CLEAR}: {other}".replace(
        ".", ""
    )
    assert (outcome.ended, outcome.confidence, outcome.reasons[0]) == ("max_rounds", "Low", told)
    assert told in remarks(stage)[1]
    stage, outcome = await played(both, [GOES_ON, OVER], models=TWO_FAMILIES, format=PANEL_2)
    assert (outcome.ended, outcome.confidence, outcome.reasons[0]) == ("agreed", "Low", told)


async def test_those_who_recommend_another_thing_than_they_say_are_told_in_the_next_round_and_may_agree_then() -> None:
    def rebut(call: Call) -> Any:
        own = "Use Redis." if call.name == FAST or call.number > 1 else "Use PostgreSQL."
        return {"content": new_words(call), "recommendation": own, "agrees_with": [FAST, CLEAR], "would_change": ""}

    analysis = {**ANALYSIS, "perspectives": [FAST, CLEAR], "options": ["Redis", "PostgreSQL"]}
    panelists = Panelists(analysis=analysis, rebuttal=rebut, evaluation=OVER)
    stage = Stage(panelists, format=PANEL, topic=TOPIC, settings=ALONE)
    outcome = Decision.model_validate((await stage.run()).outcome)
    found = f"{CLEAR} says that it agrees with {FAST}, and recommends another thing"
    assert outcome.ended == "agreed"
    assert found in remarks(stage)[0]
    asked = [request.messages[-1].content for request in panelists.requests]
    apart = (
        f"You said that you agree with {FAST}, but you recommended this: Use PostgreSQL. What {FAST} recommends is "
        "this: Use Redis. Recommend the same, or say that you differ.\n"
    )
    told = [call for call, text in zip(panelists.calls, asked, strict=True) if apart in text]
    assert told == [("opening", CLEAR), ("rebuttal", CLEAR)]
    assert sum(found in text for text in asked) == 2, "the moderator's evaluation of the round, and the next summary"


@pytest.mark.parametrize("agreed", ["Choose PostgreSQL.", "Noted."])
async def test_a_record_that_recommends_another_thing_than_all_declared_is_low(agreed: str) -> None:
    both = {FAST: (agreed, [CLEAR]), CLEAR: (agreed, [FAST])}
    _, outcome = await played(both, [GOES_ON, OVER], models=TWO_FAMILIES)
    assert outcome.summary.startswith("Use Redis.")
    assert (outcome.confidence, outcome.reasons[0]) == (
        "Low",
        f"the record recommends another thing than they declared: {agreed}",
    )

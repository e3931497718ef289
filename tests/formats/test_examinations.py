"""Judgings beyond the duel, on the real engine: an arbiter's, a skeptic's deciding score, a moderator's conclusion."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from moot.core.debate import Status, Turn
from moot.core.estimate import estimate
from moot.core.events import TurnFinished
from moot.core.prompts import Prompts
from moot.formats.critique.final_answer import FinalAnswer
from moot.formats.critique.format import CRITIQUE
from moot.formats.duel.format import DUEL
from moot.formats.evaluation.format import EVALUATION
from moot.formats.evaluation.scorecard import Scorecard
from moot.formats.panel.format import PANEL
from moot.formats.poll.format import POLL
from moot.llm.client import Request
from moot.store.store import Store
from moot.testing import MemoryStore
from stage import ANALYSIS, CLEAR, FAST, GOES_ON, Between, Killed, Panelists, Stage, sensible

IDEA = "Half of our town waters gardens from the tap. A tank of ours costs 90 euros. Ten shops want it."
SCORED: dict[str, Any] = {"categories": {"problem": 6, "solution": 7, "market": 5}}
READY: dict[str, Any] = {"idea": IDEA, "evaluation": SCORED, "challenges": ["Nobody asked."], "exchanges": 0}
JUDGES = {"arbiter": "scripted:other"}


def text(request: Request) -> str:
    return "\n".join(message.content for message in request.messages)


def name(request: Request) -> str:
    return request.schema.name if request.schema else ""


# An arbiter


def arbiter(scores: Callable[[str, str, list[str]], tuple[float, float]]) -> Callable[[Request], str]:
    """Sides who say which they are, and an arbiter who scores (advocate, challenger) by topic and by who is first."""

    def reply(request: Request) -> str:
        if name(request) == "arguments":
            side = "FOR" if _is_advocate(request.messages[-1].content) else "AGAINST"
            return json.dumps({"case": f"SPOKEN {side}", "arguments": [{"claim": "It is so.", "reasoning": "See."}]})
        if name(request) != "judgment":
            return sensible(request)
        shown = text(request)
        keys = [key for key in _keys(request) if key.startswith("score_")]
        advocate_first = shown.index("SPOKEN FOR") < shown.index("SPOKEN AGAINST")
        topic = next(each for each in ("Problem", "Solution", "Market") if f"{each} " in request.messages[-1].content)
        advocate, challenger = scores(topic, "advocate" if advocate_first else "challenger", keys)
        first, second = (advocate, challenger) if advocate_first else (challenger, advocate)
        return json.dumps({"reasoning": "Weighed.", keys[0]: first, keys[1]: second})

    return reply


def _keys(request: Request) -> list[str]:
    assert request.schema
    properties = request.schema.schema["properties"]
    assert isinstance(properties, dict)
    return list(properties)


def _is_advocate(prompt: str) -> bool:
    own = prompt.split("position", 1)[-1][:80]
    return any(words in own for words in ("is real and significant", "effectively addresses", "large and accessible"))


async def evaluated(reply: Any, **settings: Any) -> tuple[Stage, Scorecard]:
    depth = {} if "judgings" in settings or "depth" in settings else {"depth": "normal"}
    whole = {**READY, **depth, **settings}
    stage = Stage(reply, format=EVALUATION, topic="Rain tanks", settings=whole, models=JUDGES)
    ending = await stage.run()
    assert ending.status is Status.FINISHED, ending.error
    return stage, Scorecard.model_validate(ending.outcome)


async def test_all_topics_are_judged_twice_side_by_side_and_only_the_close_ones_again() -> None:
    clear = {"Problem": (9, 4), "Solution": (6, 6), "Market": (4, 9)}
    stage, card = await evaluated(arbiter(lambda topic, first, keys: clear[topic]))
    judged = [(kind, number) for seat, kind, number in await stage.order() if seat == "arbiter"]
    assert judged[:6] == [(kind, number) for number in (1, 2, 3) for kind in ("verdict", "rejudging")]
    assert judged[6:] == [("rejudging", 2)] * 2
    assert [topic.winner for topic in card.topics] == ["advocate", "draw", "challenger"]
    assert [topic.certainty for topic in card.topics] == ["high", "low", "high"]
    assert [topic.change for topic in card.topics] == [2.0, 0.0, -2.0]


async def test_an_arbiter_s_favour_for_who_is_shown_first_moves_nothing_and_is_named() -> None:
    def favours_first(topic: str, first: str, keys: list[str]) -> tuple[float, float]:
        return (8, 5) if first == "advocate" else (5, 8)

    _, quick = await evaluated(arbiter(favours_first), depth="quick")
    _, card = await evaluated(arbiter(favours_first))
    assert {topic.winner for topic in quick.topics} == {"advocate", "challenger"}
    assert [(topic.winner, topic.change) for topic in card.topics] == [("draw", 0.0)] * 3
    assert card.trust
    assert card.trust.level == "Low"
    assert [part.order_effect for part in card.trust.parts.values()] == [3.0] * 3
    assert "which side was shown first mattered more than what was argued" in card.trust.reasons


async def test_a_mirrored_judging_of_a_topic_is_the_same_prompt_with_the_sides_exchanged() -> None:
    stage, _ = await evaluated(arbiter(lambda topic, first, keys: (6, 6)))
    one, other, *_ = [text(request) for request in stage.model.requests if name(request) == "judgment"]
    positions = "The problem is real and significant.", "The problem is overstated or niche."
    for a, b in (("SPOKEN FOR", "SPOKEN AGAINST"), positions):
        other = other.replace(a, "*").replace(b, a).replace("*", b)
    assert one == other
    later = [text(request) for request in stage.model.requests if name(request) == "judgment"]
    assert len(set(later)) == len(later)
    assert not any("Weighed." in prompt for prompt in later)


async def test_an_unreadable_judging_of_a_topic_leaves_with_its_twin() -> None:
    asked: list[str] = []

    def reply(request: Request) -> str:
        if name(request) == "judgment":
            asked.append(text(request))
            if text(request).startswith(asked[0]):  # also when it is asked to mend it
                return "I cannot say."
        return arbiter(lambda topic, first, keys: (9, 4))(request)

    _, card = await evaluated(reply, max_rounds=1)
    (topic,) = card.topics
    assert topic.stability
    assert [judging.counted for judging in topic.stability.judgings] == [False, False, True, True]
    assert not topic.fallback
    assert card.trust
    assert any("left with their mirrored twins" in reason for reason in card.trust.reasons)


async def test_scores_are_given_again_and_a_move_within_their_noise_says_so() -> None:
    given = {"problem": [4, 6, 8], "solution": [7, 7, 7], "market": [5, 5, 5]}
    orders: list[list[str]] = []

    def reply(request: Request) -> str:
        if name(request) != "scores":
            return arbiter(lambda topic, first, keys: (7, 5))(request)
        number = len(orders)
        assert request.schema
        scores: Any = request.schema.schema["properties"]
        orders.append(list(scores["scores"]["properties"]))
        return json.dumps({"summary": "So.", "scores": {key: given[key][number] for key in given}})

    stage, card = await evaluated(reply, evaluation=None)
    assert [kind for _, kind, _ in await stage.order()][:3] == ["scores", "rescoring", "rescoring"]
    assert orders == [["problem", "solution", "market"], ["market", "solution", "problem"], orders[0]]
    problem, solution, _ = card.categories
    assert (problem.before, problem.noise, solution.noise) == (6.0, 2.0, 0.0)
    cells = {str(row[0]): str(row[3]) for row in card.table()[1:]}
    assert cells["problem"] == "+0.8, within the noise of scoring"
    assert cells["solution"] == "+0.8"


# A skeptic


def skeptic(score: float, again: list[float], better: tuple[float, float] = (8, 5)) -> Callable[[Request], str]:
    """Scores every proposal so, then so; and gives the final answer and the first proposal these scores, blind."""
    left = list(again)

    def reply(request: Request) -> str:
        match name(request):
            case "critique":
                return json.dumps({"review": "Fine.", "issues": [], "score": score, "ready": True})
            case "rescored":
                value = left.pop(0)
                return json.dumps({"score": value, "ready": value >= 8})
            case "comparison":
                final_first = text(request).index("FINAL") < text(request).index("PROPOSED")
                scores = better if final_first else better[::-1]
                return json.dumps({"reason": "It is.", "score_1": scores[0], "score_2": scores[1]})
            case _:
                return "FINAL" if "You are the Synthesizer." in text(request) else "PROPOSED"

    return reply


async def criticised(reply: Any, **settings: Any) -> tuple[Stage, FinalAnswer]:
    whole = {"rag_top_k": 0, "max_rounds": 3, "min_rounds": 1, "depth": "normal", **settings}
    stage = Stage(reply, format=CRITIQUE, settings=whole, models={"skeptic": "scripted:other"})
    ending = await stage.run()
    assert ending.status is Status.FINISHED, ending.error
    return stage, FinalAnswer.model_validate(ending.outcome)


async def test_a_score_that_decides_is_given_again_and_the_mean_decides() -> None:
    stage, answer = await criticised(skeptic(9, [8, 8]))
    assert [kind for _, kind, _ in await stage.order()][:4] == ["proposal", "critique", "rescoring", "rescoring"]
    assert answer.ended == "ready"
    told = [event for event in stage.events if isinstance(event, TurnFinished) and event.kind == "rescoring"]
    assert [event.content for event in told] == ["8/10, ready"] * 2
    (final,) = [event for event in stage.events if isinstance(event, TurnFinished) and event.kind == "answer"]
    assert final.notes == ("round 1 was scored 9, 8, 8: 8.33 on average, ready",)


async def test_a_lucky_score_does_not_end_the_rounds() -> None:
    stage, answer = await criticised(skeptic(9, [5, 5] * 3))
    assert answer.ended == "max_rounds"
    assert sum(kind == "rescoring" for _, kind, _ in await stage.order()) == 6
    assert not any("5/10" in text(request) for request in stage.model.requests)
    second = [event for event in stage.events if isinstance(event, TurnFinished) and event.kind == "proposal"][1]
    assert second.notes == ("round 1 was scored 9, 5, 5: 6.33 on average, which does not end the rounds",)


async def test_a_score_far_from_deciding_is_given_once_and_so_is_every_score_of_a_quick_critique() -> None:
    far, _ = await criticised(skeptic(6, []), max_rounds=1)
    quick, answer = await criticised(skeptic(9, []), depth="quick")
    assert "rescoring" not in [kind for _, kind, _ in await far.order()]
    assert [kind for _, kind, _ in await quick.order()] == ["proposal", "critique", "answer", "review"]
    assert answer.trust is None


async def test_the_final_answer_is_compared_with_the_first_proposal_by_whoever_knows_neither() -> None:
    stage, answer = await criticised(skeptic(9, [9, 9], (9, 5)))
    assert [kind for _, kind, _ in await stage.order()][-2:] == ["comparison", "rejudging"]
    requests = [request for request in stage.model.requests if name(request) == "comparison"]
    assert requests[0].schema == requests[1].schema, "which would tell it which is which"
    asked = [*map(text, requests)]
    assert asked[0].replace("FINAL", "*").replace("PROPOSED", "FINAL").replace("*", "PROPOSED") == asked[1]
    assert "Skeptic's" not in asked[0].split("The question is this:")[1]
    assert answer.trust
    assert answer.trust.level == "High"
    assert answer.trust.reasons[0] == "blind, the final answer was found better than the first proposal"
    assert answer.caveats == [], "what examines the answer is nobody's say"


@pytest.mark.parametrize(
    ("better", "level", "reason"),
    [
        ((6, 6), "Medium", "blind, the final answer was found no better than the first proposal"),
        ((4, 8), "Low", "blind, the first proposal was found better than the final answer"),
    ],
)
async def test_an_answer_that_is_no_better_than_the_first_proposal_says_so(
    better: tuple[float, float], level: str, reason: str
) -> None:
    _, answer = await criticised(skeptic(9, [9, 9], better))
    assert answer.trust
    assert (answer.trust.level, answer.trust.reasons[0]) == (level, reason)


# A moderator

AGREED = {"summary": "They agree.", "state": "converging", "decision": "conclude"}
REBUTTALS = {
    FAST: {"content": "Fine with me.", "recommendation": "Redis", "agrees_with": [CLEAR]},
    CLEAR: {"content": "With me too.", "recommendation": "Redis", "agrees_with": [FAST]},
}


async def moderated(evaluations: Any, **settings: Any) -> Stage:
    panelists = Panelists(evaluation=evaluations, rebuttal=lambda call: REBUTTALS[call.name])
    whole = {"checkpoints": False, "max_rounds": 2, "depth": "normal", **settings}
    stage = Stage(panelists, format=PANEL, topic="Redis or Postgres?", settings=whole)
    ending = await stage.run()
    assert ending.status is Status.FINISHED, ending.error
    return stage


async def test_a_conclusion_counts_when_a_second_reading_in_reverse_concludes_too() -> None:
    stage = await moderated(AGREED)
    assert [kind for _, kind, _ in await stage.order()][-4:] == ["evaluation", "rejudging", "claims", "synthesis"]
    assert (await stage.record()).stop_reason == "quick_agreement"
    one, other = [text(request) for request in stage.model.requests if name(request) == "evaluation"]
    assert one.index(f"- {FAST}") < one.index(f"- {CLEAR}")
    assert other.index(f"- {CLEAR}") < other.index(f"- {FAST}")
    assert one.index(f'by="{FAST}"') < one.index(f'by="{CLEAR}"')
    assert other.index(f'by="{CLEAR}"') < other.index(f'by="{FAST}"')
    assert "They agree." not in other


async def test_the_debate_goes_on_when_two_readings_of_a_round_differ() -> None:
    stage = await moderated([AGREED, GOES_ON, GOES_ON])
    order = [(kind, round) for _, kind, round in await stage.order()]
    assert ("rejudging", 1) in order
    assert ("evaluation", 2) in order
    (told,) = [event for event in stage.events if isinstance(event, TurnFinished) and event.kind == "rejudging"]
    assert told.notes == ("two readings of this round differ: the debate goes on",)


async def test_a_quick_panel_is_read_once() -> None:
    assert "rejudging" not in [kind for _, kind, _ in await (await moderated(AGREED, depth="quick")).order()]


async def test_the_last_round_is_read_once_as_the_debate_could_not_go_on() -> None:
    stage = await moderated(AGREED, max_rounds=1)
    assert "rejudging" not in [kind for _, kind, _ in await stage.order()]
    assert (await stage.record()).stop_reason == "quick_agreement"


# All of them


def close(request: Request) -> str:
    """Sensible, and so close a verdict that the debate is judged a second time, whatever its prompts say."""
    if request.schema is None:
        return sensible(request)
    answer = json.loads(sensible(request))
    return json.dumps({key: 6 if key.startswith("score_") else value for key, value in answer.items()})


FORMATS = {
    "evaluation": (EVALUATION, arbiter(lambda topic, first, keys: (6, 6)), {**READY, "evaluation": None}),
    "critique": (CRITIQUE, skeptic(9, [9] * 900, (6, 6)), {"rag_top_k": 0, "max_rounds": 2, "min_rounds": 1}),
    "panel": (
        PANEL,
        Panelists(
            analysis={**ANALYSIS, "options": ["Redis", "Postgres"]},
            summary="Who is faster?",
            opening=lambda call: f"{call.name} is.",
            evaluation=AGREED,
            rebuttal=lambda call: REBUTTALS[call.name],
            choice={"reason": "It is fast.", "choice": ["A"]},
        ),
        {"checkpoints": False, "max_rounds": 2},
    ),
    "duel": (DUEL, close, {"max_rounds": 1, "judgings": 4}),
    "poll": (POLL, sensible, {"ballots": 4, "options": ["Redis", "Postgres"]}),
}
DEATHS = {"evaluation": 6, "critique": 6, "panel": 8, "duel": 8, "poll": 2}
"""Format → two in each set of turns that examine it side by side."""


@pytest.mark.parametrize("format", FORMATS)
async def test_an_estimate_counts_every_step_that_examines(format: str) -> None:
    stage = _stage(format)
    await stage.open()
    expected = estimate(await stage.record(), stage.format, Prompts(), lambda model, usage: 0.0).most.calls
    await stage.run()
    assert sum(turn.usage.calls for turn in await stage.turns()) <= expected


@pytest.mark.parametrize("format", FORMATS)
async def test_killed_at_every_seventh_event_and_resumed_the_transcript_is_the_same(format: str) -> None:
    whole = _stage(format)
    assert (await whole.run()).status is Status.FINISHED
    for number in range(1, len(whole.events), 7):
        one = _stage(format)
        assert await one.die_at_event(number)
        if (await one.record()).status is not Status.FINISHED:  # the last event comes after the end is stored
            await one.run()
        assert await one.transcript() == await whole.transcript()


@pytest.mark.parametrize("format", FORMATS)
async def test_killed_before_and_after_turns_that_examine_it_a_debate_has_the_same_transcript(
    open_store: Callable[[], Awaitable[Store]], format: str
) -> None:
    """In one debate, again and again, until a run gets through."""
    whole, one, deaths = _stage(format), _stage(format), 0
    assert (await whole.run()).status is Status.FINISHED
    one.store = await open_store()
    while await dies(one, "after" if deaths % 2 else "before"):
        deaths += 1
        if not isinstance(one.store, MemoryStore):  # which is gone with its process
            await one.store.close()
            one.store = await open_store()
    assert (deaths, (await one.record()).status) == (DEATHS[format], Status.FINISHED)
    assert await one.transcript() == await whole.transcript()
    await one.store.close()


async def dies(stage: Stage, place: str) -> bool:
    """Whether a run is killed before or after it stores a turn that examines, or comes to its end."""

    async def kill(turn: Turn) -> None:
        if turn.kind in stage.format.folded | {"ballot"}:
            raise Killed

    try:
        await stage.run(Between(stage.store, **{place: kill}))
    except Killed:
        return True
    return False


def _stage(format: str) -> Stage:
    form, reply, settings = FORMATS[format]
    depth = {"depth": "normal"} if "depth" in form.settings.model_fields else {}
    return Stage(reply, format=form, settings={**depth, **settings})

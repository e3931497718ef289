"""A model in a seat: when it is asked again, what is kept of a failed attempt, what readers see of it."""

from __future__ import annotations

from typing import Any

import pytest

from moot.core.debate import Failure, Status, Usage
from moot.core.events import StepRetrying, TurnChunk, TurnStarted
from moot.errors import (
    BadReply,
    ModelError,
    ModelTimeout,
    RateLimited,
    Refused,
    ReplyCut,
    ServerFault,
    UnknownModel,
    Unreachable,
    WrongKey,
)
from moot.llm.client import Completion, Request
from moot.players.model import retry_delay
from stage import Stage, ballot, judged

ONE = {"max_rounds": 1}
SPEECH = "Cats land on their feet."
HALF = "Cats land "
GROWING = [0.5, 1.0, 2.0, 4.0, 8.0, None]


@pytest.mark.parametrize(
    ("error", "delays"),
    [
        (ModelTimeout("slow"), [0.0, None, None]),
        (ReplyCut("cut", partial=HALF), [0.0, None, None]),
        (BadReply("garbage"), [0.0, None, None]),
        (RateLimited("429"), GROWING),
        (RateLimited("429", retry_after=20.0), [20.0] * 5 + [None]),
        (RateLimited("429", retry_after=0.0), [0.0] * 5 + [None]),
        (RateLimited("429", retry_after=121.0), [None, None]),
        (ServerFault("500"), GROWING),
        (ServerFault("503", retry_after=3.0), [3.0] * 5 + [None]),
        (Unreachable("gone"), GROWING),
        (Unreachable("never there", reached_before=False), [0.5, None]),
        (Refused("400"), [None]),
        (WrongKey("401"), [None]),
        (UnknownModel("404"), [None]),
        (ModelError("?"), [None]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_how_long_to_wait_before_asking_again(error: ModelError, delays: list[float | None]) -> None:
    assert [retry_delay(error, attempt, 0.0) for attempt in range(1, len(delays) + 1)] == delays


def test_jitter_at_most_doubles_a_growing_delay_and_adds_a_second_to_a_given_one() -> None:
    assert retry_delay(ServerFault("500"), 3, 1.0) == 4.0
    assert retry_delay(RateLimited("429", retry_after=7.0), 3, 1.0) == 8.0


def faulty(*errors: ModelError) -> Stage:
    """A duel of one round whose first calls end in these errors, each after half of its text."""
    replies = judged(ballot())
    return Stage(
        lambda request: replies(request) if request.schema else SPEECH,
        settings=ONE,
        faults=dict(enumerate(errors, 1)),
    )


def attempts(stage: Stage) -> list[int]:
    return [event.attempt for event in stage.events if isinstance(event, TurnStarted) and event.position == 0]


async def test_a_rate_limit_is_waited_out_as_the_server_asks() -> None:
    stage = faulty(RateLimited("429", retry_after=20.0), RateLimited("429", retry_after=5.0))
    assert (await stage.run()).status is Status.FINISHED
    assert [int(seconds) for seconds in stage.slept] in ([20, 5], [20, 6], [21, 5], [21, 6])
    assert len(stage.model.requests) == 5


async def test_a_failing_server_is_asked_again_after_growing_pauses_and_then_given_up() -> None:
    stage = faulty(*[ServerFault("500")] * 6)
    assert (await stage.run()).status is Status.FAILED
    assert [base <= seconds <= 2 * base for base, seconds in zip([0.5, 1, 2, 4, 8], stage.slept, strict=True)] == [
        True
    ] * 5
    assert len(stage.model.requests) == 6


@pytest.mark.parametrize("error", [ModelTimeout("slow"), BadReply("empty"), ReplyCut("cut")])
async def test_a_reply_that_did_not_come_is_asked_for_once_more(error: ModelError) -> None:
    stage = faulty(error)
    assert (await stage.run()).status is Status.FINISHED
    twice = faulty(error, error)
    assert (await twice.run()).error == str(error)
    assert (len(stage.model.requests), len(twice.model.requests)) == (4, 2)


def retries(stage: Stage) -> list[tuple[str, str, int, int]]:
    return [
        (event.title, event.error, event.attempt, event.attempts)
        for event in stage.events
        if isinstance(event, StepRetrying)
    ]


async def test_readers_are_told_what_failed_which_attempt_comes_and_when() -> None:
    stage = faulty(ServerFault("the provider is overloaded"), RateLimited("429", retry_after=7.0), ModelTimeout("slow"))
    assert (await stage.run()).status is Status.FINISHED
    assert retries(stage) == [
        ("Debater A", "the provider is overloaded", 2, 6),
        ("Debater A", "429", 3, 7),
        ("Debater A", "slow", 4, 4),
    ]
    told = [event.seconds for event in stage.events if isinstance(event, StepRetrying)]
    assert told == pytest.approx(stage.slept, abs=0.001)
    assert [turn.seat for turn in await stage.turns()] == ["debater_a", "debater_b", "judge"]


async def test_what_is_not_asked_for_again_is_no_retry() -> None:
    stage = faulty(WrongKey("no key"))
    await stage.run()
    assert retries(stage) == []


async def test_a_timeout_after_a_rate_limit_is_still_asked_for_once_more() -> None:
    stage = faulty(RateLimited("429", retry_after=1.0), ModelTimeout("slow"))
    assert (await stage.run()).status is Status.FINISHED


async def test_what_is_refused_is_never_asked_for_again() -> None:
    stage = faulty(WrongKey("check DEEPSEEK_API_KEY"))
    ending = await stage.run()
    assert (ending.status, ending.error) == (Status.FAILED, "check DEEPSEEK_API_KEY")
    assert (len(stage.model.requests), stage.slept) == (1, [])


async def test_a_cut_reply_is_kept_marked_as_failed_and_the_turn_begins_again() -> None:
    stage = faulty(ReplyCut("the stream ended early", partial=HALF))
    assert (await stage.run()).status is Status.FINISHED
    (kept,) = await stage.failures()
    at = stage.clock.at
    assert kept == Failure(
        position=0,
        seat="debater_a",
        kind="argument",
        round=1,
        partial=HALF,
        code="reply_cut",
        message="the stream ended early",
        at=kept.at,
        run=1,
    )
    assert kept.at < at
    assert attempts(stage) == [1, 2]
    first = (await stage.turns())[0]
    assert (first.content, first.marks, stage.shown(0)) == (SPEECH, (), SPEECH)
    offsets = [event.offset for event in stage.events if isinstance(event, TurnChunk) and event.position == 0]
    assert offsets == [0, 5, 0, 5, 10, 13, 19]


async def test_a_reply_cut_twice_fails_the_debate_which_can_be_resumed() -> None:
    stage = faulty(*[ReplyCut("cut", partial=HALF)] * 2)
    assert (await stage.run()).status is Status.FAILED
    assert [failure.partial for failure in await stage.failures()] == [HALF, HALF]
    assert await stage.turns() == ()
    assert (await stage.run()).status is Status.FINISHED
    assert [turn.content for turn in await stage.turns()][:2] == [SPEECH, SPEECH]
    assert len(await stage.failures()) == 2


async def test_a_cut_verdict_is_shown_from_its_beginning_again() -> None:
    stage = Stage(judged(ballot()), settings=ONE, faults={3: ReplyCut("cut", partial='{"summary": "Am')})
    await stage.run()
    assert stage.shown(2) == (await stage.turns())[2].content


class Given:
    """A model that gives these completions."""

    def __init__(self, *completions: Completion) -> None:
        self.left = list(completions)

    async def complete(self, request: Request, on_text: Any) -> Completion:
        completion = self.left.pop(0)
        on_text(completion.text)
        return completion


async def test_a_turn_says_what_the_server_would_not_take_and_that_it_ran_into_the_cap() -> None:
    stage = Stage(settings=ONE)
    usage = Usage(input_tokens=100, output_tokens=10, calls=1)
    stage.model = Given(
        Completion(text=f"\n {SPEECH} \n", finish_reason="length", usage=usage, dropped=("temperature",)),
        Completion(text=SPEECH, finish_reason="stop", usage=usage),
        Completion(text="no JSON", finish_reason="length", usage=usage),
        Completion(text=ballot(), finish_reason="stop", usage=usage),
    )
    await stage.run()
    said = [(turn.content, turn.marks, turn.usage.output_tokens) for turn in await stage.turns()]
    assert said == [
        (SPEECH, ("without:temperature", "truncated"), 10),
        (SPEECH, (), 10),
        ("Debater A gave the better reasons.", ("repaired",), 20),
    ]

"""Independent answers beside a duel: nobody in it notices them, and they say what the debate has changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from moot.core.debate import Status
from moot.core.trust import PollResult, Relation
from moot.formats.duel.format import Verdict
from moot.llm.client import Request
from moot.settings import Price
from moot.testing import ScriptedModel, SimulatedJudge, scripted_app
from stage import Stage

ROUND = {"max_rounds": 2, "judgings": 2, "ballots": 5}


def answers(number_for: int, merits: tuple[float, float] = (8, 4)) -> Callable[[Request], str]:
    """A duel that is won by the side with the greater merit, and ballots of which so many are for it."""
    judge = SimulatedJudge(merits)

    def reply(request: Request) -> str:
        if request.schema is None or request.schema.name != "choice":
            return judge.reply(request)
        asked = request.messages[1].content
        is_for = int(asked.split("allot ", 1)[1].split()[0].strip(".:")) <= number_for
        return json.dumps({"reason": "It is so.", "choice": "yes" if is_for != ("Is it false" in asked) else "no"})

    return reply


async def played(replies: Any, **settings: Any) -> tuple[Stage, Verdict]:
    stage = Stage(replies, settings={**ROUND, **settings})
    ending = await stage.run()
    assert ending.status is Status.FINISHED, ending.error
    return stage, Verdict.model_validate(ending.outcome)


def poll_of(outcome: Verdict) -> PollResult:
    assert outcome.trust
    assert outcome.trust.poll
    return outcome.trust.poll


def without_ballots(stage: Stage) -> list[Request]:
    return [request for request in stage.model.requests if not request.schema or request.schema.name != "choice"]


async def test_the_ballots_are_cast_side_by_side_with_the_first_speech() -> None:
    stage, outcome = await played(answers(4))
    assert [kind for _, kind, _ in await stage.order()] == [*["ballot"] * 5, *["argument"] * 4, "verdict", "rejudging"]
    assert outcome.trust_text() == (
        "Trust: Medium; holds in 2 of 2 judgings, margin 4.0 (1.6 to 6.4); it made no difference which side was shown "
        "first; 5 independent answers: 4 for, 1 against. The debate cost 6 calls, 2.2k tokens; 5 independent answers "
        "cost 0.8k and said the same 4 of 5."
    )


@pytest.mark.parametrize("limits", [{}, {"max_total_output_tokens": 900}, {"max_rounds": 5}])
async def test_with_the_poll_on_no_other_prompt_changes_by_a_byte(limits: dict[str, Any]) -> None:
    off, _ = await played(answers(5), **{**limits, "ballots": 0})
    on, _ = await played(answers(5), **limits)
    assert without_ballots(on) == off.model.requests
    assert len(on.model.requests) == len(off.model.requests) + 5


async def test_no_ballot_reads_a_speech_or_another_ballot() -> None:
    stage, _ = await played(answers(5), depth="careful", ballots=None)
    asked = [request for request in stage.model.requests if request not in without_ballots(stage)]
    assert len(asked) > 5
    texts = ["\n".join(message.content for message in request.messages) for request in asked]
    assert not any("merit=" in text or "It is so." in text or "<turn" in text for text in texts)
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    ("number_for", "merits", "relation", "said"),
    [
        (5, (8, 4), "confirmed", "and said the same 5 of 5."),
        (3, (8, 4), "confirmed", "and said the same 3 of 5."),
        (2, (8, 4), "decided a split", "and said the same 2 of 5: the debate decided a split."),
        (0, (8, 4), "overturned", "and said the same 0 of 5: the debate overturned them."),
        (5, (4, 8), "overturned", "and said the same 0 of 5: the debate overturned them."),
        (5, (6, 6), "undecided", "and the debate left the question open."),
    ],
)
async def test_what_the_debate_made_of_the_answers_is_said(
    number_for: int, merits: tuple[float, float], relation: Relation, said: str
) -> None:
    _, outcome = await played(answers(number_for, merits))
    assert (poll_of(outcome).relation, poll_of(outcome).counts["for"]) == (relation, number_for)
    assert poll_of(outcome).price.endswith(said)


async def test_a_verdict_against_all_answers_is_trusted_a_level_less_and_says_so() -> None:
    _, agreed = await played(answers(5))
    _, outcome = await played(answers(0))
    assert (agreed.trust and agreed.trust.level, outcome.trust and outcome.trust.level) == ("Medium", "Low")
    assert outcome.trust
    assert outcome.trust.reasons[0] == "independent answers without a debate said another thing: 5 of 5 against"
    assert outcome.caveats[-1] == (
        "most independent answers are for the other side: the judge scored arguing, not who is right"
    )


async def test_answers_that_go_by_the_words_of_the_question_confirm_nothing() -> None:
    def yes(request: Request) -> str:
        is_ballot = request.schema and request.schema.name == "choice"
        return json.dumps({"reason": "So.", "choice": "yes"}) if is_ballot else answers(5)(request)

    _, outcome = await played(yes)
    assert (poll_of(outcome).counts, poll_of(outcome).relation) == ({"for": 3, "against": 2}, "decided a split")
    assert outcome.trust
    assert "asked the other way round, most independent answers said another thing" in outcome.trust.reasons


async def test_a_quick_duel_has_no_poll_and_no_seat_for_one() -> None:
    stage = Stage(answers(5), settings={"max_rounds": 1})
    await stage.run()
    assert [kind for _, kind, _ in await stage.order()] == ["argument", "argument", "verdict"]
    assert "voter" not in stage.new.seats


async def test_ballots_for_which_there_are_no_tokens_are_left_out_and_that_is_a_reason() -> None:
    stage, outcome = await played(answers(5), max_check_output_tokens=700)
    assert sum(kind == "ballot" for _, kind, _ in await stage.order()) == 3
    assert outcome.trust
    left_out = "independent answers were left out: max_check_output_tokens leaves no room for them"
    assert left_out in outcome.trust.reasons


async def test_a_careful_poll_costs_about_as_much_as_its_debate() -> None:
    stage, outcome = await played(answers(25), depth="careful", ballots=None, max_check_output_tokens=100_000)
    poll, turns = poll_of(outcome), await stage.turns()
    spent = sum(turn.usage.input_tokens + turn.usage.output_tokens for turn in turns if turn.kind != "ballot")
    assert 5 < poll.number <= 25
    assert poll.number == 25 or abs(poll.tokens / spent - 1) < 0.2


async def test_the_models_that_debate_are_asked_in_turn_each_in_both_wordings() -> None:
    models = {"debater_b": "scripted:other"}
    stage = Stage(answers(5), settings={**ROUND, "ballots": 4, "models": models}, models=models)
    await stage.run()
    assert [turn.model for turn in (await stage.turns())[:4]] == [*["scripted:model"] * 2, *["scripted:other"] * 2]


async def test_the_voter_has_the_model_of_the_debaters_unless_it_has_its_own() -> None:
    app = scripted_app(ScriptedModel(answers(5)))
    settings: dict[str, Any] = {"ballots": 2, "model_debater": "scripted:debater"}
    like = await app.create("duel", "Cats?", settings)
    own = await app.create("duel", "Cats?", {**settings, "models": {"voter": "scripted:voter"}})
    assert [record.seats["voter"].model for record in (like, own)] == ["scripted:debater", "scripted:voter"]


async def test_an_estimate_counts_the_ballots_and_max_cost_needs_no_more_than_it_allows() -> None:
    app = scripted_app(ScriptedModel(answers(5)), prices={"scripted:model": Price(input=0, output=1000)})
    settings: dict[str, Any] = {"depth": "normal", "judgings": 2, "max_rounds": 1}
    without, with_poll = [await app.estimate("duel", "Cats?", {**settings, "ballots": number}) for number in (0, 5)]
    assert with_poll.most.calls == without.most.calls + 5 * 2
    assert with_poll.most.output_tokens == without.most.output_tokens + 5 * 2 * 200


async def test_killed_at_any_event_a_duel_with_a_poll_is_the_same() -> None:
    settings = {"max_rounds": 1, "depth": "careful", "judgings": 2, "max_check_output_tokens": 2000}
    whole = Stage(answers(3), settings=settings)
    await whole.run()
    assert sum(kind == "ballot" for _, kind, _ in await whole.order()) > 5
    number = 1
    while True:
        stage = Stage(answers(3), settings=settings)
        if not await stage.die_at_event(number):
            break
        await stage.run()
        assert await stage.transcript() == await whole.transcript()
        assert (await stage.record()).outcome == (await whole.record()).outcome
        number += 17
    assert number > 40


async def test_a_ballot_that_cannot_be_read_is_counted_nowhere_and_told() -> None:
    def reply(request: Request) -> str:
        text = answers(5)(request)
        return "perhaps" if "ballot 1." in request.messages[1].content else text

    _, outcome = await played(reply)
    assert (poll_of(outcome).number, poll_of(outcome).unreadable) == (4, 1)
    assert outcome.trust
    assert "1 of 5 independent answers could not be read" in outcome.trust.reasons

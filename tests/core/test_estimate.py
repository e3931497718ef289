from __future__ import annotations

import pytest

from moot.core.debate import Status
from moot.core.events import Event
from moot.errors import InvalidInput
from moot.llm.client import Request
from moot.settings import Price
from moot.testing import ScriptedModel, scripted_app

VERDICT = '{"summary": "A was better.", "score_a": 8, "score_b": 3}'


def longest_replies(request: Request) -> str:
    """A model that writes as much as it may: a token is a word of four letters here."""
    return VERDICT if request.schema else "word" + " abc" * (request.max_tokens - 1)


async def test_the_most_a_debate_can_take_is_what_a_talkative_model_takes() -> None:
    model = ScriptedModel(longest_replies)
    app = scripted_app(model)
    most, typical = await app.estimate("duel", "Cats are better than dogs")
    assert model.requests == []
    record = await app.create("duel", "Cats are better than dogs")
    await app.run(record.id, lambda event: None)
    assert (most.calls, most.output_tokens, most.estimated) == (11, 10 * 600 + 400, True)
    characters = sum(len(message.content) for request in model.requests for message in request.messages)
    assert most.input_tokens == pytest.approx(characters / 4, rel=0.05)
    assert typical.input_tokens < most.input_tokens
    assert 0 < typical.cached_tokens < typical.input_tokens


async def test_an_estimate_with_a_price_has_a_cost_and_one_without_has_none() -> None:
    app = scripted_app(ScriptedModel(longest_replies))
    assert (await app.estimate("duel", "Cats?")).most.cost is None
    priced = scripted_app(ScriptedModel(longest_replies), prices={"scripted:model": Price(input=1, output=2)})
    most = (await priced.estimate("duel", "Cats?")).most
    assert most.cost == pytest.approx((most.input_tokens + 2 * most.output_tokens) / 1e6)


async def test_a_debate_ends_before_the_round_that_would_exceed_max_cost() -> None:
    app = scripted_app(ScriptedModel(longest_replies), prices={"scripted:model": Price(input=0, output=1000)})
    record = await app.create("duel", "Cats?", {"max_cost": 3.0})
    events: list[Event] = []
    ending = await app.run(record.id, events.append)
    turns = (await app.load(record.id)).turns
    assert (ending.status, ending.stop_reason) == (Status.FINISHED, "max_cost")
    assert [turn.seat for turn in turns] == ["debater_a", "debater_b"] * 2 + ["judge"]
    assert [event.type for event in events].count("limit_reached") == 1


async def test_max_cost_without_a_price_is_refused() -> None:
    app = scripted_app(ScriptedModel(longest_replies))
    with pytest.raises(InvalidInput, match="max_cost needs a price for scripted:model"):
        await app.create("duel", "Cats?", {"max_cost": 1.0})

"""How a turn was made can be looked at: the prompt is rendered again from the stored turns, word for word as sent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from moot.app import App
from moot.core.debate import Failure
from moot.core.prompts import Prompts
from moot.errors import NotFound
from moot.llm.client import Request
from moot.reading.debate import Reading
from moot.reading.inspection import inspection
from moot.testing import ScriptedModel, scripted_app
from stage import Panelists, sensible

FACT = "A cat sleeps sixteen hours a day, and a dog twelve."


async def played(model: ScriptedModel, format: str, topic: str, **settings: Any) -> tuple[App, Reading]:
    app = scripted_app(model)
    record = await app.create(format, topic, settings)
    await app.run(record.id, lambda event: None)
    return app, await app.read(record.id)


def sent(request: Request) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in request.messages]


@pytest.mark.parametrize("format", ["duel", "panel"])
async def test_every_prompt_is_shown_as_it_was_sent_also_to_those_who_spoke_side_by_side(format: str) -> None:
    model = ScriptedModel(Panelists() if format == "panel" else sensible)
    settings: dict[str, Any] = {"checkpoints": False} if format == "panel" else {"ballots": 4}
    app, reading = await played(model, format, "Cats or dogs?", max_rounds=2, **settings)
    asked = [inspection(reading, app.prompts, turn.position) for turn in reading.turns if turn.model]
    shown = [[(message.role, message.content) for message in each.prompt] for each in asked]
    assert len(shown) == len(model.requests)
    assert all(prompt in shown for prompt in map(sent, model.requests))
    assert {each.no_prompt for each in asked} == {""}
    assert {(each.max_tokens, each.temperature) for each in asked} == {
        (request.max_tokens, request.temperature) for request in model.requests
    }


async def test_the_inspection_tells_tokens_attempts_checks_and_flags() -> None:
    said = f'Rest matters: "{FACT}" [S1] And "dogs sleep all day long" [S1].'
    model = ScriptedModel(lambda request: sensible(request) if request.schema else said)
    app, reading = await played(model, "duel", "Cats?", max_rounds=1, sources=[{"name": "sleep.txt", "text": FACT}])
    turn = next(turn for turn in reading.turns if turn.kind == "argument")
    broken = Failure(
        position=turn.position, seat=turn.seat, kind=turn.kind, round=1, partial="Re", code="x", message="529", at=1.0
    )
    stored = reading.stored._replace(failures=(broken,))
    found = inspection(Reading(stored, reading.format), app.prompts, turn.position)
    assert (found.title, found.kind, found.round, found.content) == ("Debater A", "argument", 1, said)
    assert (found.model, found.usage, found.flags) == (turn.model, turn.usage, list(turn.marks))
    assert [(each.message, each.partial) for each in found.tries] == [("529", "Re")]
    assert found.checks[0] == "1 of 2 quotes stand word for word in a source"
    assert any("dogs sleep all day long" in check for check in found.checks[1:])


async def test_what_no_model_said_has_no_prompt_and_says_why() -> None:
    app, reading = await played(ScriptedModel(Panelists()), "panel", "Redis?", max_rounds=1)
    await app.reply(reading.record.id, "approve")
    await app.run(reading.record.id, lambda event: None)
    reading = await app.read(reading.record.id)
    found = inspection(reading, app.prompts, reading.turns[-1].position)
    assert (found.seat, found.prompt, found.no_prompt.partition(":")[0]) == ("human", [], "no model was asked")


async def test_a_turn_that_there_is_not_and_one_of_another_version_say_so() -> None:
    app, reading = await played(ScriptedModel(sensible), "duel", "Cats?", max_rounds=1)
    with pytest.raises(NotFound, match=f"{reading.record.id} has no turn 99; its turns are 0 to"):
        inspection(reading, app.prompts, 99)
    renamed = (replace(reading.turns[0], kind="of_old"), *reading.turns[1:])
    changed = Reading(reading.stored._replace(turns=renamed), reading.format)
    last = renamed[-1].position
    found = inspection(changed, Prompts(), last)
    assert (found.prompt, found.no_prompt) == ([], "this turn was asked for by another version of its format")

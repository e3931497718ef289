"""One whole critique with the model that comes with moot."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from moot.app import App
from moot.core.debate import Status
from moot.core.events import Event, TurnChunk
from moot.core.prompts import Prompts
from moot.formats import by_name
from moot.formats.critique.final_answer import FinalAnswer
from moot.formats.critique.format import CRITIQUE
from moot.llm.models import Models
from moot.settings import AppSettings
from moot.testing import MemoryStore

TOPIC = "Prove that the square root of 2 is irrational"
SETTINGS: dict[str, JsonValue] = {
    "max_rounds": 1,
    "rag_top_k": 1,
    "max_tokens": {"proposer": 20, "skeptic": 60, "synthesizer": 20},
}


@pytest.mark.local_model
async def test_the_built_in_model_comes_to_an_answer_with_its_issues_and_the_templates_it_had() -> None:
    app = App(AppSettings(model="local:smollm2"), MemoryStore(), lambda: Models({}), by_name([CRITIQUE]), Prompts)
    events: list[Event] = []
    try:
        record = await app.create("critique", TOPIC, SETTINGS)
        ending = await app.run(record.id, events.append)
        stored = await app.load(record.id)
    finally:
        await app.close()
    assert (ending.status, ending.error) == (Status.FINISHED, None)
    outcome = FinalAnswer.model_validate(ending.outcome)
    assert outcome.templates == {"proof-by-contradiction": "Proof by contradiction"}
    assert [each.round for each in outcome.rounds] == [1, 0]
    assert outcome.summary == stored.turns[-2].content != ""
    critiques = [turn for turn in stored.turns if turn.kind in ("critique", "review")]
    assert [each.score is None for each in outcome.rounds] == ["fallback" in turn.marks for turn in critiques]
    assert [issue.number for issue in outcome.issues] == list(range(1, len(outcome.issues) + 1))
    for turn in stored.turns:
        shown = [event for event in events if isinstance(event, TurnChunk) and event.position == turn.position]
        one_by_one = (
            turn.kind == "templates" or len(shown) > 1 or len(turn.content.split()) <= 5 or "fallback" in turn.marks
        )
        assert one_by_one, f"the words of {turn} come one by one"

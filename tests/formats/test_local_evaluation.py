"""One whole evaluation of a sample idea with the model that comes with moot."""

from __future__ import annotations

from pathlib import Path

import pytest

from moot.app import App
from moot.core.debate import Status
from moot.core.prompts import Prompts
from moot.formats import by_name
from moot.formats.evaluation.format import EVALUATION
from moot.formats.evaluation.ideas import read
from moot.formats.evaluation.scorecard import Scorecard
from moot.formats.evaluation.settings import DEFAULT_TOPICS
from moot.llm.models import Models
from moot.settings import AppSettings
from moot.testing import MemoryStore

CAPS = {"evaluator": 150, "red_team": 150, "advocate": 80, "challenger": 80, "arbiter": 200}
EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "ideas"


@pytest.mark.local_model
async def test_the_built_in_model_evaluates_a_sample_idea_to_a_scorecard_and_a_report() -> None:
    idea = read(EXAMPLES / "second-hearing")
    app = App(AppSettings(model="local:smollm2"), MemoryStore(), lambda: Models({}), by_name([EVALUATION]), Prompts)
    try:
        short = str(idea.settings["idea"])[:500]  # it reads a hundred words a second
        topics = [DEFAULT_TOPICS[0].model_dump()]
        settings = {**idea.settings, "idea": short, "topics": topics, "exchanges": 0, "max_tokens": CAPS}
        record = await app.create("evaluation", idea.topic, settings)
        ending = await app.run(record.id, lambda event: None)
        stored = await app.load(record.id)
    finally:
        await app.close()
    assert (ending.status, ending.error, ending.stop_reason) == (Status.FINISHED, None, "completed")
    card = Scorecard.model_validate(ending.outcome)
    assert [topic.name for topic in card.topics] == ["Problem validity"]
    assert all(0 <= score <= 10 for one in card.categories for score in (one.before, one.after))
    for topic in card.topics:
        (turn,) = [turn for turn in stored.turns if (turn.kind, turn.round) == ("verdict", topic.number)]
        assert topic.fallback == ("fallback" in turn.marks)
    assert card.document(stored.record, stored.turns).startswith(f"# Evaluation: {idea.topic}\n")

"""How far an outcome holds, on every surface: one block, told in the same words."""

from __future__ import annotations

import json

from moot.app import App
from moot.export.documents import export
from moot.integrations.mcp.views import report_on
from moot.llm.client import Request
from moot.terminal.tables import outcome_text
from moot.testing import ScriptedModel, SimulatedJudge, scripted_app
from moot.web.openai.words import concluded
from stage import ANALYSIS, SYNTHESIS, Panelists

TOLD = "holds in 2 of 2 judgings, margin 4.0 (1.6 to 6.4)"
POLLED = "2 independent answers: 2 for, 0 against"


def replies(request: Request) -> str:
    if request.schema and "choice" in request.schema.schema["properties"]:
        return json.dumps({"reason": "So.", "choice": "no" if "Is it false" in request.messages[-1].content else "yes"})
    return SimulatedJudge((8, 4)).reply(request)


async def shown(app: App, debate_id: str) -> dict[str, str]:
    reading = await app.read(debate_id)
    assert reading.outcome
    return {
        "terminal": outcome_text(reading.outcome, reading.reason),
        "markdown": export(reading, "md"),
        "html": export(reading, "html"),
        "/v1": concluded(reading),
        "mcp": (await report_on(app, debate_id)).model_dump_json(),
        "json": json.dumps(reading.trace, default=str),
    }


async def test_how_far_a_verdict_holds_is_told_on_every_surface() -> None:
    app = scripted_app(ScriptedModel(replies))
    record = await app.create("duel", "Cats?", {"max_rounds": 1, "depth": "normal", "ballots": 2, "ledger": "off"})
    await app.run(record.id, lambda event: None)
    for surface, text in (await shown(app, record.id)).items():
        assert TOLD in text, surface
        assert POLLED in text, surface


async def test_what_a_panel_s_votes_and_independent_answers_say_is_told_on_every_surface() -> None:
    panelists = Panelists(
        analysis={**ANALYSIS, "options": ["Redis", "Postgres"]},
        choice={"reason": "It is fast.", "choice": ["A"]},
        synthesis={**SYNTHESIS, "chosen": "A"},
    )
    app = scripted_app(ScriptedModel(panelists))
    settings = {"max_rounds": 1, "checkpoints": False, "depth": "normal", "ballots": 2, "ledger": "off"}
    record = await app.create("panel", "Redis or Postgres?", settings)
    await app.run(record.id, lambda event: None)
    for surface, text in (await shown(app, record.id)).items():
        assert "2 independent answers: " in text, surface
        assert "the perspectives voted" in text, surface

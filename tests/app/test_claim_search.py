"""Claims over all debates: found by their words, with who made them and how they ended."""

from __future__ import annotations

import json

import pytest

from moot.app.claims import find_claims
from moot.errors import InvalidInput
from moot.llm.client import Request
from moot.testing import ScriptedModel, scripted_app
from stage import FAST, A, B, Panelists


def reply(request: Request) -> str:
    if request.schema is None:
        return "The TUNNEL pays for itself by 100%_sure tolls."
    if "claims" in request.schema.schema["properties"]:
        claim = {"quote": "The TUNNEL pays for itself", "text": "Tolls cover the tunnel by 100%_sure."}
        return json.dumps({"note": "n", "claims": [claim]})
    return json.dumps(
        {"summary": "So.", f"score_{A.lower()}": 8, f"score_{B.lower()}": 3, "reason": "r", "choice": "yes"}
    )


async def test_a_claim_is_found_by_its_words_and_a_list_finds_its_debate() -> None:
    app = scripted_app(ScriptedModel(reply))
    record = await app.create("duel", "Should it be built?", {"max_rounds": 1, "judgings": 1, "ledger": "end"})
    await app.run(record.id, lambda event: None)
    for words in ("tunnel", "TOLLS cover", "100%_sure", "for itself"):
        (found,) = await find_claims(app, words)
        assert (found.reading.record.id, found.who, found.claim.status) == (record.id, "Debater A", "unanswered")
        assert [each.id for each in await app.list(words=words.split()[0])] == [record.id]
    assert await find_claims(app, "bridge") == []


async def test_whoever_was_cast_for_a_perspective_is_named_by_it() -> None:
    said = {"quote": "Redis is fast enough for us", "text": "Redis is fast enough.", "answers": []}
    panelists = Panelists(opening="Redis is fast enough for us.", notes={"note": "n", "claims": [said]})
    app = scripted_app(ScriptedModel(panelists))
    record = await app.create("panel", "Redis?", {"max_rounds": 1, "checkpoints": False, "ledger": "end"})
    await app.run(record.id, lambda event: None)
    (found,) = await find_claims(app, "redis fast")
    assert found.as_json() == {
        "debate": record.id,
        "title": "Redis?",
        "who": FAST,
        **found.claim.model_dump(mode="json"),
    }


async def test_nothing_to_look_for_is_refused() -> None:
    with pytest.raises(InvalidInput, match="say what the claim is about"):
        await find_claims(scripted_app(ScriptedModel(reply)), "  ")

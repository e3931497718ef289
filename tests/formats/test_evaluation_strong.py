"""Evaluations of a strong model, sincere and dishonest: as version 1 asked for them, and in the same words today."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from moot.core.format import AnyFormat
from moot.formats.evaluation.format import EVALUATION
from moot.formats.evaluation.scorecard import Scorecard
from moot.llm.client import Request
from stage import Stage
from strong_debates import FOLDER

FIRST = EVALUATION.as_of(1)
PASSAGE = ('but: "set has paid', 'but: "a set has paid')
"""Passages have come to begin at their first word since."""
PATIENT = {"max_runtime_seconds": 1e6}
KINDS = {
    "arguments": "argument",
    "reply": "answer",
    "judgment": "verdict",
    "scores": "scores",
    "redteam": "challenges",
}


def kept(name: str) -> Any:
    return orjson.loads((FOLDER / f"evaluation-{name}.json").read_bytes())


def same_words(debate: Any) -> Callable[[Request], str]:
    """Every seat says on every topic what it said then."""

    def reply(request: Request) -> str:
        asked = request.messages[-1].content
        kind = KINDS[request.schema.name if request.schema else "reply"]
        said = [turn for turn in debate["turns"] if turn["kind"] == kind]
        if kind in ("scores", "challenges"):
            return str(said[0]["reply"])
        for turn in said:
            topic = debate["settings"]["topics"][turn["round"] - 1]
            own = f"Your position: {topic.get(turn['seat'])}\n"
            if f": {topic['name']}.\n" in asked and (own in asked or kind == "verdict"):
                return str(turn["reply"])
        raise AssertionError(asked)

    return reply


async def played(name: str, format: AnyFormat = EVALUATION) -> tuple[Scorecard, Stage]:
    debate = kept(name)
    stage = Stage(same_words(debate), format=format, topic=debate["topic"], settings=debate["settings"] | PATIENT)
    ending = await stage.run()
    assert ending.outcome, ending.error
    return Scorecard.model_validate(ending.outcome), stage


async def test_version_1_asks_as_it_did_and_comes_to_what_it_came_to() -> None:
    debate = kept("1-fake-quotes")
    card, stage = await played("1-fake-quotes", FIRST)
    for request, then in zip(stage.model.requests, debate["requests"], strict=True):
        messages = [{"role": each.role, "content": each.content} for each in request.messages]
        assert messages == [each | {"content": each["content"].replace(*PASSAGE)} for each in then["messages"]]
        assert (request.max_tokens, request.temperature) == (then["max_tokens"], then["temperature"])
        schema = {"name": request.schema.name, "schema": request.schema.schema} if request.schema else None
        assert schema == then.get("schema")
    now, then = card.model_dump(mode="json"), Scorecard.model_validate(debate["outcome"] | {"models": {}})
    models = {"caveats": now["caveats"][:-1] + then.caveats[-1:], "models": {}, "ledger": None}
    assert Scorecard.model_validate(now | models) == then


async def test_an_invented_quote_in_a_rebuttal_moves_no_score() -> None:
    card, stage = await played("1-fake-quotes")
    assert [(one.category, one.difference) for one in card.categories] == [
        ("market", 0),
        ("problem", 0),
        ("solution", 0),
    ]
    (topic,) = card.topics
    assert (topic.winner, topic.held_back, topic.change) == ("draw", "misquotes", 0)
    assert topic.misquoted == [
        "Advocate: “Cooperatives and municipal landlords own about 46 million flats in our country.”",
        "Advocate: “a set has paid for itself after about two years”",
        "Advocate: “every landlord has already signed with us”",
        "Advocate: “service costs are zero”",
    ]
    assert card.summary == "Of 1 topic the advocate won 0 and the challenger 0. Overall the idea stays at 6.2."
    assert card.lead == ""
    assert card.caveats[0] == "4 of 4 quotes of the Advocate do not stand in the idea"
    arbiter = stage.model.requests[-1].messages[-1].content
    assert 'quoted what does not stand there: "every landlord has already signed with us"\n' in arbiter
    assert "Every quote was compared" not in arbiter
    document = card.document(await stage.record(), await stage.turns())
    assert "## 1. Market opportunity: open, Advocate leads 7 : 5" in document


SAID_LATER = "Challenger: “The hot water saves all residents energy”"
"""Here the challenger speaks first on the second topic, and quotes what the advocate says only after it."""


@pytest.mark.parametrize(
    ("name", "given", "misquoted", "moved"),
    [
        ("solar", 23, [[], [SAID_LATER], []], [-0.56, 0, -0.84]),
        ("shared-canteen", 4, [[]], [-0.56]),
        ("repair-bus", 5, [[]], [-1.4]),
    ],
)
async def test_in_sincere_evaluations_every_quote_stands(
    name: str, given: int, misquoted: list[list[str]], moved: list[float]
) -> None:
    card, _ = await played(name)
    assert [topic.misquoted for topic in card.topics] == misquoted
    assert sum(count.given for topic in card.topics for count in topic.quotes.values()) == given
    assert [topic.change for topic in card.topics] == moved


# Claims, as they are read by hand

GIVEN = {
    (1, "advocate"): {"gives_up": [3], "grants": [1, 3]},
    (2, "advocate"): {"gives_up": [], "grants": [1]},
    (2, "challenger"): {"gives_up": [3], "grants": [2]},
    (3, "advocate"): {"gives_up": [], "grants": [2]},
}
"""What the answers take back and grant, of which version 1 had no form: "I concede that my third argument shows an
annoyance", "where there is none, that part fails, and I concede it", "no landlord has signed is true"."""


async def test_the_claims_of_a_strong_evaluation_end_as_read_by_hand() -> None:
    debate = kept("solar")
    for turn in debate["turns"]:
        if turn["kind"] == "answer":
            given = GIVEN.get((turn["round"], turn["seat"]), {"gives_up": [], "grants": []})
            turn["reply"] = orjson.dumps({"answer": turn["reply"], **given}).decode()
    stage = Stage(same_words(debate), format=EVALUATION, topic=debate["topic"], settings=debate["settings"] | PATIENT)
    ledger = Scorecard.model_validate((await stage.run()).outcome).ledger
    assert ledger
    ended = {claim.text: claim.status for claim in ledger.claims if claim.status not in ("contested", None)}
    assert ended == {
        "Owning a set does not solve it, because much of the yield is lost.": "withdrawn",
        "The 19 wishes are weak evidence: one building, known founders, no price named.": "conceded",
        "The loss of surplus is small money for one household.": "conceded",
        "The 27% depends on a shared electric heater, so the result does not carry over.": "conceded",
        "Renting with take-back removes the tenant's real obstacle, which is the risk of moving.": "conceded",
        "Two requests for removal are a warning the case plays down.": "withdrawn",
        "No landlord's willingness is shown, only asserted.": "conceded",
    }
    assert [claim.seat for claim in ledger.claims if claim.status is None] == ["advocate"] * 3
    assert len(ledger.claims) == 21

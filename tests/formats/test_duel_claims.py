"""The claims of a duel: noted by a scribe nobody argues with, followed by code, and named by the judgings."""

from __future__ import annotations

import json
from collections import Counter
from itertools import count
from typing import Any

import pytest

from claimants import CLAIMS, company, played
from moot.core.stored import StoredDebate
from moot.export.documents import export
from moot.llm.client import Request
from moot.reading.debate import Reading
from stage import A, B, Stage

NEW = "Reason number {} was never given before"


async def test_claims_are_noted_before_the_verdict_and_judges_read_how_they_ended() -> None:
    stage, outcome = await played(company())
    assert [(seat, kind) for seat, kind, _ in (await stage.order())[2:]] == [
        ("scribe", "claims"),
        ("judge", "verdict"),
        ("judge", "rejudging"),
    ]
    assert outcome.ledger
    assert [(each.id, each.seat, each.status) for each in outcome.ledger.claims] == [
        ("C1", "debater_a", "contested"),
        ("C2", "debater_a", "unanswered"),
        ("C3", "debater_b", "untested"),
    ]
    shown, mirrored = (request.messages[-1].content for request in stage.model.requests[-2:])
    assert f"{A}:\n- C1 (contested): The tunnel pays.\n- C2 (unanswered): It saves time, says {A}." in shown
    assert f"{B}:\n- C1 (contested): The tunnel pays.\n- C2 (unanswered): It saves time, says {B}." in mirrored
    assert mirrored.index("C3 (untested)") < mirrored.index("C1 (contested)"), "the side shown first comes first"


async def test_what_the_judgings_name_decides_and_stands_in_the_trust() -> None:
    _, outcome = await played(company())
    assert outcome.trust
    assert outcome.trust.claims
    assert outcome.trust.claims.text == "decided by C2 (2 of 2)"
    assert "decided by C2 (2 of 2)" in outcome.trust_text()
    assert outcome.trust.claims.counts == {"contested": 1, "unanswered": 1, "untested": 1}


async def test_a_verdict_that_rests_on_the_loser_s_claims_is_trusted_less() -> None:
    _, sound = await played(company())
    _, unsound = await played(company(because=("C3",)))
    assert sound.trust
    assert unsound.trust
    assert unsound.trust.reasons[0] == "every claim that the judgings name has fallen, or speaks for the other side"
    assert (sound.trust.level, unsound.trust.level) == ("Medium", "Low")


async def test_claims_that_there_are_not_are_counted_and_change_nothing_else() -> None:
    _, outcome = await played(company(because=("C2", "C44")))
    assert outcome.trust
    assert outcome.trust.claims
    assert (outcome.trust.claims.unknown, outcome.trust.claims.text) == (2, "decided by C2 (2 of 2)")
    assert "judgings name 2 claims that there are not" in outcome.trust.reasons


async def test_notes_that_cannot_be_read_leave_the_verdict_and_say_so() -> None:
    stage, outcome = await played(company(claims="nothing"))
    assert outcome.winner == "a"
    assert outcome.ledger
    assert outcome.ledger.by_code
    assert outcome.trust
    assert "no claims could be followed: the scribe's notes could not be used" in outcome.trust.reasons
    assert '"because"' not in stage.model.requests[-1].messages[-1].content


async def test_notes_whose_words_nobody_said_are_told_as_such_and_no_judge_is_asked_for_them() -> None:
    made_up = [{"quote": "a thing nobody said", "text": "No.", "answers": []}]
    stage, outcome = await played(company(claims=made_up))
    assert outcome.ledger
    assert (outcome.ledger.by_code, outcome.ledger.quotes_left_out, len(outcome.ledger.claims) > 0) == (True, 1, True)
    assert outcome.trust
    assert "no claims could be followed: the scribe's notes could not be used" in outcome.trust.reasons
    assert '"because"' not in stage.model.requests[-1].messages[-1].content


async def test_nobody_who_argues_reads_the_notes_and_without_a_scribe_nothing_changes() -> None:
    def speeches(stage: Stage) -> list[object]:
        return [request.messages for request in stage.model.requests if request.schema is None]

    noted, _ = await played(company(), max_rounds=2)
    without, outcome = await played(company(because=()), max_rounds=2, ledger="off")
    assert speeches(noted) == speeches(without)
    assert outcome.ledger is None
    assert outcome.trust
    assert outcome.trust.claims is None


@pytest.mark.parametrize(
    "again", [[], CLAIMS, [{"quote": "words that nobody in here has ever said", "text": "So.", "answers": []}]]
)
async def test_what_was_noted_before_or_said_by_nobody_is_no_new_claim(again: list[Any]) -> None:
    rounds = iter([CLAIMS, again, again, again])
    replies = company()

    def by_round(request: Request) -> str:
        if request.schema and "claims" in request.schema.schema["properties"]:
            return json.dumps({"note": "n", "claims": next(rounds)})
        return replies(request)

    stage, _ = await played(by_round, max_rounds=5, ledger="rounds")
    assert (await stage.record()).stop_reason == "no_new_claims"
    assert [turn.round for turn in await stage.turns() if turn.seat == "scribe"] == [1, 2, 3]


async def test_noted_each_round_speakers_are_told_what_is_unanswered_and_no_new_claim_ends_it() -> None:
    rounds = iter([CLAIMS, [], [], []])
    replies = company()

    def by_round(request: Request) -> str:
        if request.schema and "claims" in request.schema.schema["properties"]:
            return json.dumps({"note": "n", "claims": next(rounds)})
        return replies(request)

    stage, outcome = await played(by_round, max_rounds=5, ledger="rounds")
    speeches = [request for request in stage.model.requests if request.schema is None]
    assert "nobody has answered it yet" not in speeches[1].messages[-1].content
    assert "nobody has answered it yet:\n- It does not pay.\n" in speeches[2].messages[-1].content
    assert f"- It saves time, says {A}." in speeches[3].messages[-1].content
    assert (await stage.record()).stop_reason == "no_new_claims"
    assert [turn.round for turn in await stage.turns() if turn.seat == "scribe"] == [1, 2, 3]
    assert outcome.ledger
    assert len(outcome.ledger.claims) == 3


async def test_what_is_left_out_for_a_limit_is_said() -> None:
    stage, outcome = await played(company(), max_check_output_tokens=0)
    assert not any(turn.seat == "scribe" for turn in await stage.turns())
    assert outcome.trust
    assert "claims were not noted: the limits leave no room for it" in outcome.trust.reasons


async def test_claims_of_later_rounds_that_a_limit_left_out_are_said_too() -> None:
    stage, outcome = await played(company(), max_rounds=3, ledger="rounds", max_check_output_tokens=2405)
    assert [turn.round for turn in await stage.turns() if turn.seat == "scribe"] == [1]
    assert outcome.trust
    assert "claims of the last speeches were not noted: the limits leave no room for it" in outcome.trust.reasons


async def test_a_careful_duel_of_five_rounds_has_room_for_all_it_promises() -> None:
    said, given = company(scores=(6, 6)), count(1)

    def at_length(request: Request) -> str:
        """A note of 500 words, a judging of 250, a ballot of 50: about as much as a strong model writes."""
        if request.schema is None:
            return f"{said(request)} {NEW.format(next(given))}."
        properties = request.schema.schema["properties"]
        if "choice" in properties:
            return json.dumps({"reason": "so " * 45, "choice": "yes"})
        if "claims" not in properties:
            return json.dumps({**json.loads(said(request)), "summary": "so " * 240})
        new = [{"quote": NEW.format(number), "text": "So.", "answers": []} for number in range(1, 11)]
        return json.dumps({"note": "so " * 450, "claims": new})

    settings = {"max_rounds": 5, "depth": "careful", "judgings": None, "ledger": None, "max_runtime_seconds": 1e6}
    stage, outcome = await played(at_length, **settings)
    kinds = Counter(kind for _, kind, _ in await stage.order())
    assert (kinds["claims"], kinds["rejudging"]) == (5, 7)
    assert outcome.trust
    assert [reason for reason in outcome.trust.reasons if "left out" in reason or "not noted" in reason] == []


async def test_as_argdown_there_is_a_statement_for_each_claim_with_its_status() -> None:
    stage, _ = await played(company())
    reading = Reading(StoredDebate(await stage.record(), tuple(await stage.turns())), stage.format)
    assert export(reading, "argdown").endswith(
        """
[C1]: The tunnel pays\\. #(Debater A) #(contested) {turns: [0]}

[C2]: It saves time, says Debater A. #(Debater A) #(unanswered) {turns: [0]}

[C3]: It does not pay. #(Debater B) #(untested) {turns: [1]}
  -> [C1]
""".replace("\\.", ".")
    )

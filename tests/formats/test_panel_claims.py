"""The claims of a panel: noted before it votes or after each round, and named by its record."""

from __future__ import annotations

from typing import Any

from moot.core.debate import Status
from moot.formats.panel.decision import Decision
from moot.formats.panel.format import PANEL
from stage import FAST, SYNTHESIS, Panelists, Stage


def notes(*quotes: str) -> dict[str, Any]:
    claims = [{"quote": quote, "text": f"Held: {quote}", "answers": []} for quote in quotes]
    return {"note": "It turns on speed.", "claims": claims}


def speaking(**parts: Any) -> Panelists:
    spoken = {"opening": lambda call: f"{call.name} holds that it is right in round {call.number}.", **parts}
    return Panelists(**{"notes": notes(f"{FAST} holds that it is right in round 1"), **spoken})


async def played(panelists: Panelists, **settings: Any) -> tuple[Stage, Decision]:
    chosen = {"checkpoints": False, "max_rounds": 1, "ledger": "end", **settings}
    stage = Stage(panelists, format=PANEL, settings=chosen)
    ending = await stage.run()
    assert ending.status is Status.FINISHED, ending.error
    return stage, Decision.model_validate(ending.outcome)


async def test_claims_are_noted_before_the_record_which_names_those_that_decide() -> None:
    panelists = speaking(synthesis={**SYNTHESIS, "because": ["C1", "C7"]})
    stage, outcome = await played(panelists)
    kinds = [kind for _, kind, _ in await stage.order()]
    assert kinds.index("claims") < kinds.index("synthesis")
    assert outcome.ledger
    assert [(claim.id, claim.status) for claim in outcome.ledger.claims] == [("C1", "unanswered")]
    assert outcome.trust
    assert outcome.trust.claims
    assert (outcome.trust.claims.text, outcome.trust.claims.unknown) == ("decided by C1 (1 of 1)", 1)
    asked = [request.messages[-1].content for request in panelists.requests]
    record = next(text for text in asked if "Write the decision record" in text)
    assert f"- C1 ({FAST}, unanswered): Held: {FAST} holds" in record


async def test_the_scribe_reads_what_everybody_reads_and_notes_no_moderator_and_nobody_reads_the_scribe() -> None:
    panelists = speaking()
    await played(panelists)
    scribe = next(request for request in panelists.requests if "You are now the scribe" in request.messages[-1].content)
    told = "\n".join(message.content for message in scribe.messages)
    assert f"{FAST} holds that it is right in round 1." in told
    assert "The moderator wants point" in told, "its prompt begins as those of others do"
    assert "Note nothing from Moderator, who takes no side." in told
    others = [request for request in panelists.requests if request is not scribe]
    assert not any("It turns on speed." in message.content for request in others for message in request.messages)


async def test_noted_each_round_speakers_hear_what_is_unanswered_and_two_rounds_without_a_claim_end_it() -> None:
    panelists = speaking(notes=[notes(f"{FAST} holds that it is right in round 1"), notes(), notes()])
    stage, outcome = await played(panelists, max_rounds=5, ledger="rounds")
    assert (await stage.record()).stop_reason == "no_new_claims"
    told = f"nobody has answered it yet:\n- Held: {FAST} holds"
    asked = [request.messages[-1].content for request in panelists.requests if request.schema is None]
    heard = [text for text in asked if told in text]
    assert heard
    assert not any(f"You are {FAST}." in text for text in heard), "nobody answers oneself"
    assert outcome.ledger
    assert len(outcome.ledger.claims) == 1


async def test_a_record_that_names_only_what_was_taken_back_is_trusted_less() -> None:
    held, taken_back = f"{FAST} holds that it is right in round 1", f"{FAST} holds that it is right in round 2"
    noted = notes(held, taken_back)
    noted["claims"][1]["answers"] = [{"claim": "C1", "how": "withdraws"}]
    _, sound = await played(speaking(notes=noted, synthesis={**SYNTHESIS, "because": ["C2"]}), max_rounds=2)
    _, unsound = await played(speaking(notes=noted, synthesis={**SYNTHESIS, "because": ["C1"]}), max_rounds=2)
    assert sound.trust
    assert unsound.trust
    reason = "every claim that the record names was dropped or withdrawn"
    assert (reason in sound.trust.reasons, reason in unsound.trust.reasons) == (False, True)


async def test_a_quick_panel_has_no_scribe() -> None:
    stage, outcome = await played(speaking(), ledger="off")
    assert "scribe" not in {seat for seat, _, _ in await stage.order()}
    assert outcome.ledger is None

"""The critique, version 2: every issue has a ruling, replies are a form, and the skeptic reads the final answer."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from critics import ANSWER, PROPOSAL, Critics, Library, asked, critique, fine, issue, outcome_of, staged
from pydantic import JsonValue

from moot.core.events import TurnFinished
from moot.core.stored import StoredDebate
from moot.formats.critique.final_answer import FinalAnswer
from moot.formats.critique.format import CRITIQUE
from moot.llm.client import Request
from moot.reading.debate import Reading
from stage import Stage
from strong_debates import calls, spoken, words

SNAPSHOTS = Path(__file__).parent.parent / "snapshots" / "critique-2"
ONE = {"min_rounds": 1, "max_rounds": 1}
TWO = {"min_rounds": 1, "max_rounds": 2}


def ruled(status: str, *numbers: int, why: str = "Now it is shown.") -> dict[str, JsonValue]:
    return {"rulings": [{"issue": number, "status": status, "why": why} for number in numbers]}


def improved(replies: Sequence[dict[str, JsonValue]] = ()) -> str:
    return json.dumps({"replies": list(replies), "answer": "p is even, hence q too."})


def critics(*critiques: str, proposals: Sequence[str] = (), answer: str = ANSWER) -> Any:
    """A critique for each round, the last for the final answer; and what the proposer says from round 2 on."""

    def reply(request: Request) -> str:
        now = request.messages[-1].content
        round = int(found[1]) if (found := re.search(r"This is round (\d+)", now)) else 0
        if request.schema and request.schema.name == "critique":
            return critiques[round - 1]
        if request.schema:
            return proposals[round - 2] if proposals else improved()
        return answer if "You are the Synthesizer." in now else PROPOSAL

    return reply


def played(*critiques: str, settings: Any = ONE, **more: Any) -> Stage:
    return staged(critics(*critiques, **more), settings, format=CRITIQUE)


async def statuses(stage: Stage) -> list[str]:
    return [issue.status for issue in (await outcome_of(stage)).issues]


@pytest.mark.parametrize(
    ("number", "name"), list(enumerate(["proposal", "critique", "defence", "ruling", "answer", "review"]))
)
async def test_the_requests_of_a_critique_are_those_of_the_snapshots(number: int, name: str) -> None:
    reply = improved([{"issue": 1, "reply": "Since q² = 2r²."}])
    stage = played(critique(), fine(6, ready=False), fine(), settings=TWO, proposals=[reply])
    await stage.run()
    messages = stage.model.requests[number].messages
    text = "".join(f"──── {message.role} ────\n{message.content}\n" for message in messages)
    file = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("REWRITE_SNAPSHOTS"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


# Rulings


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({}, "open"),
        ({"rulings": []}, "open"),
        (ruled("answered", 1), "answered"),
        (ruled("withdrawn", 1), "withdrawn"),
        (ruled("upheld", 1), "open"),
        (ruled("answered", 2), "open"),
        ({"rulings": [*ruled("answered", 1)["rulings"], *ruled("upheld", 1)["rulings"]]}, "open"),  # type: ignore[misc]
        ({"rulings": {"issue": "Issue 1", "status": "Answered."}}, "answered"),
        ({"rulings": ["1 is answered", 7, None]}, "open"),
    ],
)
async def test_an_issue_that_is_not_ruled_on_stays_open_whatever_was_replied(said: Any, status: str) -> None:
    noted = improved([{"issue": 1, "reply": "Noted."}])
    stage = played(critique(), fine(6, ready=False, **said), fine(6, ready=False), settings=TWO, proposals=[noted])
    assert await statuses(stage) == [status]


async def test_a_critique_without_a_score_rules_on_nothing() -> None:
    stage = played(critique(), fine(None, **ruled("answered", 1)), fine(6, ready=False), settings=TWO)
    assert await statuses(stage) == ["open"]


@pytest.mark.parametrize(
    ("severity", "ready", "ends"), [("major", True, False), ("minor", True, True), ("minor", False, False)]
)
async def test_rounds_end_early_only_without_a_grave_issue_and_not_against_the_skeptic_s_word(
    severity: str, ready: bool, ends: bool
) -> None:
    stage = played(critique(issue(severity=severity), score=6, ready=ready), *[fine(6, ready=False)] * 2, settings=TWO)
    outcome = await outcome_of(stage)
    assert outcome.ended == ("no_grave_issues" if ends else "max_rounds")
    assert len([each for each in outcome.rounds if each.round]) == (1 if ends else 2)


# Replies


@pytest.mark.parametrize(
    ("concedes", "how", "ends"),
    [(True, "concedes", ["conceded", "gives way"]), (False, "attacks", ["contested", "untested"])],
)
async def test_a_reply_that_concedes_is_no_attack(concedes: bool, how: str, ends: list[str]) -> None:
    reply = improved([{"issue": 1, "concedes": concedes, "reply": "Die Annahme war nicht gezeigt."}])
    stage = played(critique(), fine(6, ready=False), fine(6, ready=False), settings=TWO, proposals=[reply])
    await stage.run()
    reading = Reading(StoredDebate(await stage.record(), await stage.turns()), CRITIQUE)
    assert (ledger := reading.ledger)
    assert [link.how for link in ledger.claims[1].links] == [how]
    assert [claim.status for claim in ledger.claims] == ends
    points = {point.key: point for point in reading.points}
    attacked, supported = points["reply-1"].attacks, points["reply-1"].supports
    assert (attacked, supported) == (((), ("issue-1",)) if concedes else (("issue-1",), ()))


async def test_replies_stand_in_a_field_of_their_own_in_any_language() -> None:
    reply = improved([{"issue": 1, "reply": "Weil q² = 2r² ist."}])
    stage = played(critique(), fine(), fine(), settings=TWO, proposals=[reply])
    (tracked,) = (await outcome_of(stage)).issues
    assert (tracked.reply, tracked.replied) == ("Weil q² = 2r² ist.", 2)
    notes = {event.kind: event.notes for event in stage.events if isinstance(event, TurnFinished)}
    assert notes["proposal"] == ("issue 1: Weil q² = 2r² ist.",)
    second = asked(stage, "Skeptic")[1]
    assert "Reply to issue 1: Weil q² = 2r² ist." in second


async def test_a_defence_in_prose_is_the_answer_and_replies_to_nothing() -> None:
    stage = played(critique(), fine(), fine(), settings=TWO, proposals=["Issue 1: it is even. So p is even."])
    (tracked,) = (await outcome_of(stage)).issues
    assert (tracked.reply, tracked.status) == ("", "open")


async def test_the_answer_has_as_much_room_in_every_round_and_replies_have_their_own() -> None:
    stage = played(critique(), fine(), fine(), settings=TWO)
    await stage.run()
    first, second = (
        request for request in stage.model.requests if "You are the Proposer." in str(request.messages[-1])
    )
    assert (first.max_tokens, second.max_tokens) == (1200, 1800)
    assert "in at most 540 words" in first.messages[-1].content
    assert "in at most 540 words" in second.messages[-1].content


# The final answer


async def test_the_skeptic_reviews_the_final_answer_and_what_it_mends_is_not_open() -> None:
    stage = played(critique(issue(), issue("What is p?", "major")), fine(8, **ruled("answered", 1, why="It says why.")))
    outcome = await outcome_of(stage)
    assert [(each.number, each.status, each.why) for each in outcome.issues] == [
        (1, "answered", "It says why."),
        (2, "open", ""),
    ]
    assert (outcome.open_issues, outcome.quality_score, outcome.auto_score) == ([2], 8, 7)
    assert (await stage.order())[-2:] == [("synthesizer", "answer", None), ("skeptic", "review", None)]
    assert [row[0] for row in outcome.table()] == ["round", "1", "final answer"]


async def test_what_only_the_final_answer_gets_wrong_stands_beside_it() -> None:
    wrong = issue("Nothing was said of even twice.", "major", "even twice")
    stage = played(fine(), critique(wrong, score=4))
    outcome = await outcome_of(stage)
    (found,) = outcome.issues
    assert (found.raised, found.quoted, found.status) == (0, True, "open")
    document = outcome.document(await stage.record(), await stage.turns())
    assert "- On this answer, issue 1 (major): Nothing was said of even twice. “even twice”" in document


async def test_a_review_that_cannot_be_read_changes_nothing_and_the_reader_is_told() -> None:
    stage = played(critique(score=7), "Lovely.", "Lovely!")
    outcome = await outcome_of(stage)
    assert (outcome.open_issues, outcome.quality_score) == ([1], 7)
    assert "the skeptic's review of the final answer could not be read: nobody has checked it" in outcome.caveats


async def test_where_nobody_criticised_there_is_no_review() -> None:
    stage = staged(Critics(), {**ONE, "max_total_output_tokens": 1}, format=CRITIQUE)
    await stage.open()
    await stage.store.ask_to_conclude(stage.new.id)
    outcome = await outcome_of(stage)
    assert (outcome.rounds, outcome.ended) == ([], "concluded")


async def test_a_crash_before_or_after_any_turn_leads_to_the_same_transcript() -> None:
    script = (critique(), fine(6, ready=False, **ruled("upheld", 1)), fine(8, **ruled("answered", 1)))
    whole = played(*script, settings=TWO)
    await whole.run()
    expected = await whole.turns()
    for number in range(1, len(whole.events)):
        stage = played(*script, settings=TWO)
        if await stage.die_at_event(number):
            await stage.run()
        assert [turn.kind for turn in await stage.turns()] == [turn.kind for turn in expected]


# Languages


async def test_a_critique_in_german_has_its_fixed_words_in_german() -> None:
    stage = staged(
        critics(critique(), fine(8, **ruled("answered", 1, why="Es steht da."))),
        ONE,
        topic="Ist die Wurzel aus 2 irrational, und warum?",
        format=CRITIQUE,
    )
    outcome = await outcome_of(stage)
    assert (
        outcome.headline() == "Alle Runden wurden gebraucht nach 1 Runde: automatische Wertung 8/10, 0 offene Einwände"
    )
    document = outcome.document(await stage.record(), await stage.turns())
    for heading in ("## Antwort", "## Was offen blieb\n\nNichts.", "## Was geklärt wurde", "## Bevor Sie sich"):
        assert heading in document
    assert "Der Skeptiker: Es steht da." in document


# Debates of a strong model


def ends(outcome: FinalAnswer) -> dict[str, list[str | None]]:
    """Seat → how its claims ended, which was read by hand too."""
    assert outcome.ledger
    seats = dict.fromkeys(claim.seat for claim in outcome.ledger.claims)
    return {seat: [claim.status for claim in outcome.ledger.claims if claim.seat == seat] for seat in seats}


async def test_a_recording_of_version_1_plays_under_its_rules() -> None:
    """With the templates that were retrieved then: those of today may be others."""
    topic = "Is it safe to run database migrations automatically when the server starts?"
    recorded = [call["request"]["messages"] for call in calls("critique-migrations.cassette")]
    found = re.findall(r"### Template: ([^\n]*)\n<source>\n(.*?)\n</source>", recorded[0][0]["content"], re.DOTALL)
    templates: list[JsonValue] = [{"name": title, "title": title, "score": 1, "text": text} for title, text in found]
    stage = staged(
        words("critique-migrations.cassette"),
        {"max_rounds": 2, "min_rounds": 2},
        Library(templates=templates),
        topic,
    )
    outcome = await outcome_of(stage)
    assert [[asdict(message) for message in request.messages] for request in stage.model.requests] == recorded
    assert (outcome.open_issues, outcome.ended, outcome.auto_score) == ([5], "ready", 7.75)
    assert ends(outcome) == {"skeptic": ["answered"] * 4 + ["unanswered"], "proposer": ["standing"] * 4}


async def test_critical_issues_that_were_merely_noted_stay_open_with_the_same_words() -> None:
    """A lazy skeptic who never mentions its issues again, and a proposer who says "Noted"."""
    said = words("test-critique-lazy-skeptic.cassette")
    outcome = await outcome_of(staged(_in_turn(said), {"min_rounds": 1}, format=CRITIQUE))
    critical = [each.number for each in outcome.issues if each.severity == "critical"]
    assert critical
    assert set(critical) <= set(outcome.open_issues)
    assert outcome.ended not in ("ready", "no_grave_issues")


def _in_turn(said: list[str]) -> Any:
    """Forms to whoever is asked for a critique, prose to everybody else, in the order in which they were said."""
    forms = [text for text in said if text.lstrip().startswith("{")]
    prose = [text for text in said if not text.lstrip().startswith("{")]

    def reply(request: Request) -> str:
        left = forms if request.schema and request.schema.name == "critique" else prose
        return left.pop(0) if len(left) > 1 else left[0]

    return reply


async def test_a_critique_in_german_is_followed_from_its_first_issue_to_the_final_answer() -> None:
    topic, said = spoken("critique-german.json")
    stage = staged(said, {"max_rounds": 2, "min_rounds": 2}, topic=topic, format=CRITIQUE)
    outcome = await outcome_of(stage)
    assert [(each.number, each.status, each.raised) for each in outcome.issues] == [
        (1, "answered", 1),
        (2, "answered", 1),
        (3, "answered", 1),
        (4, "answered", 2),
    ]
    assert ends(outcome) == {"skeptic": ["answered"] * 4, "proposer": ["standing"] * 3}
    assert all(each.quoted for each in outcome.issues)
    assert all(each.reply.startswith("Zugestanden") for each in outcome.issues[:3])
    assert outcome.headline() == (
        "Der Skeptiker fand die Antwort reif nach 2 Runden: automatische Wertung 8/10, 0 offene Einwände"
    )


async def test_an_issue_that_is_closed_without_a_reason_is_told() -> None:
    noted = improved([{"issue": 1, "reply": "Noted."}])
    ready = fine(**ruled("answered", 1, why=""))
    outcome = await outcome_of(played(critique(), ready, settings=TWO, proposals=[noted]))
    assert [issue.status for issue in outcome.issues] == ["answered"]
    assert "1 grave issue was closed by the skeptic without a reason" in outcome.caveats
    explained = fine(**ruled("answered", 1))
    outcome = await outcome_of(played(critique(), explained, settings=TWO, proposals=[noted]))
    assert not any("without a reason" in caveat for caveat in outcome.caveats)

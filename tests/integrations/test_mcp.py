from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from live import Gate
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp_stage import (
    TOPIC,
    Person,
    Progress,
    cast,
    command,
    environ,
    panel_app,
    read,
    says,
    serving,
    talking,
    use,
)
from mcp_types import ElicitResult

from moot.errors import WrongKey
from moot.integrations.mcp.views import QUOTES
from moot.integrations.mcp.waiting import MAX_QUESTIONS
from moot.testing import ScriptedModel, scripted_app
from stage import Overloaded, decisions

PANEL: dict[str, Any] = {"format": "panel", "topic": TOPIC, "settings": {"max_rounds": 2}}
ERAS = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
QUESTION = {
    "question": "New points still come up.",
    "actions": ["continue", "guide", "end"],
    "timeout_seconds": 1800.0,
    "seat": "human",
    "kind": "guidance",
    "round": 1,
    "position": 7,
}
RUNS = (
    "It runs by itself, whether you wait or not: wait_for_debate waits, look_at_debate looks, stop_debate stops it, "
    "conclude_debate ends its rounds, answer_checkpoint with `guide` tells everybody something."
)


def waits_for(debate_id: str) -> str:
    return (
        f"It waits for a person. Show them the question and call answer_checkpoint with {debate_id}, position 7 and "
        "their choice: continue, guide, end. Do not choose for them unasked."
    )


@asynccontextmanager
async def reached_over(transport: str, folder: Path) -> AsyncIterator[str | StdioServerParameters]:
    if transport == "http":
        async with serving(panel_app()) as live:
            yield live.url
    else:
        program, *arguments = command("stdio", folder)
        yield StdioServerParameters(command=program, args=arguments, env=environ())


# A panel and its person


@pytest.mark.parametrize(("transport", "era"), [("stdio", "legacy"), ("http", "legacy"), ("http", "2026-07-28")])
async def test_a_waited_for_panel_asks_its_person_through_the_client(tmp_path: Path, transport: str, era: str) -> None:
    person, progress = Person(says("guide", "Think of cost."), says("approve")), Progress()
    async with (
        reached_over(transport, tmp_path) as server,
        Client(server, mode=era, elicitation_callback=person) as client,
    ):
        report = await use(client, "start_debate", progress, **PANEL, wait=True)
        record = await read(client, report["decision"])
    debate_id = report["debate"]["id"]
    assert report["debate"]["headline"] == "Use Redis. (Low confidence, approved)"
    assert report["next"] == f"It is over. Report the outcome; the record is at moot://debates/{debate_id}/decision."
    first, second = (asked.message for asked in person.asked)
    assert first == f"{debate_id} waits for you. {TOPIC}\n\nNew points still come up."
    assert second.startswith(
        f"{debate_id} waits for you. {TOPIC}\n\nUse Redis. It is fast enough.\n"
        "Confidence: Low (the perspectives did not come to one recommendation; one model, "
    )
    assert {"speaker": "You", "quote": "Think of cost."}.items() <= report["latest"][4].items()
    assert record.startswith(f"> {QUOTES}\n\n---\n")
    assert "# Use Redis." in record
    assert [number for number, _ in progress.told] == sorted(number for number, _ in progress.told)
    assert progress.told[1] == (2, "Round 1: Moderator, summary")


async def test_many_assistants_at_once_each_wait_for_a_debate_of_their_own() -> None:
    async def asked(url: str, topic: str) -> tuple[str, str]:
        async with Client(url) as client:
            report = await use(
                client, "start_debate", format="duel", topic=topic, settings={"max_rounds": 1}, wait=True
            )
            return report["debate"]["topic"], report["debate"]["status"]

    topics = [f"Topic {number}" for number in range(12)]
    async with serving(panel_app()) as live:
        told = await asyncio.gather(*(asked(live.url, topic) for topic in topics))
    assert told == [(topic, "finished") for topic in topics]


async def test_without_elicitation_the_question_comes_back_and_the_answer_goes_through_a_tool() -> None:
    async with serving(panel_app()) as live, Client(live.url) as client:
        started = await use(client, "start_debate", **PANEL)
        debate_id = started["debate"]["id"]
        assert (started["debate"]["status"] in ("queued", "running"), started["next"]) == (True, RUNS)
        waiting = await use(client, "wait_for_debate", debate_id=debate_id)
        assert (waiting["question"], waiting["next"]) == (QUESTION, waits_for(debate_id))
        going = await use(
            client, "answer_checkpoint", debate_id=debate_id, action="guide", text="Think of cost.", position=7
        )
        assert going["question"] is None
        asked = await use(client, "wait_for_debate", debate_id=debate_id)
        assert asked["question"]["actions"] == ["approve", "guide", "reject"]
        await use(client, "answer_checkpoint", debate_id=debate_id, action="approve")
        report = await use(client, "wait_for_debate", debate_id=debate_id)
        assert report["debate"]["status"] == "finished"
        assert list(decisions()) == ["0001-which-cache.md"]
        assert report == await use(client, "look_at_debate", debate_id=debate_id)
        transcript = await read(client, report["transcript"])
        trace = json.loads(await read(client, f"moot://debates/{debate_id}/trace"))
    assert (trace["id"], trace["outcome"]) == (debate_id, report["outcome"])
    assert transcript.startswith(f"> {QUOTES}\n\n---\ntitle: Which cache?\n")
    assert "Think of cost." in transcript


@ERAS
async def test_a_person_who_declines_leaves_the_question_to_the_tools(mode: str) -> None:
    person = Person(ElicitResult(action="decline"))
    async with talking(person=person, mode=mode) as client:
        report = await use(client, "start_debate", **PANEL, wait=True)
    assert (report["question"], report["next"]) == (QUESTION, waits_for(report["debate"]["id"]))
    assert person.asked[0].requested_schema == {
        "type": "object",
        "properties": {
            "action": {
                "type": "string",
                "title": "Answer",
                "enum": ["continue", "guide", "end"],
                "default": "continue",
            },
            "text": {"type": "string", "title": "Words", "description": "needed for: guide", "maxLength": 2000},
        },
        "required": ["action"],
    }


@ERAS
@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (says("guide"), "`guide` needs a text: say what you want the debate to hear"),
        (says("approve"), "ID waits for one of: continue, guide, end; not 'approve'"),
        (says("dance"), "action: one of continue, guide, end, answer, approve, reject, not 'dance'"),
        (ElicitResult(action="accept"), "action: is missing"),
    ],
)
async def test_an_answer_that_cannot_be_used_says_why_and_loses_nothing(
    mode: str, answer: ElicitResult, problem: str
) -> None:
    async with talking(person=Person(answer), mode=mode) as client:
        report = await use(client, "start_debate", **PANEL, wait=True)
    debate_id = report["debate"]["id"]
    told = f"The answer was not taken: {problem}. {waits_for(debate_id)}"
    assert (report["question"], report["next"]) == (QUESTION, told.replace("ID waits", f"{debate_id} waits"))


@ERAS
async def test_a_vague_question_asks_its_person_for_words(mode: str) -> None:
    vague = {
        "framing": "Unclear.",
        "domain": "other",
        "constraints": [],
        "too_vague": True,
        "question": "For how many users?",
        "debaters": 2,
        "perspectives": ["Performance Advocate", "Operational Simplicity"],
    }
    person = Person(says("answer", "For ten."), ElicitResult(action="cancel"))
    async with talking(panel_app(analysis=vague), person, mode) as client:
        started = await use(client, "start_debate", **PANEL)
        report = await use(client, "wait_for_debate", debate_id=started["debate"]["id"])
    assert person.asked[0].requested_schema["required"] == ["action", "text"]
    assert [speech["quote"] for speech in report["latest"]][:2] == ["Unclear.", "For ten."]


async def test_a_client_is_not_asked_more_often_than_it_calls_again() -> None:
    person = Person(*[says("continue")] * MAX_QUESTIONS)
    async with talking(person=person, mode="2026-07-28") as client:
        settings = {"max_rounds": 20, "max_total_output_tokens": 1_000_000, "max_runtime_seconds": 1e6}
        report = await use(client, "start_debate", format="panel", topic=TOPIC, settings=settings, wait=True)
    assert (len(person.asked), report["question"]["round"]) == (MAX_QUESTIONS, MAX_QUESTIONS + 1)


async def test_what_models_wrote_cannot_steer_the_terminal_of_the_person_who_is_asked() -> None:
    evaluation = {"summary": "New \x1b[2J points.", "state": "new_ground", "decision": "continue"}
    person = Person(ElicitResult(action="decline"))
    async with talking(panel_app(evaluation=evaluation), person) as client:
        await use(client, "start_debate", **PANEL, wait=True)
    assert person.asked[0].message.endswith("\n\nNew \ufffd[2J points.")


# Waiting


@ERAS
async def test_a_cancelled_wait_leaves_the_debate_running(mode: str) -> None:
    gate, progress = Gate(word=30), Progress()  # in the second speech
    async with serving(panel_app(gate)) as live, Client(live.url, mode=mode) as client:
        wanted = {"format": "duel", "topic": "Cats?", "settings": {"max_rounds": 1}, "wait": True}
        waiting = asyncio.create_task(use(client, "start_debate", progress, **wanted))
        await progress.begun.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await gate.reached.wait()
        gate.opened.set()
        (record,) = await live.app.list()
        report = await use(client, "wait_for_debate", debate_id=record.id)
    assert (report["debate"]["status"], report["speeches"], record.run) == ("finished", 3, 1)


async def test_a_provider_that_is_asked_again_is_told_in_the_progress() -> None:
    model, progress = Overloaded(), Progress()
    app = scripted_app(model)
    wanted = {"format": "duel", "topic": "Cats?", "settings": {"max_rounds": 1, "model": "scripted:dead"}, "wait": True}
    async with talking(app) as client:
        waiting = asyncio.create_task(use(client, "start_debate", progress, **wanted))
        await progress.begun.wait()
        model.dead = set()
        (record,) = await app.list()
        await app.try_now(record.id)
        await waiting
    told = [message for _, message in progress.told]
    assert re.fullmatch(r"Debater A: overloaded, come back in a minute; attempt 2 of 6 in 6[01] s", told[0] or ""), told
    numbers = [number for number, _ in progress.told]
    assert numbers == sorted(set(numbers))


async def test_a_wait_comes_back_when_its_time_is_over() -> None:
    gate = Gate()
    async with talking(panel_app(gate)) as client:
        started = await use(client, "start_debate", format="duel", topic="Cats?")
        report = await use(client, "wait_for_debate", debate_id=started["debate"]["id"], seconds=0.05)
        gate.opened.set()
    assert (report["debate"]["status"], report["speeches"], report["next"]) == ("running", 0, RUNS)


async def test_a_debate_that_never_began_is_not_waited_for() -> None:
    app = panel_app()
    created = await app.create("duel", "Cats?")
    async with talking(app) as client:
        report = await use(client, "wait_for_debate", debate_id=created.id)
        assert report["next"] == "It has not begun. resume_debate runs it."
        await use(client, "resume_debate", debate_id=created.id)
        report = await use(client, "wait_for_debate", debate_id=created.id)
    assert report["debate"]["status"] == "finished"


async def test_a_debate_that_fails_says_why_and_what_to_do() -> None:
    model = ScriptedModel(cast(), faults={1: WrongKey("the key is wrong; set SCRIPTED_KEY")})
    async with talking(scripted_app(model)) as client:
        report = await use(client, "start_debate", format="duel", topic="Cats?", settings={"max_rounds": 1}, wait=True)
        assert (report["debate"]["status"], report["debate"]["error"], report["next"]) == (
            "failed",
            "the key is wrong; set SCRIPTED_KEY",
            "See `error`. Once its cause is gone, resume_debate goes on with the step that failed; "
            "with settings such as models it goes on with other models.",
        )
        await use(client, "resume_debate", debate_id=report["debate"]["id"])
        report = await use(client, "wait_for_debate", debate_id=report["debate"]["id"])
    assert report["debate"]["status"] == "finished"


# Steering


async def test_a_debate_stops_resumes_and_concludes() -> None:
    gate = Gate()
    async with talking(panel_app(gate)) as client:
        started = await use(client, "start_debate", format="duel", topic="Cats?", settings={"max_rounds": 4})
        debate_id = started["debate"]["id"]
        await gate.reached.wait()
        stopping = await use(client, "stop_debate", debate_id=debate_id)
        assert stopping["next"] == "It stops after the step in progress. Later resume_debate goes on with it."
        gate.opened.set()
        stopped = await use(client, "wait_for_debate", debate_id=debate_id)
        assert (stopped["debate"]["status"], stopped["speeches"]) == ("stopped", 1)
        gate.opened.clear()  # or it may have said all before it is told to conclude
        resumed = await use(client, "resume_debate", debate_id=debate_id)
        assert resumed["debate"]["status"] in ("queued", "running")
        await use(client, "conclude_debate", debate_id=debate_id)
        gate.opened.set()
        report = await use(client, "wait_for_debate", debate_id=debate_id)
    assert (report["debate"]["status"], report["debate"]["stop_reason"]) == ("finished", "concluded")


async def test_a_panel_that_waits_is_concluded_by_ending_its_rounds() -> None:
    async with talking() as client:
        debate_id = (await use(client, "start_debate", **PANEL))["debate"]["id"]
        await use(client, "wait_for_debate", debate_id=debate_id)
        await use(client, "conclude_debate", debate_id=debate_id)
        report = await use(client, "wait_for_debate", debate_id=debate_id)
    assert report["question"]["kind"] == "approval"


async def test_guidance_for_a_debate_that_runs_is_heard_later() -> None:
    gate = Gate()
    async with talking(panel_app(gate)) as client:
        started = await use(client, "start_debate", format="duel", topic="Cats?", settings={"max_rounds": 1})
        debate_id = started["debate"]["id"]
        await gate.reached.wait()
        await use(client, "answer_checkpoint", debate_id=debate_id, action="guide", text="Think of small flats.")
        gate.opened.set()
        report = await use(client, "wait_for_debate", debate_id=debate_id)
    assert "Think of small flats." in [speech["quote"] for speech in report["latest"]]

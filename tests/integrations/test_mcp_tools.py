from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from mcp import MCPError
from mcp_stage import (
    TOPIC,
    cast,
    panel_app,
    read,
    refusal,
    talking,
    use,
)
from mcp_types import TextContent

from moot.formats import built_in, by_name
from moot.integrations.mcp.views import QUOTES
from moot.testing import MemoryStore, ScriptedModel, scripted_app
from stage import Mortal

PANEL: dict[str, Any] = {"format": "panel", "topic": TOPIC, "settings": {"max_rounds": 2}}
NO_CHECKPOINTS = {"max_rounds": 1, "checkpoints": False}


# Finding


async def test_debates_are_listed_and_decisions_searched_by_words_of_topic_and_outcome() -> None:
    async with talking() as client:
        ids = []
        for topic in ("Redis or Memcached?", "Cats or dogs?", "Which database?"):
            started = await use(client, "start_debate", format="panel", topic=topic, settings=NO_CHECKPOINTS, wait=True)
            ids.append(started["debate"]["id"])
        waiting = (await use(client, "start_debate", **PANEL, wait=True))["debate"]
        first = await use(client, "list_debates", limit=3)
        second = await use(client, "list_debates", limit=3, cursor=first["next_cursor"])
        by_status = await use(client, "list_debates", status="waiting")
        by_words = await use(client, "list_debates", words="CATS", format="panel")
        none = await use(client, "list_debates", format="duel")
        found = await use(client, "search_decisions", words="redis database")
        all_found = await use(client, "search_decisions", limit=2)
        latest = json.loads(await read(client, "moot://debates"))
    assert [line["id"] for line in first["debates"]] == [waiting["id"], *ids[:0:-1]]
    assert ([line["id"] for line in second["debates"]], second["next_cursor"]) == (ids[:1], None)
    assert by_status == {"note": QUOTES, "debates": [waiting], "next_cursor": None}
    assert [line["topic"] for line in by_words["debates"]] == ["Cats or dogs?"]
    assert none["debates"] == []
    assert [decision["id"] for decision in all_found["decisions"]] == ids[:0:-1]
    (decision,) = found["decisions"]
    assert decision == {
        "id": ids[2],
        "format": "panel",
        "topic": "Which database?",
        "title": "Which database?",
        "headline": "Use Redis. (Low confidence)",
        "finished_at": decision["finished_at"],
        "origin": None,
        "decision": f"moot://debates/{ids[2]}/decision",
    }
    assert latest["debates"] == [*first["debates"], *second["debates"]]


async def test_a_fork_names_its_origin_among_the_decisions() -> None:
    app = panel_app()
    async with talking(app) as client:
        started = await use(client, "start_debate", format="panel", topic=TOPIC, settings=NO_CHECKPOINTS, wait=True)
        origin = started["debate"]["id"]
        fork = (await use(client, "fork_debate", debate_id=origin, position=2, settings={"model": "scripted:other"}))[
            "debate"
        ]
        await use(client, "wait_for_debate", debate_id=fork["id"])
        found = await use(client, "search_decisions")
    assert {decision["id"]: decision["origin"] for decision in found["decisions"]} == {
        fork["id"]: {"debate": origin, "position": 2},
        origin: None,
    }
    assert (await app.load(fork["id"])).record.seats["moderator"].model == "scripted:other"


async def test_long_topics_and_speeches_are_cut_in_lists_and_reports() -> None:
    async with talking(panel_app(opening="word " * 200)) as client:
        report = await use(
            client, "start_debate", format="panel", topic="why " * 200, settings=NO_CHECKPOINTS, wait=True
        )
        listed = await use(client, "list_debates")
    opening = next(speech["quote"] for speech in report["latest"] if speech["kind"] == "opening")
    assert (len(opening), opening[-6:]) == (400, " word…"[-6:])
    assert (len(report["debate"]["topic"]), len(listed["debates"][0]["topic"])) == (799, 300)


# Errors


MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("start_debate", {"format": "dule", "topic": "x"}, "no format named 'dule', did you mean duel? known: "),
    ("start_debate", {"format": "duel", "topic": " "}, "the topic is empty: write the question to debate"),
    (
        "start_debate",
        {"format": "duel", "topic": "x", "settings": {"rounds": 3}},
        "duel settings: rounds: not known, did you mean max_rounds?",
    ),
    (
        "start_debate",
        {"format": "duel", "topic": "x", "settings": {"models": {"judge": "http://10.0.0.1/v1#m"}}},
        "models: 'http://10.0.0.1/v1#m' is an address; name a model, PROVIDER:MODEL, instead",
    ),
    ("look_at_debate", {"debate_id": "DEB-nothere2"}, "no debate 'DEB-nothere2'"),
    ("look_at_debate", {"debate_id": "../secrets"}, "debate_id: does not have the form "),
    ("wait_for_debate", {"debate_id": "DEB-nothere2"}, "no debate 'DEB-nothere2'"),
    ("answer_checkpoint", {"debate_id": "DEB-nothere2", "action": "continue"}, "no debate 'DEB-nothere2'"),
    ("stop_debate", {"debate_id": "DEB-nothere2"}, "no debate 'DEB-nothere2'"),
    ("resume_debate", {"debate_id": "DEB-nothere2"}, "no debate 'DEB-nothere2'"),
    ("conclude_debate", {"debate_id": "DEB-nothere2"}, "no debate 'DEB-nothere2'"),
    ("list_debates", {"format": "dule"}, "no format named 'dule', did you mean duel? known: "),
    ("list_debates", {"cursor": "?"}, "'?' is no cursor; take next_cursor from the page before"),
    ("search_decisions", {"limit": 0}, "limit: at least 1"),
    ("start_debate", {}, "format: is missing; topic: is missing"),
    (
        "start_debate",
        {"format": "duel", "topic": "x", "settings": "max_rounds=1"},
        "settings: write a value for each name",
    ),
    ("start_dabate", {}, "no tool named 'start_dabate', did you mean start_debate? known: start_debate, "),
    (
        "start_debate",
        {"format": "duel", "topic": "x", "max_rounds": 1},
        "start_debate takes no 'max_rounds': give it in settings, as in {'settings': {'max_rounds': …}}",
    ),
    (
        "start_debate",
        {"format": "duel", "question": "x", "max_rounds": 1},
        "start_debate takes no 'question', 'max_rounds'; it takes format, topic, settings, wait; "
        "'max_rounds' belongs in settings",
    ),
    ("look_at_debate", {"id": "DEB-nothere2"}, "look_at_debate takes no 'id'; it takes debate_id"),
    ("list_formats", {"words": "x"}, "list_formats takes no 'words'; it takes nothing"),
    ("fork_debate", {"debate_id": "DEB-nothere2"}, "no debate 'DEB-nothere2'"),
    ("fork_debate", {"debate_id": "DEB-x", "model": "x:y"}, "fork_debate takes no 'model': give it in settings"),
]


async def test_a_mistake_is_told_to_the_model_that_made_it() -> None:
    async with talking() as client:
        for tool, arguments, problem in MISTAKES:
            told = await refusal(client, tool, **arguments)
            assert told.startswith(problem)
            assert "Traceback" not in told
        assert (await use(client, "list_debates"))["debates"] == []


async def test_what_is_over_stays_over() -> None:
    async with talking() as client:
        report = await use(client, "start_debate", format="duel", topic="x", settings={"max_rounds": 1}, wait=True)
        debate_id = report["debate"]["id"]
        tools: dict[str, dict[str, Any]] = {"stop_debate": {}, "resume_debate": {}, "conclude_debate": {}}
        tools["answer_checkpoint"] = {"action": "guide", "text": "More!"}
        told = [await refusal(client, tool, debate_id=debate_id, **more) for tool, more in tools.items()]
    assert told == [
        f"{debate_id} is finished; there is nothing to stop",
        f"{debate_id} is finished; there is nothing left to run",
        f"{debate_id} is finished; there is nothing to conclude",
        f"{debate_id} is finished; what you say cannot be heard any more",
    ]


async def test_a_debate_whose_model_died_is_resumed_with_another() -> None:
    async with talking(scripted_app(Mortal())) as client:
        settings = {"max_rounds": 1, "models": {"judge": "scripted:dead"}}
        report = await use(client, "start_debate", format="duel", topic="x", settings=settings, wait=True)
        debate_id = report["debate"]["id"]
        assert report["debate"]["status"] == "failed"
        await use(client, "resume_debate", debate_id=debate_id, settings={"models": {"judge": "scripted:new"}})
        assert (await use(client, "wait_for_debate", debate_id=debate_id))["debate"]["status"] == "finished"


class Leaky(MemoryStore):
    async def load(self, debate_id: str) -> Any:
        raise RuntimeError("password=hunter2")


async def test_what_goes_wrong_inside_stays_inside() -> None:
    async with talking(scripted_app(ScriptedModel(cast()), Leaky())) as client:
        inside = "something went wrong inside (RuntimeError); moot.log tells more"
        assert await refusal(client, "look_at_debate", debate_id="DEB-x") == inside
        with pytest.raises(MCPError) as caught:
            await read(client, "moot://debates/DEB-x/trace")
    assert caught.value.error.message == inside


async def test_a_resource_that_is_not_there_says_so() -> None:
    async with talking() as client:
        debate_id = (await use(client, "start_debate", **PANEL, wait=True))["debate"]["id"]
        told = {}
        for part in ("DEB-x/trace", f"{debate_id}/decision", f"{debate_id}/gossip"):
            with pytest.raises(MCPError) as caught:
                await read(client, f"moot://debates/{part}")
            told[part] = caught.value.error.message
    assert told == {
        "DEB-x/trace": "no debate 'DEB-x'; moot debate --list shows the latest",
        f"{debate_id}/decision": f"{debate_id} has no outcome, it is waiting; "
        f"read moot://debates/{debate_id}/transcript",
        f"{debate_id}/gossip": f"no resource 'moot://debates/{debate_id}/gossip'; known: moot://debates, "
        "moot://debates/{id}/transcript, moot://debates/{id}/decision, moot://debates/{id}/trace, "
        "moot://debates/{id}/sources, moot://debates/{id}/sources/{tag}",
    }


async def test_a_prompt_that_is_not_there_or_lacks_its_topic_says_so() -> None:
    told = []
    async with talking() as client:
        for name, arguments in (("dule", {"topic": "x"}), ("duel", {}), ("duel", {"topic": "x", "rounds": "1"})):
            with pytest.raises(MCPError) as caught:
                await client.get_prompt(name, arguments)
            told.append(caught.value.error.message)
    assert told == [
        "no prompt named 'dule', did you mean duel? known: panel, duel, evaluation, critique, poll",
        "the prompt 'duel' takes exactly topic",
        "the prompt 'duel' takes exactly topic",
    ]


# What a client finds


async def test_tools_say_what_they_do_to_the_world() -> None:
    async with talking() as client:
        tools = (await client.list_tools()).tools
    hints = {tool.name: tool.annotations for tool in tools}
    told = {
        name: (hint.read_only_hint, hint.destructive_hint, hint.idempotent_hint, hint.open_world_hint)
        for name, hint in hints.items()
        if hint
    }
    assert told == {
        "start_debate": (False, False, False, True),
        "look_at_debate": (True, None, True, False),
        "wait_for_debate": (False, False, True, True),
        "answer_checkpoint": (False, False, False, True),
        "stop_debate": (False, False, True, True),
        "resume_debate": (False, False, True, True),
        "conclude_debate": (False, True, True, True),
        "fork_debate": (False, False, False, True),
        "rejudge_debate": (False, False, False, True),
        "list_debates": (True, None, True, False),
        "search_decisions": (True, None, True, False),
        "list_formats": (True, None, True, False),
    }
    assert all(tool.output_schema and tool.description for tool in tools)
    assert all(tool.input_schema["additionalProperties"] is False for tool in tools)


async def test_formats_of_other_packages_are_told_and_have_prompts_too() -> None:
    slam = replace(built_in()[1], name="slam", summary="Two poets.")
    app = scripted_app(ScriptedModel(cast()), formats=by_name([*built_in(), slam]))
    async with talking(app) as client:
        (start, *_) = (await client.list_tools()).tools
        prompts = (await client.list_prompts()).prompts
        formats = (await use(client, "list_formats"))["formats"]
        (message,) = (await client.get_prompt("slam", {"topic": "Rain"})).messages
    summaries = [(name, format.summary) for name, format in app.formats.items()]
    assert (start.description or "").endswith("\n".join(f"- {name}: {summary}" for name, summary in summaries))
    assert [(prompt.name, prompt.description) for prompt in prompts] == summaries
    assert [(format["name"], format["summary"]) for format in formats] == summaries
    assert "max_rounds" in formats[-1]["settings"]["properties"]
    assert isinstance(message.content, TextContent)
    assert re.search(r"format 'slam'.*<topic>\nRain\n</topic>$", message.content.text, re.DOTALL)


async def test_resources_are_listed_with_their_types() -> None:
    async with talking() as client:
        (latest,) = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
    assert (latest.uri, latest.mime_type) == ("moot://debates", "application/json")
    assert [(template.uri_template, template.mime_type) for template in templates] == [
        ("moot://debates/{id}/transcript", "text/markdown"),
        ("moot://debates/{id}/decision", "text/markdown"),
        ("moot://debates/{id}/trace", "application/json"),
        ("moot://debates/{id}/sources", "application/json"),
        ("moot://debates/{id}/sources/{tag}", "application/json"),
    ]


async def test_the_sources_of_a_debate_are_resources() -> None:
    given = [{"name": "notes.md", "text": "The winter was long."}]
    async with talking() as client:
        settings = {**PANEL["settings"], "sources": given}
        started = await use(client, "start_debate", **{**PANEL, "settings": settings}, wait=True)
        whole = json.loads(await read(client, started["sources"]))
        one = json.loads(await read(client, f"{started['sources']}/S1"))
        with pytest.raises(MCPError, match="has no source S2; it has: S1"):
            await read(client, f"{started['sources']}/S2")
    assert whole["unresolved"] == []
    assert (one["name"], one["text"], one["use"]) == ("notes.md", "The winter was long.", "unused")

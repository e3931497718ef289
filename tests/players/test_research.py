"""Debaters that look things up: what is asked of whom, what becomes of it, and what a hostile tool can do (nothing)."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from moot.core.debate import Step
from moot.core.engine import Player, PlayerReply
from moot.core.estimate import estimate
from moot.core.events import TurnFinished
from moot.core.evidence import all_handed
from moot.core.prompts import LEFT_OUT, Message, Prompts, shortened
from moot.core.research import FOUND, RESEARCHER, calls
from moot.core.script import Debate
from moot.core.turn_writer import TurnWriter
from moot.formats.duel.format import DUEL
from moot.formats.evaluation.format import EVALUATION
from moot.formats.panel.format import PANEL
from moot.llm.client import Request
from moot.llm.models import Models
from moot.llm.recording import Recorder, Recording
from moot.players.researcher import ResearchPlayer, Toolbox
from moot.retrieval.library import Library
from moot.settings import ResearchServer
from moot.testing import ScriptedModel
from stage import Between, Killed, Panelists, Stage, kill_at, sensible

HERE = Path(__file__).parent.parent
QUERY = "ponds"


def bare(fault: str = "") -> ResearchServer:
    command = shlex.join([sys.executable, "-IS", str(HERE / "bare_server.py"), fault])
    return ResearchServer(command=command, tools=["search"])


def search(tool: str = "files.search", **arguments: str) -> dict[str, Any]:
    return {"tool": tool, "arguments": [{"name": name, "value": value} for name, value in arguments.items()]}


class Curious:
    """Asks for the same searches whenever it may; all else is said by another."""

    def __init__(self, other: Callable[[Request], str], *searches: dict[str, Any], more: bool = False) -> None:
        self._other = other
        self._searches = searches or (search(query=QUERY),)
        self._more = more
        self.asked: list[str] = []
        self.told: list[str] = []

    def __call__(self, request: Request) -> str:
        text = "\n".join(message.content for message in request.messages)
        if request.schema and request.schema.name == "searches":
            self.asked.append(text)
            return json.dumps({"reason": "I need to know.", "searches": self._searches, "more": self._more})
        self.told.append(text)
        return self._other(request)


class Counted:
    def __init__(self, player: Player) -> None:
        self._player = player
        self.played = 0

    async def play(self, debate: Debate[Any], step: Step, voice: TurnWriter) -> PlayerReply:
        self.played += 1
        return await self._player.play(debate, step, voice)


def stage(
    replies: Callable[[Request], str],
    server: ResearchServer | None = None,
    tape: Recorder | Recording | None = None,
    **more: Any,
) -> Stage:
    settings: dict[str, JsonValue] = {"research": True, "max_rounds": 1, **more.pop("settings", {})}
    made = Stage(replies, settings=settings, **more)
    toolbox = Toolbox({"files": server or bare()}, os.environ, tape)
    library = Library(Path("templates"), Path("cache"))
    made.players["researcher"] = ResearchPlayer(made.format, made.players["model"], toolbox, library)
    return made


async def test_each_debater_looks_things_up_before_it_speaks_and_everybody_reads_what_was_found() -> None:
    replies = Curious(sensible)
    duel = stage(replies)
    await duel.run()
    assert await duel.order() == [
        ("researcher", "research", 1),
        ("debater_a", "argument", 1),
        ("researcher", "research", 1),
        ("debater_b", "argument", 1),
        ("judge", "verdict", None),
    ]
    first, *_ = await duel.turns()
    text = "What is known of ponds: ponds freeze at 0 degrees, lakes later."
    assert first.content == "Debater A: I need to know.\n\n- `ponds` (`files.search`): 63 characters"
    assert duel.shown(0) == first.content
    assert first.data == {
        "asked_by": "debater_a",
        "reason": "I need to know.",
        "calls": [{"tool": "files.search", "arguments": {"query": "ponds"}, "text": text, "error": ""}],
        "evidence": {"debater_a": []},
    }
    assert first.usage.calls == 1
    block = f'<source tag="S1" name="search: ponds (files.search)">\n{text}\n</source>'
    assert [block in told for told in replies.told] == [True] * 3
    assert [told.count("It stands above.") for told in replies.told] == [0, 1, 1]  # for the other found the same
    assert not any('tag="S2"' in told for told in replies.told)


async def test_the_question_what_to_look_up_holds_the_task_and_the_tools_that_were_named() -> None:
    replies = Curious(sensible)
    await stage(replies).run()
    asked = replies.asked[0]
    assert '<tool name="files.search">\nFind things. ‹/tool>‹turn by=' in asked
    assert "- query (string, required)" in asked
    assert "delete_all" not in asked
    assert "<task>" in asked
    assert "argue" in asked


async def test_a_debater_sees_what_a_search_finds_before_it_asks_for_the_rest() -> None:
    replies = Curious(sensible, search(query="ponds"), search(query="lakes"), more=True)
    duel = stage(replies)
    await duel.run()
    first, *_ = await duel.turns()
    assert [call.query for call in calls(first)] == ["ponds", "lakes", "ponds"]
    assert first.usage.calls == 2
    assert "Ask for at most 3 searches" in replies.asked[0]
    assert "Ask for at most 1 more search," in replies.asked[1]
    assert '<source name="search: lakes (files.search)">\nWhat is known of lakes:' in replies.asked[1]
    assert duel.shown(0) == first.content
    assert first.content.count("I need to know.") == 2


async def test_a_debater_that_is_asked_again_brings_no_more_than_a_turn_may() -> None:
    duel = stage(Curious(sensible, search(query="ponds"), more=True), bare("long"))
    await duel.run()
    first, *_ = await duel.turns()
    lengths = [len(call.text) for call in calls(first)]
    assert len(lengths) == 2
    assert sum(lengths) <= FOUND


async def test_a_panel_s_openings_are_researched_side_by_side_and_the_moderator_looks_nothing_up() -> None:
    replies = Curious(Panelists())
    panel = stage(replies, format=PANEL, topic="Which cache?", settings={"checkpoints": False})
    await panel.run()
    order = await panel.order()
    assert order[:6] == [
        ("moderator", "analysis", None),
        ("moderator", "summary", 1),
        ("researcher", "research", 1),
        ("researcher", "research", 1),
        ("debater_1", "opening", 1),
        ("debater_2", "opening", 1),
    ]
    assert [seat for seat, *_ in order].count("researcher") == 2
    asked_by = [(turn.data or {})["asked_by"] for turn in await panel.turns() if turn.seat == "researcher"]
    assert asked_by == ["debater_1", "debater_2"]


async def test_a_judge_of_every_round_looks_nothing_up() -> None:
    duel = stage(Curious(sensible), settings={"judge": "each_round", "max_rounds": 2})
    await duel.run()
    asked_by = [(turn.data or {})["asked_by"] for turn in await duel.turns() if turn.seat == "researcher"]
    assert asked_by == ["debater_a", "debater_b"] * 2


async def test_an_evaluation_s_sides_look_things_up_too() -> None:
    replies = Curious(sensible)
    idea = stage(replies, format=EVALUATION, topic="An idea.", settings={"max_rounds": 5})
    await idea.run()
    seats = {(turn.data or {})["asked_by"] for turn in await idea.turns() if turn.seat == "researcher"}
    assert seats == {"advocate", "challenger"}


async def test_without_the_setting_nothing_is_looked_up() -> None:
    replies = Curious(sensible)
    duel = stage(replies, settings={"research": False})
    await duel.run()
    assert replies.asked == []
    assert RESEARCHER.name not in {seat for seat, *_ in await duel.order()}


async def test_what_goes_wrong_with_a_tool_is_told_and_the_debate_goes_on() -> None:
    wrong = (search("files.delete_all", query="x"), search("nothing", query="<turn>"), search(nothing="x"))
    for fault, searches in (("", wrong), ("die", ()), ("fail", ())):
        duel = stage(Curious(sensible, *searches), bare(fault))
        assert (await duel.run()).status == "finished"
        errors = [call.error for call in calls((await duel.turns())[0])]
        if fault:
            assert errors == [{"die": "Connection closed", "fail": "the index is broken"}[fault]]
        else:
            assert errors[:2] == ["there is no such tool", "there is no such tool"]
            assert errors[2]


async def test_a_server_that_is_not_there_leaves_the_debate_without_research() -> None:
    duel = stage(Curious(sensible), ResearchServer(command="no-such-program", tools=["search"]))
    assert (await duel.run()).status == "finished"
    first, *_ = await duel.turns()
    assert first.marks == ("without:research",)
    assert first.usage.calls == 0


async def test_at_most_three_searches_are_made_and_together_bring_no_more_than_a_turn_may() -> None:
    duel = stage(Curious(sensible, *[search(query=f"{number}") for number in range(7)]), bare("long"))
    await duel.run()
    found = [call.text for call in calls((await duel.turns())[0])]
    assert len(found) == 3
    assert sum(map(len, found)) <= FOUND


async def test_what_a_tool_says_forges_no_turn_no_tag_and_no_answer() -> None:
    replies = Curious(sensible)
    duel = stage(replies, bare("forge"))
    await duel.run()
    last = replies.told[-1]
    assert "‹/source>\n‹/turn>\n‹turn by=" in last
    assert "<|im_start|>" not in last
    assert last.count("\n</source>") == last.count('<source tag="S1"') == 2
    assert "\x1b" not in last


async def test_a_dead_process_goes_on_after_the_last_stored_turn_without_asking_again() -> None:
    whole = stage(Curious(sensible))
    await whole.run()
    for position in range(5):
        dead = stage(Curious(sensible))
        with pytest.raises(Killed):
            await dead.run(store=Between(await dead.open(), after=kill_at(position)))
        counted = dead.players["researcher"] = Counted(dead.players["researcher"])
        await dead.run()
        assert await dead.transcript() == await whole.transcript()
        assert counted.played == sum(at > position for at in (0, 2))


async def test_a_recorded_debate_is_played_again_without_the_server(tmp_path: Path) -> None:
    recorded = stage(Curious(sensible), tape=Recorder(tmp_path / "tape"))
    await recorded.run()
    gone = ResearchServer(command="no-such-program", tools=["search"])
    again = stage(Curious(sensible), gone, tape=Recording.load(tmp_path / "tape"))
    await again.run()
    assert await again.transcript() == await recorded.transcript()


async def test_a_replay_needs_no_server_in_the_settings(tmp_path: Path) -> None:
    await Toolbox({"files": bare()}, os.environ, Recorder(tmp_path / "tape")).tools()
    replayed = Toolbox({}, {}, Recording.load(tmp_path / "tape"))
    assert replayed.servers == ("files",)
    assert [*await replayed.tools()] == ["files.search"]


async def test_a_replay_has_the_model_that_the_recording_begins_with_and_not_a_tool(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "tape")
    await Toolbox({"files": bare()}, os.environ, recorder).tools()
    request = Request(model="mock", messages=(Message("user", "Hello."),), max_tokens=10, temperature=0.0)
    await recorder.wrap("mine", ScriptedModel(["Hello."])).complete(request, lambda text: None)
    assert (await Models({}, tape=Recording.load(tmp_path / "tape")).default()).name == "mine:mock"


async def test_a_false_quote_of_what_was_found_is_told() -> None:
    panelists = Panelists()

    def speech(request: Request) -> str:
        if request.schema or "You are the moderator" in request.messages[-1].content:
            return panelists(request)
        return 'It says "ponds freeze at 0 degrees" [S1], and "lakes never freeze over at all" [S1].'

    panel = stage(Curious(speech), format=PANEL, topic="Which cache?", settings={"checkpoints": False})
    await panel.run()
    told = [event.notes for event in panel.events if isinstance(event, TurnFinished) and event.kind == "opening"]
    assert "lakes never freeze over at all" in str(told[0])
    assert "ponds freeze at 0" not in str(told[0])


async def test_long_sources_can_be_searched_without_a_server() -> None:
    text = "\n\n".join(f"Paragraph {number} is about nothing in particular." for number in range(200))
    report: JsonValue = [{"name": "report", "text": f"{text}\n\nPonds freeze at 0 degrees, lakes later."}]
    replies = Curious(sensible, search("folder", query="when do ponds freeze?"))
    duel = stage(replies, ResearchServer(command="no-such-program", tools=["search"]), settings={"whole_sources": 1000})
    duel.new = replace(duel.new, settings={**duel.new.settings, "sources": report})
    result = await duel.run()
    first, second = (turn for turn in await duel.turns() if turn.seat == "researcher")
    (call,) = calls(first)
    assert "Ponds freeze at 0 degrees" in call.text
    assert call.source is None
    assert {each.cited for each in all_handed([first]).values()} == {"S1"}
    assert '<source name="search: when do ponds freeze? (folder)">\n[S1]\n' in replies.told[0]
    found, next_found = all_handed([first]), all_handed([second])
    assert "S1:0" not in found  # which the library has handed out before
    assert not found.keys() & next_found.keys()
    assert duel.library.asked[1].variables["had"] == {"debater_b": [*found]}
    coverage: Any = (result.outcome or {})["coverage"]
    assert coverage["read"] == 1 + len(found) + len(next_found)


async def test_each_model_reads_what_was_found_where_models_differ() -> None:
    replies = Curious(sensible)
    await stage(replies, models={"debater_a": "scripted:one", "debater_b": "scripted:other"}).run()
    assert all('<source tag="S1" name="search: ponds (files.search)">' in told for told in replies.told)


async def test_a_prompt_that_is_too_long_is_sent_again_without_what_was_found_first() -> None:
    found = Message("user", '<source tag="S1" name="a">\nlong\n</source>\n\n<turn by="A">\nHello.\n</turn>\n\nSpeak.')
    assert shortened([found]) == (Message("user", f'{LEFT_OUT}\n\n<turn by="A">\nHello.\n</turn>\n\nSpeak.'),)


@pytest.mark.parametrize("format", [DUEL, PANEL], ids=["duel", "panel"])
def test_an_estimate_counts_what_is_looked_up(format: Any) -> None:
    settings: dict[str, JsonValue] = {"max_rounds": 2, "max_total_output_tokens": 100_000}
    plain, researched = (
        estimate(Stage(format=format, settings={**settings, "research": on}).new, format, Prompts(), lambda *_: 0.0)
        for on in (False, True)
    )
    debaters = 3 if format is PANEL else 2
    assert researched.typical.calls - plain.typical.calls == 2 * debaters
    most = 4 if format is PANEL else 2  # debaters; who may ask again for what they have seen, and be asked for a form
    assert researched.most.calls - plain.most.calls == 2 * 4 * most
    assert researched.most.input_tokens > plain.most.input_tokens + 2 * debaters * FOUND // 4
    assert researched.typical.input_tokens > plain.typical.input_tokens

"""A debate as a graph: the nodes of every format, checkpoints as interrupts, and nothing stored is played twice."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import hypothesis
import pytest
from graphs import (
    APPROVE,
    CONFIG,
    GIVEN,
    GUIDE,
    TOPIC,
    Gate,
    Make,
    alone,
    both,
    checkpointer,
    human,
    ignore,
    nested,
    only_debate,
    panel,
    places,
    question,
    turns,
    visited,
)
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from moot.core.debate import Answer, Outcome, Question, Seat, Settings, Status, Step
from moot.core.format import Format
from moot.core.script import Debate, Script
from moot.errors import InvalidInput, NotFound
from moot.formats import by_name
from moot.integrations.langgraph import debate_graph
from moot.testing import ScriptedModel, scripted_app
from pdf_file import pdf
from stage import Panelists, decisions, sensible

ROUND = ["run_round", "evaluate"]

# The way through the graph


@both
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_panel_is_steered_at_its_checkpoint_and_approved_at_its_end(kind: str, make: Make) -> None:
    app, model = panel()
    async with checkpointer(kind) as saver:
        graph = make(app, saver, max_rounds=2)
        assert await visited(graph) == ["analyze", *ROUND]
        assert (await graph.aget_state(CONFIG)).interrupts[0].value == {
            "debate_id": await only_debate(app),
            "question": "New points still come up.",
            "actions": ["continue", "guide", "end"],
        }
        assert await visited(graph, GUIDE) == ["checkpoint", *ROUND, "synthesize"]
        assert (await graph.aget_state(CONFIG)).interrupts[0].value["actions"] == ["approve", "guide", "reject"]
        done = await graph.ainvoke(APPROVE, CONFIG)
    record = (await app.load(await only_debate(app))).record
    assert (record.status, done["outcome"]) == (Status.FINISHED, record.outcome)
    assert (done["outcome"]["approved"], len(done["outcome"]["rounds"])) == (True, 2)
    (decision,) = decisions().values()
    assert decision.startswith(f"---\ndebate: {record.id}\n")
    assert await human(app) == [("guidance", "Mind the cost."), ("approval", "")]
    hears = ["Mind the cost." in repr(request.messages) for request in model.requests]
    assert hears == [False] * 7 + [True] * 7


async def test_the_state_is_the_debate_s_id_its_phase_and_in_the_end_its_outcome() -> None:
    app, _ = panel()
    graph = alone(app, InMemorySaver(), max_rounds=1)
    await graph.ainvoke(GIVEN, CONFIG)
    known = {"topic": TOPIC, "debate_id": await only_debate(app)}
    asked = {**known, "phase": "checkpoint", "position": 8, "outcome": None, "stop_reason": None}
    assert (await graph.aget_state(CONFIG)).values == asked
    done = await graph.ainvoke(APPROVE, CONFIG)
    outcome = (await app.load(known["debate_id"])).record.outcome
    left = {"debate_id": known["debate_id"], "outcome": outcome, "stop_reason": "max_rounds"}
    assert done == left
    assert (await graph.aget_state(CONFIG)).values == {**known, **left, "phase": "finished", "position": 9}
    assert not any(turn.content in json.dumps(asked) for turn in await turns(app) if turn.content)


async def test_a_user_s_graph_gets_only_what_its_own_state_knows() -> None:
    app, _ = panel()
    graph = nested(app, InMemorySaver(), checkpoints=False, max_rounds=1)
    done = await graph.ainvoke(GIVEN, CONFIG)
    outcome = (await app.load(await only_debate(app))).record.outcome
    assert done == {"topic": TOPIC, "outcome": outcome, "done": "Use Redis. It is fast enough."}


@pytest.mark.parametrize(
    ("format", "settings", "nodes"),
    [
        ("panel", {"checkpoints": False}, ["analyze", *ROUND, *ROUND, "synthesize"]),
        ("duel", {}, ["analyze", "run_round", "run_round", "synthesize"]),
        ("duel", {"judge": "each_round"}, ["analyze", *ROUND, *ROUND]),
        ("critique", {}, ["analyze", *ROUND, *ROUND, "synthesize"]),
        ("evaluation", {}, ["analyze", *ROUND]),
        ("evaluation", {"parallel_topics": 1}, ["analyze", *ROUND, *ROUND]),
    ],
)
async def test_every_format_goes_its_way_and_has_the_turns_it_has_without_a_graph(
    format: str, settings: dict[str, Any], nodes: list[str]
) -> None:
    chosen = {"max_rounds": 2, **settings}
    replies: Any = Panelists() if format == "panel" else sensible
    without = scripted_app(ScriptedModel(replies))
    await without.run((await without.create(format, TOPIC, chosen)).id, ignore)
    app = scripted_app(ScriptedModel(Panelists() if format == "panel" else sensible))
    graph = alone(app, InMemorySaver(), format, **chosen)
    assert await visited(graph) == nodes
    assert await places(app) == await places(without)
    assert (await graph.aget_state(CONFIG)).values["phase"] == "finished"


VAGUE = {"framing": "What for?", "domain": "", "too_vague": True, "question": "For whom?", "debaters": 2}
ANSWER: Any = Command(resume={"action": "answer", "text": "A team of three."})


@pytest.mark.parametrize("concluded", [False, True])
async def test_a_question_before_the_rounds_is_a_checkpoint_and_a_conclusion_leads_to_the_synthesis(
    concluded: bool,
) -> None:
    app = scripted_app(ScriptedModel(Panelists(analysis={**VAGUE, "constraints": [], "perspectives": []})))
    graph = alone(app, InMemorySaver(), max_rounds=1)
    asked = question(await graph.ainvoke(GIVEN, CONFIG))
    assert asked == {"debate_id": asked["debate_id"], "question": "For whom?", "actions": ["answer"]}
    if concluded:
        await app.conclude(asked["debate_id"])
    # The question is analysed again with the answer; a debate in which nobody spoke has nothing to synthesize.
    rest = ["run_round"] if concluded else [*ROUND, "synthesize"]
    assert await visited(graph, ANSWER) == ["checkpoint", "run_round", *rest]
    said = [("answer", "A team of three."), ("conclude", "concluded")]
    assert await human(app) == said[: 1 + concluded]


class Interviewed(Outcome):
    def headline(self) -> str:
        return self.summary

    def table(self) -> tuple[tuple[str, ...], ...]:
        return ()


def interview(debate: Debate[Settings]) -> Script[Interviewed]:
    """Questions in a row, at the very beginning, and something to prepare between them and the round."""
    for number in (1, 2):
        yield from debate.ask_person("answer", Question(f"Question {number}?", ("answer",)))
    yield from debate.ask("writer", "notes")
    with debate.until_closing():
        for round in debate.rounds(["writer"], closing=()):
            yield from debate.ask("writer", "text", round)
    return Interviewed(summary="Written.")


def interviews(folder: Path) -> dict[str, Any]:
    for name in ("rules", "notes", "text"):
        (folder / f"{name}.md").write_text("Write.")
    seats = (
        Seat("writer", "Writer", "writer", max_tokens=50),
        Seat("human", "You", "human", max_tokens=0, player="human"),
    )
    format = Format("interview", 1, "Asks, then writes.", Settings, seats, Interviewed, interview, folder)
    return dict(by_name([format]))


async def test_somebody_else_s_format_is_asked_and_played_in_its_own_order(tmp_path: Path) -> None:
    model = ScriptedModel(sensible)
    app = scripted_app(model, formats=interviews(tmp_path))
    graph = alone(app, InMemorySaver(), "interview", max_rounds=1)
    asked = question(await graph.ainvoke(GIVEN, CONFIG))
    assert (asked["question"], len(model.requests)) == ("Question 1?", 0)
    asked = question(await graph.ainvoke(Command(resume={"action": "answer", "text": "One."}), CONFIG))
    assert (asked["question"], len(model.requests)) == ("Question 2?", 0)
    record = (await app.load(asked["debate_id"])).record
    assert (record.status, record.stop_reason) == (Status.STOPPED, "handed_back")
    nodes = await visited(graph, Command(resume={"action": "answer", "text": "Two."}))
    assert nodes == ["checkpoint", "run_round", "run_round"]
    assert await human(app) == [("answer", "One."), ("answer", "Two.")]
    assert (await app.load(await only_debate(app))).record.status is Status.FINISHED


class Part(NamedTuple):
    """A part of a made-up script: who speaks side by side in which round, or nobody but the person."""

    seats: tuple[str, ...]
    round: int | None
    form: bool


class Form(Answer):
    shown = "summary"

    summary: str


PARTS = st.builds(
    Part,
    st.lists(st.sampled_from(["one", "other", "judge"]), unique=True).map(tuple),
    st.sampled_from([None, 1, 2]),
    st.booleans(),
)


def made_up(parts: list[Part], folder: Path) -> dict[str, Any]:
    def script(debate: Debate[Settings]) -> Script[Interviewed]:
        for part in parts:
            if part.seats:
                yield from debate.ask_all(
                    [Step(seat, "text", part.round, answer=Form if part.form else None) for seat in part.seats]
                )
            else:
                yield from debate.ask_person("answer", Question("And now?", ("answer",)), part.round)
        return Interviewed(summary="Written.")

    for name in ("rules", "text"):
        (folder / f"{name}.md").write_text("Write.")
    groups = {"one": "debater", "other": "debater", "judge": "judge"}
    seats = [Seat(seat, seat.capitalize(), group, max_tokens=50) for seat, group in groups.items()]
    seats.append(Seat("human", "You", "human", max_tokens=0, player="human"))
    return dict(by_name([Format("made_up", 1, "Anything.", Settings, tuple(seats), Interviewed, script, folder)]))


@hypothesis.settings(max_examples=25)
@given(st.lists(PARTS, max_size=6))
async def test_any_script_is_played_in_its_own_order_to_its_end(parts: list[Part]) -> None:
    with TemporaryDirectory() as folder:
        model = ScriptedModel(sensible)
        app = scripted_app(model, formats=made_up(parts, Path(folder)))
        graph = alone(app, InMemorySaver(), "made_up")
        result = await graph.ainvoke(GIVEN, CONFIG)
        while "__interrupt__" in result:
            result = await graph.ainvoke(ANSWER, CONFIG)
        expected = {"summary": "Written.", "caveats": [], "lead": "", "figures": [], "trust": None, "language": "en"}
        assert result["outcome"] == {**expected, "coverage": None, "ledger": None}
        wanted = [(seat, part.round) for part in parts for seat in part.seats or ("human",)]
        assert [(turn.seat, turn.round) for turn in await turns(app)] == wanted
        assert len(model.requests) == sum(len(part.seats) for part in parts)


# Live


async def up_to(events: AsyncIterator[Any], type: str) -> list[str]:
    """The types of the events up to the first of this type."""
    seen: list[str] = []
    async for _, event in events:
        seen.append(event["type"])
        if event["type"] == type:
            break
    return seen


@both
async def test_the_first_words_arrive_before_the_turn_ends_and_a_closed_stream_leaves_a_debate_to_resume(
    make: Make,
) -> None:
    gate = Gate()
    model = ScriptedModel(sensible, pace=gate)
    app = scripted_app(model)
    graph = make(app, InMemorySaver(), "duel", max_rounds=1)
    async with aclosing(graph.astream(GIVEN, CONFIG, stream_mode="custom", subgraphs=True)) as events:
        seen = await up_to(events, "turn_chunk")
        assert (seen, await turns(app)) == (["debate_started", "round_started", "turn_started", "turn_chunk"], ())
    record = (await app.load(await only_debate(app))).record
    assert (record.status, record.stop_reason) == (Status.STOPPED, "interrupted")
    gate.open.set()
    await graph.ainvoke(None, CONFIG)
    assert (len(await turns(app)), len(model.requests)) == (3, 4)


async def test_the_stream_tells_every_turn_in_pieces_and_as_a_whole_and_each_round_once() -> None:
    app = scripted_app(ScriptedModel(sensible))
    graph = alone(app, InMemorySaver(), "duel", max_rounds=2, judge="each_round")
    events: Any = [event async for event in graph.astream(GIVEN, CONFIG, stream_mode="custom")]
    stored = await turns(app)
    finished = [event for event in events if event["type"] == "turn_finished"]
    assert [event["content"] for event in finished] == [turn.content for turn in stored]
    for turn in stored:
        chunks = [event for event in events if (event["type"], event.get("position")) == ("turn_chunk", turn.position)]
        assert "".join(chunk["text"] for chunk in chunks) == turn.content
    others = [event["type"] for event in events if not event["type"].startswith("turn_")]
    node = ["debate_started"]
    assert others == [*node, "round_started", *node, *node, "round_started", *node, "limit_reached", "debate_finished"]
    assert json.loads(json.dumps(events)) == events


async def test_messages_carry_nothing_of_a_debate_and_beside_them_its_events_come_as_ever() -> None:
    app = scripted_app(ScriptedModel(sensible))
    graph = alone(app, InMemorySaver(), "duel", max_rounds=1)
    assert [message async for message in graph.astream(GIVEN, CONFIG, stream_mode="messages")] == []
    assert len(await turns(app)) == 3
    other: Any = {"configurable": {"thread_id": "other"}}
    told: Any = [each async for each in graph.astream(GIVEN, other, stream_mode=["custom", "messages"])]
    assert {mode for mode, _ in told} == {"custom"}
    assert [event["type"] for _, event in told].count("turn_finished") == 3


async def test_what_was_played_elsewhere_is_told_when_the_graph_goes_on() -> None:
    app, _ = panel()
    graph = alone(app, InMemorySaver(), max_rounds=2)
    debate_id = question(await graph.ainvoke(GIVEN, CONFIG))["debate_id"]
    await app.reply(debate_id, "continue")
    await app.run(debate_id, ignore)
    events: Any = [event async for event in graph.astream(None, CONFIG, stream_mode="custom")]
    assert [(event["type"], event["position"]) for event in events] == [
        ("turn_finished", position) for position in range(7, 15)
    ]
    assert [event["content"] for event in events] == [turn.content for turn in (await turns(app))[7:]]


# Answers


@pytest.mark.parametrize(
    ("resume", "error"),
    [
        ({"action": "approve"}, "{id} waits for one of: continue, guide, end; not 'approve'"),
        ({"action": "guide"}, "`guide` needs a text: say what you want the debate to hear"),
        (
            {"action": "no"},
            "resume with an action, and a text where it needs one: action: one of continue, guide, end, answer, "
            "approve, reject, not 'no'",
        ),
        (
            {"action": "end", "reason": "late"},
            "resume with an action, and a text where it needs one: reason: not known",
        ),
    ],
)
async def test_an_answer_that_fits_nothing_is_asked_for_again_and_says_why(resume: Any, error: str) -> None:
    app, model = panel()
    graph = alone(app, InMemorySaver(), max_rounds=2)
    asked = question(await graph.ainvoke(GIVEN, CONFIG))
    for _ in range(2):
        again = question(await graph.ainvoke(Command(resume=resume), CONFIG))
        assert again == {**asked, "error": error.format(id=asked["debate_id"])}
    assert question(await graph.ainvoke(GUIDE, CONFIG))["actions"] == ["approve", "guide", "reject"]
    assert (await human(app), len(model.requests)) == ([("guidance", "Mind the cost.")], 14)


@both
@pytest.mark.parametrize("late", [None, GUIDE])
async def test_an_answer_given_elsewhere_counts_and_the_late_one_is_heard_nowhere(late: Any, make: Make) -> None:
    app, model = panel()
    graph = make(app, InMemorySaver(), max_rounds=3)
    debate_id = question(await graph.ainvoke(GIVEN, CONFIG))["debate_id"]
    await app.reply(debate_id, "guide", "Be brief.")
    asked = question(await graph.ainvoke(late, CONFIG))
    assert asked["actions"] == ["continue", "guide", "end"]
    assert (await human(app), len(model.requests)) == ([("guidance", "Be brief.")], 13)


@both
@pytest.mark.parametrize("late", [None, GUIDE])
async def test_a_debate_that_has_come_to_another_question_elsewhere_asks_that_one(late: Any, make: Make) -> None:
    app, model = panel()
    graph = make(app, InMemorySaver(), max_rounds=2)
    debate_id = question(await graph.ainvoke(GIVEN, CONFIG))["debate_id"]
    await app.conclude(debate_id)
    assert (await app.run(debate_id, ignore)).status is Status.WAITING
    asked = question(await graph.ainvoke(late, CONFIG))
    assert asked["actions"] == ["approve", "guide", "reject"]
    assert (await human(app), len(model.requests)) == ([("guidance", "")], 8)
    assert (await graph.ainvoke(APPROVE, CONFIG))["outcome"]["approved"] is True


@both
async def test_a_debate_that_was_finished_elsewhere_is_finished_here(make: Make) -> None:
    app, model = panel()
    graph = make(app, InMemorySaver(), max_rounds=2)
    debate_id = question(await graph.ainvoke(GIVEN, CONFIG))["debate_id"]
    for action in ("end", "approve"):
        await app.reply(debate_id, action)  # type: ignore[arg-type]
        await app.run(debate_id, ignore)
    done = await graph.ainvoke(GUIDE, CONFIG)
    record = (await app.load(debate_id)).record
    assert (done["outcome"], record.status, len(model.requests)) == (record.outcome, Status.FINISHED, 8)


# How it is called


def test_without_async_it_says_what_to_call() -> None:
    app, _ = panel()
    with pytest.raises(TypeError, match=r"invoke via the async API \(ainvoke, astream, etc\.\)"):
        debate_graph(app).compile().invoke(GIVEN)


def test_an_unknown_format_is_refused_when_the_graph_is_made() -> None:
    app, _ = panel()
    with pytest.raises(
        NotFound, match=r"no format named 'dule', did you mean duel\? known: critique, duel, evaluation, panel, poll"
    ):
        debate_graph(app, "dule")
    with pytest.raises(InvalidInput, match=r"^duel settings: max_round: not known, did you mean max_rounds"):
        debate_graph(app, "duel", max_round=1)


@pytest.mark.parametrize(
    ("given", "settings", "message"),
    [
        ({"topic": " "}, {}, "the topic is empty: write the question to debate"),
        (GIVEN, {"rounds": 3}, "duel settings: rounds: not known, did you mean max_rounds?; known: "),
    ],
)
async def test_what_cannot_be_debated_is_refused_with_the_reason(given: Any, settings: Any, message: str) -> None:
    app, _ = panel()
    with pytest.raises(InvalidInput, match=f"^{re.escape(message)}"):
        await alone(app, InMemorySaver(), "duel", **settings).ainvoke(given, CONFIG)
    assert await app.list() == ()


def test_without_langgraph_the_import_says_what_to_install() -> None:
    script = "import sys; sys.modules['langgraph'] = None; from moot.integrations.langgraph import debate_graph"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    last = ran.stderr.splitlines()[-1]
    assert (ran.returncode, last) == (1, "ImportError: LangGraph is not installed: pip install 'moot[langgraph]'")


def test_the_example_in_the_docs_is_the_file_that_runs() -> None:
    root = Path(__file__).parent.parent.parent
    blocks = re.findall(r"```python\n(.*?)```", (root / "docs/langgraph.md").read_text(), re.DOTALL)
    example = (root / "examples/langgraph/careful.py").read_text()
    assert [block in example for block in blocks] == [True, True]


# Sources


@both
async def test_a_graph_argues_from_documents_also_from_a_pdf(make: Make) -> None:
    report = {"name": "report.pdf", "base64": base64.b64encode(pdf("Cover.", "Reads take 40 ms.")).decode()}
    model = ScriptedModel(sensible)
    app = scripted_app(model)
    async with checkpointer("memory") as saver:
        graph = make(app, saver, "duel", max_rounds=1, sources=[report, {"name": "notes.md", "text": "It rains."}])
        await graph.ainvoke(GIVEN, CONFIG)
    stored = (await app.load(await only_debate(app))).record.settings["sources"]
    assert stored == [
        {"name": "report.pdf", "text": "Cover.\n\f\nReads take 40 ms."},
        {"name": "notes.md", "text": "It rains."},
    ]
    assert "[S1 p. 2]\nReads take 40 ms." in model.requests[0].messages[0].content


async def test_a_graph_with_a_document_that_cannot_be_read_says_so() -> None:
    async with checkpointer("memory") as saver:
        graph = alone(panel()[0], saver, "duel", sources=[{"name": "a.pdf", "base64": "AAAA"}])
        with pytest.raises(InvalidInput, match=r"a\.pdf"):
            await graph.ainvoke(GIVEN, CONFIG)

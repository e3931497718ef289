"""Debates in a graph that break off, are lost, or go on elsewhere: they end as if nothing had happened."""

from __future__ import annotations

import asyncio
import itertools
from typing import Annotated, Any

import pytest
from graphs import (
    CONFIG,
    GIVEN,
    GUIDE,
    Application,
    Dying,
    Gate,
    Graph,
    Lost,
    Make,
    alone,
    both,
    human,
    ignore,
    nested,
    only_debate,
    panel,
    question,
    turns,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError, InvalidUpdateError
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from typing_extensions import TypedDict

from moot.app import App
from moot.core.debate import Record, Status
from moot.core.stored import StoredDebate
from moot.errors import Busy, DebateEnded, Refused
from moot.integrations.langgraph import debate_graph
from moot.testing import MemoryStore, ScriptedModel, scripted_app
from stage import sensible

SAID = [("guidance", "Mind the cost."), ("approval", "Mind the cost.")]


async def go_on(graph: Graph, *errors: type[Exception]) -> dict[str, Any]:
    """Guide and approve a panel, each question by its id; what breaks off with one of the errors is gone on with."""
    given = GIVEN
    while True:
        try:
            result = await graph.ainvoke(given, CONFIG, durability="sync")
        except errors:
            given = None if (await graph.aget_state(CONFIG)).values else given
            continue
        if "__interrupt__" not in result:
            return result
        (asked,) = result["__interrupt__"]
        action = "approve" if "approve" in asked.value["actions"] else "guide"
        given = Command(resume={asked.id: {"action": action, "text": "Mind the cost."}})


@both
@pytest.mark.parametrize("call", [1, 3, 9])
async def test_a_debate_that_fails_in_a_call_goes_on_and_keeps_every_turn(make: Make, call: int) -> None:
    app, model = panel(faults={call: Refused("no credit is left")})
    result = await go_on(make(app, InMemorySaver(), max_rounds=2), DebateEnded)
    assert result["outcome"]["approved"] is True
    assert (len(await turns(app)), len(model.requests)) == (16, 15)
    assert await human(app) == SAID


async def test_a_failed_debate_raises_why_and_how_to_go_on() -> None:
    app, _ = panel(faults={3: Refused("no credit is left")})
    with pytest.raises(DebateEnded) as caught:
        await alone(app, InMemorySaver()).ainvoke(GIVEN, CONFIG)
    debate_id = await only_debate(app)
    assert str(caught.value) == (
        f"{debate_id} is failed: no credit is left; nothing is lost: invoke the thread again with None, "
        f"or go on with: moot debate --resume {debate_id}"
    )


@both
async def test_a_thread_that_is_gone_on_with_at_a_question_asks_it_again(make: Make) -> None:
    app, model = panel()
    graph = make(app, InMemorySaver(), max_rounds=2)
    result = await graph.ainvoke(GIVEN, CONFIG)
    assert await graph.ainvoke(None, CONFIG) == result
    (asked,) = result["__interrupt__"]
    result = await graph.ainvoke(Command(resume={asked.id: {"action": "continue"}}), CONFIG)
    assert question(result)["actions"] == ["approve", "guide", "reject"]
    assert await graph.ainvoke(None, CONFIG) == result
    assert (await human(app), len(model.requests)) == ([("guidance", "")], 14)


@both
async def test_an_answer_that_is_sent_again_after_a_failure_answers_no_other_question(make: Make) -> None:
    app, _ = panel(faults={9: Refused("no credit is left")})
    graph = make(app, InMemorySaver(), max_rounds=3)
    await graph.ainvoke(GIVEN, CONFIG)
    with pytest.raises(DebateEnded):
        await graph.ainvoke(GUIDE, CONFIG)
    assert question(await graph.ainvoke(GUIDE, CONFIG))["actions"] == ["continue", "guide", "end"]
    assert await human(app) == [("guidance", "Mind the cost.")]


async def test_whichever_checkpoint_of_langgraph_is_lost_no_call_is_repeated() -> None:
    for number in itertools.count(1):
        app, model = panel()
        saver = Dying(number)
        result = await go_on(nested(app, saver, max_rounds=2), Lost)
        assert result["outcome"]["approved"] is True
        assert (len(await turns(app)), len(model.requests)) == (16, 14)
        assert await human(app) == SAID
        if saver.left > 0:
            break
    assert number > 10


class Breaking(MemoryStore):
    """Loses the process just after the first debate was created."""

    async def create(self, *about: Any, **more: Any) -> Record:
        before = await self.list(limit=1)
        created = await super().create(*about, **more)
        if not before:
            raise Lost
        return created


@both
async def test_a_node_killed_after_it_has_created_the_debate_creates_no_second_one(make: Make) -> None:
    app, model = panel(Breaking())
    saver = Dying()
    saver.forgets_subgraphs = True  # as they may be when the process dies so early
    graph = make(app, saver, max_rounds=2)
    with pytest.raises(Lost):
        await graph.ainvoke(GIVEN, CONFIG)
    saver.forgets_subgraphs = False
    asked = question(await graph.ainvoke(None, CONFIG))
    assert (asked["debate_id"], len(model.requests)) == (await only_debate(app), 7)


async def test_every_input_of_a_thread_is_a_debate_of_its_own() -> None:
    app = scripted_app(ScriptedModel(sensible))
    graph = alone(app, InMemorySaver(), "duel", max_rounds=1)
    ids = [(await graph.ainvoke(GIVEN, CONFIG))["debate_id"] for _ in range(2)]
    assert [record.id for record in await app.list()] == sorted(ids, key=ids.index, reverse=True)


async def test_a_node_that_asks_for_two_debates_on_one_topic_gets_two() -> None:
    app = scripted_app(ScriptedModel(sensible))
    duel = debate_graph(app, "duel", max_rounds=1).compile()
    ids: list[str] = []

    async def twice(state: Application) -> dict[str, Any]:
        results: Any = [await duel.ainvoke({"topic": state["topic"]}) for _ in range(2)]
        ids.extend(result["debate_id"] for result in results)
        return {"outcome": results[1]["outcome"]}

    graph = StateGraph(Application)
    graph.add_node("twice", twice)
    graph.add_edge(START, "twice")
    graph.add_edge("twice", END)
    await graph.compile(checkpointer=InMemorySaver()).ainvoke(GIVEN, CONFIG)
    assert sorted(record.id for record in await app.list()) == sorted(set(ids))
    assert len(ids) == 2


async def test_two_debates_at_once_ask_each_for_itself() -> None:
    app, _ = panel()
    debate = debate_graph(app, max_rounds=1).compile()

    async def first(state: Application) -> dict[str, Any]:
        return {"outcome": (await debate.ainvoke({"topic": state["topic"]}))["outcome"]}

    async def second(state: Application) -> dict[str, Any]:
        return {"done": (await debate.ainvoke({"topic": state["topic"]}))["outcome"]["approved"]}

    graph = StateGraph(Application)
    graph.add_node("first", first)
    graph.add_node("second", second)
    graph.add_edge(START, "first")
    graph.add_edge(START, "second")
    compiled = graph.compile(checkpointer=InMemorySaver())
    asked: Any = (await compiled.ainvoke(GIVEN, CONFIG))["__interrupt__"]
    ids = {each.value["debate_id"] for each in asked}
    assert ids == {record.id for record in await app.list()}
    answers = {each.id: {"action": "reject"} for each in asked}
    done = await compiled.ainvoke(Command(resume=answers), CONFIG)
    assert (len(ids), done["outcome"]["approved"], done["done"]) == (2, False, False)


class Gathered(TypedDict):
    """A state that keeps the outcomes of all branches."""

    topic: str
    outcome: Annotated[list[Any], lambda known, new: [*known, new] if new else known]


def side_by_side(app: App, state: Any, saver: Any) -> Graph:
    graph = StateGraph(state)
    for name in ("one", "two"):
        graph.add_node(name, debate_graph(app, max_rounds=1).compile())
        graph.add_edge(START, name)
        graph.add_edge(name, END)
    return graph.compile(checkpointer=saver)


async def test_debates_in_parallel_branches_are_gathered_by_a_reducer() -> None:
    app, _ = panel()
    graph = side_by_side(app, Gathered, InMemorySaver())
    asked: Any = (await graph.ainvoke(GIVEN, CONFIG))["__interrupt__"]
    done = await graph.ainvoke(Command(resume={each.id: {"action": "approve"} for each in asked}), CONFIG)
    assert [outcome["approved"] for outcome in done["outcome"]] == [True, True]
    assert len(await app.list()) == 2


async def test_branches_that_write_one_key_say_so_and_nothing_is_debated_twice() -> None:
    app, model = panel()
    saver = InMemorySaver()
    graph = side_by_side(app, Application, saver)
    asked: Any = (await graph.ainvoke(GIVEN, CONFIG))["__interrupt__"]
    answers: Any = Command(resume={each.id: {"action": "approve"} for each in asked})
    with pytest.raises(InvalidUpdateError, match="At key 'outcome': Can receive only one value per step"):
        await graph.ainvoke(answers, CONFIG)
    calls = len(model.requests)
    done = await side_by_side(app, Gathered, saver).ainvoke(None, CONFIG)
    assert (len(done["outcome"]), len(await app.list()), len(model.requests)) == (2, 2, calls)


@both
async def test_a_debate_that_a_recursion_limit_ends_goes_on_under_a_higher_one(make: Make) -> None:
    app, model = panel()
    graph = make(app, InMemorySaver(), checkpoints=False, max_rounds=4)
    with pytest.raises(GraphRecursionError, match="Recursion limit of 5 reached without hitting a stop condition"):
        await graph.ainvoke(GIVEN, {**CONFIG, "recursion_limit": 5})
    (record,) = await app.list()
    assert (record.status, record.stop_reason) == (Status.STOPPED, "handed_back")
    done = await graph.ainvoke(None, {**CONFIG, "recursion_limit": 3 * 4 + 10})
    assert done["outcome"] == (await app.load(record.id)).record.outcome
    assert len(model.requests) == len(await turns(app))


@pytest.mark.parametrize("saver", [None, True, False])
async def test_a_subgraph_that_is_come_to_twice_debates_twice(saver: Any) -> None:
    app = scripted_app(ScriptedModel(sensible))
    graph = StateGraph(Application)
    graph.add_node("debate", debate_graph(app, "duel", max_rounds=1).compile(checkpointer=saver))
    graph.add_node("count", lambda state: {"done": state.get("done", "") + "x"})
    graph.add_edge(START, "debate")
    graph.add_edge("debate", "count")
    graph.add_conditional_edges("count", lambda state: "debate" if len(state["done"]) < 2 else END)
    await graph.compile(checkpointer=InMemorySaver()).ainvoke(GIVEN, CONFIG)
    assert [record.status for record in await app.list()] == [Status.FINISHED] * 2


async def test_a_cancelled_graph_leaves_a_debate_that_anyone_can_go_on_with() -> None:
    gate = Gate()
    app, model = panel(pace=gate)
    graph = alone(app, InMemorySaver(), checkpoints=False, max_rounds=1)
    running = asyncio.create_task(graph.ainvoke(GIVEN, CONFIG))
    await gate.reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    record = (await app.load(await only_debate(app))).record
    assert (record.status, record.stop_reason, record.owner) == (Status.STOPPED, "interrupted", None)
    gate.open.set()
    await app.run(record.id, ignore)
    done = await graph.ainvoke(None, CONFIG)
    assert (done["stop_reason"], len(await turns(app)), len(model.requests)) == ("max_rounds", 8, 9)


async def test_a_debate_stopped_elsewhere_stops_the_graph_and_goes_on_when_it_is_asked_to() -> None:
    gate = Gate()
    app = scripted_app(ScriptedModel(sensible, pace=gate))
    graph = alone(app, InMemorySaver(), "duel", max_rounds=1)
    running = asyncio.create_task(graph.ainvoke(GIVEN, CONFIG))
    await gate.reached.wait()
    debate_id = await only_debate(app)
    await app.stop(debate_id)
    gate.open.set()
    with pytest.raises(DebateEnded) as caught:
        await running
    assert str(caught.value) == (
        f"{debate_id} is stopped; nothing is lost: invoke the thread again with None, "
        f"or go on with: moot debate --resume {debate_id}"
    )
    assert len(await turns(app)) == 1
    assert (await graph.ainvoke(None, CONFIG))["stop_reason"] == "max_rounds"


class Taken(MemoryStore):
    """Tells when somebody has found a debate taken by another."""

    def __init__(self) -> None:
        super().__init__()
        self.refused = asyncio.Event()

    async def take(self, *about: Any, **more: Any) -> StoredDebate:
        try:
            return await super().take(*about, **more)
        except Busy:
            self.refused.set()
            raise


async def test_a_debate_that_runs_elsewhere_is_waited_for() -> None:
    store = Taken()
    app, model = panel(store)
    graph = alone(app, InMemorySaver(), max_rounds=2)
    debate_id = question(await graph.ainvoke(GIVEN, CONFIG))["debate_id"]
    run = (await store.take(debate_id, "process 1 on another machine", 60)).record.run
    going_on = asyncio.create_task(graph.ainvoke(GUIDE, CONFIG))
    await store.refused.wait()
    await store.release(debate_id, run)
    assert question(await going_on)["actions"] == ["approve", "guide", "reject"]
    assert len(model.requests) == 14

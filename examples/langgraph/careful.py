"""An agent that debates before it acts: what it is asked to do it does only when a panel's decision is approved.

    python careful.py sessions "Move the sessions from PostgreSQL to Redis"

Interrupt or kill it whenever you like: the same command goes on where it was.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from typing_extensions import TypedDict

from moot.app import App, build
from moot.integrations.langgraph import debate_graph
from moot.settings import load


class Work(TypedDict):
    request: str
    topic: str
    outcome: dict[str, Any]
    result: str


def careful_agent(app: App) -> StateGraph[Work]:
    graph = StateGraph(Work)
    graph.add_node("consider", consider)
    graph.add_node("debate", debate_graph(app, "panel", max_rounds=2).compile())
    graph.add_node("act", act)
    graph.add_node("refrain", refrain)
    graph.add_edge(START, "consider")
    graph.add_edge("consider", "debate")
    graph.add_conditional_edges("debate", approved)
    graph.add_edge("act", END)
    graph.add_edge("refrain", END)
    return graph


def consider(state: Work) -> dict[str, str]:
    return {"topic": f"Should we do this now, and how? {state['request']}"}


def approved(state: Work) -> str:
    return "act" if state["outcome"]["approved"] else "refrain"


def act(state: Work) -> dict[str, str]:
    return {"result": f"Done: {state['request']}. {state['outcome']['summary']}"}


def refrain(state: Work) -> dict[str, str]:
    return {"result": f"Not done: {state['request']}. {state['outcome']['remark']}"}


async def run(thread: str, request: str) -> None:
    config: Any = {"configurable": {"thread_id": thread}}
    async with build(load()) as app, AsyncSqliteSaver.from_conn_string("careful.db") as saver:
        graph = careful_agent(app).compile(checkpointer=saver)
        state = await graph.aget_state(config)
        given: Any = None if state.values else {"request": request}
        while "result" not in state.values:
            async for _, event in graph.astream(given, config, stream_mode="custom", subgraphs=True):
                show(event)
            state = await graph.aget_state(config)
            for asked in state.interrupts:
                given = Command(resume={asked.id: await answer(asked.value)})
    say(state.values["result"])


def show(event: Any) -> None:
    """Whole turns; `turn_chunk` has them word by word."""
    if event["type"] == "turn_finished":
        say(f"{event['title']}: {event['content']}\n")


async def answer(asked: dict[str, Any]) -> dict[str, str]:
    say(asked.get("error", asked["question"]))
    say(f"{asked['debate_id']} waits for: {', '.join(asked['actions'])}")
    action, _, text = (await asyncio.to_thread(input)).partition(" ")
    return {"action": action, "text": text}


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(run(*sys.argv[1:]))

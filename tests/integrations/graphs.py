"""What tests of the graph share: a user's graph with a debate in it, checkpointers that fail, what was said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command
from typing_extensions import TypedDict

from moot.app import App
from moot.core.debate import Turn
from moot.core.events import Event
from moot.integrations.langgraph import debate_graph
from moot.testing import MemoryStore, ScriptedModel, scripted_app
from stage import Panelists

TOPIC = "Should we use Redis or PostgreSQL for caching?"
GIVEN: Any = {"topic": TOPIC}
CONFIG: Any = {"configurable": {"thread_id": "cache"}}
NODES = {"analyze", "run_round", "evaluate", "checkpoint", "synthesize"}
Graph = CompiledStateGraph[Any, Any, Any, Any]
Make = Callable[..., Graph]
GUIDE: Any = Command(resume={"action": "guide", "text": "Mind the cost."})
APPROVE: Any = Command(resume={"action": "approve"})


class Application(TypedDict):
    """The state of a user's graph: it knows the topic and wants the outcome."""

    topic: str
    outcome: dict[str, Any]
    done: str


def alone(app: App, saver: Any, format: str = "panel", **settings: Any) -> Graph:
    return debate_graph(app, format, **settings).compile(checkpointer=saver)


def nested(app: App, saver: Any, format: str = "panel", **settings: Any) -> Graph:
    """A user's graph that debates and then acts."""
    graph = StateGraph(Application)
    graph.add_node("debate", debate_graph(app, format, **settings).compile())
    graph.add_node("act", lambda state: {"done": state["outcome"]["summary"]})
    graph.add_edge(START, "debate")
    graph.add_edge("debate", "act")
    graph.add_edge("act", END)
    return graph.compile(checkpointer=saver)


both = pytest.mark.parametrize("make", [alone, nested])


def panel(store: MemoryStore | None = None, **model: Any) -> tuple[App, ScriptedModel]:
    scripted = ScriptedModel(Panelists(), **model)
    return scripted_app(scripted, store), scripted


class Gate:
    """Lets a model say one word, and the others when it is opened."""

    def __init__(self) -> None:
        self.reached, self.open = asyncio.Event(), asyncio.Event()
        self._said = 0

    async def __call__(self) -> None:
        self._said += 1
        if self._said > 1:
            self.reached.set()
            await self.open.wait()


@asynccontextmanager
async def checkpointer(kind: str) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    if kind == "memory":
        yield InMemorySaver()
    else:
        async with AsyncSqliteSaver.from_conn_string("graph.db") as saver:
            yield saver


class Lost(Exception):
    """The process died here."""


class Dying(InMemorySaver):
    """Loses the nth checkpoint, and the process with it; or from then on those of subgraphs, and only them."""

    def __init__(self, at: int = 0) -> None:
        super().__init__()
        self.left = at
        self.forgets_subgraphs = False

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise Lost
        if self.forgets_subgraphs and config["configurable"]["checkpoint_ns"]:
            return config
        return await super().aput(config, checkpoint, metadata, new_versions)


async def visited(graph: Graph, given: Any = GIVEN) -> list[str]:
    """Run a graph until it ends or asks; the nodes of the debate that it went through."""
    parts = [part async for part in graph.astream(given, CONFIG, stream_mode="updates", subgraphs=True)]
    return [node for _, update in parts for node in update if node in NODES]


def question(result: dict[str, Any]) -> dict[str, Any]:
    """What a graph asks that has come to a checkpoint."""
    (asked,) = result["__interrupt__"]
    value: dict[str, Any] = asked.value
    return value


def ignore(event: Event) -> None:
    """Nobody watches."""


async def only_debate(app: App) -> str:
    (record,) = await app.list()
    return record.id


async def turns(app: App) -> tuple[Turn, ...]:
    return (await app.load(await only_debate(app))).turns


async def places(app: App) -> list[tuple[str, str, int | None]]:
    return [(turn.seat, turn.kind, turn.round) for turn in await turns(app)]


async def human(app: App) -> list[tuple[str, str]]:
    """What the person said, and where."""
    return [(turn.kind, turn.content) for turn in await turns(app) if turn.seat == "human"]

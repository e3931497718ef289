"""A debate as a LangGraph graph: analyze → run_round → evaluate → checkpoint → synthesize.

Knows no format: which node comes next follows from the steps a debate would play next. The graph's state names the
debate and no more; the stored turns are the only truth, so a node that is run again plays only what is missing.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import orjson
from pydantic import BaseModel, JsonValue, ValidationError
from typing_extensions import TypedDict

try:
    from langgraph.errors import GraphInterrupt
    from langgraph.graph import END, START, StateGraph
    from langgraph.runtime import ExecutionInfo, Runtime
    from langgraph.types import interrupt
except ModuleNotFoundError as error:
    raise ImportError("LangGraph is not installed: pip install 'moot[langgraph]'") from error

from moot.app import App
from moot.core.debate import Action, JsonObject, Question, Status, Step, Turn
from moot.core.engine import RunResult
from moot.core.events import DebateStopped, Event, RoundStarted, TurnFinished, encode
from moot.core.format import AnyFormat
from moot.core.replay import INTERRUPTIONS, next_steps
from moot.errors import Busy, DebateEnded, Fenced, InvalidInput, WrongStatus, faults, meant
from moot.formats import DEFAULT, find
from moot.reading.debate import Reading

Node: TypeAlias = Literal["analyze", "run_round", "evaluate", "checkpoint", "synthesize"]
Phase: TypeAlias = Literal[Node, "finished"]
Spoken: TypeAlias = Turn | TurnFinished

LOOK_SECONDS = 0.5
"""So often a debate is looked at again that another process is running."""


class DebateInput(TypedDict):
    topic: str


class DebateOutput(TypedDict):
    """What the graph leaves; `outcome` is that of the format, as JSON."""

    debate_id: str
    outcome: JsonObject | None
    stop_reason: str | None


class DebateState(TypedDict):
    topic: str
    debate_id: str
    phase: Phase
    position: int
    """How many turns there were; an answer counts for the question asked there and for no later one."""
    outcome: JsonObject | None
    stop_reason: str | None


class Answered(BaseModel, extra="forbid"):
    """What a checkpoint's interrupt is resumed with."""

    action: Action
    text: str = ""


def debate_graph(
    app: App, format: str = DEFAULT, **settings: JsonValue
) -> StateGraph[DebateState, None, DebateInput, DebateOutput]:
    """The graph of a debate: compile it with any checkpointer, or without one as a node of another graph.

    Its input is a `topic`; every new input is a new debate. The app has to stay open while the graph runs.
    """
    found = find(app.formats, format)
    known = found.settings.model_fields
    if unknown := sorted(settings.keys() - known):  # all else about them is said when a debate is made
        told = f"{', '.join(unknown)}: not known{meant(unknown[0], known)}"
        raise InvalidInput(f"{format} settings: {told}; known: {', '.join(known)}")
    nodes = _Nodes(app, found, settings)
    graph = StateGraph(DebateState, input_schema=DebateInput, output_schema=DebateOutput)
    graph.add_node("analyze", nodes.analyze, input_schema=DebateInput)
    graph.add_node("run_round", nodes.run_round)
    graph.add_node("evaluate", nodes.evaluate)
    graph.add_node("checkpoint", nodes.checkpoint)
    graph.add_node("synthesize", nodes.synthesize)
    graph.add_edge(START, "analyze")
    for node in get_args(Node):
        graph.add_conditional_edges(node, _next_node, [*get_args(Node)[1:], END])
    return graph


def _next_node(state: DebateState) -> str:
    """Only a new debate begins at `analyze`: what a question has left to prepare is played with the first round."""
    return {"analyze": "run_round", "finished": END}.get(state["phase"], state["phase"])


# Where a debate is


@dataclass(frozen=True, slots=True)
class Progress:
    """A debate, what was said in it, and what it would play next."""

    reading: Reading
    steps: tuple[Step, ...]
    phase: Phase

    @property
    def question(self) -> Question | None:
        return next((step.question for step in self.steps if step.question), None)

    def update(self) -> dict[str, Any]:
        """The state of a graph whose debate is here."""
        record, finished = self.reading.record, self.phase == "finished"
        return {
            "debate_id": record.id,
            "phase": self.phase,
            "position": len(self.reading.turns),
            "outcome": record.outcome if finished else None,
            "stop_reason": record.stop_reason if finished else None,
        }


def phase_of(format: AnyFormat, spoken: Sequence[Spoken], steps: Sequence[Step]) -> Node:
    """Which node plays these steps, after what was said before."""
    if any(step.question for step in steps):
        return "checkpoint"
    if any(step.round is not None for step in steps):
        return "evaluate" if all(_judges(format, spoken, step) for step in steps) else "run_round"
    begun = any(turn.round is not None or (turn.seat, turn.kind) in INTERRUPTIONS for turn in spoken)
    return "synthesize" if begun or not steps else "analyze"


def _judges(format: AnyFormat, spoken: Sequence[Spoken], step: Step) -> bool:
    """Whether it fills in a form about a round in which others, and none of its own group, have spoken."""
    groups = {seat.name: seat.group for seat in format.seats if seat.player == "model"}
    others = {turn.seat for turn in spoken if turn.round == step.round and turn.seat in groups} - {step.seat}
    heard = {groups[seat] for seat in others}
    return step.answer is not None and bool(heard) and groups.get(step.seat) not in heard


def as_json(event: Event) -> JsonObject:
    told: JsonObject = orjson.loads(encode(event))
    return told


class _Scene:
    """What a node plays in one go: the steps of a phase, and of the rounds with which it begins."""

    def __init__(self, place: Progress, write: Callable[[Any], None]) -> None:
        self._place = place
        self._write = write
        self._spoken: list[Spoken] = list(place.reading.turns)

    def hear(self, event: Event) -> None:
        if self._is_news(event):
            self._write(as_json(event))
        if isinstance(event, TurnFinished):
            self._spoken.append(event)

    def is_over(self, steps: Sequence[Step]) -> bool:
        reading, rounds = self._place.reading, {step.round for step in self._place.steps}
        phase = phase_of(reading.format, self._spoken, steps)
        if phase != self._place.phase or rounds.isdisjoint(step.round for step in steps):
            return True
        return phase == "checkpoint" and len(self._spoken) > len(reading.turns)  # another question

    def _is_news(self, event: Event) -> bool:
        """Not that a node has ended, nor that the next one goes on in the same round."""
        if isinstance(event, RoundStarted):
            return all(turn.round != event.round for turn in self._spoken)
        return not (isinstance(event, DebateStopped) and event.stop_reason == "handed_back")


# The nodes


@dataclass(frozen=True, slots=True)
class _Nodes:
    app: App
    format: AnyFormat
    settings: Mapping[str, JsonValue]

    async def analyze(self, state: DebateInput, runtime: Runtime[None]) -> dict[str, Any]:
        """Create the debate, once however often the node is run, and play what comes before the first round."""
        topic = state.get("topic", "")
        key = _key(runtime.execution_info, self.format.name, topic, self.settings)
        record = await self.app.create(self.format.name, topic, self.settings, key=key)
        return await self._played(record.id, 0, runtime, "analyze")

    async def run_round(self, state: DebateState, runtime: Runtime[None]) -> dict[str, Any]:
        return await self._played(state["debate_id"], state["position"], runtime, "run_round", "analyze")

    async def evaluate(self, state: DebateState, runtime: Runtime[None]) -> dict[str, Any]:
        return await self._played(state["debate_id"], state["position"], runtime, "evaluate")

    async def synthesize(self, state: DebateState, runtime: Runtime[None]) -> dict[str, Any]:
        return await self._played(state["debate_id"], state["position"], runtime, "synthesize")

    async def checkpoint(self, state: DebateState, runtime: Runtime[None]) -> dict[str, Any]:
        """Ask, unless the answer has been given elsewhere; run again from its start when the answer is there."""
        debate_id, position = state["debate_id"], state["position"]
        place = await self._place(debate_id)
        if place.question is None or len(place.reading.turns) != position:
            return await self._played(debate_id, position, runtime)  # nothing: it has gone on elsewhere
        if not await self._is_answered(debate_id, position):
            await self._ask(debate_id, position, place.question)
        return await self._played(debate_id, position, runtime, "checkpoint")

    async def _ask(self, debate_id: str, position: int, question: Question) -> None:
        """Interrupt until there is an answer that the debate takes."""
        asked: JsonObject = {"debate_id": debate_id, "question": question.text, "actions": list(question.actions)}
        while True:
            resumed = interrupt(asked)
            try:
                answer = Answered.model_validate(resumed)
                await self.app.reply(debate_id, answer.action, answer.text, position)
            except ValidationError as error:
                asked["error"] = f"resume with an action, and a text where it needs one: {faults(error.errors())}"
            except InvalidInput as error:
                asked["error"] = str(error)
            except WrongStatus:
                return  # somebody else was faster
            else:
                return

    async def _is_answered(self, debate_id: str, position: int) -> bool:
        return any(said.position == position for said in await self.app.said(debate_id))

    async def _played(self, debate_id: str, told: int, runtime: Runtime[None], *phases: Phase) -> dict[str, Any]:
        """Play a debate while it is in one of these phases; what another process is playing is waited for.

        The stream has told the first `told` turns; those that were played elsewhere since are told as they are.
        """
        _drop_answer()
        write = runtime.stream_writer
        while True:
            place = await self._place(debate_id)
            for event in place.reading.events[told:]:
                write(as_json(event))
            told = len(place.reading.turns)
            if place.phase not in phases:
                return place.update()
            scene = _Scene(place, write)
            try:
                ending = await self.app.run(debate_id, scene.hear, until=scene.is_over)
            except (Busy, Fenced, WrongStatus):
                await asyncio.sleep(LOOK_SECONDS)
                continue
            _check(debate_id, ending)
            return (await self._place(debate_id)).update()

    async def _place(self, debate_id: str) -> Progress:
        reading = await self.app.read(debate_id)
        if reading.record.status is Status.FINISHED:
            return Progress(reading, (), "finished")
        steps = next_steps(reading.stored.record, reading.turns, reading.format)
        return Progress(reading, steps, phase_of(reading.format, reading.turns, steps))


def _check(debate_id: str, ending: RunResult) -> None:
    if ending.status in (Status.FINISHED, Status.WAITING) or ending.stop_reason == "handed_back":
        return
    why = f"{ending.status}: {ending.error}" if ending.error else f"{ending.status}"
    raise DebateEnded(
        f"{debate_id} is {why}; nothing is lost: invoke the thread again with None, "
        f"or go on with: moot debate --resume {debate_id}"
    )


def _drop_answer() -> None:
    """Take an answer out of the way that came too late, or twice: it is not meant for the next question."""
    with suppress(GraphInterrupt):
        interrupt(None)


def _key(info: ExecutionInfo | None, *about: object) -> str | None:
    """The same whenever a node is run again, another for everything else."""
    if info is None:
        return None
    outer = info.checkpoint_ns.rpartition("|")[0]
    # A subgraph may be killed before its first checkpoint is saved; its place in the outer graph is there again.
    place = outer if ":" in outer else info.checkpoint_ns
    return f"langgraph-{hashlib.sha256(repr((info.thread_id, place, *about)).encode()).hexdigest()}"

"""A debate on a stage of its own: memory store, fake clock, scripted model, a person who gives the usual answer.
Every `run` is as good as a new process.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue

from moot.core.debate import Failure, HumanReply, Record, SeatSettings, Step, Turn
from moot.core.engine import Control, Player, PlayerReply, Run, RunResult
from moot.core.events import Event, TurnChunk, encode
from moot.core.format import AnyFormat
from moot.core.prompts import Prompts
from moot.core.script import Debate
from moot.core.turn_writer import TurnWriter
from moot.errors import ModelError, RateLimited, Refused, WrongStatus
from moot.formats.duel.format import DUEL
from moot.llm.calls import Connection
from moot.llm.client import Completion, Request
from moot.llm.pace import Pace
from moot.players.human import HumanPlayer
from moot.players.model import ModelPlayer
from moot.testing import MemoryStore, ScriptedModel
from moot.trust.neutral_names import neutral_names

ID = "DEB-stage234"
TOPIC = "Cats are better than dogs"
A, B = neutral_names(TOPIC)


class Killed(BaseException):
    """The process died here."""


class Clock:
    def __init__(self, at: float = 1_700_000_000.0) -> None:
        self.at = at

    def __call__(self) -> float:
        return self.at

    async def tick(self, seconds: float = 1) -> None:
        self.at += seconds


Answers = Callable[[Step], HumanReply | None]


def usual(step: Step) -> HumanReply:
    """What most people say: the first of the answers."""
    assert step.question
    action = step.question.actions[0]
    return HumanReply(action, "It is for a team of three." if action == "answer" else "")


def silent(step: Step) -> None:
    """A person who is not there."""


class Person:
    """Somebody who answers at once, or has answered before, or is not there."""

    def __init__(self, store: MemoryStore, answers: Answers) -> None:
        self._store = store
        self._answers = answers

    async def play(self, debate: Debate[Any], step: Step, voice: TurnWriter) -> PlayerReply:
        if said := self._answers(step):
            with suppress(WrongStatus):
                await self._store.say(ID, replace(said, position=voice.position))
        return await HumanPlayer(self._store.said).play(debate, step, voice)


class Library:
    """Finds the beginning of every source for everybody, no templates, and nothing that is said again."""

    def __init__(self) -> None:
        self.asked: list[Step] = []
        self.total = 1
        """Of the passages that the sources have."""

    async def play(self, debate: Debate[Any], step: Step, voice: TurnWriter) -> PlayerReply:
        self.asked.append(step)
        if step.kind == "templates":
            return PlayerReply("", {"templates": []})
        if step.kind == "repeats":
            return PlayerReply("", {"repeats": {}})
        texts: Any = step.variables["texts"]
        queries: Any = step.variables["queries"]
        found: list[JsonValue] = [
            {"id": f"{tag}:0", "tag": tag, "cited": tag, "text": text[:60]} for tag, text in texts.items()
        ]
        return PlayerReply("", {step.kind: dict.fromkeys(queries, found), "total": self.total})


class Stage:
    """One debate. Its clock moves a second with every word of the scripted model, and by every pause of a player."""

    def __init__(
        self,
        replies: Callable[[Request], str] | Sequence[str] | None = None,
        *,
        format: AnyFormat = DUEL,
        topic: str = TOPIC,
        settings: Mapping[str, JsonValue] | None = None,
        models: Mapping[str, str] | None = None,
        faults: Mapping[int, ModelError] | None = None,
        player: Player | None = None,
        prompts: Prompts | None = None,
        person: Answers = usual,
    ) -> None:
        patient = {"round_timeout_seconds": 1e6} if "round_timeout_seconds" in format.settings.model_fields else {}
        once = {"depth": "quick"} if "depth" in format.settings.model_fields else {}
        settings = {**patient, **once, **(settings or {})}  # a word takes a second here: no round is too long by itself
        checked = format.settings.model_validate(settings)
        seats = {
            seat.name: SeatSettings(
                (models or {}).get(seat.name, "scripted:model"),
                checked.temperatures.get(seat.name, seat.temperature),
                checked.max_tokens.get(seat.name, seat.max_tokens),
            )
            for seat in format.seats
            if seat.player == "model" and checked.seated(seat)
        }
        self.format = format
        self.clock = Clock()
        self.store = MemoryStore(self.clock)
        self.model: Any = ScriptedModel(replies or sensible, faults=faults, pace=self.clock.tick)
        self.library = Library()
        self.players: dict[str, Player] = {
            "model": player or ModelPlayer(format, prompts or Prompts(), self._connect, self._sleep),
            "human": Person(self.store, person),
            "library": self.library,
        }
        self.new = Record(
            id=ID,
            format=format.name,
            format_version=format.version,
            topic=topic,
            settings=checked.model_dump(mode="json"),
            seats=seats,
            created_at=0.0,
        )
        self.events: list[Event] = []
        self.slept: list[float] = []

    async def open(self) -> MemoryStore:
        if not await self.store.list(limit=1):
            await self.store.create(self.new)
        return self.store

    async def run(self, store: Any = None, sink: Callable[[Event], None] | None = None) -> RunResult:
        await self.open()
        before = (await self.store.load(ID)).record
        await self.store.release(ID, before.run)
        taken = await self.store.take(ID, "stage", lease_seconds=1e9)
        run = Run(
            record=taken.record,
            turns=taken.turns,
            control=taken.asked,
            format=self.format,
            store=store or self.store,
            player_for=lambda seat: self.players[self.format.seat(seat).player],
            sink=sink or self.events.append,
            now=self.clock,
        )
        return await run.to_its_end()

    async def die_at_event(self, number: int) -> bool:
        """Run until the nth event, which kills the process; False when the run had ended by then."""
        left = number

        def sink(event: Event) -> None:
            nonlocal left
            self.events.append(event)
            left -= 1
            if not left:
                raise Killed

        try:
            await self.run(sink=sink)
        except Killed:
            return True
        return False

    async def record(self) -> Record:
        return (await self.store.load(ID)).record

    async def turns(self) -> tuple[Turn, ...]:
        return (await self.store.load(ID)).turns

    async def failures(self) -> tuple[Failure, ...]:
        return (await self.store.load(ID)).failures

    async def order(self) -> list[tuple[str, str, int | None]]:
        return [(turn.seat, turn.kind, turn.round) for turn in await self.turns()]

    async def transcript(self) -> list[Turn]:
        """The turns without what another run may well change."""
        return [replace(turn, started_at=0, finished_at=0, run=0, event_id=0) for turn in await self.turns()]

    def positions(self) -> set[int]:
        """The positions at which a turn is stored now."""
        return {row["position"] for row in self.store.database.connection.execute("SELECT position FROM turns")}

    def alter(self, turn: int | None = None, **columns: JsonValue) -> None:
        """Change the stored debate, or a turn of it, in a way that the store itself never would."""
        connection = self.store.database.connection
        table, where = ("debates", "") if turn is None else ("turns", f"WHERE position = {turn}")
        connection.execute("DROP TRIGGER IF EXISTS turns_are_not_updated")
        values = [json.dumps(value) if isinstance(value, dict) else value for value in columns.values()]
        connection.execute(f"UPDATE {table} SET {', '.join(f'{name} = ?' for name in columns)} {where}", values)

    def types(self) -> list[str]:
        return [event.type for event in self.events if not isinstance(event, TurnChunk)]

    def shown(self, position: int) -> str:
        """What readers saw of a turn while it was spoken, of its last attempt."""
        text = ""
        for event in self.events:
            if isinstance(event, TurnChunk) and event.position == position:
                text = text[: event.offset] + event.text
        return text

    async def _connect(self, name: str) -> Connection:
        return Connection(self.model, name.partition(":")[2], Pace())

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


class Between:
    """A store with something that happens before or after a turn is appended to it."""

    def __init__(
        self,
        store: MemoryStore,
        *,
        before: Callable[[Turn], Awaitable[None]] | None = None,
        after: Callable[[Turn], Awaitable[None]] | None = None,
    ) -> None:
        self._store = store
        self._before = before
        self._after = after

    async def append(self, debate_id: str, turn: Turn) -> Control:
        if self._before:
            await self._before(turn)
        control = await self._store.append(debate_id, turn)
        if self._after:
            await self._after(turn)
        return control

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def kill_at(position: int) -> Callable[[Turn], Awaitable[None]]:
    async def kill(turn: Turn) -> None:
        if turn.position == position:
            raise Killed

    return kill


def sensible(request: Request) -> str:
    """An answer to anything, another one for every other prompt."""
    mark = zlib.crc32(repr(request.messages).encode())
    if request.schema is None:
        return f"Reason number {mark} speaks for it."
    return json.dumps(_filled(request.schema.schema, mark))


def _filled(schema: Any, mark: int) -> Any:
    if "enum" in schema:
        return schema["enum"][mark % len(schema["enum"])]
    match schema["type"]:
        case "object":
            return {name: _filled(part, mark + at) for at, (name, part) in enumerate(schema["properties"].items())}
        case "array":
            return [_filled(schema["items"], mark)]
        case "integer" | "number":
            return mark % 11
        case "boolean":
            return False
        case _:
            return f"Summary number {mark} of {A} and {B}."


def ballot(a: float = 7, b: float = 4, summary: str = f"{A} gave the better reasons.", **more: JsonValue) -> str:
    """What a judge of this stage writes."""
    return json.dumps({"summary": summary, f"score_{A.lower()}": a, f"score_{B.lower()}": b, **more})


def judged(*verdicts: str) -> Callable[[Request], str]:
    """Sensible debaters, and a judge who gives these answers one after the other, the last one for ever."""
    left = list(verdicts)

    def reply(request: Request) -> str:
        if request.schema is None:
            return sensible(request)
        return left.pop(0) if len(left) > 1 else left[0]

    return reply


def as_json(event: Event) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(encode(event))
    return decoded


# A panel

FAST, CLEAR, SAFE = "Performance Advocate", "Operational Simplicity", "Security Advocate"
ANALYSIS: dict[str, JsonValue] = {
    "framing": "A cache has to be chosen. It depends on load.",
    "domain": "architecture",
    "constraints": ["must ship soon"],
    "too_vague": False,
    "question": "",
    "debaters": 2,
    "perspectives": [FAST, CLEAR],
}
GOES_ON: dict[str, JsonValue] = {"summary": "New points still come up.", "state": "new_ground", "decision": "continue"}
SYNTHESIS: dict[str, JsonValue] = {
    "recommendation": "Use Redis. It is fast enough.",
    "tensions": ["speed against calm"],
}
_SPEAKER = re.compile(r"^You are (?:the )?(.+?)\.(?: |$)", re.MULTILINE)


class Call(NamedTuple):
    """What a seat of a panel is asked: for which kind of turn, under which name, and how often before."""

    kind: str
    name: str
    number: int


Part = str | Mapping[str, JsonValue] | Sequence[Any] | Callable[[Call], Any]


class Panelists:
    """A panel's seats: each kind of turn has a text, or several of which the last stays, or a function of the call."""

    def __init__(self, **parts: Part) -> None:
        self._parts: dict[str, Part] = {
            "analysis": ANALYSIS,
            "summary": lambda call: f"The moderator wants point {call.number} settled.",
            "opening": new_words,
            "rebuttal": lambda call: {"content": new_words(call), "responding_to": [f"{FAST}: speed"]},
            "evaluation": GOES_ON,
            "synthesis": SYNTHESIS,
            "notes": {"note": "It turns on speed.", "claims": []},
            **parts,
        }
        self.requests: list[Request] = []
        self.calls: list[tuple[str, str]] = []

    def __call__(self, request: Request) -> str:
        self.requests.append(request)
        instruction = request.messages[-1].content
        name = (_SPEAKER.findall(instruction) or ["?"])[-1]
        speech = "summary" if name == "moderator" else "opening"
        kind = request.schema.name if request.schema else speech
        self.calls.append((kind, name))
        part = self._parts[kind]
        if callable(part):
            part = part(Call(kind, name, self.calls.count((kind, name))))
        elif isinstance(part, list | tuple):
            part = part[min(self.calls.count((kind, name)), len(part)) - 1]
        return part if isinstance(part, str) else json.dumps(part)


def new_words(call: Call) -> str:
    """A sentence that nobody has said before."""
    words = " ".join(f"word{zlib.crc32(repr((call, number)).encode())}" for number in range(20))
    return f"{call.name} says {words}."


def decisions(folder: str = "docs/decisions") -> dict[str, str]:
    """The files of decisions that there are: name → text."""
    return {path.name: path.read_text() for path in Path(folder).iterdir()}


class Mortal(ScriptedModel):
    """Models of which those in `dead` refuse every call."""

    def __init__(self, replies: Callable[[Request], str] = sensible, dead: str = "dead") -> None:
        super().__init__(replies)
        self.dead = {dead}

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        if request.model in self.dead:
            raise Refused(f"{request.model} is gone")
        return await super().complete(request, on_text)

    def models(self) -> list[str]:
        return [request.model for request in self.requests]


class Overloaded(Mortal):
    """Models of which those in `dead` are overloaded for a minute."""

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        try:
            return await super().complete(request, on_text)
        except Refused:
            raise RateLimited("overloaded, come back in a minute", retry_after=60.0) from None

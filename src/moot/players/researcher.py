"""The research of a debater: its model says what to look up, and tools that the user named look it up.

What a tool says is text. One that fails, is slow or is not there is told in the turn, and the debate goes on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import orjson
from pydantic import JsonValue, TypeAdapter

from moot.core.debate import NO_USAGE, JsonObject, Step
from moot.core.engine import Player, PlayerReply
from moot.core.evidence import had
from moot.core.format import AnyFormat
from moot.core.research import FOLDER, FOUND, LOOKS, MAX_TOOLS, SEARCHES, Call, Search, Searches, asking
from moot.core.script import Debate
from moot.core.sources import read_whole
from moot.core.turn_writer import TurnWriter
from moot.errors import MootError, ToolFailed
from moot.llm.client import Client, Completion, Message, Request
from moot.llm.recording import Recorder, Recording
from moot.players.library import FAULTS, handed_out
from moot.retrieval.library import Library
from moot.retrieval.tools import Parameter, Tool, ToolServer
from moot.settings import ResearchServer
from moot.sources.source import text_by_tag
from moot.text.plain import one_line, shortened

log = logging.getLogger(__name__)

LIST = "tools/list"
RECORDED = "research:"
"""What a server's name has before it in a recording."""
_TOOLS = TypeAdapter(tuple[Tool, ...])
OWN = Tool(FOLDER, "Passages of this debate's own sources.", (Parameter("query", "string", required=True),))


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool as a debater is told of it."""

    id: str
    description: str
    parameters: tuple[Parameter, ...]

    @property
    def size(self) -> int:
        return len(self.description) + sum(len(each.name) + len(each.description) + 30 for each in self.parameters)


class Toolbox:
    """The tools of all servers that the user named, by `server.tool`; in a replay, of those that were recorded."""

    def __init__(
        self,
        servers: Mapping[str, ResearchServer],
        environ: Mapping[str, str],
        tape: Recorder | Recording | None = None,
    ) -> None:
        self._clients = (
            {name.removeprefix(RECORDED): tape.client(name) for name in tape.providers if name.startswith(RECORDED)}
            if isinstance(tape, Recording)
            else {name: _taped(name, ToolServer(each, environ), tape) for name, each in servers.items()}
        )
        self._listing: dict[str, asyncio.Task[tuple[Tool, ...]]] = {}

    @property
    def servers(self) -> Sequence[str]:
        return tuple(self._clients)

    async def tools(self) -> dict[str, Tool]:
        """Those of servers that answer; which do not is logged."""
        known: dict[str, Tool] = {}
        for name in self._clients:
            try:
                known |= {f"{name}.{tool.name}": tool for tool in await self._tools(name)}
            except ToolFailed as error:
                log.warning("research server %s: %s", name, error)
        return known

    async def call(self, id: str, tool: Tool, arguments: JsonObject) -> str:
        """Raises ToolFailed."""
        server = id.removesuffix(f".{tool.name}")
        answer = await self._ask(server, tool.name, arguments)
        if not str(answer["text"]).strip():
            raise ToolFailed("nothing was found")
        return str(answer["text"])

    async def _tools(self, server: str) -> tuple[Tool, ...]:
        """Asked once; a server that has failed is asked again the next time."""
        if server not in self._listing:
            self._listing[server] = asyncio.create_task(self._listed(server))
        try:
            return await asyncio.shield(self._listing[server])
        except MootError:
            self._listing.pop(server, None)
            raise

    async def _listed(self, server: str) -> tuple[Tool, ...]:
        return _TOOLS.validate_python((await self._ask(server, LIST, {}))["tools"])

    async def _ask(self, server: str, what: str, arguments: JsonObject) -> Mapping[str, Any]:
        messages = (Message("user", orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS).decode()),)
        request = Request(model=what, messages=messages, max_tokens=0, temperature=0.0)
        said = await self._clients[server].complete(request, lambda text: None)
        answer: Mapping[str, Any] = orjson.loads(said.text)
        if "error" in answer:
            raise ToolFailed(str(answer["error"]))
        return answer


@dataclass(frozen=True, slots=True)
class _ServerClient:
    """A server behind the port of models: so recordings keep its calls like theirs, and play them without it."""

    server: ToolServer

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        text = orjson.dumps(await self._answer(request.model, orjson.loads(request.messages[0].content))).decode()
        return Completion(text=text, finish_reason="stop", usage=NO_USAGE)

    async def _answer(self, what: str, arguments: JsonObject) -> Mapping[str, Any]:
        try:
            if what == LIST:
                return {"tools": [asdict(tool) for tool in await self.server.tools()]}
            return {"text": await self.server.call(what, arguments)}
        except ToolFailed as error:
            return {"error": str(error)}


def _taped(name: str, server: ToolServer, tape: Recorder | None) -> Client:
    client = _ServerClient(server)
    return tape.wrap(f"{RECORDED}{name}", client) if tape else client


@dataclass(frozen=True, slots=True)
class ResearchPlayer:
    format: AnyFormat
    model: Player
    toolbox: Toolbox
    library: Library

    async def play(self, debate: Debate[Any], step: Step, voice: TurnWriter) -> PlayerReply:
        tools = await self.toolbox.tools()
        if not read_whole(debate):
            tools[FOLDER] = OWN
        if not tools:
            told = "No tool could be reached to look things up with."
            voice.say(told)
            return PlayerReply(told, {"calls": []}, marks=("without:research",))
        research = _Research(
            debate=debate,
            step=step,
            voice=voice,
            tools=tools,
            model=self.model,
            toolbox=self.toolbox,
            library=self.library,
        )
        return await research.done(f"{self.format.title(research.asker, debate)}: ")


@dataclass(slots=True, kw_only=True)
class _Research:
    """What one debater has looked up before one speech."""

    debate: Debate[Any]
    step: Step
    voice: TurnWriter
    tools: Mapping[str, Tool]
    model: Player
    toolbox: Toolbox
    library: Library
    calls: list[Call] = field(default_factory=list)
    handed: list[JsonValue] = field(default_factory=list)
    """Passages of the debate's own sources that were found."""
    _said: list[str] = field(default_factory=list)

    @property
    def asker(self) -> str:
        return str(self.step.variables["asked_by"])

    async def done(self, whose: str) -> PlayerReply:
        self._say(whose)
        replies = [await self._look()]
        while len(replies) < LOOKS and self._wants_more(replies[-1]):
            self._say("\n\n")
            replies.append(await self._look())
        data: JsonObject = {
            "asked_by": self.asker,
            "reason": " ".join(filter(None, (each.content for each in replies))),
            "calls": [each.model_dump(mode="json") for each in self.calls],
            "evidence": {self.asker: self.handed},
        }
        usage = sum((each.usage for each in replies), NO_USAGE)
        marks = tuple(dict.fromkeys(mark for each in replies for mark in each.marks))
        return replace(replies[-1], content="".join(self._said).strip(), data=data, usage=usage, marks=marks)

    def _wants_more(self, reply: PlayerReply) -> bool:
        searched = Searches.model_validate(reply.data or {})
        return searched.more and bool(searched.searches) and len(self.calls) < SEARCHES

    def _say(self, text: str) -> None:
        self._said.append(text)
        self.voice.say(text)

    async def _look(self) -> PlayerReply:
        """Ask for searches, and make them."""
        reply = await self.model.play(self.debate, asking(self.step, _offered(self.tools), self.calls), self.voice)
        self._said.append(reply.content)
        asked = Searches.model_validate(reply.data or {})
        wanted = asked.searches[: SEARCHES - len(self.calls)]
        left = FOUND - sum(len(call.text) for call in self.calls)
        share = left // max(1, len(wanted) + (asked.more and not self.calls))
        found = await asyncio.gather(*(self._called(search, share) for search in wanted))
        self.calls += found
        listed = "\n".join(f"- {_told(each)}" for each in found)
        self._say(f"\n\n{listed}" if listed else "")
        return reply

    async def _called(self, search: Search, share: int) -> Call:
        """A search and what came of it, one that no tool could do too."""
        tool = self.tools.get(search.tool)
        given = {each.name: each.value for each in search.arguments}
        if tool is None:
            return Call(tool=shortened(search.tool, 60), arguments={**given}, error="there is no such tool")
        call = Call(tool=search.tool, arguments=tool.arguments(given))
        own = call.tool == FOLDER
        try:
            text = await (self._passages(call, share) if own else self.toolbox.call(call.tool, tool, call.arguments))
        except ToolFailed as error:
            return call.model_copy(update={"error": str(error)})
        return call.model_copy(update={"text": shortened(text, share)})

    async def _passages(self, call: Call, characters: int) -> str:
        """Those of the debate's own sources that the debater has not read yet."""
        texts = text_by_tag(self.debate.settings.sources)
        queries = {self.asker: [str(call.arguments.get("query", ""))]}
        before = {self.asker: had(self.debate, self.asker)}
        try:
            found = (await self.library.evidence(texts, queries, before, characters)).passages[self.asker]
        except FAULTS as error:
            raise ToolFailed(str(error)) from None
        if not found:
            raise ToolFailed("nothing was found that you have not read")
        self.handed += [handed_out(each) for each in found]
        return "\n\n".join(f"[{each.cited}]\n{each.text}" for each in found)


def _told(call: Call) -> str:
    """A search in a line of markdown, in which names keep their underscores."""
    return f"`{_code(call.query)}` ({call.tool if call.tool == FOLDER else f'`{_code(call.tool)}`'}): " + (
        f"`{_code(call.error)}`" if call.error else f"{len(call.text):,} characters"
    )


def _code(text: str) -> str:
    return one_line(text).replace("`", "'") or "–"


def _offered(tools: Mapping[str, Tool]) -> Sequence[Offered]:
    """As many as may be said of them."""
    left, offered = MAX_TOOLS, []
    for id, tool in tools.items():
        each = Offered(id, tool.description, tool.parameters)
        left -= each.size
        if left < 0:
            break
        offered.append(each)
    return offered

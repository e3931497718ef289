"""What can be read without a tool: transcripts, decision records and traces as resources, formats as prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.prompts import Prompt
from pydantic import Field

from moot.app import App
from moot.core.format import AnyFormat
from moot.core.stored import StoredDebate
from moot.errors import NotFound
from moot.export.sources import with_sources
from moot.export.transcript import transcript
from moot.integrations.mcp.views import QUOTES, DebateLines, address, debate_line
from moot.reading.debate import Reading
from moot.reading.sources import source_with_text, sources_view

LATEST = 20
MARKDOWN, JSON = "text/markdown", "application/json"


@dataclass(frozen=True, slots=True)
class ResourceReader:
    app: App

    async def latest(self) -> str:
        """The latest debates: id, topic, status, and the outcome in a line."""
        lines = [debate_line(self.app.reading(StoredDebate(record))) for record in await self.app.list(LATEST)]
        return DebateLines(debates=lines, next_cursor=None).model_dump_json(indent=2)

    async def transcript(self, id: str) -> str:
        """Every word of a debate, with its outcome."""
        return _quoted(await asyncio.to_thread(_transcript, await self.app.read(id)))

    async def decision(self, id: str) -> str:
        """The record of a debate's outcome; the transcript where its format writes no record of its own."""
        record = (await self.app.load(id)).record
        if record.outcome is None:
            raise NotFound(f"{id} has no outcome, it is {record.status}; read {address(id, 'transcript')}")
        return _quoted(await self.app.export(id, "md"))

    async def sources(self, id: str) -> str:
        """A debate's sources: which carried its decision, what is quoted of them, which citations lead nowhere."""
        found = await asyncio.to_thread(sources_view, await self.app.read(id))
        return found.model_dump_json(indent=2)

    async def source(self, id: str, tag: str) -> str:
        """One of a debate's sources with its text, by its tag: S1."""
        found = await asyncio.to_thread(source_with_text, await self.app.read(id), tag)
        return found.model_dump_json(indent=2)

    async def trace(self, id: str) -> str:
        """Everything about a debate as one JSON document."""
        return await self.app.export(id, "json")


def add_resources(server: MCPServer[Any], app: App) -> None:
    reader = ResourceReader(app)
    server.resource("moot://debates", mime_type=JSON)(reader.latest)
    parts: list[tuple[str, Callable[..., Coroutine[Any, Any, str]], str]] = [
        ("transcript", reader.transcript, MARKDOWN),
        ("decision", reader.decision, MARKDOWN),
        ("trace", reader.trace, JSON),
        ("sources", reader.sources, JSON),
        ("sources/{tag}", reader.source, JSON),
    ]
    for part, read, mime_type in parts:
        server.resource(address("{id}", part), mime_type=mime_type)(read)


def add_prompts(server: MCPServer[Any], app: App) -> None:
    for format in app.formats.values():
        server.add_prompt(_prompt(format))


def _prompt(format: AnyFormat) -> Prompt:
    def words(topic: Annotated[str, Field(description="the question or claim to debate")]) -> str:
        return (
            f"Have this debated with moot: call start_debate with the format {format.name!r} and the topic below, then "
            "wait_for_debate. Whenever it asks something, show me the question and pass on what I say. In the end tell "
            "me the outcome, the strongest reasons on each side, and what to know before trusting it.\n\n"
            f"<topic>\n{topic}\n</topic>"
        )

    return Prompt.from_function(words, name=format.name, description=format.summary)


def _transcript(reading: Reading) -> str:
    return with_sources(reading, transcript(reading), turns=True)


def _quoted(document: str) -> str:
    return f"> {QUOTES}\n\n{document}"

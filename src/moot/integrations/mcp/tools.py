"""The tools: each parses, does one thing to debates, and says how things stand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from typing import Annotated, Any, TypeAlias

from mcp.server.mcpserver import MCPServer
from mcp_types import InputRequiredResult, ToolAnnotations
from pydantic import Field, JsonValue

from moot.app import App
from moot.app.rejudging import rejudge
from moot.core.debate import Action, Record, Status
from moot.core.stored import StoredDebate
from moot.formats import find
from moot.integrations.mcp import waiting
from moot.integrations.mcp.views import (
    DebateLines,
    DebateReport,
    PastDecisions,
    debate_line,
    is_about,
    past_decision,
    report_on,
)
from moot.integrations.mcp.waiting import CallContext
from moot.llm.addresses import refuse_addresses
from moot.store.store import Cursor
from moot.web.schemas import DEBATE_ID, FormatList, cursor_from, format_view
from moot.web.schemas import cursor as cursor_at

DebateId: TypeAlias = Annotated[str, Field(pattern=f"^{DEBATE_ID}$", description="DEB- and 8 characters")]
Seconds: TypeAlias = Annotated[
    float, Field(gt=0, le=3600, description="come back after so long at the latest; the debate runs on")
]
Words: TypeAlias = Annotated[str, Field(max_length=200)]
Limit: TypeAlias = Annotated[int, Field(ge=1, le=50)]
PATIENCE = 300.0
PAGE = 100
MAX_SEARCHED = 2000

READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=True)
STEERS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=True)
ENDS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=True)


@dataclass(frozen=True, slots=True)
class Tools:
    app: App

    async def start_debate(
        self,
        context: CallContext,
        format: Annotated[str, Field(description="the rules; see the list in this tool's description")],
        topic: Annotated[str, Field(description="the question or claim, with what the debaters must know of it")],
        settings: Annotated[
            dict[str, JsonValue] | None,
            Field(description="what list_formats says the format takes, such as max_rounds"),
        ] = None,
        wait: Annotated[bool, Field(description="come back with the outcome, in minutes, instead of at once")] = False,
    ) -> DebateReport | InputRequiredResult:
        """Have language models debate a question, and get a decision with its reasons.

        Comes back at once with the debate's id while it runs in the background. Costs model calls.
        """
        if asked := waiting.asked_before(context):
            debate_id = asked.debate
        else:
            refuse_addresses(settings or {})
            debate_id = (await self.app.create(format, topic, settings or {}, start=True)).id
        if wait:
            return await waiting.wait(self.app, context, debate_id, PATIENCE)
        return await report_on(self.app, debate_id)

    async def look_at_debate(self, debate_id: DebateId) -> DebateReport:
        """See how a debate stands: status, latest speeches in short, the question it waits with, outcome."""
        return await report_on(self.app, debate_id)

    async def wait_for_debate(
        self, context: CallContext, debate_id: DebateId, seconds: Seconds = PATIENCE
    ) -> DebateReport | InputRequiredResult:
        """Wait until a debate is over or asks a person, who is asked through your client where that is possible.

        Giving up the wait leaves the debate running.
        """
        return await waiting.wait(self.app, context, debate_id, seconds)

    async def answer_checkpoint(
        self,
        debate_id: DebateId,
        action: Annotated[Action, Field(description="one of the question's actions; `guide` and `end` at any time")],
        text: Annotated[str, Field(description="at most 2000 characters; `guide` and `answer` need one")] = "",
        position: Annotated[
            int | None, Field(ge=0, le=2**31, description="of the question; the words are then for no other")
        ] = None,
    ) -> DebateReport:
        """Pass on a person's answer to what a debate asks, and let it go on; or guide one that runs.

        A panel's decision that is rejected with a reason as `text` is revised, without one it ends as rejected.

        The words are a person's: ask them, unless they have left it to you.
        """
        await self.app.reply(debate_id, action, text, position)
        return await report_on(self.app, debate_id)

    async def stop_debate(self, debate_id: DebateId) -> DebateReport:
        """Let the step in progress end, then nothing more; resume_debate goes on."""
        await self.app.stop(debate_id)
        return await report_on(self.app, debate_id)

    async def resume_debate(
        self,
        debate_id: DebateId,
        settings: Annotated[
            dict[str, JsonValue] | None,
            Field(description="what is to be different from here on: model, models, checkpoints, higher limits"),
        ] = None,
    ) -> DebateReport:
        """Go on with a debate that has stopped or failed, in the background."""
        refuse_addresses(settings or {})
        await self.app.resume(debate_id, settings)
        return await report_on(self.app, debate_id)

    async def conclude_debate(self, debate_id: DebateId) -> DebateReport:
        """End a debate's rounds after the step in progress and have it come to its outcome; cannot be undone."""
        await self.app.conclude(debate_id)
        return await report_on(self.app, debate_id)

    async def fork_debate(
        self,
        debate_id: DebateId,
        position: Annotated[
            int | None, Field(ge=0, le=2**31, description="how many of its turns to begin with; as many as can be")
        ] = None,
        settings: Annotated[
            dict[str, JsonValue] | None, Field(description="what shall be different, such as model or max_rounds")
        ] = None,
    ) -> DebateReport:
        """Begin another debate with the first turns of this one, and go on with other models or settings.

        Comes back at once while it runs in the background; the first debate stays as it is. Costs model calls.
        """
        refuse_addresses(settings or {})
        return await report_on(self.app, (await self.app.fork(debate_id, position, settings, start=True)).id)

    async def rejudge_debate(
        self,
        debate_id: DebateId,
        judge: Annotated[str | None, Field(description="PROVIDER:MODEL; the same judge without it")] = None,
        judgings: Annotated[int, Field(ge=1, le=12, description="how often at most, 1 or an even number")] = 8,
    ) -> DebateReport:
        """Judge a finished debate again in a new one, by another model or more often; the first stays as it is.

        Comes back at once while it runs in the background. Costs model calls.
        """
        refuse_addresses({"model": judge})
        return await report_on(self.app, (await rejudge(self.app, debate_id, judge, judgings, start=True)).id)

    async def list_debates(
        self,
        words: Annotated[Words, Field(description="as they stand in the topic")] = "",
        status: Status | None = None,
        format: str | None = None,
        limit: Limit = 20,
        cursor: Annotated[str | None, Field(description="next_cursor of the page before")] = None,
    ) -> DebateLines:
        """List debates, newest first: all, or those with these words, this status, this format."""
        if format is not None:
            find(self.app.formats, format)
        after = cursor_from(cursor) if cursor else None
        records = await self.app.list(limit + 1, status, format, words, after)
        return DebateLines(
            debates=[debate_line(self.app.reading(StoredDebate(record))) for record in records[:limit]],
            next_cursor=cursor_at(records[limit - 1]) if len(records) > limit else None,
        )

    async def search_decisions(
        self,
        words: Annotated[Words, Field(description="all of which stand in the topic or the outcome")] = "",
        limit: Limit = 20,
    ) -> PastDecisions:
        """Find what earlier debates have decided, before you start another."""
        found = []
        async for record in self._finished(words.split()):
            found.append(past_decision(self.app.reading(StoredDebate(record))))
            if len(found) == limit:
                break
        return PastDecisions(decisions=found)

    async def list_formats(self) -> FormatList:
        """List the kinds of debate, each with its seats and the JSON schema of its settings."""
        return FormatList(formats=[format_view(format) for format in self.app.formats.values()])

    async def _finished(self, words: Sequence[str]) -> AsyncIterator[Record]:
        """Debates with an outcome in which all these words stand, newest first.

        The database finds those that may be meant: reading every outcome here would hold up everybody else.
        """
        after: Cursor | None = None
        plain = [word for word in words if word.isascii() and not {*word} & {'"', "\\"}]
        for _ in range(0, MAX_SEARCHED, PAGE):
            page = await self.app.list(PAGE, Status.FINISHED, after=after, about=plain)
            for record in page:
                if record.outcome is not None and is_about(record, words):
                    yield record
            if len(page) < PAGE:
                return
            after = Cursor(page[-1].created_at, page[-1].id)


def add_tools(server: MCPServer[Any], app: App) -> None:
    tools = Tools(app)
    formats = "\n".join(f"- {name}: {format.summary}" for name, format in app.formats.items())
    for tool, hints, more in (
        (tools.start_debate, ADDS, f"\n\nFormats:\n{formats}"),
        (tools.look_at_debate, READS, ""),
        (tools.wait_for_debate, STEERS, ""),
        (tools.answer_checkpoint, ADDS, ""),
        (tools.stop_debate, STEERS, ""),
        (tools.resume_debate, STEERS, ""),
        (tools.conclude_debate, ENDS, ""),
        (tools.fork_debate, ADDS, ""),
        (tools.rejudge_debate, ADDS, ""),
        (tools.list_debates, READS, ""),
        (tools.search_decisions, READS, ""),
        (tools.list_formats, READS, ""),
    ):
        server.add_tool(tool, description=cleandoc(tool.__doc__ or "") + more, annotations=hints)

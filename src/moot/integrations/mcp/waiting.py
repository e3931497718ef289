"""Waiting for a debate: its progress while it speaks, and its person asked through the client when it wants one.

Clients of the protocol's older versions are asked while the call lasts. Newer ones get the question as the call's
result and call again with the answer; what has to be known then travels with it, sealed by the SDK.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from typing import Any, TypeAlias

import anyio
from mcp import MCPError
from mcp.server.mcpserver import Context
from mcp.server.session import ServerSession
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import is_version_at_least
from pydantic import BaseModel, ValidationError

from moot.app import MAX_WORDS, App
from moot.core.debate import Status
from moot.core.events import StepRetrying, TurnFinished
from moot.errors import InvalidInput, MootError, faults
from moot.integrations.mcp.views import MAX_TOPIC_IN_LISTS, DebateReport, report_on
from moot.reading.views import QuestionView
from moot.reading.words import retry_text
from moot.text.plain import printable, shortened
from moot.web.schemas import Reply

CallContext: TypeAlias = Context[Any, Any]

ANSWERS_BY_CALLING_AGAIN = "2026-07-28"
"""From this version of the protocol on a question is a call's result."""
QUESTION = "checkpoint"
MAX_QUESTIONS = 10
"""Clients call again no more often than this for one result."""
RETRY_PROGRESS = 0.001
NEED_TEXT = {"answer", "guide"}


class PendingQuestion(BaseModel):
    """What a call that is made again has to know: which question was asked, and how many in all."""

    debate: str
    position: int
    questions: int


async def wait(app: App, context: CallContext, debate_id: str, seconds: float) -> DebateReport | InputRequiredResult:
    """Wait until a debate has ended, the time is over, or it wants an answer that the client cannot bring."""
    asked = asked_before(context)
    if asked:
        result = (context.input_responses or {}).get(QUESTION)
        if unanswered := await _hear(app, asked, result):
            return unanswered
    questions = asked.questions if asked else 0
    while True:
        report = await _follow(app, context, debate_id, seconds)
        if report.question is None or not _can_ask(context) or questions >= MAX_QUESTIONS:
            return report
        questions += 1
        asked = PendingQuestion(debate=debate_id, position=report.question.position, questions=questions)
        form = ElicitRequestFormParams(message=_message(report), requested_schema=_form(report.question))
        if _calls_again(context):
            request = ElicitRequest(params=form)
            return InputRequiredResult(input_requests={QUESTION: request}, request_state=asked.model_dump_json())
        if unanswered := await _hear(app, asked, await _ask(context, form)):
            return unanswered


def asked_before(context: CallContext) -> PendingQuestion | None:
    """What an earlier call asked, when this is the call that brings the answer."""
    return PendingQuestion.model_validate_json(context.request_state) if context.request_state else None


async def _follow(app: App, context: CallContext, debate_id: str, seconds: float) -> DebateReport:
    """Tell the client of every turn until the debate ends or asks; the debate runs on when this is cancelled."""
    stored = await app.load(debate_id)
    if stored.record.status is not Status.CREATED:
        told = float(len(stored.turns))
        with anyio.move_on_after(seconds):
            async with aclosing(app.follow(debate_id, stored.last_event_id)) as events:
                async for event in events:
                    if isinstance(event, TurnFinished):
                        told += 1
                        await context.report_progress(told, message=_spoken(event))
                    elif isinstance(event, StepRetrying):
                        told += RETRY_PROGRESS  # which has to grow with every message
                        await context.report_progress(told, message=printable(retry_text(event)))
    return await report_on(app, debate_id)


def _spoken(turn: TurnFinished) -> str:
    return f"{f'Round {turn.round}: ' if turn.round else ''}{turn.title}, {turn.kind}"


async def _ask(context: CallContext, form: ElicitRequestFormParams) -> ElicitResult | None:
    try:
        session: ServerSession = context.session
        return await session.elicit_form(form.message, form.requested_schema, context.request_id)
    except (MCPError, ValidationError):  # it cannot ask after all, or what it brings is no answer
        return None


async def _hear(app: App, asked: PendingQuestion, result: object) -> DebateReport | None:
    """Let the debate hear what its person said; a report when that cannot be used, or they said nothing."""
    if not isinstance(result, ElicitResult) or result.action != "accept":
        return await report_on(app, asked.debate)
    try:
        reply = _reply(result, asked.position)
        await app.reply(asked.debate, reply.action, reply.text, reply.position)
    except MootError as error:
        report = await report_on(app, asked.debate)
        return report.model_copy(update={"next": f"The answer was not taken: {error}. {report.next}"})
    return None


def _reply(result: ElicitResult, position: int) -> Reply:
    given = {name: value for name, value in (result.content or {}).items() if value is not None}
    try:
        return Reply.model_validate({**given, "position": position})
    except ValidationError as error:
        raise InvalidInput(faults(error.errors())) from None


def _message(report: DebateReport) -> str:
    """The question as its person reads it, who may not know what the debate is about."""
    topic = shortened(report.debate.topic, MAX_TOPIC_IN_LISTS)
    return printable(
        f"{report.debate.id} waits for you. {topic}\n\n{report.question.question if report.question else ''}"
    )


def _form(question: QuestionView) -> dict[str, Any]:
    actions = list(question.actions)
    return {
        "type": "object",
        "properties": {
            "action": {"type": "string", "title": "Answer", "enum": actions, "default": actions[0]},
            "text": {
                "type": "string",
                "title": "Words",
                "description": _words_for(actions),
                "maxLength": MAX_WORDS,
            },
        },
        "required": ["action", "text"] if set(actions) <= NEED_TEXT else ["action"],
    }


def _words_for(actions: Sequence[str]) -> str:
    needed = ", ".join(action for action in actions if action in NEED_TEXT)
    why = "your reason to reject it, if you have one" if "reject" in actions else ""
    return "; ".join(filter(None, [needed and f"needed for: {needed}", why]))


def _can_ask(context: CallContext) -> bool:
    """Whether the client can show its person a form; one that names no kind of elicitation can."""
    capabilities = context.client_capabilities
    known = capabilities.elicitation if capabilities else None
    if known is None or (known.form is None and known.url is not None):
        return False
    return _calls_again(context) or context.session.can_send_request


def _calls_again(context: CallContext) -> bool:
    return is_version_at_least(context.protocol_version or "", ANSWERS_BY_CALLING_AGAIN)

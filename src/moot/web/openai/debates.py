"""Which debate a request is about: a new one, one that goes on, or the one that the same request has begun before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from pydantic import JsonValue

from moot.app import App
from moot.core.debate import HumanReply, JsonObject, Record, Status
from moot.core.format import AnyFormat
from moot.core.stored import StoredDebate
from moot.errors import InvalidInput, NotFound
from moot.llm.addresses import refuse_addresses
from moot.reading.history import ending, open_question
from moot.retrieval.folders import MAX_FILES
from moot.web.openai.answers import Begun
from moot.web.openai.conversation import ANYTIME, Conversation, Heard, Told, conversation, heard, told_of
from moot.web.openai.requests import Request
from moot.web.openai.words import in_short
from moot.web.schemas import DEBATE_ID

MAX_KEY = 200
MAX_EARLIER = 4
"""Debates of the same conversation of which a new one is told."""
RETRY_SECONDS = 3600
"""How old a debate may be that a client's retry joins."""
BARE_WORDS = (Heard("continue", ""), Heard("end", ""))
"""What would make no sense as the question of a new debate."""
MAX_CANDIDATES = 50
MAX_SEARCH = 80


class Attempt(NamedTuple):
    """What a request's headers say of it: the client's key for it, and whether it has sent the same before."""

    key: str | None = None
    repeated: bool = False


async def begin(app: App, format: AnyFormat, wanted: Request, attempt: Attempt) -> Begun:
    """Go on with the debate that the conversation is about, or create one that knows what the last ones came to."""
    said = conversation(wanted.messages)
    earlier = await _earlier(app, [*said.debates], wanted.debate)
    last = earlier[-1] if earlier else None
    if last and last.record.format == format.name:
        since = wanted.since if wanted.debate else said.debates.get(last.record.id)
        if joined := await _heard_before(app, last, said.question, since, attempt):
            return joined
        if last.record.status is not Status.FINISHED:
            return await _go_on(app, format, last, said.question)
    return await _create(app, format, said, earlier, wanted.settings, attempt)


# A new debate


async def _create(
    app: App,
    format: AnyFormat,
    said: Conversation,
    earlier: Sequence[StoredDebate],
    settings: JsonObject,
    attempt: Attempt,
) -> Begun:
    refuse_addresses(settings)
    key = attempt.key
    if key is not None and not 1 <= len(key) <= MAX_KEY:
        raise InvalidInput(f"the Idempotency-Key has {len(key)} characters; send 1 to {MAX_KEY}")
    chosen = {**format.unattended, **settings}  # most who ask a model want one answer
    new = told_of(said, _outcomes(app, earlier), _room(chosen.get("sources")))
    if new.sources:
        given = chosen.get("sources") or []
        given = given if isinstance(given, list) else [given]
        chosen["sources"] = [*given, *(each.model_dump() for each in new.sources)]
    record = await _created_before(app, format, new, chosen) if attempt.repeated and key is None else None
    record = record or await app.create(
        format.name, new.question, chosen, background=new.background, start=True, key=key, watched=True
    )
    return Begun(record.id, record.status, left_out=new.left_out)


def _room(given: JsonValue) -> int:
    """How many more sources a debate takes, but for one with what is left of the conversation."""
    return max(0, MAX_FILES - 1 - (len(given) if isinstance(given, list) else 0))


async def _created_before(app: App, format: AnyFormat, new: Told, settings: JsonObject) -> Record | None:
    """The latest debate on the very same, for a client that asks again because it did not get an answer."""
    draft = await app.drafts.new(format.name, new.question, settings, new.background)
    words = new.question[:MAX_SEARCH]
    for record in await app.list(MAX_CANDIDATES, format=format.name, words=words):
        is_same = (record.topic, record.settings) == (draft.topic, draft.settings)
        if is_same and record.created_at > draft.created_at - RETRY_SECONDS:
            return record
    return None


# One that is there


async def _go_on(app: App, format: AnyFormat, stored: StoredDebate, message: str) -> Begun:
    """Let a debate hear the message, as the answer to its question or as guidance, and run on."""
    record = stored.record
    asked = open_question(stored, format)
    action, text = heard(message, asked.actions if asked else ANYTIME)
    if asked:
        await app.reply(record.id, action, text, asked.position)
    elif action != "continue" or text:
        await app.reply(record.id, "guide" if action == "continue" else action, text)
    last = ending(stored, format)
    after = last.id if last else stored.last_event_id
    return Begun(record.id, (await app.resume(record.id)).status, len(stored.turns) + 1, after)


async def _heard_before(
    app: App, stored: StoredDebate, message: str, since: int | None, attempt: Attempt
) -> Begun | None:
    """The debate, if this very message has reached it: one that is sent again must not be heard twice."""
    if (reply := await _reply_before(app, stored, message, since, attempt)) is None:
        is_over = stored.record.status is Status.FINISHED and heard(message, ANYTIME) in BARE_WORDS
        return _joined(stored, since or 0) if is_over else None
    return _joined(stored, (since or 0) if reply.position is None else reply.position)


async def _reply_before(
    app: App, stored: StoredDebate, message: str, since: int | None, attempt: Attempt
) -> HumanReply | None:
    if since is None and not attempt.repeated:
        return None
    said = [each for each in await app.said(stored.record.id) if _is_after(each, since, attempt.repeated)]
    latest = reversed(said if since is not None else said[-1:])
    return next((each for each in latest if _says(each, message)), None)


def _joined(stored: StoredDebate, position: int) -> Begun:
    """A debate as somebody sees it who knows what came before a position."""
    after = max((turn.event_id for turn in stored.turns[:position]), default=0)
    return Begun(stored.record.id, stored.record.status, position + 1, after)


def _is_after(reply: HumanReply, since: int | None, repeated: bool) -> bool:
    """Whether words can be those of a message that answers what the debate was at a position."""
    if reply.position is None:
        return repeated
    return since is None or reply.position >= since


def _says(reply: HumanReply, message: str) -> bool:
    with suppress(InvalidInput):
        return heard(message, (reply.action,)) == (reply.action, reply.text)
    return False


async def _earlier(app: App, named: Sequence[str], chosen: JsonValue) -> list[StoredDebate]:
    """The debates of a conversation that there are; one that the client chose must be there."""
    found = []
    for debate_id in named[-MAX_EARLIER:]:
        with suppress(NotFound):  # deleted since, or never ours
            found.append(await app.load(debate_id))
    if chosen is not None:
        if not isinstance(chosen, str) or not re.fullmatch(DEBATE_ID, chosen):
            raise InvalidInput(f"moot.debate: {chosen!r} is no debate's id; those are DEB- and 8 characters")
        found.append(await app.load(chosen))
    return found


def _outcomes(app: App, debates: Iterable[StoredDebate]) -> dict[str, str]:
    """What these debates came to, as far as that can be read."""
    found = {stored.record.id: in_short(app.reading(stored)) for stored in debates}
    return {debate_id: text for debate_id, text in found.items() if text}

"""A model in a seat: render the prompt, call, try again, read the answer, fall back."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from moot.core.debate import MAX_FAULT, NO_USAGE, Answer, JsonObject, Step
from moot.core.engine import PlayerReply
from moot.core.format import AnyFormat
from moot.core.prompts import Message, Prompts, shortened
from moot.core.script import Debate
from moot.core.turn_writer import Again, TurnWriter
from moot.errors import (
    BadReply,
    ContextTooSmall,
    ModelError,
    ModelTimeout,
    RateLimited,
    ReplyCut,
    ServerFault,
    Unreachable,
)
from moot.llm.client import Completion, Connection, Request, Schema
from moot.llm.pace import MAX_PAUSE
from moot.players.answer import AnswerStream, SpeechStream, Unreadable, parse, rename, renamed
from moot.text import plain
from moot.text.chat_tokens import without_chat_tokens

RETRIES = 5


class ModelPlayer:
    def __init__(
        self,
        format: AnyFormat,
        prompts: Prompts,
        connect: Callable[[str], Awaitable[Connection]],
        sleep: Callable[[float], Coroutine[Any, Any, None]] = asyncio.sleep,
    ) -> None:
        self._format = format
        self._prompts = prompts
        self._connect = connect
        self._sleep = sleep

    async def play(self, debate: Debate[Any], step: Step, voice: TurnWriter) -> PlayerReply:
        name = debate.model_of(step)
        connection = await self._connect(name)
        request = await self._request(debate, step, connection.model)
        titles = {neutral: self._format.title(seat, debate) for seat, neutral in (step.aliases or {}).items()}
        titles = {neutral: title for neutral, title in titles.items() if neutral != title}
        if step.answer is None:
            return await self._speech(connection, request, titles, name, voice)
        return await self._structured(connection, request, titles, step.answer, name, voice)

    async def _request(self, debate: Debate[Any], step: Step, model: str) -> Request:
        render = partial(self._prompts.messages, self._format, debate, step)
        return Request(
            model=model,
            messages=await asyncio.to_thread(render) if self._prompts.own else render(),
            max_tokens=self._prompts.cap(debate, step),
            temperature=debate.seats[step.seat].temperature,
            schema=_schema(step.answer) if step.answer else None,
            think=debate.settings.think,
        )

    async def _call(
        self, connection: Connection, request: Request, voice: TurnWriter, listener: Callable[[], Callable[[str], None]]
    ) -> Completion:
        """Call; a prompt that is longer than the model can read is sent once more without its earlier turns."""
        try:
            return await self._call_with_retries(connection, request, voice, listener)
        except ContextTooSmall:
            short = replace(request, messages=shortened(request.messages))
            if short == request:
                raise
        try:
            completion = await self._call_with_retries(connection, short, voice, listener)
        except ContextTooSmall as error:
            raise ContextTooSmall(f"without the earlier turns too, {error}") from None
        return replace(completion, dropped=(*completion.dropped, "early_turns"))

    async def _call_with_retries(
        self, connection: Connection, request: Request, voice: TurnWriter, listener: Callable[[], Callable[[str], None]]
    ) -> Completion:
        """Call until it succeeds or asking again is useless; a broken reply starts the turn over."""
        failed = Counter[type[ModelError]]()
        while True:
            try:
                return await connection.client.complete(request, _noticed(listener(), voice))
            except ModelError as error:
                again = _again(error, failed)
                if again is None:
                    raise
                if error.partial:
                    await voice.start_over(error)
                ended = await voice.pause(error, again, self._sleep(again.seconds))
                if ended != "over":
                    connection.end_pause()
                if ended == "given_up":
                    raise

    async def _speech(
        self, connection: Connection, request: Request, titles: Mapping[str, str], name: str, voice: TurnWriter
    ) -> PlayerReply:
        stream = SpeechStream(titles, voice.say)
        completion = await self._call(connection, request, voice, stream.restart)
        stream.finish()
        return _reply(rename(completion.text, titles).strip(), None, name, [completion])

    async def _structured(
        self,
        connection: Connection,
        request: Request,
        titles: Mapping[str, str],
        answer: type[Answer],
        name: str,
        voice: TurnWriter,
    ) -> PlayerReply:
        """Ask for JSON; what cannot be read is asked for once more, then replaced by the format's fallback."""
        stream = AnswerStream(answer.shown, titles, voice.say)
        first = await self._call(connection, request, voice, stream.restart)
        try:
            return _answered(_parsed(first, answer), stream, titles, name, [first])
        except Unreadable as fault:
            await voice.start_over(BadReply(f"{name}: {fault}", partial=first.text))
            request = _repair(request, first.text, str(fault))
        second = await self._call(connection, request, voice, stream.restart)
        try:
            return _answered(_parsed(second, answer), stream, titles, name, [first, second], "repaired")
        except Unreadable as fault:
            await voice.start_over(BadReply(f"{name}: {fault}", partial=second.text))
            stream.restart()
            return _answered(answer.fallback(), stream, titles, name, [first, second], "fallback")


def _noticed(listen: Callable[[str], None], voice: TurnWriter) -> Callable[[str], None]:
    def hear(text: str) -> None:
        voice.on_sign()
        listen(text)

    return hear


def _again(error: ModelError, failed: Counter[type[ModelError]]) -> Again | None:
    """When to ask again after one more failure; each kind of failure has its own number of retries."""
    failed[type(error)] += 1
    same = failed[type(error)]
    delay = retry_delay(error, same, random.random())  # noqa: S311 - jitter is no secret
    return None if delay is None else Again(delay, failed.total() + 1, failed.total() - same + _retries(error) + 1)


def retry_delay(error: ModelError, attempt: int, jitter: float) -> float | None:
    """Seconds to wait before asking again after the nth attempt failed so; None when there is no use in it."""
    if attempt > _retries(error):
        return None
    match error:
        case RateLimited(retry_after=float(seconds)) | ServerFault(retry_after=float(seconds)):
            return seconds + jitter
        case RateLimited() | ServerFault() | Unreachable(reached_before=True):
            return 0.5 * 2.0 ** (attempt - 1) * (1 + jitter)
        case Unreachable():
            return 0.5
        case _:
            return 0.0


def _retries(error: ModelError) -> int:
    """How often it is worth asking again after such a failure."""
    match error:
        case ModelTimeout() | ReplyCut() | BadReply():
            return 1
        case Unreachable(reached_before=False):  # most likely a wrong address, or a server nobody has started
            return 1
        case RateLimited(retry_after=float(seconds)) | ServerFault(retry_after=float(seconds)) if seconds > MAX_PAUSE:
            return 0
        case RateLimited() | ServerFault() | Unreachable():
            return RETRIES
        case _:
            return 0


@cache
def _schema(answer: type[Answer]) -> Schema:
    schema = answer.model_json_schema(by_alias=True)
    return Schema(answer.__name__.lower(), _strict(schema, schema.pop("$defs", {})))


def _strict(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """A schema as servers want it: nothing to look up elsewhere, every key required, no other allowed."""
    if isinstance(schema, list):
        return [_strict(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _strict(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "properties" not in schema:
        return {key: _strict(part, definitions) for key, part in schema.items() if key not in ("default", "title")}
    properties = {name: _strict(part, definitions) for name, part in schema["properties"].items()}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _parsed(completion: Completion, answer: type[Answer]) -> Answer:
    return parse(completion.text, answer, cut=completion.finish_reason != "stop")


def _repair(request: Request, text: str, fault: str) -> Request:
    why = plain.shortened(fault, MAX_FAULT)
    wrong = f"Your answer cannot be used: {why}. Answer again, more briefly: one JSON object as asked, nothing else."
    own = Message("assistant", without_chat_tokens(text))
    return replace(request, messages=(*request.messages, own, Message("user", without_chat_tokens(wrong))))


def _answered(
    answer: Answer,
    stream: AnswerStream,
    titles: Mapping[str, str],
    model: str,
    completions: Sequence[Completion],
    *marks: str,
) -> PlayerReply:
    content = stream.finish(getattr(answer, answer.shown))
    said = {key: renamed(value, titles) for key, value in answer.model_dump(mode="json").items()}
    data = {**said, answer.shown: content}
    return _reply(content, data, model, completions, *marks)


def _reply(
    content: str, data: JsonObject | None, model: str, completions: Sequence[Completion], *marks: str
) -> PlayerReply:
    last = completions[-1]
    found = [*marks, *(f"without:{dropped}" for dropped in last.dropped)]
    if last.finish_reason != "stop":
        found.append("truncated")
    if any(completion.finish_reason == "over_cap" for completion in completions):
        found.append("over_cap")
    usage = sum((completion.usage for completion in completions), NO_USAGE)
    return PlayerReply(content, data, usage=usage, model=model, marks=tuple(found))

"""A model in a seat: render the prompt, call, try again, read the answer, fall back."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeAlias

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
from moot.llm.calls import Connection
from moot.llm.client import Completion, Request, Schema
from moot.llm.pace import MAX_PAUSE
from moot.players.answer import AnswerStream, SpeechStream, Unreadable, parse, rename, renamed
from moot.text import plain
from moot.text.chat_tokens import without_chat_tokens

RETRIES = 5
Sleep: TypeAlias = Callable[[float], Coroutine[Any, Any, None]]
Listener: TypeAlias = Callable[[], Callable[[str], None]]
"""What a reply is told to as it arrives: made anew for every attempt."""


@dataclass(frozen=True, slots=True)
class ModelPlayer:
    format: AnyFormat
    prompts: Prompts
    connect: Callable[[str], Awaitable[Connection]]
    sleep: Sleep = asyncio.sleep

    async def play(self, debate: Debate[Any], step: Step, voice: TurnWriter) -> PlayerReply:
        name = debate.model_of(step)
        connection = await self.connect(name)
        request = await self._request(debate, step, connection.model)
        titles = {neutral: self.format.title(seat, debate) for seat, neutral in (step.aliases or {}).items()}
        titles = {neutral: title for neutral, title in titles.items() if neutral != title}
        asking = _Asking(connection, request, titles, name, voice, self.sleep)
        return await (asking.structured(step.answer) if step.answer else asking.speech())

    async def _request(self, debate: Debate[Any], step: Step, model: str) -> Request:
        render = partial(self.prompts.messages, self.format, debate, step)
        return Request(
            model=model,
            messages=await asyncio.to_thread(render) if self.prompts.own else render(),
            max_tokens=self.prompts.cap(debate, step),
            temperature=debate.seats[step.seat].temperature,
            schema=_schema(step.answer) if step.answer else None,
            think=debate.settings.think,
        )


@dataclass(frozen=True, slots=True)
class _Asking:
    """One step asked of a model; in what it says, `titles` stand for the neutral names of seats."""

    connection: Connection
    request: Request
    titles: Mapping[str, str]
    model: str
    voice: TurnWriter
    sleep: Sleep

    async def speech(self) -> PlayerReply:
        stream = SpeechStream(self.titles, self.voice.say)
        completion = await self._call(self.request, stream.restart)
        stream.finish()
        return self._reply(rename(completion.text, self.titles).strip(), None, [completion])

    async def structured(self, answer: type[Answer]) -> PlayerReply:
        """Ask for JSON; what cannot be read is asked for once more, then replaced by the format's fallback."""
        stream = AnswerStream(answer.shown, self.titles, self.voice.say)
        first = await self._call(self.request, stream.restart)
        try:
            return self._answered(_parsed(first, answer), stream, [first])
        except Unreadable as fault:
            await self.voice.start_over(BadReply(f"{self.model}: {fault}", partial=first.text))
            request = _repair(self.request, first.text, str(fault))
        second = await self._call(request, stream.restart)
        try:
            return self._answered(_parsed(second, answer), stream, [first, second], "repaired")
        except Unreadable as fault:
            await self.voice.start_over(BadReply(f"{self.model}: {fault}", partial=second.text))
            stream.restart()
            return self._answered(answer.fallback(), stream, [first, second], "fallback")

    async def _call(self, request: Request, listener: Listener) -> Completion:
        """Call; a prompt that is longer than the model can read is sent once more without its earlier turns."""
        try:
            return await self._call_with_retries(request, listener)
        except ContextTooSmall:
            short = replace(request, messages=shortened(request.messages))
            if short == request:
                raise
        try:
            completion = await self._call_with_retries(short, listener)
        except ContextTooSmall as error:
            raise ContextTooSmall(f"without the earlier turns too, {error}") from None
        return replace(completion, dropped=(*completion.dropped, "early_turns"))

    async def _call_with_retries(self, request: Request, listener: Listener) -> Completion:
        """Call until it succeeds or asking again is useless; a broken reply starts the turn over."""
        failed = Counter[type[ModelError]]()
        while True:
            await self._wait_for_others(failed)
            try:
                return await self.connection.client.complete(request, _noticed(listener(), self.voice))
            except ModelError as error:
                again = _again(error, failed)
                if again is None:
                    raise
                if error.partial:
                    await self.voice.start_over(error)
                await self._pause(error, again, self.sleep(again.seconds))

    async def _wait_for_others(self, failed: Counter[type[ModelError]]) -> None:
        """Readers are told of a call that waits for those of other debates as of one that has failed."""
        if delay := await self.connection.pace.delay():
            attempts = failed.total() + 1 + RETRIES
            again = Again(delay.seconds, failed.total() + 1, attempts)
            await self._pause(delay.error, again, self.connection.pace.opened())

    async def _pause(self, error: ModelError, again: Again, pause: Coroutine[Any, Any, None]) -> None:
        """Raises the error when a person has no use for the call any more."""
        ended = await self.voice.pause(error, again, pause)
        if ended != "over":
            self.connection.pace.end_pause()
        if ended == "given_up":
            raise error

    def _answered(
        self, answer: Answer, stream: AnswerStream, completions: Sequence[Completion], *marks: str
    ) -> PlayerReply:
        content = stream.finish(getattr(answer, answer.shown))
        said = {key: renamed(value, self.titles) for key, value in answer.model_dump(mode="json").items()}
        return self._reply(content, {**said, answer.shown: content}, completions, *marks)

    def _reply(
        self, content: str, data: JsonObject | None, completions: Sequence[Completion], *marks: str
    ) -> PlayerReply:
        last = completions[-1]
        found = [*marks, *(f"without:{dropped}" for dropped in last.dropped)]
        if last.finish_reason != "stop":
            found.append("truncated")
        if any(completion.finish_reason == "over_cap" for completion in completions):
            found.append("over_cap")
        usage = sum((completion.usage for completion in completions), NO_USAGE)
        return PlayerReply(content, data, usage=usage, model=self.model, marks=tuple(found))


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

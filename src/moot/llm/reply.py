"""A chat completion as it arrives: bytes of the server's stream in, text out.

Knows no network and no clock. It runs once for every token of every debate, so its common path is short.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal

import orjson

from moot.errors import BadReply, ReplyCut, ServerFault
from moot.model import Usage

LONGEST_LINE = 1_000_000
CHARACTERS_PER_TOKEN = 4  # for estimates, when the server counts nothing


class Reply:
    """One reply; `name` is what messages call the server, `limit` the most characters taken from it."""

    __slots__ = (
        "_reasoning",
        "_rest",
        "_text",
        "_usage",
        "complete",
        "done",
        "finish_reason",
        "limit",
        "name",
        "overlong",
        "size",
    )

    def __init__(self, name: str, limit: int) -> None:
        self.name = name
        self.limit = limit
        self.size = 0
        """Characters of text and reasoning so far: while it grows, the model is alive."""
        self.finish_reason: str | None = None
        self.done = False
        self.overlong = False
        self.complete = False
        """The answer is whole, or as long as it may be; usage may still follow."""
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._usage: Any = None
        self._rest = b""

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def reasoning(self) -> str:
        return "".join(self._reasoning)

    def feed(self, data: bytes) -> str:
        """Take what one read brought, which may end anywhere, and return its text."""
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        known = len(self._text)
        for line in lines:
            if line[:5] == b"data:":
                self._take_event(line[5:])
        if len(self._rest) > LONGEST_LINE:
            raise BadReply(f"{self.name} sent a line of more than {LONGEST_LINE} bytes")
        return "".join(self._text[known:])

    def feed_whole(self, body: bytes) -> str:
        """Take a body that is one JSON object, from a server that does not stream."""
        self._take_event(body)
        self.done = self.complete = True
        return self.text

    def end(self) -> str:
        """The stream is over: its last line may lack its end, and is worth nothing if it was cut."""
        with suppress(BadReply):
            return self.feed(b"\n")
        return ""

    def check(self) -> None:
        """Raise unless this is a whole answer."""
        if not self.complete:
            raise ReplyCut(f"{self.name} ended its reply before it was complete")
        if self.text.strip():
            return
        if self.reasoning:
            raise BadReply(f"{self.name} answered nothing: it spent its tokens on reasoning; raise max_tokens")
        raise BadReply(f"{self.name} answered nothing")

    def outcome(self) -> Literal["stop", "length"]:
        return "length" if self.overlong or self.finish_reason == "length" else "stop"

    def usage(self, prompt_characters: int) -> Usage:
        """What the server counted, or an estimate where it counted nothing or nonsense."""
        with suppress(AttributeError, TypeError):
            usage = _counted(self._usage)
            if usage.output_tokens:
                return usage
        return Usage(
            input_tokens=_estimate(prompt_characters),
            output_tokens=_estimate(self.size if not self.overlong else self.limit),
            reasoning_tokens=_estimate(len(self.reasoning)),
            calls=1,
            estimated=True,
        )

    def _take_event(self, payload: bytes) -> None:
        try:
            chunk = orjson.loads(payload)
        except orjson.JSONDecodeError:
            if payload.strip() == b"[DONE]":
                self.done = self.complete = True
                return
            chunk = self._load_leniently(payload)
        try:
            if choices := chunk.get("choices"):
                self._take_choice(choices[0])
            if usage := chunk.get("usage"):
                self._usage = usage
            error = chunk.get("error")
        except (AttributeError, KeyError, TypeError):
            raise BadReply(f"{self.name} sent something that is no part of a chat completion") from None
        if error:
            raise ServerFault(f"{self.name} reported an error: {words(chunk)}")

    def _take_choice(self, choice: dict[str, Any]) -> None:
        if reason := choice.get("finish_reason"):
            self.finish_reason = str(reason)
            self.complete = True
        if not (delta := choice.get("delta") or choice.get("message")):
            return
        if text := delta.get("content"):
            self._text.append(self._accept(text))
        if text := delta.get("reasoning_content") or delta.get("reasoning"):
            self._reasoning.append(self._accept(text))

    def _accept(self, text: str) -> str:
        self.size += len(text)
        if self.size > self.limit:
            self.overlong = self.complete = True
            text = text[: max(0, len(text) - (self.size - self.limit))]
        return text.replace("\0", "\ufffd")

    def _load_leniently(self, payload: bytes) -> Any:
        """Read what orjson is too strict for: broken UTF-8 and lone surrogates, which become U+FFFD."""
        try:
            loose = json.dumps(json.loads(payload.decode(errors="replace")), ensure_ascii=False)
            return json.loads(loose.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        except (ValueError, RecursionError):
            raise BadReply(f"{self.name} sent something that is not JSON") from None


def words(body: Any) -> str:
    """The server's own message within an error body, whichever of the usual shapes it has."""
    error = body.get("error") or body if isinstance(body, dict) else body
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error.get("code") or error
    return error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)


def _estimate(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)


def _counted(usage: Mapping[str, Any]) -> Usage:
    prompt = usage.get("prompt_tokens_details") or {}
    output = usage.get("completion_tokens_details") or {}
    return Usage(
        input_tokens=_count(usage.get("prompt_tokens")),
        cached_tokens=_count(prompt.get("cached_tokens")) or _count(usage.get("prompt_cache_hit_tokens")),
        cache_written_tokens=_count(prompt.get("cache_write_tokens")),
        output_tokens=_count(usage.get("completion_tokens")),
        reasoning_tokens=_count(output.get("reasoning_tokens")),
        calls=1,
    )


def _count(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0

"""A reply as it arrives: bytes of the server's stream in, text out.

Knows no network, no clock and no dialect; a `StreamFormat` says how its dialect writes lines. It runs once for every
token of every debate, so its common path is short.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson
from pydantic_core import from_json

from moot.core.debate import Usage
from moot.errors import BadReply, ReplyCut
from moot.llm.client import FinishReason
from moot.llm.faults import reported
from moot.text.plain import CHARACTERS_PER_TOKEN, estimated_tokens

MAX_LINE = 1_000_000
MOST_CHARACTERS_PER_TOKEN = 8
"""No text has more on average, so a longer reply is over its cap, whatever its server says."""

_SPARE = 32  # characters: a cap of one token may be a long word
_MAX_OPENING = 64
_THINK, _END_THINK = "<think>", "</think>"


@dataclass(frozen=True, slots=True)
class StreamFormat:
    """How a dialect puts a reply on the wire: lines that begin with `prefix` hold one JSON object each."""

    path: str
    """Where its server takes requests."""
    content_type: str
    prefix: bytes
    take: Callable[[StreamedReply, Any], None]
    """Hand the parts of an object to the reply; may raise what comes of an object of another shape."""
    count: Callable[[Any], Usage]
    """Read `StreamedReply.counted`; the same holds."""


@dataclass(slots=True)
class StreamedReply:
    """One reply; `name` is what messages call the server, `cap` the tokens it was asked to keep to.

    A server that ignores the cap is cut off soon after it: by its own count where it tells one meanwhile, else by
    pieces and characters, as most servers send each token as a piece.
    """

    name: str
    cap: int
    wire: StreamFormat
    size: int = 0
    """Characters of text and reasoning so far: while it grows, the model is alive."""
    begun: bool = False
    """Something else than white space has come."""
    finish_reason: str | None = None
    done: bool = False
    over_cap: bool = False
    """The model went on after its cap, and what came then was not taken."""
    complete: bool = False
    """The answer is whole, or as long as it may be; usage may still follow."""
    counted: Any = None
    """The server's own count of tokens, in its own words."""
    _text: list[str] = field(default_factory=list)
    _reasoning: list[str] = field(default_factory=list)
    _pieces: int = 0
    _rest: bytearray = field(default_factory=bytearray)
    _part: Literal["opening", "thinking", "gap", "answer"] = "opening"
    _held: str = ""
    """What may turn out to be a tag; belongs to the part in progress if it does not."""

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def reasoning(self) -> str:
        return "".join(self._reasoning)

    def feed(self, data: bytes) -> str:
        """Take what one read brought, which may end anywhere, and return its text."""
        self._rest += data
        if b"\n" not in data:
            return self._beginning() if len(self._rest) > MAX_LINE else ""
        lines = bytes(self._rest).split(b"\n")
        self._rest = bytearray(lines.pop())
        known, prefix = len(self._text), self.wire.prefix
        for line in lines:
            if line.startswith(prefix) and not self.over_cap:
                self._take_object(line[len(prefix) :])
        return "".join(self._text[known:])

    def _beginning(self) -> str:
        """The text at the beginning of a line that does not end: far over its cap, it is cut off there."""
        known, line = len(self._text), bytes(self._rest[len(self.wire.prefix) :])
        self._rest = bytearray()
        with suppress(ValueError, AttributeError, KeyError, TypeError):
            self.wire.take(self, from_json(line.decode(errors="ignore"), allow_partial="trailing-strings"))
        if not self.over_cap:
            raise BadReply(f"{self.name} sent a line of more than {MAX_LINE} bytes")
        return "".join(self._text[known:])

    def feed_whole(self, body: bytes) -> str:
        """Take a body that is one JSON object, from a server that does not stream."""
        self._take_object(body)
        self._release()
        self.done = self.complete = True
        return self.text

    def end(self) -> str:
        """The stream is over: its last line may lack its end, and is worth nothing if it was cut."""
        known = len(self._text)
        with suppress(BadReply):
            self.feed(b"\n")
        self._release()
        return "".join(self._text[known:])

    def check(self) -> None:
        """Raise unless this is a whole answer."""
        if not self.complete:
            raise ReplyCut(f"{self.name} ended its reply before it was complete")
        if self.text.strip():
            return
        if self.reasoning:
            raise BadReply(f"{self.name} answered nothing: it spent its tokens on reasoning; raise max_tokens")
        raise BadReply(f"{self.name} answered nothing")

    def outcome(self) -> FinishReason:
        if self.over_cap:
            return "over_cap"
        return "length" if self.finish_reason == "length" else "stop"

    def usage(self, prompt_characters: int) -> Usage:
        """What the server counted, or an estimate where it counted nothing or nonsense."""
        with suppress(AttributeError, TypeError):
            usage = self.wire.count(self.counted)
            if usage.output_tokens:
                return usage
        return Usage(
            input_tokens=estimated_tokens(prompt_characters),
            output_tokens=self.cap if self.over_cap else estimated_tokens(self.size),
            reasoning_tokens=estimated_tokens(len(self.reasoning)),
            calls=1,
            estimated=True,
        )

    # --- for a wire's `take` ---

    def say(self, text: str) -> None:
        """The model's answer goes on; what it thinks aloud at the beginning, in tags, is no part of it."""
        if self._part != "answer":
            self._begin(text)
        else:
            self._text.append(self._accept(text))

    def think(self, text: str) -> None:
        self._reasoning.append(self._accept(text))

    def count(self, counted: Any) -> None:
        """The server's count, which some tell with every piece."""
        self.counted = counted
        with suppress(AttributeError, TypeError):
            if not self.complete and self.wire.count(counted).output_tokens > self.cap:
                self.over_cap = self.complete = True

    def finish(self, reason: str) -> None:
        self.finish_reason = reason
        self.complete = True

    def _begin(self, text: str) -> None:
        """Take text of an answer that may have begun with `<think>…</think>`, where tags may be split anywhere."""
        held, self._held = self._held + text, ""
        if self._part == "opening":
            start = held.lstrip()
            if len(start) < len(_THINK) and _THINK.startswith(start) and len(held) < _MAX_OPENING:
                self._held = held
                return
            self._part = "thinking" if start.startswith(_THINK) else "answer"
            held = start[len(_THINK) :] if self._part == "thinking" else held
        if self._part == "thinking":
            thought, tag, held = held.partition(_END_THINK)
            if not tag:
                keep = _partial_tag(thought)
                thought, self._held = thought[: len(thought) - keep], thought[len(thought) - keep :]
            self._part = "gap" if tag else "thinking"
            self.think(thought)
        if self._part == "gap":
            held = held.lstrip()
            self._part = "answer" if held else "gap"
        if self._part == "answer":
            self._text.append(self._accept(held))

    def _release(self) -> None:
        """No more text comes: what was held back was no tag."""
        if self._held:
            held, self._held = self._accept(self._held), ""
            (self._reasoning if self._part == "thinking" else self._text).append(held)

    def _accept(self, text: str) -> str:
        """As much of a piece as the cap has room for. The path of every token."""
        self._pieces += 1
        room = self.cap * (CHARACTERS_PER_TOKEN if self._pieces > self.cap else MOST_CHARACTERS_PER_TOKEN) - self.size
        if len(text) > room + _SPARE:
            self.over_cap = self.complete = True
            text = text[: max(0, room + _SPARE)]
        self.size += len(text)
        self.begun = self.begun or bool(text.strip())
        return text.replace("\0", "\ufffd")

    def _take_object(self, payload: bytes) -> None:
        rest = payload.strip()
        if rest == b"[DONE]":
            self.done = self.complete = True
        if rest in (b"", b"[DONE]"):
            return
        try:
            chunk = orjson.loads(rest)
        except orjson.JSONDecodeError:
            chunk = self._load_leniently(rest)
        try:
            self.wire.take(self, chunk)
            error = chunk.get("error")
        except (AttributeError, KeyError, TypeError):
            raise BadReply(f"{self.name} sent something that is no part of a reply") from None
        if error:
            raise reported(self.name, chunk)

    def _load_leniently(self, payload: bytes) -> Any:
        """Read what orjson is too strict for: broken UTF-8 and lone surrogates, which become U+FFFD."""
        try:
            loose = json.dumps(json.loads(payload.decode(errors="replace")), ensure_ascii=False)
            return json.loads(loose.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        except (ValueError, RecursionError):
            raise BadReply(f"{self.name} sent something that is not JSON") from None


def count(value: Any) -> int:
    """A number of tokens, 0 for what cannot be one."""
    return value if type(value) is int and value > 0 else 0


def _partial_tag(text: str) -> int:
    """How many characters at the text's end may be the beginning of the closing tag."""
    return next((size for size in range(len(_END_THINK) - 1, 0, -1) if text.endswith(_END_THINK[:size])), 0)

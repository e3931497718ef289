"""Which parts of the OpenAI dialect a model takes: the request's body, and what to change when it is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import JsonValue

from moot.core.debate import JsonObject
from moot.llm.client import Request

JsonMode = Literal["schema", "object", "none"]

JSON_MODES: tuple[JsonMode, ...] = ("schema", "object", "none")
"""From the strictest to none at all."""

_JSON_WORDS = ("response_format", "json_schema", "json_object", "schema", "json mode", "structured output", "grammar")
THINKING_FIELDS = ("thinking", "reasoning", "reasoning_effort", "chat_template_kwargs")
"""By these a server is told not to think; left out, it thinks as much as it does by itself."""
_OTHER_FIELD = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    json_mode: JsonMode = "schema"
    max_tokens_field: str = "max_tokens"
    max_tokens_swapped: bool = False
    temperature: bool = True
    stream_options: bool = True
    extra: Mapping[str, JsonValue] = field(default_factory=dict)
    """What the server wants besides, such as its own way to switch thinking off."""

    def body(self, request: Request) -> JsonObject:
        body: JsonObject = {
            "model": request.model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            self.max_tokens_field: request.max_tokens,
            "stream": True,
        }
        if self.temperature:
            body["temperature"] = request.temperature
        if self.stream_options:
            body["stream_options"] = {"include_usage": True}
        if request.schema and self.json_mode == "schema":
            schema: JsonObject = {"name": request.schema.name, "schema": request.schema.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif request.schema and self.json_mode == "object":
            body["response_format"] = {"type": "json_object"}
        extra = {name: value for name, value in self.extra.items() if not (request.think and name in THINKING_FIELDS)}
        return {**body, **extra}

    def without(self, complaint: str, request: Request) -> Dialect | None:
        """The dialect to try after this complaint; None when it names nothing that can be left out."""
        complaint = complaint.lower()
        if self.stream_options and "stream_options" in complaint:
            return replace(self, stream_options=False)
        if self.temperature and "temperature" in complaint:
            return replace(self, temperature=False)
        if refused := next((name for name in self.extra if _names(complaint, name)), None):
            return replace(self, extra={name: value for name, value in self.extra.items() if name != refused})
        if not self.max_tokens_swapped and any(field in complaint for field in _OTHER_FIELD):
            other = _OTHER_FIELD.get(self.max_tokens_field, "max_tokens")
            return replace(self, max_tokens_field=other, max_tokens_swapped=True)
        if request.schema and self.json_mode != "none" and any(word in complaint for word in _JSON_WORDS):
            return replace(self, json_mode=simpler(self.json_mode))
        return None

    def dropped(self, first: Dialect, request: Request) -> tuple[str, ...]:
        """What requests in the `first` dialect had and this one goes without; a temperature is missed in any case."""
        return (
            *(dropped_modes(first.json_mode, self.json_mode) if request.schema else ()),
            *(() if self.temperature else ("temperature",)),
            *(("stream_options",) if first.stream_options > self.stream_options else ()),
            *(name for name in first.extra if name not in self.extra),
        )


def simpler(mode: JsonMode) -> JsonMode:
    return "object" if mode == "schema" else "none"


def dropped_modes(first: JsonMode, now: JsonMode) -> tuple[str, ...]:
    return tuple(f"json_{mode}" for mode in JSON_MODES[JSON_MODES.index(first) : JSON_MODES.index(now)])


def _names(complaint: str, field: str) -> bool:
    """Whether it is about this field, also in other words: "enable_thinking", "Reasoning is mandatory"."""
    about = (field, "think", "reasoning") if field in THINKING_FIELDS else (field,)
    return any(word in complaint for word in about)

"""Which parts of the OpenAI dialect a model takes: the request's body, and what to change when it is refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from moot.llm.client import Request
from moot.model import JsonObject

JsonMode = Literal["schema", "object", "none"]

_JSON_WORDS = ("response_format", "json_schema", "json_object", "schema", "json mode", "structured output", "grammar")
_OTHER_FIELD = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}


@dataclass(frozen=True, slots=True)
class Dialect:
    json_mode: JsonMode = "schema"
    max_tokens_field: str = "max_tokens"
    max_tokens_swapped: bool = False
    temperature: bool = True
    stream_options: bool = True

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
        return body

    def without(self, complaint: str, request: Request) -> Dialect | None:
        """The dialect to try after this complaint; None when it names nothing that can be left out."""
        complaint = complaint.lower()
        if self.stream_options and "stream_options" in complaint:
            return replace(self, stream_options=False)
        if self.temperature and "temperature" in complaint:
            return replace(self, temperature=False)
        if not self.max_tokens_swapped and any(field in complaint for field in _OTHER_FIELD):
            other = _OTHER_FIELD.get(self.max_tokens_field, "max_tokens")
            return replace(self, max_tokens_field=other, max_tokens_swapped=True)
        if request.schema and self.json_mode != "none" and any(word in complaint for word in _JSON_WORDS):
            return replace(self, json_mode="object" if self.json_mode == "schema" else "none")
        return None

    def dropped(self, first: Dialect, request: Request) -> tuple[str, ...]:
        """What requests in the `first` dialect had and this one goes without."""
        modes: tuple[JsonMode, ...] = ("schema", "object", "none")
        lost = modes[modes.index(first.json_mode) : modes.index(self.json_mode)] if request.schema else ()
        flags = {
            "temperature": first.temperature > self.temperature,
            "stream_options": first.stream_options > self.stream_options,
        }
        return (*(f"json_{mode}" for mode in lost), *(flag for flag, gone in flags.items() if gone))

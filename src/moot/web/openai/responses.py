"""An answer in OpenAI's dialect of responses: an item of reasoning, which is the debate, and a message, its answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import orjson

from moot.core.debate import Usage
from moot.errors import MootError
from moot.web.openai.answers import About, DebateAnswer, Playing
from moot.web.openai.requests import response_id


@dataclass(slots=True)
class Responses:
    """The pieces of one answer, numbered in the order in which they are sent."""

    about: About
    _numbers: Iterator[int] = field(default_factory=count)

    def whole(self, reasoning: str, answer: DebateAnswer) -> dict[str, Any]:
        items = [self._reasoning(reasoning)] if reasoning else []
        return self._response("completed", [*items, self._message(answer.content)], answer)

    async def frames(self, playing: Playing) -> AsyncGenerator[bytes, None]:
        begun = self._response("in_progress", ())
        yield self._event("response.created", response=begun)
        yield self._event("response.in_progress", response=begun)
        reasoning = ""
        try:
            async with aclosing(playing):
                async for piece in playing:
                    if isinstance(piece, str):
                        for frame in self._thinking(piece, is_first=not reasoning):
                            yield frame
                        reasoning += piece
                        continue
                    for frame in self._answering(reasoning, piece):
                        yield frame
        except MootError as error:
            failed = self._response("failed", [self._reasoning(reasoning)] if reasoning else ())
            failed["error"] = {"code": "server_error", "message": str(error)}
            yield self._event("response.failed", response=failed)

    def _thinking(self, text: str, is_first: bool) -> Iterator[bytes]:
        if is_first:
            item = {**self._reasoning(""), "summary": [], "status": "in_progress"}
            yield self._event("response.output_item.added", output_index=0, item=item)
            yield self._event("response.reasoning_summary_part.added", **self._thought, part=_summary(""))
        yield self._event("response.reasoning_summary_text.delta", **self._thought, delta=text)

    def _answering(self, reasoning: str, answer: DebateAnswer) -> Iterator[bytes]:
        whole = self.whole(reasoning, answer)
        *before, message = whole["output"]
        if before:
            yield self._event("response.reasoning_summary_text.done", **self._thought, text=reasoning)
            yield self._event("response.reasoning_summary_part.done", **self._thought, part=_summary(reasoning))
            yield self._event("response.output_item.done", output_index=0, item=before[0])
        at = {"output_index": len(before)}
        place = {**at, "item_id": message["id"], "content_index": 0}
        yield self._event("response.output_item.added", **at, item={**message, "content": [], "status": "in_progress"})
        yield self._event("response.content_part.added", **place, part=_text(""))
        yield self._event("response.output_text.delta", **place, delta=answer.content, logprobs=[])
        yield self._event("response.output_text.done", **place, text=answer.content, logprobs=[])
        yield self._event("response.content_part.done", **place, part=_text(answer.content))
        yield self._event("response.output_item.done", **at, item=message)
        yield self._event("response.completed", response=whole)

    def _response(
        self, status: str, output: Sequence[Mapping[str, Any]], answer: DebateAnswer | None = None
    ) -> dict[str, Any]:
        return {
            "id": response_id(self.about.begun.debate, self.about.begun.since),
            "object": "response",
            "created_at": self.about.created,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": self.about.model,
            "output": list(output),
            "parallel_tool_calls": False,
            "text": {"format": {"type": "json_object" if self.about.as_json else "text"}},
            "tool_choice": "none",
            "tools": [],
            "temperature": None,
            "top_p": None,
            "usage": usage(answer.usage) if answer else None,
            "moot": self.about.moot(answer.status if answer else self.about.begun.status),
        }

    @property
    def _thought(self) -> dict[str, Any]:
        """Where the reasoning stands."""
        return {"item_id": f"rs_{self.about.begun.debate}", "output_index": 0, "summary_index": 0}

    def _reasoning(self, text: str) -> dict[str, Any]:
        return {
            "id": f"rs_{self.about.begun.debate}",
            "type": "reasoning",
            "status": "completed",
            "summary": [_summary(text)],
        }

    def _message(self, text: str) -> dict[str, Any]:
        return {
            "id": f"msg_{self.about.begun.debate}",
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [_text(text)],
        }

    def _event(self, kind: str, **fields: Any) -> bytes:
        data = orjson.dumps({"type": kind, "sequence_number": next(self._numbers), **fields})
        return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"


def usage(spent: Usage) -> dict[str, Any]:
    return {
        "input_tokens": spent.input_tokens,
        "input_tokens_details": {
            "cached_tokens": spent.cached_tokens,
            "cache_write_tokens": spent.cache_written_tokens,
        },
        "output_tokens": spent.output_tokens,
        "output_tokens_details": {"reasoning_tokens": spent.reasoning_tokens},
        "total_tokens": spent.input_tokens + spent.output_tokens,
    }


def _summary(text: str) -> dict[str, str]:
    return {"type": "summary_text", "text": text}


def _text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}

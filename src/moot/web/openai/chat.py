"""An answer in OpenAI's chat dialect: one object, or chunks that come as the debate is held."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import orjson

from moot.core.debate import Status, Usage
from moot.errors import MootError
from moot.web.openai.answers import About, DebateAnswer, Playing, fault


@dataclass(frozen=True, slots=True)
class Chat:
    """The pieces of one answer, and what all of them carry."""

    about: About
    with_usage: bool = False

    def whole(self, reasoning: str, answer: DebateAnswer) -> dict[str, Any]:
        message = {"role": "assistant", "content": answer.content, "refusal": None, **_thought(reasoning)}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return {
            **self._shared("chat.completion", answer.status),
            "choices": [choice],
            "usage": usage(answer.usage),
        }

    async def frames(self, playing: Playing) -> AsyncGenerator[bytes, None]:
        yield _frame(self._piece({"role": "assistant", "content": ""}, status=self.about.begun.status))
        try:
            async with aclosing(playing):
                async for piece in playing:
                    if isinstance(piece, str):
                        yield _frame(self._piece(_thought(piece)))
                        continue
                    yield _frame(self._piece({"content": piece.content}))
                    yield _frame(self._piece({}, "stop", piece.status))
                    if self.with_usage:
                        yield _frame({**self._piece({}), "choices": [], "usage": usage(piece.usage)})
        except MootError as error:
            yield _frame(fault(502, error.code, str(error)))
        yield b"data: [DONE]\n\n"

    def _piece(
        self, delta: Mapping[str, str], finish_reason: str | None = None, status: Status | None = None
    ) -> dict[str, Any]:
        """A chunk; those that come before the usage say that it is not there yet."""
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        return {
            **self._shared("chat.completion.chunk", status),
            "choices": [choice],
            **({"usage": None} if self.with_usage else {}),
        }

    def _shared(self, kind: str, status: Status | None) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self.about.begun.debate}",
            "object": kind,
            "created": self.about.created,
            "model": self.about.model,
            **({"moot": self.about.moot(status)} if status else {}),
        }


def usage(spent: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": spent.input_tokens,
        "completion_tokens": spent.output_tokens,
        "total_tokens": spent.input_tokens + spent.output_tokens,
        "prompt_tokens_details": {"cached_tokens": spent.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": spent.reasoning_tokens},
    }


def _thought(text: str) -> dict[str, str]:
    """Under both of its names: clients read the one or the other."""
    return {"reasoning_content": text, "reasoning": text}


def _frame(piece: Mapping[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(piece) + b"\n\n"

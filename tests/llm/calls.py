"""Calls of OpenAIClient as the tests make them, and their usual values."""

from __future__ import annotations

import traceback
from typing import Any

import aiohttp
import pytest
from badserver import STREAM_HEAD, Answer, BadServer, event, framed, sends, whole

from moot.core.debate import Usage
from moot.errors import ModelError
from moot.llm.client import Completion, Message, Request, Schema, Timeouts
from moot.llm.http import ModelServer
from moot.llm.openai_api import OpenAIClient

KEY = "sk-sentinel-0123456789"
REQUEST = Request(
    model="m1", messages=(Message("system", "Be brief."), Message("user", "Why?")), max_tokens=50, temperature=0.5
)
WITH_SCHEMA = Request(
    model="m1", messages=REQUEST.messages, max_tokens=50, temperature=0.5, schema=Schema("verdict", {"type": "object"})
)
COUNTED = Usage(input_tokens=7, output_tokens=3, calls=1)
HELLO = Completion(text="Hello", finish_reason="stop", usage=COUNTED)
HALF = STREAM_HEAD + framed(event("Hel")) + framed(event("lo"))


def client_of(session: aiohttp.ClientSession, url: str, **options: Any) -> OpenAIClient:
    defaults: dict[str, Any] = {"api_key": KEY, "name": "acme", "key_hint": "ACME_API_KEY", "timeouts": Timeouts()}
    takes = {"takes": options.pop("takes")} if "takes" in options else {}
    return OpenAIClient(ModelServer(session=session, base_url=url, **(defaults | options)), **takes)


async def ask(
    session: aiohttp.ClientSession, *answers: Answer, request: Request = REQUEST, **options: Any
) -> Completion:
    """The completion; what went to on_text is checked to be its text."""
    got: list[str] = []
    async with BadServer(*answers) as server:
        completion = await client_of(session, server.url, **options).complete(request, got.append)
    assert "".join(got) == completion.text
    return completion


async def fail(
    session: aiohttp.ClientSession, *answers: Answer, request: Request = REQUEST, **options: Any
) -> ModelError:
    async with BadServer(*answers) as server:
        with pytest.raises(ModelError) as raised:
            await client_of(session, server.url, **options).complete(request, lambda text: None)
    assert KEY not in "".join(traceback.format_exception(raised.value))
    assert (raised.value.__context__, raised.value.__cause__) == (None, None)
    return raised.value


def told(error: ModelError) -> tuple[type[ModelError], str, str]:
    return type(error), str(error), error.partial


def failing(status: str, *headers: str, message: str = "no luck") -> Answer:
    return sends(whole(status, {"error": {"message": message}}, *headers))

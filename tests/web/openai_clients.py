"""The official client at a real server, and how to read what it gets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from live import Live, serving, simple_app
from openai import DefaultHttpxClient, OpenAI
from theatre import Theatre, company

__all__ = ["Heard", "Live", "Theatre", "asking", "company", "listen", "serving", "simple_app"]


class Heard(NamedTuple):
    """What a stream said, put together."""

    reasoning: str
    content: str
    finish_reason: str | None
    usage: Any
    moot: list[Any]


@contextmanager
def asking(theatre: Theatre) -> Iterator[OpenAI]:
    unsafe = DefaultHttpxClient(verify=False)  # there are no certificates to read for http
    with OpenAI(base_url=f"{theatre.url}/v1", api_key="any", http_client=unsafe) as client:
        yield client


def listen(chunks: Iterable[Any]) -> Heard:
    reasoning = content = ""
    finish_reason, usage, about = None, None, []
    for chunk in chunks:
        usage = chunk.usage or usage
        about += [chunk.moot] if hasattr(chunk, "moot") else []
        for choice in chunk.choices:
            assert getattr(choice.delta, "reasoning", "") == getattr(choice.delta, "reasoning_content", "")
            reasoning += getattr(choice.delta, "reasoning_content", "")
            content += choice.delta.content or ""
            finish_reason = choice.finish_reason or finish_reason
    return Heard(reasoning, content, finish_reason, usage, about)

"""How much of what a debate sends is an exact prefix of an earlier request to the same model: python bench/prefix.py

A scripted model replies as long as a strong one does, and never the same; the examples are as they were recorded. With
`--each` every request is listed: what it was asked for, its characters, and how many of them are new.
"""

from __future__ import annotations

import asyncio
import json
import sys
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from moot.examples.catalog import examples
from moot.llm.client import Request
from moot.llm.recording import calls_of
from moot.testing import ScriptedModel, scripted_app

IDEA = (Path(__file__).parent.parent / "examples/ideas/second-hearing/idea.md").read_text("utf-8")
DEBATES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "panel": ("Should we use Redis or PostgreSQL for caching?", {"perspectives": 3, "checkpoints": False}),
    "duel": ("A four-day work week should be the norm", {}),
    "critique": ("How should we change a backup of 1.2 TB that takes 7 hours?", {}),
    "evaluation": ("Is this idea worth a pilot?", {"idea": IDEA}),
}
LENGTHS = {"content": 1300, "answer": 1000, "case": 350, "summary": 350, "reasoning": 300, "framing": 300}
"""Characters of what is written into the fields of a form; of others, 90."""
VIEWS = [{"name": f"View {each}", "wants": [f"peace {each}"], "gives_up": f"peace {each + 1}"} for each in range(3)]


def speech(number: int) -> str:
    """As long as a speech usually is."""
    return f"Reason number {number}. " + "It is as plain as the nose in your face that it must be so. " * 25


def long_reply(request: Request) -> str:
    """As long as replies of a strong model are, and never the same."""
    number = zlib.crc32(repr(request.messages).encode())
    if request.schema is None:
        return speech(number)
    form = _filled(request.schema.schema, number)
    fixed: dict[str, object] = {"perspectives": VIEWS} if request.schema.name == "analysis" else {}
    fixed |= {"claims": _claims(request)} if request.schema.name == "notes" else {}
    return json.dumps({**form, **fixed, **{name: [] for name in ("mute", "strayed", "differ") if name in form}})


def _claims(request: Request) -> list[dict[str, object]]:
    """Two of each speech."""
    said = [line for message in request.messages for line in message.content.splitlines() if "Reason number" in line]
    quotes = [" ".join(line.split()[at : at + 12]) for line in said for at in (0, 3)]
    return [{"quote": quote, "text": f"{quote} is what they said.", "answers": []} for quote in quotes]


def _filled(schema: Any, number: int, name: str = "") -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    match schema["type"]:
        case "object":
            parts = enumerate(schema["properties"].items(), number)
            return {name: _filled(part, at, name) for at, (name, part) in parts}
        case "array":
            return [_filled(schema["items"], number, name)] * 2
        case "integer" | "number":
            return 6
        case "boolean":
            return False
        case _:
            return speech(number)[: LENGTHS.get(name, 90)]


def sent_before(made: Sequence[Request]) -> list[tuple[int, int]]:
    """Of each request its characters, and how many of them an earlier one to the same model begins with."""
    texts = ["".join(f"──── {each.role} ────\n{each.content}\n" for each in request.messages) for request in made]
    models = [request.model for request in made]
    return [
        (
            len(text),
            max((alike(text, texts[before]) for before in range(at) if models[before] == models[at]), default=0),
        )
        for at, text in enumerate(texts)
    ]


def alike(one: str, other: str) -> int:
    """How many characters they begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def share(made: Sequence[Request]) -> float:
    found = sent_before(made)
    return sum(known for _, known in found) / sum(length for length, _ in found)


async def requests(format: str, depth: str) -> list[Request]:
    model = ScriptedModel(long_reply)
    topic, settings = DEBATES[format]
    app = scripted_app(model)
    record = await app.create(format, topic, {**settings, "depth": depth})
    ending = await app.run(record.id, lambda event: None)
    if ending.status != "finished":
        raise SystemExit(f"{format}: {ending.error}")
    return model.requests


def row(name: str, made: Sequence[Request]) -> None:
    found = sent_before(made)
    print(f"| {name} | {len(made)} | {sum(length for length, _ in found)} | {share(made):.0%} |")
    if "--each" in sys.argv:
        for request, (length, known) in zip(made, found, strict=True):
            print(f"    {request.schema.name if request.schema else 'speech':12} {length:6} {length - known:6} new")


async def main() -> None:
    print("| debate | requests | characters | sent before |\n|---|---|---|---|")
    for format in DEBATES:
        for depth in ("quick", "normal", "careful"):
            row(f"{format}, {depth}", await requests(format, depth))
    for example in examples():
        row(f"{example.name} ({example.format})", [call.request for call in calls_of(example.recording)])


if __name__ == "__main__":
    asyncio.run(main())

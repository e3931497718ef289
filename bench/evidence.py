"""How many needed passages the library hands out: ten documents with known answers, and a town's swimming pool.

    python bench/evidence.py

`topic for all` is how the panel's first version asks: one query for every seat. `own queries` is what a seat wants to
know and was asked. The second round never hands out again what a seat has had. `played` counts what the debaters of a
panel, and those of duels, find in the prompts of real debates with a scripted model.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from moot.llm.client import Request
from moot.retrieval.embed import WordLlamaEmbedder
from moot.retrieval.search import Search, indexed
from moot.testing import ScriptedModel, scripted_app

DATA = Path(__file__).parent.parent / "tests" / "retrieval"
CHARACTERS = 3600
"""What a seat gets in a round: four passages of the usual size."""
POOL = "Should a town of 30,000 close its outdoor swimming pool?"
FEW = 800
"""The same of the ten documents, which are short."""


@dataclass(frozen=True, slots=True)
class Need:
    """What a seat asks in each round, and a pattern that one of its passages must hold in the end."""

    rounds: Sequence[Sequence[str]]
    patterns: Sequence[str]


def constructed() -> tuple[dict[str, str], list[Need]]:
    cases = yaml.safe_load((DATA / "evidence.yaml").read_text())
    texts = {f"S{number}": case["text"] for number, case in enumerate(cases, 1)}
    needs = [Need([seat["asks"]], [re.escape(seat["needs"])]) for case in cases for seat in case["seats"]]
    return texts, needs


def pool() -> tuple[dict[str, str], list[Need]]:
    files = ("pool-finances-and-survey.md", "engineers-report-pool.md")
    texts = {f"S{number}": (DATA / "pool" / name).read_text() for number, name in enumerate(files, 1)}
    seats = yaml.safe_load((DATA / "pool" / "seats.yaml").read_text())
    return texts, [Need([[*seat["priorities"], asked] for asked in seat["asked"]], seat["needs"]) for seat in seats]


async def handed_out(search: Search, need: Need, rounds: int, characters: int) -> int:
    """How many of the needed passages a seat has after so many rounds."""
    had: dict[str, str] = {}
    for queries in need.rounds[:rounds]:
        had |= {each.id: each.text for each in await search.best(queries, characters, had)}
    said = "\n".join(had.values())
    return sum(bool(re.search(pattern, said)) for pattern in need.patterns)


async def counted(
    texts: Mapping[str, str], needs: Sequence[Need], rounds: int = 1, characters: int = CHARACTERS
) -> tuple[int, int]:
    search = await indexed(WordLlamaEmbedder(), texts)
    found = [await handed_out(search, need, rounds, characters) for need in needs]
    return sum(found), sum(len(need.patterns) for need in needs)


async def played_panel(rounds: int = 2) -> tuple[int, int]:
    """How many of the needed passages stand in what the seats of a panel on the pool are sent."""
    seats = yaml.safe_load((DATA / "pool" / "seats.yaml").read_text())
    requests = await _panel(seats, rounds)
    found = total = 0
    for seat in seats:
        sent = "\n".join(text for text in requests if f"You are {seat['seat']}." in text)
        found += sum(bool(re.search(pattern, sent)) for pattern in seat["needs"])
        total += len(seat["needs"])
    return found, total


async def _panel(seats: Sequence[Mapping[str, Any]], rounds: int) -> list[str]:
    """What the panel's models were told to do, step by step."""
    perspectives = [
        {"name": each["seat"], "priorities": each["priorities"], "trade_offs": f"Gives up what {at} others want"}
        for at, each in enumerate(seats)
    ]
    model = ScriptedModel(partial(_panelist, seats))
    settings = {"perspectives": perspectives, "max_rounds": rounds, "checkpoints": False, "depth": "quick"}
    await _play(model, "panel", POOL, {**settings, "sources": _sources(pool()[0]), "whole_sources": 20_000})
    return [request.messages[-1].content for request in model.requests]


def _panelist(seats: Sequence[Mapping[str, Any]], request: Request) -> str:
    told = request.messages[-1].content
    if request.schema is not None:
        return json.dumps(_filled(request.schema.schema))
    if "Round 2 begins" in told or "Open the debate" in told:
        return " ".join(f"{each['seat']}: {each['asked']['Round 2 begins' in told]}" for each in seats)
    return "I hold on to what I said, for the reasons I gave."


def _filled(schema: Any) -> Any:
    """The least that fits a schema."""
    if "enum" in schema:
        return "continue" if "continue" in schema["enum"] else schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: _filled(part) for name, part in schema["properties"].items()}
        case "array":
            return []
        case "boolean":
            return False
        case "integer" | "number":
            return schema.get("minimum", 0)
    return "words"


async def played_duels(rounds: int = 2) -> tuple[int, int]:
    """A duel on each of the ten documents among all: the needed passages that its debaters are sent."""
    cases = yaml.safe_load((DATA / "evidence.yaml").read_text())
    sources = [{"name": case["name"], "text": case["text"]} for case in cases]
    found = total = 0
    for case in cases:
        asks = [seat["asks"][0] for seat in case["seats"]]
        model = ScriptedModel(partial(_duellist, asks))
        topic = " ".join(case["text"].splitlines()[0].split()[1:])
        settings = {"max_rounds": rounds, "depth": "quick", "sources": sources, "whole_sources": 2000}
        await _play(model, "duel", topic, settings)
        sent = "\n".join(request.messages[-1].content for request in model.requests)
        found += sum(seat["needs"] in sent for seat in case["seats"])
        total += len(case["seats"])
    return found, total


def _duellist(asks: Sequence[str], request: Request) -> str:
    if request.schema is not None:
        return json.dumps(_filled(request.schema.schema))
    return "\n".join(f"I want to know about {each}." for each in asks)


def _sources(texts: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": tag, "text": text} for tag, text in texts.items()]


async def _play(model: ScriptedModel, format: str, topic: str, settings: Mapping[str, Any]) -> None:
    app = scripted_app(model)
    record = await app.create(format, topic, settings)
    result = await app.run(record.id, lambda event: None)
    assert result.status == "finished", result


async def main() -> None:
    texts, needs = constructed()
    print("ten documents, own queries: {} of {}".format(*await counted(texts, needs, 1, FEW)))
    same = [Need([["What do the sources say, and what follows?"]], need.patterns) for need in needs]
    print("ten documents, topic for all: {} of {}".format(*await counted(texts, same, 1, FEW)))
    texts, needs = pool()
    for rounds in (1, 2):
        print(f"pool, own queries, {rounds} rounds: " + "{} of {}".format(*await counted(texts, needs, rounds)))
    same = [Need([[POOL]] * 2, need.patterns) for need in needs]
    print("pool, topic for all, 2 rounds: {} of {}".format(*await counted(texts, same, 2)))
    print("pool, played by a panel of four in two rounds: {} of {}".format(*await played_panel()))
    print("ten documents, played by duels in two rounds: {} of {}".format(*await played_duels()))
    await large()


async def large() -> None:
    """Sources as large as a debate may have."""
    text = "".join(
        f"# Section {at}\n\n" + f"Word{at} stands in sentence {at} of this text. " * 12 for at in range(3500)
    )
    began = time.perf_counter()
    search = await indexed(WordLlamaEmbedder(), {"S1": text[:2_000_000]})
    made = time.perf_counter()
    found = await search.best(["where does word1234 stand"], CHARACTERS)
    assert any("Word1234 " in each.text for each in found)
    print(
        f"2,000,000 characters: {len(search.index.excerpts):,} passages, indexed in {made - began:.1f} s, "
        f"asked in {time.perf_counter() - made:.2f} s"
    )


if __name__ == "__main__":
    asyncio.run(main())

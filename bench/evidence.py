"""How many needed passages the library hands out: ten documents with known answers, and a town's swimming pool.

    python bench/evidence.py

`topic for all` is how the panel's first two versions ask: one query for every seat. `own queries` is what a seat wants
to know and was asked. The second round never hands out again what a seat has had.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from moot.retrieval.embed import WordLlamaEmbedder
from moot.retrieval.search import Search, indexed

DATA = Path(__file__).parent.parent / "tests" / "retrieval"
CHARACTERS = 3600
"""What a seat gets in a round: four passages of the usual size."""
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


async def main() -> None:
    texts, needs = constructed()
    print("ten documents, own queries: {} of {}".format(*await counted(texts, needs, 1, FEW)))
    same = [Need([["What do the sources say, and what follows?"]], need.patterns) for need in needs]
    print("ten documents, topic for all: {} of {}".format(*await counted(texts, same, 1, FEW)))
    texts, needs = pool()
    for rounds in (1, 2):
        print(f"pool, own queries, {rounds} rounds: " + "{} of {}".format(*await counted(texts, needs, rounds)))
    topic = "Should a town of 30,000 close its outdoor swimming pool?"
    same = [Need([[topic]] * 2, need.patterns) for need in needs]
    print("pool, topic for all, 2 rounds: {} of {}".format(*await counted(texts, same, 2)))
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

"""Needed passages that real debates with a scripted model hand out; `bench/evidence.py` prints them all."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent.parent / "bench"))

import evidence


async def test_a_panel_of_four_on_two_papers_gets_what_its_seats_need() -> None:
    found, needed = await evidence.played_panel()
    assert needed == 11
    assert found >= 9


async def test_the_topic_alone_would_not_do() -> None:
    texts, needs = evidence.constructed()
    same = [evidence.Need([["What do the sources say, and what follows?"]], need.patterns) for need in needs]
    assert (await evidence.counted(texts, same, 1, evidence.FEW))[0] < 9

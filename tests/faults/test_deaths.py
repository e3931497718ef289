"""A process killed before its writes and in each of its calls, one after the other, until it gets through: the next
process goes on, and the transcript is the undisturbed one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import pytest
from failpoints import Failpoint
from scenes import SCENES
from sweeps import Fault, MidCall, Place, Survival, each_call, each_write, place, survive, sweep


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/moot.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
async def here(url: str, tmp_path: Path) -> AsyncIterator[Place]:
    async with place(url, tmp_path) as opened:
        yield opened


def unharmed(survivals: Sequence[Survival | None], at_once: int) -> bool:
    return all(each and (each.lost, each.doubled) == (0, 0) and each.repeated <= at_once for each in survivals)


def every_other_write() -> Iterator[Fault]:
    """All of them, in all formats, are for bench/faults.py."""
    return islice(each_write(), 0, None, 2)


@pytest.mark.parametrize("faults", [every_other_write, each_call(3)], ids=["write", "word"])
async def test_a_duel_survives_a_death_before_its_writes_and_in_each_of_its_calls(
    here: Place, faults: Callable[[], Iterator[Fault]]
) -> None:
    scene = SCENES["duel"]
    survivals = [survival async for survival in sweep(here, scene, faults())]
    assert len(survivals) >= 3, survivals
    assert unharmed(survivals, scene.at_once), survivals


@pytest.mark.parametrize("name", ["critique", "evaluation", "panel"])
async def test_the_other_formats_survive_a_death_before_a_write_and_in_a_call(here: Place, name: str) -> None:
    scene = SCENES[name]
    survivals = [await survive(here, scene, fault) for fault in (Failpoint("write", 8), MidCall(3, 3))]
    assert unharmed(survivals, scene.at_once), survivals

"""How the prompts of rounds that are alike grow from each to the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from moot.core.debate import Step


class Size(NamedTuple):
    """The characters of a prompt, at most and typically, those its model knows, and the tokens it may write."""

    longest: int = 0
    length: int = 0
    known: int = 0
    cap: int = 0
    limited: int = 0
    """How many of the longest are speeches, all of which share a limit."""

    def grown(self, growth: Size, rounds: int) -> Size:
        longest, length, known, cap, limited = growth
        return Size(
            self.longest + rounds * longest,
            self.length + rounds * length,
            self.known + rounds * known,
            self.cap + rounds * cap,
            self.limited + rounds * limited,
        )

    def growth(self, before: Size) -> Size:
        return self.grown(before, -1)


@dataclass(frozen=True, slots=True)
class Law:
    """What is asked in a round, and by how much each prompt is longer than in the round before."""

    round: int
    asked: Sequence[tuple[Step, Size]]
    growth: Sequence[Size]

    def at(self, round: int) -> Iterator[tuple[Step, Size]]:
        for (step, size), growth in zip(self.asked, self.growth, strict=True):
            yield step, size.grown(growth, round - self.round)

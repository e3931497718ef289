"""What simulated voters come to, against theory: majorities of 4000 questions, and panels of those who conform.

    python bench/poll.py

A small dose of it is `tests/trust/test_simulated_voters.py`. A quarter of a minute on a free core.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parent.parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "trust")]

from voters import conforming_panel, curve, majority, mid_p  # noqa: E402

from moot.testing import SimulatedVoter  # noqa: E402

ITEMS, PANELS = 4000, 600
SIZES = (1, 3, 5, 9)
TOGETHER = 0.722
"""How often nine are right who are right with .7 and err together with .5: beta-binomial."""
MARGIN = 0.02


def main() -> int:
    found = curve(SimulatedVoter(0.7), ITEMS, *SIZES)
    theory = [majority(size, 0.7) for size in SIZES]
    (alike,) = curve(SimulatedVoter(0.7, alike=0.5), ITEMS, 9)
    rows = [*zip(SIZES, found, theory, strict=True), ("9, erring together", alike, TOGETHER)]
    print("voters  right  theory")
    for size, right, expected in rows:
        print(f"{size}  {right:.3f}  {expected:.3f}")
    pairs = Counter(conforming_panel(SimulatedVoter(0.7, conforming=0.85), number) for number in range(PANELS))
    worse, better = pairs[True, False], pairs[False, True]
    print(f"panels of those who conform: worse after debating {worse}, better {better}, p = {mid_p(worse, better):.5f}")
    holds = all(abs(right - expected) <= MARGIN for _, right, expected in rows)
    return 0 if holds and worse > better and mid_p(worse, better) < 0.01 else 1


if __name__ == "__main__":
    sys.exit(main())

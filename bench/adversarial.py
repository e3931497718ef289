"""Whether any text can make moot slow: every pure function and every format with each kind of adversarial text.

python bench/adversarial.py [--longest 128000] [NAME …]

Prints what takes longest, and fails on anything that grows faster than in proportion to the text.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from adversarial import (  # type: ignore[attr-defined]  # that of the tests
    DEBATES,
    FUNCTIONS,
    TEXTS,
    Growth,
    growth,
    superlinear,
)

SLOWEST = 20


def main() -> int:
    options = _options()
    found: list[tuple[Growth, str, str]] = []
    wrong: list[tuple[Growth, str, str]] = []
    for name, work in (FUNCTIONS | DEBATES).items():
        if options.names and not any(part in name for part in options.names):
            continue
        longest = options.longest // 8 if name in DEBATES else options.longest
        for kind, text in TEXTS.items():
            found.append((growth(work, text, longest, enough=0.5), name, kind))
            if fault := superlinear(work, text, longest):
                wrong.append((fault, name, kind))
    print("| function | text | characters | CPU | power |\n|---|---|---|---|---|")
    for took, name, kind in [*wrong, *sorted(found, reverse=True)[:SLOWEST]]:
        print(f"| {name} | {kind} | {took.length} | {took.seconds * 1000:.0f} ms | {took.power:.2f} |")
    print(f"\n{len(found)} pairs, {len(wrong)} of them superlinear (listed first)")
    return bool(wrong)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--longest", type=int, default=128_000, help="characters")
    parser.add_argument("names", nargs="*", help="only what has one of these in its name")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

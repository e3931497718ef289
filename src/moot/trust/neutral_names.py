"""Names under which sides argue and are judged, so that nobody favours a label."""

from __future__ import annotations

import zlib
from itertools import permutations

NAMES = ("Cedar", "Flint", "Maple", "Slate", "Teal")


def neutral_names(text: str) -> tuple[str, str]:
    """Two names that say nothing about side, order or worth, and that the text does not use; the same ones always."""
    free = [name for name in NAMES if name.lower() not in text.lower()]
    pairs = list(permutations(free if len(free) >= 2 else NAMES, 2))
    return pairs[zlib.crc32(text.encode()) % len(pairs)]

"""What people ask of a debate while it runs, as its run hears of it with every turn."""

from __future__ import annotations

from typing import NamedTuple


class Control(NamedTuple):
    """What people have asked of a running debate."""

    stopping: str | None = None
    """Why it is to stop."""
    concluding: bool = False
    remarks: int = 0
    """How often a person has spoken of their own accord."""
    wishes: int = 0
    """How often a person has wanted another model for a seat while it ran."""

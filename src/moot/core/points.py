"""What an argument map of a debate shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass

from moot.core.debate import Turn


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a debate's argument map: what is held, in which turns, and what it speaks for and against."""

    key: str
    """What other points call it in `supports` and `attacks`."""
    text: str
    turns: tuple[int, ...] = ()
    """The positions of the turns in which it was made."""
    _: KW_ONLY
    title: str = ""
    """How readers call it; after its turn when it has none."""
    supports: tuple[str, ...] = ()
    attacks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    claim: bool = False
    """Whether it is argued about, and no argument itself."""

    @classmethod
    def spoken(cls, turn: Turn, supports: Iterable[str] = (), attacks: Iterable[str] = ()) -> Point:
        """A whole turn as one argument."""
        return cls(speech_key(turn), turn.content, (turn.position,), supports=tuple(supports), attacks=tuple(attacks))


def speech_key(turn: Turn) -> str:
    """The key of the point that is a whole turn."""
    return f"turn-{turn.position}"

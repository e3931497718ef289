"""Plain data of which much is made: mypy holds it frozen, and when it runs nothing is checked."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["changed", "value"]

T = TypeVar("T")

if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:

    def value(*, frozen: bool, **options: Any) -> Any:
        """As `dataclass`; one that refuses changes when it runs takes two to four times as long to make."""
        return dataclasses.dataclass(unsafe_hash=frozen, **options)


def changed(thing: T, **changes: object) -> T:
    """As `dataclasses.replace`, which takes many times as long, for what has no slots."""
    made = object.__new__(type(thing))
    made.__dict__ = {**thing.__dict__, **changes}
    return made

"""Plain data of which much is made: mypy holds it frozen, and when it runs nothing is checked."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

__all__ = ["value"]

if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:

    def value(*, frozen: bool, **options: Any) -> Any:
        """As `dataclass`; one that refuses changes when it runs takes two to four times as long to make."""
        return dataclasses.dataclass(unsafe_hash=frozen, **options)

"""The table of an outcome, which every surface draws its way."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Bar(NamedTuple):
    """A number from 0 to 10 in a table; a terminal draws it, `██████░░░░ 6.0`, pages and exports have charts."""

    value: float

    def __str__(self) -> str:
        return f"{self.value:.1f}"

    @property
    def drawn(self) -> str:
        filled = round(self.value)
        return f"{'█' * filled}{'░' * (10 - filled)} {self}"


Cell: TypeAlias = str | Bar
Rows: TypeAlias = tuple[tuple[Cell, ...], ...]

"""Opens the database that an address names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from moot.errors import InvalidInput

if TYPE_CHECKING:
    from moot.core.record import Status
    from moot.store.store import Store


async def open_store(url: str, hooks: Mapping[Status, Sequence[str]] | None = None) -> Store:
    scheme, separator, rest = url.partition("://")
    if scheme in ("postgres", "postgresql"):
        from moot.store.postgres import open_postgres

        return await open_postgres(url, hooks)
    if scheme == "sqlite" and separator and rest.startswith("/"):
        from moot.store.sqlite import open_sqlite

        return await open_sqlite(Path(rest.removeprefix("/")), hooks)
    raise InvalidInput(f"cannot use the database {scheme}://…: write sqlite:///FILE or postgresql://…")

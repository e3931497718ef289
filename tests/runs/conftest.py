"""One Postgres for several processes of a test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from moot.store.postgres import open_postgres
from moot.store.store import Store


@pytest.fixture
async def open_again(postgres_url: str) -> AsyncIterator[Callable[[], Awaitable[Store]]]:
    """Opens the database as often as there are processes."""
    opened: list[Store] = []

    async def opening() -> Store:
        opened.append(await open_postgres(postgres_url))
        return opened[-1]

    yield opening
    for store in opened:
        await store.close()

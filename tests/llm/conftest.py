from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from moot.llm.http import new_session


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with new_session() as session:
        yield session

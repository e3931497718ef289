"""How long what a run wants to store is tried again."""

from __future__ import annotations

import pytest

from moot.errors import StoreAway, StoreBlocked, StoreError
from moot.store import retrying
from moot.store.retrying import until_back


class Database:
    """Raises one error after the other, then answers."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)

    async def answer(self) -> str:
        if self.errors:
            raise self.errors.pop(0)
        return "done"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "AGAIN_SECONDS", 0.0)


async def test_what_is_away_or_blocked_for_a_while_is_waited_for() -> None:
    database = Database(StoreAway("gone"), StoreBlocked("locked"), StoreBlocked("full"), StoreAway("gone"))
    assert await until_back(database.answer) == "done"


async def test_a_database_that_stays_blocked_is_given_up_and_one_that_is_gone_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retrying, "BLOCKED_SECONDS", 0.0)
    assert await until_back(Database(StoreAway("gone"), StoreAway("gone")).answer) == "done"
    with pytest.raises(StoreBlocked, match="full"):
        await until_back(Database(StoreAway("gone"), StoreBlocked("full"), StoreBlocked("never seen")).answer)


async def test_who_has_no_patience_is_told_at_once() -> None:
    with pytest.raises(StoreAway):
        await until_back(Database(StoreAway("gone")).answer, patience=0.0)


async def test_what_is_no_matter_of_time_is_told_at_once() -> None:
    with pytest.raises(StoreError, match="no such table"):
        await until_back(Database(StoreError("no such table")).answer)


async def test_that_a_run_waits_is_logged_once_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    await until_back(Database(*[StoreBlocked("read-only")] * 20).answer)
    assert [record.message for record in caplog.records] == ["waiting for the database, for 0 s now: read-only"]

"""How often a debate was tried without coming further, and when it is tried again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core.debate import Failure, Record, Turn
from moot.core.stored import StoredDebate
from moot.errors import MootError, RateLimited, ReplyCut, ServerFault, StoreError, Unreachable, WrongKey
from moot.runs.retries import MAX_SECONDS, TAKEN_OVER, Retries, attempts, first_missing

DOWN = Unreachable("nobody is there")


def stored(turns: list[int], failures: list[tuple[int, int]], tries_from: int = 0) -> StoredDebate:
    """Turns at these positions, and failures as (position, run)."""
    record = Record(
        id="DEB-1",
        format="duel",
        format_version=1,
        topic="Cats?",
        settings={},
        seats={},
        created_at=0.0,
        tries_from=tries_from,
    )
    return StoredDebate(
        record,
        tuple(Turn(position=position, seat="debater_a", kind="argument", round=1, content="So.") for position in turns),
        tuple(
            Failure(
                position=position,
                seat="moot",
                kind="run",
                round=None,
                partial="",
                code=TAKEN_OVER,
                message="lost",
                at=0.0,
                run=run,
            )
            for position, run in failures
        ),
    )


@pytest.mark.parametrize(("turns", "position"), [([], 0), ([0, 1], 2), ([1, 2], 0), ([0, 2, 3], 1), ([2, 0, 1], 3)])
def test_the_first_missing_turn_may_have_others_behind_it(turns: list[int], position: int) -> None:
    assert first_missing(stored(turns, [])) == position


@pytest.mark.parametrize(
    ("turns", "failures", "tries_from", "count"),
    [
        ([], [], 0, 0),
        ([], [(0, 1), (0, 2)], 0, 2),
        ([], [(0, 1), (0, 1), (0, 1)], 0, 1),  # one run that asked its model three times
        ([0], [(0, 1), (0, 2)], 0, 0),  # it has come further since
        ([0], [(0, 1), (1, 3)], 0, 1),
        ([1], [(0, 1), (2, 2)], 0, 2),  # beside a turn that was played
        ([], [(0, 1), (0, 2), (0, 4)], 2, 1),  # somebody had it go on after run 2
        ([], [(0, 1), (0, 2)], 2, 0),
    ],
)
def test_attempts_are_the_runs_that_failed_at_what_comes_next(
    turns: list[int], failures: list[tuple[int, int]], tries_from: int, count: int
) -> None:
    assert attempts(stored(turns, failures, tries_from)) == count


def test_each_retry_comes_after_twice_the_time_until_there_are_no_more() -> None:
    waits = [Retries(4, 10.0, before).due_in(DOWN, advanced=False) for before in range(6)]
    assert waits == [(10.0, 2, 5), (20.0, 3, 5), (40.0, 4, 5), (80.0, 5, 5), None, None]
    assert [Retries(4, 10.0, before).used_up for before in range(6)] == [False] * 5 + [True]


def test_a_run_that_came_further_begins_to_count_anew() -> None:
    assert Retries(1, 10.0, attempts=5).due_in(DOWN, advanced=True) == (10.0, 2, 2)
    assert Retries(0, 10.0, attempts=0).due_in(DOWN, advanced=True) is None


def test_a_server_s_own_wish_is_heard_when_it_is_longer() -> None:
    assert Retries(3, 10.0, 0).due_in(RateLimited("slow down", retry_after=90.0), advanced=False) == (90.0, 2, 4)
    assert Retries(3, 10.0, 0).due_in(RateLimited("slow down", retry_after=2.0), advanced=False) == (10.0, 2, 4)
    assert Retries(3, 10.0, 0).due_in(RateLimited("slow down"), advanced=False) == (10.0, 2, 4)


@pytest.mark.parametrize("error", [WrongKey("no"), StoreError("away"), MootError("odd")])
def test_what_time_does_not_heal_is_not_tried_again(error: MootError) -> None:
    assert Retries(3, 10.0, 0).due_in(error, advanced=True) is None


@given(most=st.integers(0, 50), seconds=st.floats(0.01, 1e4), before=st.integers(0, 60), advanced=st.booleans())
def test_a_retry_is_never_later_than_the_longest_wait_nor_one_too_many(
    most: int, seconds: float, before: int, advanced: bool
) -> None:
    for error in (DOWN, ReplyCut("half"), ServerFault("500")):
        due = Retries(most, seconds, before).due_in(error, advanced)
        assert (due is None) == (most == 0 or (before >= most and not advanced))
        assert due is None or min(seconds, MAX_SECONDS) <= due.seconds <= MAX_SECONDS

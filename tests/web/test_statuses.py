"""An error has one HTTP status, whoever is told of it."""

from __future__ import annotations

import pytest

from moot import errors
from moot.web.statuses import page_status, status_of


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.NotFound("gone"), 404),
        (errors.ScriptChanged("another version"), 409),
        (errors.DebateEnded("failed"), 409),
        (errors.Unreachable("no connection"), 502),
        (errors.StoreAway("away"), 503),
        (errors.ToolFailed("no answer"), 500),
    ],
)
def test_a_page_has_the_status_that_the_api_has(error: errors.MootError, status: int) -> None:
    assert (status_of(error), page_status(error)) == (status, status)


def test_a_form_that_cannot_be_used_was_understood() -> None:
    wrong = errors.InvalidInput("no such setting")
    assert (status_of(wrong), page_status(wrong)) == (400, 422)

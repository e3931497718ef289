"""The HTTP status of each error, for programs and for pages."""

from __future__ import annotations

from collections.abc import Mapping

from moot import errors

STATUSES: Mapping[type[errors.MootError], int] = {
    errors.InvalidInput: 400,
    errors.NotFound: 404,
    errors.WrongStatus: 409,
    errors.Busy: 409,
    errors.Fenced: 409,
    errors.ScriptChanged: 409,
    errors.DebateEnded: 409,
    errors.ModelError: 502,
    errors.StoreError: 503,
}


def status_of(error: errors.MootError) -> int:
    return next((status for kind, status in STATUSES.items() if isinstance(error, kind)), 500)


def page_status(error: errors.MootError) -> int:
    """The same, but that a form which cannot be used was understood."""
    return 422 if isinstance(error, errors.InvalidInput) else status_of(error)

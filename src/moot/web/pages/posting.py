"""What a browser posts, read: texts by name, numbers, and what a form is known by that is sent twice."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from moot.errors import InvalidInput
from moot.retrieval.sources import MAX_FILE
from moot.text.plain import shortened, whole_number
from moot.web.pages.form_values import Posted, last

if TYPE_CHECKING:
    from starlette.requests import Request


async def posted_by(request: Request) -> dict[str, list[str]]:
    data = await request.form(max_part_size=MAX_FILE)
    posted: dict[str, list[str]] = {}
    for name, value in data.multi_items():
        if isinstance(value, str):
            posted.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return posted


def number(posted: Posted, name: str, advice: str) -> int:
    found = whole_number(typed := last(posted, name))
    if found is None:
        raise InvalidInput(f"{name}: {shortened(typed, 20) or 'nothing'!r} is no number; {advice}")
    return found


def key_of(posted: Posted) -> str | None:
    """What a form is known by that is sent twice with the same words, as by two clicks on its button."""
    whole = repr(sorted((name, list(values)) for name, values in posted.items())).encode()
    return f"form-{hashlib.sha256(whole).hexdigest()}" if last(posted, "once") else None

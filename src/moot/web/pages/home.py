"""The home page: a question to begin with, what waits, what goes on, and the list of all others.

Deleting a debate hides it; the trash lists what is hidden, and brings it back.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from starlette.responses import Response

from moot.core.debate import Status
from moot.core.duration import span_seconds
from moot.core.events import StepRetrying
from moot.core.format import AnyFormat, Starter
from moot.core.record import LIVE
from moot.core.stored import StoredDebate
from moot.errors import MootError, NotFound
from moot.examples.catalog import examples, find
from moot.reading.debate import Reading
from moot.reading.words import STATUS_TEXTS, title_of
from moot.store.listing import Wanted
from moot.store.rows import Summary
from moot.text.plain import shortened
from moot.web.api import WebState
from moot.web.pages.form_values import as_posted, last, schemas
from moot.web.pages.frame import Frame, to
from moot.web.pages.posting import key_of, posted_by
from moot.web.pages.running_on import RunsOn, money, runs_on
from moot.web.pages.views import deadline_of, duration_text, in_a_line
from moot.web.schemas import DEBATE_ID, cursor, cursor_from

if TYPE_CHECKING:
    from starlette.requests import Request

PAGE_SIZE = 20
PINNED = 8
"""Debates that wait, or go on, at most, above the list."""
ASKED = ("q", "status", "format", "trash")
MAX_QUESTION = 220


class Card(NamedTuple):
    """A starter, and the form that it fills."""

    format: AnyFormat
    starter: Starter
    url: str


class Home:
    def __init__(self, server: WebState, frame: Frame) -> None:
        self._app = server.app
        self._hub = server.hub
        self._frame = frame
        self._costs: dict[tuple[str, ...], str] = {}

    async def show(self, request: Request) -> Response:
        asked = {name: request.query_params.get(name, "") for name in ASKED}
        query = request.query_params
        places = {"after": query.get("after") or query.get("cursor", ""), "before": query.get("before", "")}
        counts = await self._app.listing.counts()
        about = {**await self._about(request), "waiting": _number(counts, Wanted(status=Status.WAITING))}
        is_first = not any((*asked.values(), *places.values()))
        if is_first and not _number(counts, Wanted()):
            return self._frame.bare("home.html", cards=self._cards(), **about)
        about |= await self._list(asked, places, counts)
        about |= {"is_first": is_first, "asked": asked, "statuses": list(STATUS_TEXTS.items()), "link": _link}
        about |= {"waiting_list": await self._waiting(counts) if is_first else ()}
        about |= {"live_list": await self._live(counts) if is_first else ()}
        return self._frame.bare("list.html", **about)

    async def delete(self, request: Request) -> Response:
        debate_id, back = request.path_params["id"], last(await posted_by(request), "back")
        await self._app.delete(debate_id)
        asked = back if re.fullmatch(r"[\w%&=.+~-]*", back) else ""  # what is asked of the list, and no other address
        return to(f"/?{'&'.join(filter(None, (asked, urlencode({'deleted': debate_id}))))}")

    async def example(self, request: Request) -> Response:
        """Play a recorded debate as one that goes on now: it can be watched, steered and stopped like any other."""
        example = find(request.path_params["name"])
        key = key_of(await posted_by(request))
        record = await self._app.create(
            example.format, example.topic, example.settings(), start=True, key=key, watched=True
        )
        return to(f"/debates/{record.id}")

    async def _list(
        self, asked: Mapping[str, str], places: Mapping[str, str], counts: Counter[Wanted]
    ) -> dict[str, Any]:
        status = Status(asked["status"]) if asked["status"] in set(Status) else None
        hidden = bool(asked["trash"])
        at_rest = status is None and not asked["q"] and not hidden
        wanted = Wanted(asked["q"], status, asked["format"] or None, hidden, at_rest)
        after, before = (cursor_from(place) if place else None for place in places.values())
        found = await self._app.listing.page(PAGE_SIZE + 1, wanted, after=after, before=before)
        more = len(found) > PAGE_SIZE
        shown = found[-PAGE_SIZE:] if before else found[:PAGE_SIZE]
        newer, older = (more, bool(shown)) if before else (bool(after), more)
        return {
            "rows": [self._row(each) for each in shown],
            "count": await self._count(wanted, counts),
            "newer": _link(asked, before=cursor(shown[0].record)) if newer and shown else "",
            "older": _link(asked, after=cursor(shown[-1].record)) if older and shown else "",
            "trashed": 0 if hidden else _number(counts, Wanted(hidden=True)),
        }

    async def _count(self, wanted: Wanted, counts: Counter[Wanted]) -> int:
        is_counted = not wanted.words and wanted.status is not Status.FAILED  # which is also what cannot be read
        return _number(counts, wanted) if is_counted else await self._app.listing.count(wanted)

    def _row(self, summary: Summary) -> tuple[Summary, Reading]:
        return summary, self._app.reading(StoredDebate(summary.record))

    async def _about(self, request: Request) -> dict[str, Any]:
        """What both forms of the page have: what it runs on, and what was deleted a moment ago."""
        first = next(iter(self._app.formats.values()))
        runs = await runs_on(self._app, first)
        return {
            "runs": runs,
            "cost": await self._cost(first, runs),
            "formats": list(self._app.formats.values()),
            "example": first.example,
            "recorded": examples()[0],
            "deleted": _an_id(request.query_params.get("deleted", "")),
            "here": "list",
        }

    async def _cost(self, format: AnyFormat, runs: RunsOn) -> str:
        """What a usual debate costs with these models."""
        models = tuple(use.name for use in runs.uses)
        if models not in self._costs:
            try:
                found = await self._app.estimate(format.name, format.example or format.summary)
                self._costs[models] = "" if found.typical.cost is None else money(found.typical.cost)
            except MootError:  # the models that are configured cannot be used, which the form tells
                return ""
        return self._costs[models]

    def _cards(self) -> list[Card]:
        """Those of all formats: the first of each, then the second."""
        kept = [
            (at, format, starter) for format in self._app.formats.values() for at, starter in enumerate(format.starters)
        ]
        return [
            Card(format, starter, _filled(format, starter))
            for _, format, starter in sorted(kept, key=lambda each: each[0])
        ]

    async def _waiting(self, counts: Counter[Wanted]) -> list[dict[str, Any]]:
        return [await asyncio.to_thread(_asks, each) for each in await self._pinned(counts, Status.WAITING)]

    async def _live(self, counts: Counter[Wanted]) -> list[dict[str, Any]]:
        live = await self._pinned(counts, *LIVE)  # in their order: one that goes on meanwhile is found in one of them
        return [await asyncio.to_thread(_goes_on, each, self._hub.retries(each.record.id)) for each in live]

    async def _pinned(self, counts: Counter[Wanted], *statuses: Status) -> list[Reading]:
        """Only if there are any, which has been counted."""
        wanted = [Wanted(status=status) for status in statuses]
        if not any(_number(counts, each) for each in wanted):
            return []
        found = [await self._app.listing.page(PINNED, each) for each in wanted]
        furthest_first = dict.fromkeys(summary.record.id for page in reversed(found) for summary in page)
        readings = []
        for debate_id in islice(furthest_first, PINNED):
            with suppress(NotFound):  # deleted since
                readings.append(await self._app.read(debate_id))
        return readings


def _number(counts: Counter[Wanted], wanted: Wanted) -> int:
    """How many a list without words would have."""
    chosen = (
        number
        for each, number in counts.items()
        if each.hidden == wanted.hidden
        and wanted.status in (None, each.status)
        and wanted.format in (None, each.format)
        and not (wanted.at_rest and each.status in (*LIVE, Status.WAITING))
    )
    return sum(chosen)


def _asks(reading: Reading) -> dict[str, Any]:
    asked = reading.question
    left = (deadline_of(reading) or 0) - time.time()
    return {
        "debate": reading,
        "question": in_a_line(shortened(asked.question, MAX_QUESTION)) if asked else "",
        "approves": bool(asked and "approve" in asked.actions),
        "left": f"waits another {duration_text(max(60, left // 60 * 60))}, then it is paused; nothing is lost"
        if left > 0
        else "",
        "round": reading.rounds,
    }


def _goes_on(reading: Reading, retries: Sequence[StepRetrying]) -> dict[str, Any]:
    most = reading.record.settings.get("max_rounds")
    last_turn = next((event for event in reversed(reading.events) if event.seat in reading.record.seats), None)
    return {
        "debate": reading,
        "round": reading.rounds,
        "rounds": most if isinstance(most, int) else 0,
        "last": last_turn.title if last_turn else "",
        "time": duration_text(span_seconds(reading.turns)),
        "retries": [f"{title_of(each)}: {each.error}, attempt {each.attempt} of {each.attempts}" for each in retries],
    }


def _filled(format: AnyFormat, starter: Starter) -> str:
    """Where the form is with all that a starter says."""
    known = schemas(format)
    chosen = {
        field: values
        for name, value in starter.settings.items()
        for field, values in as_posted(f"{format.name}.{name}", name, known[name], value).items()
    }
    return f"/new?{urlencode({'format': format.name, 'topic': starter.topic, **chosen}, doseq=True)}"


def _link(asked: Mapping[str, str], **more: str) -> str:
    said = {name: value for name, value in {**asked, **more}.items() if value}
    return f"/?{urlencode(said)}" if said else "/"


def _an_id(text: str) -> str:
    """Nothing when it could lead to another address than a debate's."""
    return text if re.fullmatch(DEBATE_ID, text) else ""

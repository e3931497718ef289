"""The pages of debates that have come to something: the outcome, how a turn was made, two side by side, on paper."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.responses import Response

from moot.app import App
from moot.app.rejudging import forks_of
from moot.core.page import Quoted, parts_in
from moot.errors import InvalidInput
from moot.reading.comparison import Comparison, Piece, marked
from moot.reading.debate import Reading
from moot.reading.inspection import inspection
from moot.text.markdown import unmarked
from moot.text.plain import shortened, whole_number
from moot.web.pages.outcome_views import outcome_page

if TYPE_CHECKING:
    from starlette.requests import Request

Render = Callable[..., Awaitable[Response]]
"""A template and what it shows, as a page."""
MAX_RELATED = 20
FACTS = {"depth": "{}", "models": "{}", "rounds": "{} rounds", "cost": "cost {}"}
"""What the head of a compared debate tells."""


class FinishedPages:
    def __init__(self, app: App, page: Render) -> None:
        self._app = app
        self._page = page

    async def about(self, reading: Reading, fork_at: int = 0) -> dict[str, Any]:
        """What the page of an outcome is rendered with; a hundred turns take half a second."""
        view = await asyncio.to_thread(outcome_page, reading)
        place = self._app.documents.place_of(reading)
        written = await asyncio.to_thread(place.find, reading.record.id) if place else None
        view |= {"place": place.path if place else None, "written": written}
        view["fork_at"] = fork_at or len(reading.turns) - 1
        return {"view": view, "debate": reading, "forks": await forks_of(self._app, reading.record.id)}

    async def inspect(self, request: Request) -> Response:
        """How a turn was made; the page of the debate loads it into a drawer when it is asked for."""
        reading = await self._app.read(request.path_params["id"])
        position = _position(request.path_params["position"])
        shown = await asyncio.to_thread(inspection, reading, self._app.prompts, position)
        return await self._page("inspect.html", debate=reading, shown=shown)

    async def on_paper(self, request: Request) -> Response:
        """The decision on its first page, the record behind it."""
        reading = await self._app.read(request.path_params["id"])
        view = await asyncio.to_thread(outcome_page, reading)
        return await self._page("print.html", debate=reading, view=view)

    async def compare(self, request: Request) -> Response:
        """Two debates side by side; with one alone, those it may be compared with."""
        query = request.query_params
        asked = [query.get("a", ""), query.get("b", ""), *query.getlist("compare")]  # which is how a list ticks them
        chosen = [each.strip() for each in asked if each.strip()]
        if len(chosen) > 2:
            raise InvalidInput(f"two debates are compared at a time, and {len(chosen)} are ticked")
        if len(chosen) < 2:
            return await self._choose(chosen[0] if chosen else "")
        a, b = [await self._app.read(each) for each in chosen]
        view = await asyncio.to_thread(compared, Comparison(a, b))
        return await self._page("compare.html", view=view, here="list")

    async def _choose(self, debate_id: str) -> Response:
        if not debate_id:
            raise InvalidInput("no debate is chosen; tick two in the list, and Compare comes up")
        reading = await self._app.read(debate_id)
        origin = [reading.record.origin.debate] if reading.record.origin else []
        related = [*origin, *await forks_of(self._app, debate_id)]
        others = await self._app.list(MAX_RELATED, words=shortened(reading.record.topic.strip(), 200).rstrip("…"))
        found = dict.fromkeys([*related, *(each.id for each in others)])
        known = {each.id: each for each in await self._app.list(100)}
        rows = [(known[each], each in related) for each in found if each in known and each != debate_id]
        return await self._page("compare_choose.html", debate=reading, rows=rows, here="list")


def _position(text: str) -> int:
    position = whole_number(text)
    if position is None:
        raise InvalidInput(f"{shortened(text, 20)!r} is no turn of a debate; turns are numbered from 0")
    return position


# Two side by side


class Texts(NamedTuple):
    """The same part of both, with what differs marked."""

    title: str
    a: tuple[Piece, ...]
    b: tuple[Piece, ...]
    strong: bool = False


class SideView(NamedTuple):
    letter: str
    reading: Reading
    level: str
    facts: tuple[tuple[str, bool], ...]
    """What was chosen and what it cost, and whether the other differs in it."""
    steps: int
    done: int


def compared(both: Comparison) -> dict[str, Any]:
    return {
        "both": both,
        "sides": (_side("A", both.a, both), _side("B", both.b, both)),
        "texts": tuple(_texts(both)),
        "who": lambda claim, side: (both.a if side == "a" else both.b).titles.get(claim.seat, claim.seat),
    }


def _side(letter: str, reading: Reading, both: Comparison) -> SideView:
    pairs = [pair for pair in (*both.setup, *both.taken) if pair.name in FACTS]
    values = [pair.a if letter == "A" else pair.b for pair in pairs]
    facts = tuple((FACTS[pair.name].format(own), pair.differs) for pair, own in zip(pairs, values, strict=True))
    outcome, page = reading.outcome, reading.page
    level = (page.trust.level if page and page.trust else None) or ""
    return SideView(letter, reading, level, facts, len(reading.next_steps), len(outcome.done) if outcome else 0)


def _texts(both: Comparison) -> Iterator[Texts]:
    for title, read in (
        ("Outcome", lambda each: each.page.headline if each.page else each.status_text),
        ("", lambda each: each.page.lead if each.page else ""),
        ("How far it can be trusted", _trust),
        ("Dissent", _dissent),
    ):
        a, b = ("\n".join(map(unmarked, read(each).split("\n"))) for each in (both.a, both.b))
        if a or b:
            yield Texts(title, *marked(a, b), strong=title == "Outcome")


def _trust(reading: Reading) -> str:
    block = reading.page.trust if reading.page else None
    return " ".join(filter(None, (block.why, *block.reasons))) if block else ""


def _dissent(reading: Reading) -> str:
    parts = parts_in(reading.page) if reading.page else ()
    lines = [each for part in parts if isinstance(part, Quoted) for each in part.lines]
    return "\n".join(": ".join(filter(None, (reading.titles.get(each.seat), each.text))) for each in lines)

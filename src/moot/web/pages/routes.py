"""The pages for people, and those of a debate among them. All work without JavaScript; scripts only make them live.

A handler reads what was posted, calls the app, and shows a page or redirects to one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeAlias, cast

from pydantic import JsonValue
from starlette.responses import Response
from starlette.routing import Route

from moot.app.rejudging import rejudge
from moot.app.ticks import tick
from moot.core.claims import Ledger
from moot.core.debate import Action, Record
from moot.errors import InvalidInput, MootError, NotFound
from moot.llm.addresses import refuse_addresses
from moot.reading.words import ACTIONS
from moot.text.plain import shortened, whole_number
from moot.web.api import WebState
from moot.web.pages.api_page import ApiPage
from moot.web.pages.assets import PREFIX
from moot.web.pages.claims import claims_page
from moot.web.pages.finished import FinishedPages
from moot.web.pages.form_values import Posted, last
from moot.web.pages.frame import Frame, to
from moot.web.pages.home import Home
from moot.web.pages.live_page import LivePage
from moot.web.pages.models_page import ModelsPage
from moot.web.pages.new_debate import NewDebate
from moot.web.pages.posting import key_of, number, posted_by
from moot.web.pages.source_views import source_page
from moot.web.statuses import page_status

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request

Handler: TypeAlias = "Callable[[Request], Awaitable[Response]]"
Act: TypeAlias = Callable[[str, Posted, str], Awaitable[object]]
"""What a button does, and for whom, if that is known; a record that comes of it is the debate to show then."""


def add_pages(web: FastAPI, server: WebState) -> Frame:
    """Put the pages and what they load on a server."""
    frame = Frame(server.app)
    home, new, pages = Home(server, frame), NewDebate(server, frame), Pages(server, frame)
    models = ModelsPage(server.app, frame)
    get, post = ["GET"], ["POST"]
    routes: list[tuple[str, Handler, list[str]]] = [
        ("/", home.show, get),
        ("/login", pages.login, get),
        ("/docs", ApiPage(web, frame).show, get),
        ("/new", new.show, get),
        ("/new", new.create, post),
        ("/new/estimate", new.estimate, post),
        ("/models", models.show, get),
        ("/models/test", models.test, post),
        ("/examples/{name}", home.example, post),
        ("/debates/{id}", pages.debate, get),
        ("/debates/{id}/parts", pages.parts, get),
        ("/debates/{id}/sources/{tag}", pages.source, get),
        ("/debates/{id}/claims", pages.claims, get),
        ("/debates/{id}/turns/{position}/inspect", pages.finished.inspect, get),
        ("/debates/{id}/print", pages.finished.on_paper, get),
        ("/compare", pages.finished.compare, get),
        *((f"/debates/{{id}}/{name}", partial(pages.act, act), post) for name, act in pages.acts.items()),
        ("/debates/{id}/delete", home.delete, post),
    ]
    web.router.routes.extend(Route(path, _shown(frame, do), methods=methods) for path, do, methods in routes)
    web.mount(PREFIX, frame.assets, name="static")
    return frame


class Pages:
    def __init__(self, server: WebState, frame: Frame) -> None:
        self._server = server
        self._app = server.app
        self._frame = frame
        self._page = frame.page
        self._live = LivePage(server.app)
        self.finished = FinishedPages(self._app, self._page)
        self.acts: Mapping[str, Act] = {
            "resume": lambda debate_id, *_: self._app.resume(debate_id),
            "fork": self._fork,
            "rejudge": self._rejudge,
            "stop": lambda debate_id, *_: self._app.stop(debate_id),
            "conclude": lambda debate_id, *_: self._app.conclude(debate_id),
            "reply": self._reply,
            "retry": lambda debate_id, *_: self._app.try_now(debate_id),
            "model": self._live.change_model,
            "rating": self._rate,
            "next-steps": self._tick,
            "document": lambda debate_id, *_: self._app.write_document(debate_id),
            "workflow": lambda debate_id, *_: self._app.make_workflow(debate_id),
            "restore": lambda debate_id, *_: self._app.restore(debate_id),
        }

    async def login(self, request: Request) -> Response:
        """The page to log in, as the answer to whatever was asked for without the token."""
        return self._frame.bare("login.html", 401, wrong="wrong" in request.query_params)

    async def debate(self, request: Request) -> Response:
        fork_at = whole_number(request.query_params.get("fork", "0")) or 0
        return await self._debate(request.path_params["id"], fork_at=fork_at)

    async def parts(self, request: Request) -> Response:
        """What changes on a debate's page while it goes on, and its turns from a position on."""
        since = whole_number(asked := request.query_params.get("from", "0"))
        if since is None:
            raise InvalidInput(f"from={shortened(asked, 20)!r} is no number; give the position of a turn")
        about = await self._live.about(await self._app.read(request.path_params["id"]))
        return await self._page("live_refresh.html", since=since, **about)

    async def source(self, request: Request) -> Response:
        """A source as text, part by part, with what is quoted of it marked."""
        part = whole_number(request.query_params.get("part", "1")) or 1
        reading = await self._app.read(request.path_params["id"])
        shown = await asyncio.to_thread(source_page, reading, request.path_params["tag"], part)
        return await self._page("source.html", debate=reading, shown=shown)

    async def claims(self, request: Request) -> Response:
        """What was claimed, what was said to it and how it ended, as a map and as a list."""
        reading = await self._app.read(request.path_params["id"])
        ledger = await asyncio.to_thread(lambda: reading.ledger)
        if ledger is None and reading.live:
            ledger = Ledger()  # nothing has been noted yet
        if ledger is None:
            raise NotFound(f"nobody notes the claims of {reading.record.id}")
        view = await asyncio.to_thread(claims_page, reading, ledger)
        return await self._page("claims.html", debate=reading, ledger=ledger, view=view)

    async def act(self, act: Act, request: Request) -> Response:
        """Do what a button says, then show the debate; what goes wrong is told on its page."""
        debate_id, posted = request.path_params["id"], await posted_by(request)
        try:
            made = await act(debate_id, posted, self._server.who(request))
        except NotFound:
            raise
        except MootError as error:
            return await self._debate(debate_id, error, {name: last(posted, name) for name in posted})
        return to(f"/debates/{made.id if isinstance(made, Record) else debate_id}")

    async def _fork(self, debate_id: str, posted: Posted, who: str) -> Record:
        position = number(posted, "position", "say with how many turns the fork begins")
        changes: dict[str, JsonValue] = {"model": model} if (model := last(posted, "model").strip()) else {}
        refuse_addresses(changes)
        return await self._app.fork(debate_id, position, changes, start=True, key=key_of(posted), watched=True)

    async def _rejudge(self, debate_id: str, posted: Posted, who: str) -> Record:
        judge, judgings = last(posted, "judged_by").strip() or None, number(posted, "judgings", "say how often")
        refuse_addresses({"model": judge})
        return await rejudge(self._app, debate_id, judge, judgings, start=True, key=key_of(posted), watched=True)

    async def _reply(self, debate_id: str, posted: Posted, who: str) -> None:
        action, text, position = (last(posted, name) for name in ("action", "text", "position"))
        if action not in ACTIONS:
            raise InvalidInput(f"{action!r} is no answer; choose one of: {', '.join(ACTIONS)}")
        at = number(posted, "position", "reload the page and answer again") if position else None
        await self._app.reply(debate_id, cast(Action, action), text, at, who)

    async def _tick(self, debate_id: str, posted: Posted, who: str) -> None:
        done = "done" in posted
        step = number(posted, "done" if done else "undone", "reload the page and tick it again")
        await tick(self._app, debate_id, step, done, who)

    async def _rate(self, debate_id: str, posted: Posted, who: str) -> None:
        await self._app.rate(debate_id, number(posted, "stars", "choose 1 to 5"), last(posted, "comment"))

    async def _debate(
        self, debate_id: str, error: MootError | None = None, typed: Mapping[str, str] | None = None, fork_at: int = 0
    ) -> Response:
        reading = await self._app.read(debate_id)
        about = await (self.finished if reading.outcome else self._live).about(reading, fork_at)
        about |= {"typed": typed or {}, "fault": str(error) if error else ""}
        template = "outcome.html" if reading.outcome else "live.html"
        return await self._page(template, page_status(error) if error else HTTPStatus.OK, **about)


def _shown(frame: Frame, do: Handler) -> Handler:
    """A handler whose errors people can read."""

    async def show(request: Request) -> Response:
        try:
            return await do(request)
        except MootError as error:
            return await frame.error(error)
        finally:
            await request.close()  # the files that came with it

    return show

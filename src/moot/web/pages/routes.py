"""The pages for people: list, new debate, debate. Every one works without JavaScript; scripts only make them live.

A handler reads what was posted, calls the app, and shows a page or redirects to one.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import JsonValue
from starlette.datastructures import UploadFile
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from moot import formats as known_formats
from moot.app import MAX_TOPIC, check_topic
from moot.core.debate import Action, Record, Status
from moot.core.stored import StoredDebate
from moot.core.trace import iso
from moot.errors import InvalidInput, MootError, NotFound, WrongStatus
from moot.llm.addresses import refuse_addresses
from moot.reading.words import STATUS_TEXTS, notice_text, title_of
from moot.runs.process import is_lost
from moot.text.plain import printable, shortened, whole_number
from moot.web.api import WebState
from moot.web.guard import MAX_DEBATE
from moot.web.pages.form_values import Posted, last
from moot.web.pages.forms import Form, InvalidFields, form, settings
from moot.web.pages.markdown import speech
from moot.web.pages.views import ACTIONS, age_text, cell_text, cost_text, debate_page, in_a_line
from moot.web.schemas import cursor, cursor_from

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request

PAGE_SIZE = 20
HERE = Path(__file__).parent
NOBODY_WORKS = "queued, but no worker is alive"
STATUS_OF = {NotFound: HTTPStatus.NOT_FOUND, WrongStatus: HTTPStatus.CONFLICT}

Handler: TypeAlias = "Callable[[Request], Awaitable[Response]]"
Act: TypeAlias = Callable[[str, Posted], Awaitable[object]]
"""What a button does; a record that comes of it is the debate to show then."""


def add_pages(web: FastAPI, server: WebState) -> None:
    """Put the pages and what they load on a server."""
    pages = Pages(server)
    get, post = ["GET"], ["POST"]
    routes: list[tuple[str, Handler, list[str]]] = [
        ("/", pages.index, get),
        ("/login", pages.login, get),
        ("/new", pages.new, get),
        ("/new", pages.create, post),
        ("/debates/{id}", pages.debate, get),
        ("/debates/{id}/parts", pages.parts, get),
        *((f"/debates/{{id}}/{name}", partial(pages.act, act), post) for name, act in pages.acts.items()),
        ("/debates/{id}/delete", pages.delete, post),
    ]
    web.router.routes.extend(Route(path, _shown(pages, do), methods=methods) for path, do, methods in routes)
    web.mount("/static", StaticFiles(directory=HERE / "static"), name="static")


class Pages:
    def __init__(self, server: WebState) -> None:
        self._server = server
        self._app = server.app
        self._templates = _templates()
        self.acts: Mapping[str, Act] = {
            "resume": lambda debate_id, _: self._app.resume(debate_id),
            "fork": self._fork,
            "stop": lambda debate_id, _: server.app.stop(debate_id),
            "conclude": lambda debate_id, _: self._app.conclude(debate_id),
            "reply": self._reply,
            "rating": self._rate,
            "document": lambda debate_id, _: self._app.write_document(debate_id),
            "workflow": lambda debate_id, _: self._app.make_workflow(debate_id),
            "restore": lambda debate_id, _: self._app.restore(debate_id),
        }

    async def index(self, request: Request) -> Response:
        asked = {name: request.query_params.get(name, "") for name in ("q", "status", "format")}
        status = Status(asked["status"]) if asked["status"] in set(Status) else None
        page = request.query_params.get("cursor")
        after = cursor_from(page) if page else None
        found = await self._app.summaries(PAGE_SIZE + 1, status, asked["format"] or None, asked["q"], after)
        shown = found[:PAGE_SIZE]
        rows = [(each, self._app.reading(StoredDebate(each.record))) for each in shown]
        return self._page(
            "list.html",
            rows=rows,
            live=any(debate.live for _, debate in rows),
            searching=any(asked.values()) or after is not None,
            older=_link(asked, shown[-1].record) if len(found) > PAGE_SIZE else "",
            newer=_link(asked) if after else "",
            statuses=list(STATUS_TEXTS.items()),
            formats=list(self._app.formats),
            deleted=_an_id(request.query_params.get("deleted", "")),
            example=self._example(),
            here="list",
            asked=asked,
        )

    async def login(self, request: Request) -> Response:
        """The page to log in, as the answer to whatever was asked for without the token."""
        return self._page("login.html", 401, wrong="wrong" in request.query_params)

    async def new(self, request: Request) -> Response:
        chosen = request.query_params.get("format", next(iter(self._app.formats)))
        return self._form(chosen, {"topic": [request.query_params.get("topic", "")]})

    async def create(self, request: Request) -> Response:
        posted = await _posted(request)
        chosen, topic = last(posted, "format"), last(posted, "topic")
        try:
            format = known_formats.find(self._app.formats, chosen)
            posted |= await self._rows_of_files(request)
            wanted = settings(format, self._app.settings.formats.get(chosen, {}), posted)
            refuse_addresses(wanted)
            if last(posted, "do") == "estimate":
                return self._form(chosen, posted, estimate=await self._estimate(chosen, topic, wanted))
            record = await self._app.create(chosen, topic, wanted, start=True, key=_key(posted), watched=True)
        except MootError as error:
            return self._form(chosen, posted, error)
        return _to(f"/debates/{record.id}")

    async def debate(self, request: Request) -> Response:
        return await self._debate(request.path_params["id"])

    async def parts(self, request: Request) -> Response:
        """What changes on a debate's page while it goes on, and its turns from a position on."""
        since = whole_number(asked := request.query_params.get("from", "0"))
        if since is None:
            raise InvalidInput(f"from={shortened(asked, 20)!r} is no number; give the position of a turn")
        return self._page("refresh.html", since=since, **await self._about(request.path_params["id"]))

    async def act(self, act: Act, request: Request) -> Response:
        """Do what a button says, then show the debate; what goes wrong is told on its page."""
        debate_id, posted = request.path_params["id"], await _posted(request)
        try:
            made = await act(debate_id, posted)
        except NotFound:
            raise
        except MootError as error:
            return await self._debate(debate_id, error, {name: last(posted, name) for name in posted})
        return _to(f"/debates/{made.id if isinstance(made, Record) else debate_id}")

    async def delete(self, request: Request) -> Response:
        debate_id = request.path_params["id"]
        await self._server.app.delete(debate_id)
        return _to(f"/?{urlencode({'deleted': debate_id})}")

    def error(self, error: MootError) -> Response:
        status = _status(error)
        return self._page("error.html", status, title=status.phrase, message=str(error))

    async def _fork(self, debate_id: str, posted: Posted) -> Record:
        position = _number(posted, "position", "say with how many turns the fork begins")
        changes: dict[str, JsonValue] = {"model": model} if (model := last(posted, "model").strip()) else {}
        refuse_addresses(changes)
        return await self._app.fork(debate_id, position, changes, start=True, key=_key(posted), watched=True)

    async def _reply(self, debate_id: str, posted: Posted) -> None:
        action, text, position = (last(posted, name) for name in ("action", "text", "position"))
        if action not in ACTIONS:
            raise InvalidInput(f"{action!r} is no answer; choose one of: {', '.join(ACTIONS)}")
        at = _number(posted, "position", "reload the page and answer again") if position else None
        await self._app.reply(debate_id, cast(Action, action), text, at)

    async def _rate(self, debate_id: str, posted: Posted) -> None:
        await self._app.rate(debate_id, _number(posted, "stars", "choose 1 to 5"), last(posted, "comment"))

    async def _about(self, debate_id: str) -> dict[str, Any]:
        reading = await self._app.read(debate_id)
        view = await asyncio.to_thread(debate_page, reading)  # a hundred turns take half a second
        if reading.record.status is Status.QUEUED and not (await self._app.load_of_queue()).workers:
            view["status_text"] = NOBODY_WORKS
        place = self._app.documents.place_of(reading)
        written = await asyncio.to_thread(place.find, debate_id) if place else None
        view |= {"place": place.path if place else None, "written": written}
        view["lost"] = is_lost(reading.record, time.time())
        about = {"view": view, "debate": reading, "folded": view["document"] is not None}
        return about | {"created": iso(reading.record.created_at), "typed": {}, "fault": ""}

    async def _debate(
        self, debate_id: str, error: MootError | None = None, typed: Mapping[str, str] | None = None
    ) -> Response:
        about = await self._about(debate_id) | {"typed": typed or {}, "fault": str(error) if error else ""}
        return self._page("debate.html", _status(error) if error else HTTPStatus.OK, **about)

    async def _estimate(self, format: str, topic: str, wanted: Mapping[str, Any]) -> str:
        found = await self._app.estimate(format, topic, wanted)
        most, typical = found
        tokens = (
            f"about {typical.output_tokens:,} output tokens in {typical.calls} calls, at most {most.output_tokens:,}"
        )
        if most.cost is None:
            tokens = f"{tokens}; the price is unknown"
        else:
            tokens = f"{cost_text(typical)}, at most {cost_text(most)}; {tokens}"
        return ". ".join(filter(None, [tokens, f"Time, {found.duration}", found.duration.warning]))

    def _form(self, chosen: str, posted: Posted, error: MootError | None = None, estimate: str = "") -> Response:
        faults = dict(error.faults) if isinstance(error, InvalidFields) else {}
        topic = last(posted, "topic")
        topic_fault = str(error) if error and not faults and _topic_is_wrong(topic) else ""
        general = "" if topic_fault or not error else faults.pop("", "") if faults else str(error)
        return self._page(
            "new.html",
            HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK,
            forms=[self._form_of(name, posted, faults if name == chosen else {}) for name in self._app.formats],
            chosen=chosen,
            topic=topic,
            topic_fault=topic_fault,
            fault=general or ("Look at the marked fields." if faults else ""),
            estimate=estimate,
            example=self._example(chosen),
            models=sorted({name for name in (self._app.settings.model, *self._app.settings.models.values()) if name}),
            longest_topic=MAX_TOPIC,
            here="new",
        )

    async def _rows_of_files(self, request: Request) -> dict[str, list[str]]:
        """The files that a browser without JavaScript has sent, as the rows that it would have filled with them."""
        rows: dict[str, list[str]] = {}
        number = 500  # behind all that can be on the page
        for name, value in (await request.form()).multi_items():
            if isinstance(value, UploadFile) and value.filename and name.endswith(".files"):
                source = await self._server.read_file(value.filename, await value.read())
                row = f"{name.removesuffix('.files')}.{number}"
                rows |= {f"{row}.name": [source.name], f"{row}.text": [source.text]}
                number += 1
        return rows

    def _form_of(self, name: str, posted: Posted, faults: Mapping[str, str]) -> Form:
        return form(self._app.formats[name], self._app.settings.formats.get(name, {}), posted, faults)

    def _example(self, chosen: str = "") -> str:
        """A topic for the chosen format, or for any."""
        known = {name: format.example for name, format in self._app.formats.items() if format.example}
        return known.get(chosen) or next(iter(known.values()), "")

    def _page(self, template: str, status: int = HTTPStatus.OK, /, **about: Any) -> HTMLResponse:
        once = secrets.token_hex(8)  # a form that is sent twice is known by it
        return HTMLResponse(self._templates.get_template(template).render(about, once=once), status)


def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("moot.web.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Whatever is shown passes here: nothing that models or people wrote keeps its control characters.
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    templates.filters["clock"] = lambda at: datetime.fromtimestamp(at, UTC).strftime("%H:%M UTC")
    templates.filters["drawing"] = Markup  # our own drawings, whose text is escaped
    templates.filters |= {
        "line": in_a_line,
        "cost": cost_text,
        "iso": iso,
        "age": lambda at: age_text(time.time() - at),
    }
    templates.filters |= {"speech": speech, "cell": cell_text, "who": title_of, "notice_text": notice_text}
    templates.globals.update(version=version("moot"), here="", actions=ACTIONS)
    return templates


def _shown(pages: Pages, do: Handler) -> Handler:
    """A handler whose errors people can read."""

    async def show(request: Request) -> Response:
        try:
            return await do(request)
        except MootError as error:
            return pages.error(error)
        finally:
            await request.close()  # the files that came with it

    return show


def _status(error: MootError) -> HTTPStatus:
    known = (status for kind, status in STATUS_OF.items() if isinstance(error, kind))
    return next(known, HTTPStatus.UNPROCESSABLE_ENTITY)


def _topic_is_wrong(topic: str) -> bool:
    try:
        check_topic(topic)
    except InvalidInput:
        return True
    return False


async def _posted(request: Request) -> dict[str, list[str]]:
    data = await request.form(max_part_size=MAX_DEBATE)
    posted: dict[str, list[str]] = {}
    for name, value in data.multi_items():
        if isinstance(value, str):
            posted.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return posted


def _number(posted: Posted, name: str, advice: str) -> int:
    number = whole_number(typed := last(posted, name))
    if number is None:
        raise InvalidInput(f"{name}: {shortened(typed, 20) or 'nothing'!r} is no number; {advice}")
    return number


def _key(posted: Posted) -> str | None:
    """What a form is known by that is sent twice with the same words, as by two clicks on its button."""
    whole = repr(sorted((name, list(values)) for name, values in posted.items())).encode()
    return f"form-{hashlib.sha256(whole).hexdigest()}" if last(posted, "once") else None


def _to(path: str) -> Response:
    return RedirectResponse(path, HTTPStatus.SEE_OTHER)


def _link(asked: Mapping[str, str], last_shown: Record | None = None) -> str:
    at = {"cursor": cursor(last_shown)} if last_shown else {}
    return f"/?{urlencode({name: value for name, value in {**asked, **at}.items() if value})}"


def _an_id(text: str) -> str:
    """Nothing when it could lead to another address than a debate's."""
    return text if re.fullmatch(r"[A-Za-z0-9-]{1,40}", text) else ""

"""The frame of every page: its templates, what all of them may use, how errors look."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse, Response

from moot.app import App
from moot.core.debate import Status
from moot.core.record import iso
from moot.errors import MootError, StoreError
from moot.export.charts.figures import figure
from moot.reading.words import ACTIONS, notice_text, short_model, title_of
from moot.text.plain import printable
from moot.web.pages.assets import Assets
from moot.web.pages.faults import own_words
from moot.web.pages.markdown import speech
from moot.web.pages.views import age_text, cell_text, cost_text, day_text, in_a_line, is_recorded, question_of
from moot.web.statuses import page_status

TITLES = {
    403: "That came from another site",
    404: "This is not here",
    405: "That cannot be done here",
    409: "That cannot be done now",
    413: "That is too large",
    421: "This server has another name",
    500: "Something went wrong inside",
    503: "The database cannot be used now",
}
"""What a page that tells of an error is called."""
DESCRIPTION = "Language models take sides and answer each other; you get a decision you can check."


class Frame:
    """Renders pages; knows how many debates wait for somebody, which every page says."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.assets = Assets()
        self._templates = _templates(self.assets.url)

    async def page(self, template: str, status: int = HTTPStatus.OK, /, **about: Any) -> HTMLResponse:
        counts = await self._app.store.counts()
        return self.bare(template, status, waiting=counts.get(Status.WAITING, 0), **about)

    def bare(self, template: str, status: int = HTTPStatus.OK, /, **about: Any) -> HTMLResponse:
        """A page that tells nothing of any debate."""
        once = secrets.token_hex(8)  # a form that is sent twice is known by it
        return HTMLResponse(self._templates.get_template(template).render(about, once=once), status)

    async def error(self, error: MootError) -> Response:
        """What went wrong, as a page: what it is, and what to do."""
        status = page_status(error)
        if isinstance(error, StoreError):  # which could not be asked how many wait either
            return HTMLResponse(self.refused(status, str(error)), status)
        return await self.page("error.html", status, **_told(status, str(error)))

    def refused(self, status: int, message: str) -> bytes:
        """The same for whoever was not let in, or asked for what there is not."""
        return bytes(self.bare("error.html", status, **_told(status, message)).body)


def _told(status: int, message: str) -> dict[str, object]:
    title = TITLES.get(status, "That did not work")
    return {"title": title, "message": own_words(message), "is_gone": status == HTTPStatus.NOT_FOUND}


def to(path: str) -> Response:
    return RedirectResponse(path, HTTPStatus.SEE_OTHER)


def _templates(asset: Callable[[str], str]) -> Environment:
    made = Environment(
        loader=PackageLoader("moot.web.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Whatever is shown passes here: nothing that models or people wrote keeps its control characters.
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    made.filters["clock"] = lambda at: datetime.fromtimestamp(at, UTC).strftime("%H:%M UTC")
    made.filters |= {"day": day_text, "question": question_of}
    made.filters["plainly"] = lambda text: own_words(text) if text else ""
    made.filters["drawing"] = Markup  # our own drawings, whose text is escaped
    made.filters["figure"] = lambda each: Markup(figure(each))  # noqa: S704 - the same
    made.filters |= {
        "line": in_a_line,
        "cost": cost_text,
        "iso": iso,
        "minutes": lambda seconds: f"{int(seconds) // 60}:{int(seconds) % 60:02}",
        "age": lambda at: age_text(time.time() - at),
    }
    made.filters |= {"speech": speech, "cell": cell_text, "who": title_of, "notice_text": notice_text}
    made.filters["model"] = short_model
    made.tests["recorded"] = is_recorded
    made.globals.update(asset=asset, here="", waiting=0, actions=ACTIONS, description=DESCRIPTION)
    return made

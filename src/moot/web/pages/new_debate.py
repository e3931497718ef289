"""The form of a new debate: filled by whoever links to it, estimated as it changes, refused with everything kept."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from pydantic import JsonValue
from starlette.datastructures import UploadFile
from starlette.responses import Response

from moot import formats as known_formats
from moot.app import MAX_TOPIC, check_topic
from moot.core.debate import JsonObject, Record
from moot.core.format import AnyFormat
from moot.errors import InvalidInput, MootError
from moot.llm.addresses import refuse_addresses
from moot.retrieval.folders import MAX_FILES
from moot.retrieval.sources import MAX_FILE
from moot.web.api import WebState
from moot.web.pages.faults import own_words
from moot.web.pages.form_values import Posted, as_posted, last, schemas
from moot.web.pages.forms import SOURCES, Form, InvalidFields, defaults, form, posted_as, settings
from moot.web.pages.frame import Frame, to
from moot.web.pages.posting import key_of, posted_by
from moot.web.pages.running_on import Bill, bill, check_models, runs_on, sum_text

if TYPE_CHECKING:
    from starlette.requests import Request

TOO_LARGE = f"these files are over {MAX_FILE // 1_000_000} MB together; give fewer, or the parts that matter"
FIRST_FILE = 500
"""The number of a row behind all that can be on the page."""
LOOK = "Nothing has started: look at what is marked."
FOLLOWS = {"extend_runtime", "whole_sources"}
"""Settings that follow from the models, whichever they are."""


class NewDebate:
    def __init__(self, server: WebState, frame: Frame) -> None:
        self._server = server
        self._app = server.app
        self._frame = frame

    async def show(self, request: Request) -> Response:
        """The form, with whatever the address says filled in."""
        asked: dict[str, list[str]] = {}
        for name, value in request.query_params.multi_items():
            asked.setdefault(name, []).append(value)
        if again := last(asked, "again"):
            asked = await self._as_before(again, "swap" in asked) | asked
        fault = InvalidFields({SOURCES: TOO_LARGE}) if "too_large" in asked else None
        status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE if fault else None
        return await self._form(last(asked, "format") or next(iter(self._app.formats)), asked, fault, status)

    async def create(self, request: Request) -> Response:
        posted = await posted_by(request)
        chosen, topic = last(posted, "format"), last(posted, "topic")
        try:
            await self._add_files(request, posted)
            wanted = self._wanted(chosen, posted)
            if last(posted, "do") == "estimate":
                return await self._form(chosen, posted)
            record = await self._app.create(
                chosen, topic, wanted, again=last(posted, "again"), start=True, key=key_of(posted), watched=True
            )
        except MootError as error:
            return await self._form(chosen, posted, error)
        return to(f"/debates/{record.id}")

    async def _as_before(self, debate_id: str, swapped: bool) -> dict[str, list[str]]:
        """What a debate was asked with. Raises InvalidInput where its format is not installed."""
        record = (await self._app.read(debate_id)).record
        format = known_formats.find(self._app.formats, record.format)
        return _asked_again(record, format, self._app.drafts.configured(format), swapped)

    async def estimate(self, request: Request) -> Response:
        """What the form says by now would take, as the part of the page that tells it."""
        posted = await posted_by(request)
        return self._frame.bare("bill.html", bill=await self._bill(last(posted, "format"), posted))

    def _wanted(self, chosen: str, posted: Posted) -> JsonObject:
        format = known_formats.find(self._app.formats, chosen)
        wanted = settings(format, self._app.drafts.configured(format), posted)
        refuse_addresses(wanted)
        if faults := check_models(self._app, wanted):
            raise InvalidFields(faults)
        return wanted

    async def _bill(self, chosen: str, posted: Posted) -> Bill:
        try:
            format = known_formats.find(self._app.formats, chosen)
            wanted = self._wanted(chosen, posted)
            topic = last(posted, "topic").strip() or format.example or format.summary
            made = self._form_of(chosen, posted, {})
            depth = next((field for field in made.fields if field.name == f"{chosen}.depth"), None)
            options = [option.value for option in depth.options] if depth else []
            each = {value: await self._app.estimate(chosen, topic, {**wanted, "depth": value}) for value in options}
            found = each[depth.value] if depth else await self._app.estimate(chosen, topic, wanted)
            prices = {f"{chosen}.depth.{value}": f"about {sum_text(found)}" for value, found in each.items()}
            return bill(found, prices, is_examined=depth is not None)
        except InvalidFields:
            return Bill(fault="The estimate comes when all that is marked or needed is filled in.")
        except MootError as error:
            return Bill(fault=own_words(str(error)))

    async def _form(
        self, chosen: str, posted: Posted, error: MootError | None = None, status: HTTPStatus | None = None
    ) -> Response:
        topic = last(posted, "topic")
        told = _told(error, topic)
        forms = [self._form_of(name, posted, told.fields if name == chosen else {}) for name in self._app.formats]
        own = next((each for each in forms if each.format.name == chosen), forms[0])
        return await self._frame.page(
            "new.html",
            status or (HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK),
            forms=forms,
            sources_field=own.group("sources"),
            chosen=own.format.name,
            topic=topic,
            again=last(posted, "again"),
            can_swap=own.format.swapped is not None,
            topic_fault=told.topic,
            fault=told.general,
            bill=await self._bill(own.format.name, posted),
            runs={each.format.name: await runs_on(self._app, each.format) for each in forms},
            example=self._example(chosen),
            models=sorted({name for name in (self._app.settings.model, *self._app.settings.models.values()) if name}),
            longest_topic=MAX_TOPIC,
            most_files=MAX_FILES,
            largest_file=MAX_FILE,
            here="new",
        )

    async def _add_files(self, request: Request, posted: dict[str, list[str]]) -> None:
        """Post the files that a browser without JavaScript has sent as the rows that it would have filled with them.

        What can be read is kept for the form that tells of what cannot.
        """
        sent = [each for each in (await request.form()).getlist(f"{SOURCES}.files") if isinstance(each, UploadFile)]
        files = [each for each in sent if each.filename]
        faults = [f"over {MAX_FILES} files; give those that matter"] if len(files) > MAX_FILES else []
        for number, file in enumerate(files[:MAX_FILES], FIRST_FILE):
            try:
                source = await self._server.read_file(file.filename or "", await file.read())
            except InvalidInput as error:
                faults.append(str(error))
            else:
                posted[f"{SOURCES}.{number}.name"], posted[f"{SOURCES}.{number}.text"] = [source.name], [source.text]
        if faults:
            raise InvalidFields({SOURCES: "; ".join(faults)})

    def _form_of(self, name: str, posted: Posted, faults: Mapping[str, str]) -> Form:
        return form(known := self._app.formats[name], self._app.drafts.configured(known), posted, faults)

    def _example(self, chosen: str) -> str:
        """A topic for the chosen format, or for any."""
        known = {name: format.example for name, format in self._app.formats.items() if format.example}
        return known.get(chosen) or next(iter(known.values()), "")


class _Told(NamedTuple):
    """What is wrong with a form: by the names of its fields, with its topic, and in general."""

    fields: Mapping[str, str] = {}
    topic: str = ""
    general: str = ""


def _told(error: MootError | None, topic: str) -> _Told:
    if error is None:
        return _Told()
    if isinstance(error, InvalidFields):
        fields = {name: own_words(text) for name, text in error.faults.items()}
        return _Told(fields, general=fields.get("") or LOOK)
    try:
        check_topic(topic)
    except InvalidInput:
        return _Told(topic=own_words(str(error)))
    return _Told(general=own_words(str(error)))


def _asked_again(
    record: Record, format: AnyFormat, configured: Mapping[str, JsonValue], swapped: bool
) -> dict[str, list[str]]:
    """What a browser would post of the form as the debate was asked; what this version does not know is left out."""
    usual = defaults(format, configured)
    had = {**record.settings, **(format.swapped(record.settings) if swapped and format.swapped else {})}
    posted = {"format": [format.name], "topic": [record.topic], "again": [record.id]}
    for name, schema in schemas(format).items():
        if name in had and had[name] != usual.get(name) and name not in FOLLOWS | format.hidden:
            shown = as_posted(posted_as(format, name), name, schema, had[name])
            posted |= {key: list(values) for key, values in shown.items()}
    return posted

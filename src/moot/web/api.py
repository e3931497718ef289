"""The JSON API: each route parses, calls the app, and shows what came of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response

from moot.app import App
from moot.app.claims import find_claims
from moot.app.health import health as find_health
from moot.app.rejudging import rejudge
from moot.app.ticks import tick
from moot.core.debate import Record, Status
from moot.core.stored import StoredDebate
from moot.errors import InvalidInput, meant
from moot.formats import choices
from moot.llm.addresses import refuse_addresses
from moot.llm.providers import Provider
from moot.llm.weights import names as local_models
from moot.reading.history import events_of
from moot.reading.views import DebateView, RatingView, TickView, WholeDebate, WorkflowView, debate_view, whole_debate
from moot.retrieval.sources import read_data
from moot.sources.source import Source
from moot.web import schemas
from moot.web.stream.hub import EventStream, Hub
from moot.web.who import who_asks

MEDIA_TYPES = {
    "md": "text/markdown",
    "json": "application/json",
    "html": "text/html",
    "argdown": "text/plain",
    "aif": "application/json",
}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.Failed, "description": description}
    for status, description in {
        400: "something in the request cannot be used; the message says what, and what to do",
        401: "the server wants its token",
        403: "a page of another site sent this",
        404: "there is no such thing",
        409: "the debate's status does not allow this; the message says why",
        413: "the body is too large",
        415: "the body is not application/json",
        421: "the server is not known under this name",
        422: "the request does not fit its schema",
        500: "something went wrong inside",
        503: "the database cannot be used now",
    }.items()
}


JSON_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": problem["description"],
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Failed"}}},
    }
    for status, problem in PROBLEMS.items()
}
"""For routes whose success is no JSON."""


MAX_READING = 2


@dataclass(frozen=True, slots=True)
class WebState:
    """What the routes work with."""

    app: App
    hub: Hub
    reading: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_READING))

    async def read_file(self, name: str, data: bytes) -> Source:
        """A document that somebody sent; each is read in a process of its own, so only a few at once."""
        async with self.reading:
            return await asyncio.to_thread(read_data, name, data)

    def who(self, request: Request) -> str:
        return who_asks(request, self.app.settings)

    def view(self, record: Record) -> DebateView:
        return debate_view(self.app.reading(StoredDebate(record)))


def the_server(request: Request) -> WebState:
    server: WebState = request.app.state.server
    return server


Serving = Annotated[WebState, Depends(the_server)]
DebateId = Annotated[str, Path(pattern=f"^{schemas.DEBATE_ID}$", description="DEB- and 8 characters")]
IdempotencyKey = Annotated[
    str | None, Header(min_length=1, max_length=200, description="who repeats it gets the same debate")
]


def refuse_unknown(request: Request) -> None:
    """What a query asks for is done or refused; a name that begins with _ is a client's own, to get past caches, and
    whoever asks for health may add what they like.
    """
    if request.scope["route"].endpoint is health:
        return
    known = {parameter.alias for parameter in request.scope["route"].dependant.query_params}
    given = [name for name, _ in request.query_params.multi_items() if not name.startswith("_")]
    for name in given:
        if name not in known:
            listed = f"; known: {', '.join(sorted(known))}" if known else "; this address takes none"
            raise InvalidInput(f"no query parameter {name[:40]!r}{meant(name, known) or listed}")
        if given.count(name) > 1:
            raise InvalidInput(f"the query parameter {name!r} is given more than once; give one value")


API_ROUTES: dict[str, Any] = {"prefix": "/api", "responses": PROBLEMS, "dependencies": [Depends(refuse_unknown)]}
routes = APIRouter(**API_ROUTES)


@routes.post("/debates", status_code=201)
async def create_debate(
    body: schemas.CreateDebate, server: Serving, response: Response, idempotency_key: IdempotencyKey = None
) -> DebateView:
    """Create a debate, and start it unless told otherwise."""
    refuse_addresses(body.settings)
    record = await server.app.create(body.format, body.topic, body.settings, start=body.start, key=idempotency_key)
    response.headers["location"] = f"/api/debates/{record.id}"
    return server.view(record)


FILE = {"requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}}


@routes.post("/sources", openapi_extra=FILE)
async def read_source(
    request: Request,
    server: Serving,
    name: Annotated[str, Query(min_length=1, max_length=120, description="the file's name, as it is to be cited")],
) -> Source:
    """The text of a file (PDF, HTML, docx, CSV, text, at most 20 MB): a source for the settings of a new debate."""
    return await server.read_file(name, await request.body())


@routes.get("/debates")
async def list_debates(
    server: Serving,
    status: Status | None = None,
    format: str | None = None,
    q: Annotated[str, Query(max_length=200, description="words of the topic")] = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    cursor_: Annotated[str | None, Query(alias="cursor", description="next_cursor of the page before")] = None,
) -> schemas.DebateList:
    """Newest first."""
    after = schemas.cursor_from(cursor_) if cursor_ else None
    records = await server.app.list(limit + 1, status, format, q, after)
    more = schemas.cursor(records[limit - 1]) if len(records) > limit else None
    return schemas.DebateList(debates=[server.view(record) for record in records[:limit]], next_cursor=more)


@routes.get("/debates/{debate_id}")
async def show_debate(debate_id: DebateId, server: Serving) -> WholeDebate:
    """A debate with its turns, outcome, usage, and the question it waits with."""
    return await asyncio.to_thread(whole_debate, await server.app.read(debate_id))


@routes.delete("/debates/{debate_id}", status_code=204)
async def delete_debate(debate_id: DebateId, server: Serving) -> None:
    """Hide a debate; `restore` brings it back."""
    await server.app.delete(debate_id)


@routes.post("/debates/{debate_id}/restore")
async def restore_debate(debate_id: DebateId, server: Serving) -> DebateView:
    """Undo a deletion."""
    return server.view(await server.app.restore(debate_id))


@routes.post("/debates/{debate_id}/start", status_code=202)
async def start_debate(debate_id: DebateId, server: Serving) -> DebateView:
    """Run a debate, now or as soon as there is room."""
    return server.view(await server.app.resume(debate_id))


@routes.post("/debates/{debate_id}/resume", status_code=202)
async def resume_debate(debate_id: DebateId, server: Serving, body: schemas.Resume | None = None) -> DebateView:
    """Go on with a debate that has stopped or failed, as it was or with other models, checkpoints or higher limits;
    one that runs takes other models over.
    """
    changes = body.settings if body else {}
    refuse_addresses(changes)
    return server.view(await server.app.resume(debate_id, changes))


@routes.post("/debates/{debate_id}/stop", status_code=202)
async def stop_debate(debate_id: DebateId, server: Serving) -> DebateView:
    """Let the step in progress end, then nothing more; it can be resumed."""
    return server.view(await server.app.stop(debate_id))


@routes.post("/debates/{debate_id}/retry", status_code=202)
async def retry_now(debate_id: DebateId, server: Serving) -> DebateView:
    """Have calls that failed and wait to be made again (`step_retrying`) made now."""
    return server.view(await server.app.try_now(debate_id))


@routes.post("/debates/{debate_id}/conclude", status_code=202)
async def conclude_debate(debate_id: DebateId, server: Serving) -> DebateView:
    """Let the step in progress end, then the closing steps."""
    return server.view(await server.app.conclude(debate_id))


@routes.post("/debates/{debate_id}/reply", status_code=202)
async def reply_to_debate(debate_id: DebateId, body: schemas.Reply, server: Serving, request: Request) -> DebateView:
    """Answer what a debate asks, guide it at any time, or end its rounds."""
    who = server.who(request)
    return server.view((await server.app.reply(debate_id, body.action, body.text, body.position, who)).record)


@routes.post("/debates/{debate_id}/fork", status_code=201)
async def fork_debate(
    debate_id: DebateId, body: schemas.Fork, server: Serving, response: Response, idempotency_key: IdempotencyKey = None
) -> DebateView:
    """A new debate that begins with copies of the first turns of this one and goes on with other models or settings."""
    refuse_addresses(body.settings)
    record = await server.app.fork(debate_id, body.position, body.settings, start=body.start, key=idempotency_key)
    response.headers["location"] = f"/api/debates/{record.id}"
    return server.view(record)


@routes.post("/debates/{debate_id}/rejudge", status_code=201)
async def rejudge_debate(
    debate_id: DebateId,
    body: schemas.Rejudge,
    server: Serving,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> DebateView:
    """A new debate with the speeches of this finished one, judged again: by another model, or more often."""
    refuse_addresses({"model": body.judge})
    judgings, start, key = body.judgings, body.start, idempotency_key
    record = await rejudge(server.app, debate_id, body.judge, judgings, start=start, key=key)
    response.headers["location"] = f"/api/debates/{record.id}"
    return server.view(record)


@routes.post("/debates/{debate_id}/rating")
async def rate_debate(debate_id: DebateId, body: schemas.NewRating, server: Serving) -> RatingView:
    """Rate the outcome; the latest rating counts."""
    return RatingView.model_validate(await server.app.rate(debate_id, body.stars, body.comment))


@routes.put("/debates/{debate_id}/next-steps/{step}")
async def tick_step(
    debate_id: DebateId,
    step: Annotated[int, Path(ge=0, le=1000, description="its place in `next_steps`, from 0")],
    body: schemas.NewTick,
    server: Serving,
    request: Request,
) -> TickView:
    """Say whether a next step of the outcome is done; the latest word on it counts."""
    return TickView.model_validate(await tick(server.app, debate_id, step, body.done, server.who(request)))


@routes.post("/debates/{debate_id}/workflow")
async def make_workflow(debate_id: DebateId, server: Serving) -> WorkflowView:
    """Make an issue of the outcome, once, and hand it to what is configured."""
    return WorkflowView.model_validate(await server.app.make_workflow(debate_id))


@routes.get(
    "/debates/{debate_id}/events",
    status_code=200,
    response_class=EventStream,
    responses={**JSON_PROBLEMS, 200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def follow_debate(
    debate_id: DebateId,
    server: Serving,
    after: Annotated[int, Query(ge=0, le=2**63 - 1, description="the id of the last event seen")] = 0,
    last_event_id: Annotated[int | None, Header(ge=0, le=2**63 - 1, description="counts more than `after`")] = None,
    follow: Annotated[bool, Query(description="stay while the debate waits for a person")] = False,
) -> EventStream:
    """Server-sent events: what was missed, then what happens; ends after the terminal event."""
    reading = await server.app.read(debate_id)
    seen = after if last_event_id is None else last_event_id
    events = await asyncio.to_thread(events_of, reading.stored, reading.format)
    return EventStream(server.hub, reading.record, events, seen, follow)


@routes.get(
    "/debates/{debate_id}/export",
    response_class=Response,
    responses={**JSON_PROBLEMS, 200: {"content": {media: {"schema": {}} for media in MEDIA_TYPES.values()}}},
)
async def export_debate(
    debate_id: DebateId,
    server: Serving,
    style: Annotated[Literal["md", "json", "html", "argdown", "aif"], Query(alias="as")] = "md",
) -> Response:
    """A debate as a document: the decision or the transcript, the whole trace, a page, or an argument map."""
    text = await server.app.export(debate_id, style)
    attachment = {"content-disposition": f'attachment; filename="{debate_id}.{style}"'}
    return Response(text, media_type=MEDIA_TYPES[style], headers=attachment)


@routes.get("/formats")
async def list_formats(server: Serving) -> schemas.FormatList:
    """The kinds of debate, each with its seats and the JSON schema of its settings."""
    return schemas.FormatList(formats=[schemas.format_view(format) for format in server.app.formats.values()])


@routes.get("/perspectives")
async def list_perspectives(server: Serving) -> schemas.PerspectiveList:
    """The perspectives a panel can be cast from."""
    known = choices(server.app.formats, server.app.settings.formats, "perspectives")
    return schemas.PerspectiveList(perspectives=[schemas.PerspectiveView.model_validate(each.data) for each in known])


@routes.get("/claims")
async def list_claims(server: Serving, q: Annotated[str, Query(max_length=200)]) -> schemas.ClaimList:
    """Where claims with these words were made in any finished debate, by whom, and how they ended."""
    found = await find_claims(server.app, q)
    return schemas.ClaimList(claims=[schemas.ClaimView.model_validate(each.as_json()) for each in found])


@routes.get("/templates")
async def list_templates(server: Serving) -> schemas.TemplateList:
    """The reasoning templates a critique chooses from."""
    known = sorted(server.app.library.templates().values(), key=lambda template: template.name)
    return schemas.TemplateList(templates=[schemas.TemplateView.model_validate(each) for each in known])


@routes.get("/models")
async def list_models(server: Serving) -> schemas.ModelList:
    """Which models can be reached, and what each seat would use."""
    app = server.app
    providers = await asyncio.gather(*(_provider(app, each) for each in app.models.shown))
    seats = [(format.name, seat) for format in app.formats.values() for seat in format.seats if seat.player == "model"]
    chosen = [(format, seat.name, await app.drafts.choose_model(seat)) for format, seat in seats]
    return schemas.ModelList(
        providers=[
            *providers,
            schemas.ProviderView(name="local", state=app.models.local_state(), models=local_models()),
        ],
        seats=[
            schemas.ChosenModel(format=format, seat=seat, model=name, why=why) for format, seat, (name, why) in chosen
        ],
    )


@routes.post("/estimate")
async def estimate(body: schemas.NewDebate, server: Serving) -> schemas.EstimateView:
    """What such a debate would cost, at most and typically; calls no model."""
    refuse_addresses(body.settings)
    found = await server.app.estimate(body.format, body.topic, body.settings)
    return schemas.EstimateView(most=found.most, typical=found.typical, duration=found.duration)


@routes.get("/health")
async def health(server: Serving) -> schemas.Health:
    """Whether the server can work: 503 when its database cannot be used, or only be read, and that within 3 seconds;
    `no workers` when nobody works its queue.
    """
    running, queued, workers = await find_health(server.app)
    status = "no workers" if queued and not workers else "ok"
    return schemas.Health(status=status, version=version("moot"), running=running, queued=queued, workers=workers)


async def _provider(app: App, provider: Provider) -> schemas.ProviderView:
    look = await app.models.look(provider)
    if not look.configured:
        state = f"set {provider.key_env}"
    elif look.models is None:
        state = look.fault or "not reachable, or its key is wrong"
    else:
        state = "ready"
    return schemas.ProviderView(name=provider.name, state=state, models=list(look.models or ()))

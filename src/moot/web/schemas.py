"""What goes over the wire: the bodies of requests and answers, and what is no debate: formats, models, cursors."""

from __future__ import annotations

import base64
import math
from functools import lru_cache
from typing import Annotated

from pydantic import BaseModel, Field, JsonValue, StrictBool, StrictInt, StrictStr

from moot.core.claims import Claim
from moot.core.debate import Action, JsonObject, Record, Usage
from moot.core.duration import Duration
from moot.core.format import AnyFormat
from moot.errors import InvalidInput
from moot.formats import DEFAULT
from moot.reading.views import DebateView, FromAttributes
from moot.store.store import Cursor

DEBATE_ID = "[A-Za-z0-9-]{1,40}"
"""What the id of a debate may look like, as a pattern."""

# Requests


class Body(BaseModel, extra="forbid"):
    pass


class NewDebate(Body):
    format: StrictStr = Field(DEFAULT, description="one of GET /api/formats")
    topic: StrictStr = Field(min_length=1, description="the question, at most 4000 characters")
    settings: dict[str, JsonValue] = Field(default_factory=dict, description="what the format lets its user choose")


class CreateDebate(NewDebate):
    start: StrictBool = Field(True, description="run it at once, or as soon as there is room")


class Resume(Body):
    settings: dict[str, JsonValue] = Field(
        default_factory=dict,
        description="what is to be different from here on: models, checkpoints, higher limits",
    )


class Fork(Body):
    position: StrictInt | None = Field(
        None,
        ge=0,
        le=2**31,
        description="how many turns the fork begins with; without it as many as leave something to play",
    )
    settings: dict[str, JsonValue] = Field(default_factory=dict, description="what is to differ from its origin")
    start: StrictBool = Field(True, description="run it at once, or as soon as there is room")


class Rejudge(Body):
    judge: StrictStr | None = Field(None, description="PROVIDER:MODEL; the same judge without it")
    judgings: StrictInt = Field(8, ge=1, le=12, description="how often at most, 1 or an even number")
    start: StrictBool = Field(True, description="run it at once, or as soon as there is room")


class Reply(Body):
    action: Action
    text: StrictStr = Field(
        "", description="at most 2000 characters; `guide` and `answer` need one, `reject` may have one: why"
    )
    position: StrictInt | None = Field(
        None, ge=0, le=2**31, description="of the question this answers; without it, `guide` is heard at any time"
    )


class NewTick(Body):
    done: StrictBool


class NewRating(Body):
    stars: Annotated[StrictInt, Field(ge=1, le=5)]
    comment: StrictStr = ""


# Answers


class Problem(BaseModel):
    code: str
    message: str


class Failed(BaseModel):
    """What every answer that is no success looks like."""

    error: Problem


class DebateList(BaseModel):
    debates: list[DebateView]
    next_cursor: str | None


class FormatSeat(FromAttributes):
    name: str
    title: str
    group: str
    player: str
    temperature: float
    max_tokens: int


class FormatView(BaseModel):
    name: str
    version: int
    summary: str
    seats: list[FormatSeat]
    settings: JsonObject = Field(description="the JSON schema of its settings")


class FormatList(BaseModel):
    formats: list[FormatView]


class PerspectiveView(FromAttributes):
    name: str
    priorities: tuple[str, ...]
    trade_offs: str


class ClaimView(Claim):
    debate: str
    title: str = Field(description="what that debate is about")
    who: str


class ClaimList(BaseModel):
    claims: list[ClaimView]


class PerspectiveList(BaseModel):
    perspectives: list[PerspectiveView]


class TemplateView(FromAttributes):
    name: str
    title: str
    when: str
    built_in: bool


class TemplateList(BaseModel):
    templates: list[TemplateView]


class ProviderView(BaseModel):
    name: str
    state: str = Field(description="`ready`, or what is missing")
    models: list[str]


class ChosenModel(BaseModel):
    format: str
    seat: str
    model: str
    why: str


class ModelList(BaseModel):
    providers: list[ProviderView]
    seats: list[ChosenModel] = Field(description="the model each seat would use when nobody chooses another")


class EstimateView(BaseModel):
    most: Usage
    typical: Usage
    duration: Duration = Field(description="a guess, at the pace of its models lately or at one that is assumed")


class Health(BaseModel):
    status: str
    version: str
    running: int
    queued: int
    workers: int = Field(description="processes that run debates")


# From what is known


@lru_cache(maxsize=64)
def format_view(format: AnyFormat) -> FormatView:
    """Kept for each format: making the schema of its settings takes 20 ms."""
    return FormatView(
        name=format.name,
        version=format.version,
        summary=format.summary,
        seats=[FormatSeat.model_validate(seat) for seat in format.seats],
        settings=format.settings.model_json_schema(),
    )


def cursor(record: Record) -> str:
    """Where the page after this debate begins."""
    return base64.urlsafe_b64encode(f"{record.created_at!r} {record.id}".encode()).decode()


def cursor_from(cursor: str) -> Cursor:
    try:
        created_at, _, id = base64.b64decode(cursor.encode(), b"-_", validate=True).decode().partition(" ")
        if id and "\0" not in id and math.isfinite(at := float(created_at)):
            return Cursor(at, id)
    except ValueError:
        pass
    raise InvalidInput(f"{cursor!r} is no cursor; take next_cursor from the page before")

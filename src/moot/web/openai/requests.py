"""What a client sends in OpenAI's dialects, read into one form; what a debate cannot do is refused here.

So nothing is paid for before a request is known to make sense.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, JsonValue, ValidationError

from moot.core.debate import JsonObject
from moot.errors import InvalidInput, faults

TEXTS = frozenset({"text", "input_text", "output_text"})
Moot = Annotated[JsonObject, BeforeValidator(lambda value: value or {})]
"""The debate's settings, and `debate`: the one this is about."""


class Part(BaseModel):
    type: str
    text: str = ""


class Message(BaseModel):
    role: str
    content: str | list[Part] | None = None

    def text(self) -> str:
        return "\n".join(part.text for part in self._parts() if part.type in TEXTS).strip()

    def others(self) -> tuple[str, ...]:
        """What it brings along that is no text."""
        return tuple(part.type for part in self._parts() if part.type not in TEXTS)

    def _parts(self) -> list[Part]:
        return self.content if isinstance(self.content, list) else [Part(type="text", text=self.content or "")]


class Request(NamedTuple):
    """A request in any of the dialects."""

    model: str
    messages: tuple[Message, ...]
    settings: JsonObject
    stream: bool = False
    with_usage: bool = False
    as_json: bool = False
    debate: JsonValue = None
    """The debate it is about, where the client names one beside the messages."""
    since: int | None = None
    """The position in it up to which the client has been told."""


class StreamOptions(BaseModel):
    include_usage: bool = False


class Shape(BaseModel):
    """The form in which an answer is wanted."""

    type: str = "text"


class ChatRequest(BaseModel):
    """What is read of a chat request; everything else that the dialect knows is ignored."""

    model: str
    messages: list[Message] = Field(min_length=1)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    response_format: Shape | None = None
    n: int | None = None
    tool_choice: JsonValue = None
    function_call: JsonValue = None
    moot: Moot = Field(default_factory=dict)


class TextOptions(BaseModel):
    format: Shape | None = None


class ResponseRequest(BaseModel):
    """What is read of a request for a response."""

    model: str
    input: str | list[JsonObject] = Field(min_length=1)
    instructions: str | None = None
    stream: bool | None = None
    text: TextOptions | None = None
    tool_choice: JsonValue = None
    previous_response_id: str | None = None
    background: bool | None = None
    conversation: JsonValue = None
    prompt: JsonValue = None
    moot: Moot = Field(default_factory=dict)


def read_chat(body: bytes) -> Request:
    sent = _valid(ChatRequest, body)
    if sent.n not in (None, 1):
        raise InvalidInput(f"n: {sent.n} answers are wanted, but a debate has one outcome; send n=1 and ask again")
    _refuse_required_tools("tool_choice", sent.tool_choice)
    _refuse_required_tools("function_call", sent.function_call)
    settings = dict(sent.moot)
    return Request(
        sent.model,
        tuple(sent.messages),
        settings,
        stream=bool(sent.stream),
        with_usage=bool(sent.stream_options and sent.stream_options.include_usage),
        as_json=_wants_json("response_format", sent.response_format),
        debate=settings.pop("debate", None),
    )


def read_response(body: bytes) -> Request:
    sent = _valid(ResponseRequest, body)
    for name in ("background", "conversation", "prompt"):
        if getattr(sent, name):
            raise InvalidInput(f"{name}: not known here; stream the answer, and name the one before it by its id")
    _refuse_required_tools("tool_choice", sent.tool_choice)
    settings = dict(sent.moot)
    debate, since = _previous(sent.previous_response_id)
    return Request(
        sent.model,
        tuple(_messages(sent)),
        settings,
        stream=bool(sent.stream),
        as_json=_wants_json("text.format", sent.text.format if sent.text else None),
        debate=settings.pop("debate", None) or debate,
        since=since,
    )


def response_id(debate: str, since: int) -> str:
    """Names the debate, and from where on the person's next words to it can stand."""
    return f"resp_{debate}_{since}"


def _previous(id: str | None) -> tuple[str | None, int | None]:
    if not id:
        return None, None
    kind, _, rest = id.partition("_")
    debate, _, since = rest.partition("_")
    if kind != "resp" or not debate or not since.isdecimal() or len(since) > 9:
        raise InvalidInput(f"previous_response_id: {id!r} is no answer of ours; those are like resp_DEB-abcd2345_0")
    return debate, int(since)


def _messages(sent: ResponseRequest) -> Iterator[Message]:
    if sent.instructions:
        yield Message(role="system", content=sent.instructions)
    if isinstance(sent.input, str):
        yield Message(role="user", content=sent.input)
        return
    for at, item in enumerate(sent.input):
        match item.get("type", "message"):
            case "message":
                yield _valid(Message, item, f"input.{at}.")
            case "function_call_output" | "custom_tool_call_output":
                yield _valid(Message, {"role": "tool", "content": item.get("output")}, f"input.{at}.")
            case "reasoning" | "function_call" | "custom_tool_call":
                pass  # how a model came to what it says
            case other:
                yield Message(role="user", content=[Part(type=str(other))])


def _refuse_required_tools(name: str, choice: JsonValue) -> None:
    allowed = choice.get("allowed_tools", choice) if isinstance(choice, dict) else choice
    is_open = allowed in (None, "auto", "none") or (isinstance(allowed, dict) and allowed.get("mode") == "auto")
    if not is_open:
        raise InvalidInput(f"{name}: a debate calls no tools, so none can be required; leave it out or send auto")


def _wants_json(name: str, shape: Shape | None) -> bool:
    kind: Literal["text", "json_object"] | str = shape.type if shape else "text"
    if kind not in ("text", "json_object"):
        told = "an outcome has the form of its debate's format and fits no other; send json_object, or leave it out"
        raise InvalidInput(f"{name}: {kind!r} cannot be promised: {told}")
    return kind == "json_object"


R = TypeVar("R", bound=BaseModel)


def _valid(kind: type[R], sent: bytes | JsonObject, place: str = "") -> R:
    """What was sent as the kind of thing it should be; a whole body, or a part of one at a place."""
    try:
        return kind.model_validate_json(sent) if isinstance(sent, bytes) else kind.model_validate(sent)
    except ValidationError as error:
        raise InvalidInput(f"{place}{faults(error.errors())}") from None

"""What a conversation in OpenAI's dialect says to moot, and what moot says in it. Pure: words in, words out.

Whatever a client sends is only words: a debate that a message names is looked up by whoever calls this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from pydantic import BaseModel, BeforeValidator, Field, JsonValue, ValidationError

from moot.app import MAX_TOPIC, check_topic
from moot.core.debate import Action
from moot.core.events import DebateStopped, Event, TurnChunk, TurnFinished, TurnStarted, Waiting
from moot.core.format import AnyFormat
from moot.errors import InvalidInput, faults
from moot.export.transcript import outcome_blocks
from moot.reading.debate import Reading
from moot.reading.unreadable import UnreadableOutcome
from moot.reading.words import YOU, is_speech
from moot.text.markdown import body, contained, in_line
from moot.text.plain import shortened

MAX_CONTEXT = 2000
"""Characters of what was said before, in the topic of a new debate."""
MAX_LINE = 800
MIN_LINE = 40
ANYTIME: tuple[Action, ...] = ("continue", "guide", "end")
"""What a debate takes that asks nothing."""
SPEAKERS = {"user": "User", "assistant": "Assistant", "system": "Instructions", "developer": "Instructions"}
WORDS: Mapping[Action, str] = {
    "continue": "`continue`: go on",
    "end": "`end`: end the rounds and come to a conclusion",
    "approve": "`approve`: accept it",
    "reject": "`reject: why`: turn it down",
    "guide": "anything else: guidance that everybody reads",
    "answer": "your answer, in your own words",
}
MAX_HEADING = 3

_SIGNATURE = re.compile(r"^— \[moot (DEB-[a-z0-9]{8})\]\(.*\)[ \t]*$", re.MULTILINE)
_THOUGHTS = (("<think>", "</think>"), ('<details type="reasoning"', "</details>"))
"""What some chat pages put before a message when they send it back."""
_TAG = re.compile(r"<(?=[\s/]*conversation\b)", re.IGNORECASE)


# What a client sends


class ChatPart(BaseModel):
    type: str
    text: str = ""


class ChatMessage(BaseModel):
    role: str
    content: str | list[ChatPart] | None = None

    def text(self) -> str:
        """Its words; whatever else it brings along is left out."""
        parts = self.content if isinstance(self.content, list) else [ChatPart(type="text", text=self.content or "")]
        return "\n".join(part.text for part in parts if part.type == "text").strip()


class StreamOptions(BaseModel):
    include_usage: bool = False


class ChatRequest(BaseModel):
    """What is read of a request; everything else that the dialect knows is ignored."""

    model: str
    messages: list[ChatMessage] = Field(min_length=1)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    moot: Annotated[dict[str, JsonValue], BeforeValidator(lambda value: value or {})] = Field(
        default_factory=dict, description="the debate's settings, and `debate`: the one this is about"
    )


class Conversation(NamedTuple):
    question: str
    before: tuple[ChatMessage, ...]
    debates: tuple[str, ...]
    """The debates that our own messages name, as the client has sent them back."""


def read(body: bytes) -> ChatRequest:
    try:
        return ChatRequest.model_validate_json(body)
    except ValidationError as error:
        raise InvalidInput(faults(error)) from None


def conversation(messages: Sequence[ChatMessage]) -> Conversation:
    at = max((at for at, message in enumerate(messages) if message.role == "user"), default=None)
    if at is None:
        raise InvalidInput("messages: none is the user's; send one with the question to debate")
    last, before = messages[at], tuple(messages[:at])
    for part in last.content if isinstance(last.content, list) else ():
        if part.type != "text":
            raise InvalidInput(f"messages.{at}: {part.type!r} cannot be debated; send its content as text")
    named = [debate for message in before if message.role == "assistant" if (debate := signed(message.text()))]
    return Conversation(last.text(), before, tuple(dict.fromkeys(named)))


def signed(text: str) -> str | None:
    """The debate that one of our messages names at its end."""
    found = _SIGNATURE.findall(text)
    return str(found[-1]) if found else None


def topic(said: Conversation, outcomes: Mapping[str, str]) -> str:
    """The question, and below it the latest of what was said before, as much as there is room for.

    `outcomes` tells what the debates of this conversation came to; it stands in place of our messages.
    """
    question = _TAG.sub("‹", check_topic(said.question))
    lines = _fitting([*_lines(said, outcomes)], min(MAX_CONTEXT, MAX_TOPIC - len(question) - 60))
    return "\n".join([question, "", "<conversation>", *lines, "</conversation>"]) if lines else question


def _lines(said: Conversation, outcomes: Mapping[str, str]) -> Iterator[str]:
    """What was said before, each message in a line, so that none can pretend to be two; instructions come last."""
    instructions = []
    told = set()
    for message in said.before:
        name = signed(message.text()) if message.role == "assistant" else None
        text = outcomes.get(name or "") or _without_thoughts(message.text())
        line = f"{SPEAKERS.get(message.role)}: {_TAG.sub('‹', ' '.join(text.split()))}"
        told.add(name)
        if message.role in ("system", "developer") and text:
            instructions.append(line)
        elif message.role in SPEAKERS and text:
            yield line
    yield from (f"Debate {name}: {' '.join(text.split())}" for name, text in outcomes.items() if name not in told)
    yield from instructions


def _without_thoughts(text: str) -> str:
    for opening, closing in _THOUGHTS:
        if text.startswith(opening):
            text = text.partition(closing)[2]
    return text


def _fitting(lines: Sequence[str], room: int) -> list[str]:
    """The last lines there is room for, each cut to a bearable length."""
    kept: list[str] = []
    for line in reversed(lines):
        if room < MIN_LINE:
            break
        kept.insert(0, shortened(line, min(MAX_LINE, room)))
        room -= len(kept[0]) + 1
    return kept


class Heard(NamedTuple):
    action: Action
    text: str


def heard(words: str, actions: Sequence[Action]) -> Heard:
    """What a message means to a debate that takes these actions.

    An action's own name is that action, `name: text` is it with a text, and everything else is guidance or the answer.
    """
    name, colon, text = words.strip().partition(":")
    for action in actions:
        if name.strip().rstrip(".!").lower() == action:
            return Heard(action, text.strip() if colon else "")
    for action in ("guide", "answer"):
        if action in actions:
            return Heard(action, words.strip())
    choices = "; ".join(text for action, text in WORDS.items() if action in actions)
    raise InvalidInput(f"this is no answer to what the debate asks; reply with one of {choices}")


# What moot says


@dataclass(slots=True)
class _Speech:
    seat: str
    title: str
    kind: str
    round: int | None
    text: str = ""
    told: int | None = None
    """How much of the text; None before its heading."""
    finished: TurnFinished | None = None


class ReasoningText:
    """A debate as one text that only grows, each speech under a heading.

    Turns that run side by side are told one after the other: who speaks first has the floor to the end.
    """

    def __init__(self, format: AnyFormat) -> None:
        self._format = format
        self._speeches: dict[int, _Speech] = {}
        self._floor: int | None = None
        self._round: int | None = None
        self._begun = False

    def tell(self, event: Event) -> str:
        """What this event adds to the text."""
        match event:
            case TurnStarted():
                return self._start(event)
            case TurnChunk():
                self._speech(event).text += event.text
            case TurnFinished() if self._is_told(event):
                self._speech(event).finished = event
            case TurnFinished():
                self._speeches.pop(event.position, None)
            case _:
                return ""
        return "".join(self._flow())

    def _is_told(self, turn: TurnFinished) -> bool:
        """What the library found is no speech here."""
        players = {seat.name: seat.player for seat in self._format.seats}
        return is_speech(self._format, turn) and players.get(turn.seat) != "library"

    def _start(self, event: TurnStarted) -> str:
        """Begin a speech; for the second time when the reply has broken off and is asked for again."""
        broken = self._speeches.pop(event.position, None)
        begun = self._speech(event)
        if broken is None or broken.told is None or (broken.seat, broken.kind) != (begun.seat, begun.kind):
            return ""
        begun.told = 0
        return "\n\n*This reply broke off or cannot be used; it is asked for again.*\n\n"

    def _speech(self, event: TurnStarted | TurnChunk | TurnFinished) -> _Speech:
        """The speech at a place; another one when something else came there than had been begun."""
        speech = self._speeches.get(event.position)
        if speech is None or (speech.seat, speech.kind) != (event.seat, event.kind):
            title = "" if isinstance(event, TurnChunk) else event.title
            title = YOU if event.seat == "human" else title or self._format.title(event.seat)
            speech = self._speeches[event.position] = _Speech(event.seat, title, event.kind, event.round)
        return speech

    def _flow(self) -> Iterator[str]:
        while True:
            if self._floor not in self._speeches:
                speaking = (at for at, each in self._speeches.items() if each.text or each.finished)
                self._floor = min(speaking, default=None)
            if self._floor is None:
                return
            speech = self._speeches[self._floor]
            yield from self._more(speech)
            if speech.finished is None:
                return
            yield from _remarks(speech.finished)
            del self._speeches[self._floor]

    def _more(self, speech: _Speech) -> Iterator[str]:
        """What has not been told of a speech; all of it again when its stored text differs from what was heard."""
        if speech.finished:
            text, told = speech.finished.content, speech.text[: speech.told or 0]
            if told and not text.startswith(told.rstrip()):
                yield "\n\n"
                speech.told = 0
            speech.text = text
        if speech.told is None and (speech.text or speech.finished):
            yield self._heading(speech)
            speech.told = 0
        if speech.told is not None:
            yield speech.text[speech.told :]
            speech.told = len(speech.text)

    def _heading(self, speech: _Speech) -> str:
        lines = ["\n\n" if self._begun else ""]
        if speech.round is not None and speech.round != self._round:
            lines.append(f"## Round {speech.round}\n\n")
        self._begun, self._round = True, speech.round
        return "".join([*lines, f"### {in_line(speech.title)} · {in_line(speech.kind)}\n\n"])


def _remarks(turn: TurnFinished) -> Iterator[str]:
    """Its marks, and what code has to say about it."""
    for remark in (", ".join(turn.marks), *turn.notes):
        if remark:
            yield f"\n\n*{in_line(remark)}*"


def asked(event: Waiting) -> str:
    """A debate's question, with the answers it takes."""
    return "\n\n".join([contained(event.question, MAX_HEADING), f"Reply with\n\n{_listed(event.actions)}"])


def stopped(event: DebateStopped, format: AnyFormat) -> str:
    reason = in_line(format.reason(event.stop_reason))
    return f"The debate has stopped ({reason}). To go on, reply with\n\n{_listed(ANYTIME)}"


def concluded(reading: Reading) -> str:
    """The outcome: its document where that is what a reader wants, or its headline, table, summary and caveats."""
    outcome = reading.outcome
    if outcome and outcome.shows_document and reading.document:
        return body(reading.document)
    return "\n\n".join(outcome_blocks(outcome)) if outcome else f"The debate is {reading.record.status}."


def in_short(reading: Reading) -> str | None:
    """An outcome as a later debate hears of it, if it can be read."""
    outcome = reading.outcome
    if outcome is None or isinstance(outcome, UnreadableOutcome):
        return None
    return f"{outcome.headline()}\n{outcome.summary}"


def signature(debate_id: str, url: str) -> str:
    """The line by which a message is recognised when it is sent back."""
    return f"— [moot {debate_id}]({url})"


def _listed(actions: Sequence[Action]) -> str:
    return "\n".join(f"- {text}" for action, text in WORDS.items() if action in actions)

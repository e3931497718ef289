"""What moot says in OpenAI's dialects: a debate as one text that grows, and its answer. Pure: words in, words out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import orjson

from moot.core.debate import Action
from moot.core.events import DebateStopped, Event, TurnChunk, TurnFinished, TurnStarted, Waiting
from moot.core.format import AnyFormat
from moot.export.transcript import outcome_blocks
from moot.reading.debate import Reading
from moot.reading.sources import summary_lines
from moot.reading.unreadable import UnreadableOutcome
from moot.reading.words import YOU, is_speech
from moot.text.markdown import MAX_HEADING, body, bullets, contained, in_line
from moot.web.openai.answers import About
from moot.web.openai.conversation import ANYTIME, WORDS


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
        """What this event adds to the text; what only examines a turn is told with the outcome."""
        if isinstance(event, TurnStarted | TurnChunk | TurnFinished) and event.kind in self._format.folded:
            return ""
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


# The answer


def answer(reading: Reading, last: Event | None, about: About) -> str:
    """What a debate has come to, what it was not told, and the line by which the message is recognised."""
    missing = in_line("; ".join(about.begun.left_out))
    left_out = [f"*Left out of this debate: {missing}.*"] if missing else []
    place = "" if reading.record.outcome else f"#turn-{len(reading.turns)}"
    signature = f"— [moot {about.begun.debate}]({about.url}{place})"
    return "\n\n".join([_content(reading, last), *left_out, signature])


def _content(reading: Reading, last: Event | None) -> str:
    match last:
        case Waiting():
            return asked(last)
        case DebateStopped():
            return stopped(last, reading.format)
        case _:
            return concluded(reading)


def as_json(reading: Reading, last: Event | None) -> str:
    """The outcome as it is stored; of a debate that has none yet, how it stands and what it asks."""
    if reading.record.outcome is not None:
        return orjson.dumps(reading.record.outcome).decode()
    asked = {"question": last.question, "actions": last.actions} if isinstance(last, Waiting) else {}
    return orjson.dumps({"debate": reading.record.id, "status": reading.record.status, **asked}).decode()


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
        return "\n\n".join([body(reading.document), *_sources(reading)])
    blocks = outcome_blocks(outcome) if outcome else [f"The debate is {reading.record.status}."]
    return "\n\n".join([*blocks, *_sources(reading)])


def _sources(reading: Reading) -> list[str]:
    """What became of them, as one block if there are any."""
    listed = bullets(summary_lines(reading))
    return [listed] if listed else []


def in_short(reading: Reading) -> str | None:
    """An outcome as a later debate hears of it, if it can be read."""
    outcome = reading.outcome
    if outcome is None or isinstance(outcome, UnreadableOutcome):
        return None
    return "\n".join(filter(None, (outcome.headline(), outcome.lead, outcome.summary)))


def _listed(actions: Sequence[Action]) -> str:
    return "\n".join(f"- {text}" for action, text in WORDS.items() if action in actions)

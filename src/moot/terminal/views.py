"""A debate in the terminal: live text with a line of status below it, plain text into a pipe, or lines of JSON."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import InitVar, dataclass, field
from typing import Protocol

from rich.cells import cell_len
from rich.console import Console, Group
from rich.text import Text

from moot.core.debate import Record
from moot.core.events import (
    Event,
    LimitReached,
    RoundStarted,
    StepRetrying,
    TurnChunk,
    TurnFinished,
    TurnStarted,
    encode,
)
from moot.core.format import AnyFormat, Side
from moot.reading.words import is_speech, retry_text, short_model, title_of
from moot.terminal.console import Bottom, wrap
from moot.terminal.tables import INDENT, MAX_LINE
from moot.text.plain import printable, shortened_at_word

COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red")
SECONDS_PER_FRAME = 0.05
MAX_FOLDED = 100
"""Characters that are shown of a turn that only examines another."""


class View(Protocol):
    def show(self, event: Event) -> None: ...

    def note(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")

    def close(self) -> None:
        return  # nothing to put away


@dataclass(slots=True)
class _Speech:
    """One turn on its way to the screen."""

    event: TurnStarted
    text: str = ""
    printed: int = 0
    finished: TurnFinished | None = None


@dataclass(eq=False)
class LiveView:
    """Whole lines scroll away above; the line being written and the status stay below.

    Turns that run side by side are shown one after the other, the earliest position first.
    """

    console: Console
    record: Record
    format: AnyFormat
    sides: Mapping[str, Side]
    seconds_before: InitVar[float] = 0.0

    def __post_init__(self, seconds_before: float) -> None:
        self._max_rounds = self.format.open(self.record).settings.max_rounds
        self._began = time.monotonic() - seconds_before
        self._bottom = Bottom(self.console)
        self._speeches: dict[int, _Speech] = {}
        self._tail = ""
        self._tokens = 0
        self._round: int | None = None
        self._note = ""
        self._aside = ""
        self._retries: dict[int, tuple[StepRetrying, float]] = {}
        """Calls that failed, and when each is made again."""
        self._frame = asyncio.get_running_loop().call_soon(self._draw)

    def show(self, event: Event) -> None:
        match event:
            case RoundStarted():
                self._round = event.round
            case TurnStarted() if event.kind not in self.format.folded:
                self._started(event)
            case TurnChunk() if event.position in self._speeches:
                self._speeches[event.position].text += _live_text(event.text)
                self._retries.pop(event.position, None)
            case StepRetrying():
                self._retrying(event)
            case TurnFinished():
                self._finished(event)
            case LimitReached():
                self._say_aside(event.reason)
            case _:
                pass

    def note(self, text: str) -> None:
        self._note = text

    def close(self) -> None:
        self._frame.cancel()
        self._flow()
        self._print_tail()
        self._bottom.close()

    def _started(self, event: TurnStarted) -> None:
        if (broken := self._speeches.get(event.position)) and broken is self._front():
            self._flow()
            self._print_tail()
            self._bottom.print(Text(f"{INDENT}[this reply broke off or cannot be used]", style="red"))
        self._speeches[event.position] = _Speech(event)
        if self._front() is self._speeches[event.position] and broken is None:
            self._headline(event)

    def _retrying(self, event: StepRetrying) -> None:
        self._retries[event.position] = event, time.monotonic() + event.seconds
        for line, _ in wrap(f"! {printable(retry_text(event))}", text_width(self.console.width)):
            self._bottom.print(Text(INDENT + line, style="yellow"))

    def _finished(self, event: TurnFinished) -> None:
        self._retries.pop(event.position, None)
        self._tokens += event.usage.output_tokens
        self._round = event.round or self._round
        if speech := self._speeches.get(event.position):
            speech.finished, speech.text = event, _live_text(event.content)
            self._print_finished()
        elif is_speech(self.format, event):
            self._bottom.print(*turn_lines(self.format, self.sides, event, self.console.width))
        else:
            self._say_aside(event.content)

    def _print_finished(self) -> None:
        """Print what is left of the front speech, and those behind it that had to wait for it."""
        while (front := self._front()) and front.finished:
            self._flow()
            self._print_tail()
            self._bottom.print(*note_lines(front.finished, self.console.width))
            del self._speeches[front.event.position]
            if follower := self._front():
                self._headline(follower.event)

    def _front(self) -> _Speech | None:
        return self._speeches[min(self._speeches)] if self._speeches else None

    def _headline(self, event: TurnStarted) -> None:
        self._bottom.print(Text(), headline(self.format, self.sides, event))

    def _say_aside(self, reason: str) -> None:
        """What happened between turns; a limit of time is told twice, by its turn and by its event."""
        if reason and reason != self._aside:
            self._bottom.print(Text(f"\n{INDENT}— {printable(self.format.reason(reason))} —", style="dim"))
        self._aside = reason

    def _flow(self) -> None:
        """Print the whole lines the front speech has by now; keep the rest as the tail."""
        if front := self._front():
            *lines, (tail, _) = wrap(front.text[front.printed :], text_width(self.console.width))
            self._bottom.print(*(Text(INDENT + line) for line, _ in lines))
            front.printed += sum(length for _, length in lines)
            self._tail = tail

    def _print_tail(self) -> None:
        if self._tail:
            self._bottom.print(Text(INDENT + self._tail))
        self._tail = ""

    def _draw(self) -> None:
        self._flow()
        self._bottom.draw(INDENT + self._tail, self._status())
        self._frame = asyncio.get_running_loop().call_later(SECONDS_PER_FRAME, self._draw)

    def _status(self) -> Text:
        """As much of it as the width allows, the most wanted first."""
        front = self._front()
        closing = front is not None and front.event.round is None
        parts = [
            self._note,
            *(_countdown(event, due - time.monotonic()) for event, due in self._retries.values()),
            front.event.kind if front and closing else f"round {self._round or 1} of {self._max_rounds}",
            f"{time.monotonic() - self._began:.0f} s",
            f"{self._tokens} tokens",
            short_model(front.event.model or "") if front else "",
            self.record.id,
            "" if self._note else "Ctrl-C stops after this turn",
        ]
        line = ""
        for part in filter(None, parts):
            longer = f"{line} · {part}" if line else part
            if cell_len(longer) + 2 > self.console.width:
                break
            line = longer
        return Text(f" {line} ", style="reverse dim")


@dataclass(slots=True)
class PlainView(View):
    """Whole turns, for pipes and files, and for debates that are over."""

    console: Console
    format: AnyFormat
    sides: Mapping[str, Side]
    aside: str = field(default="", init=False)

    def show(self, event: Event) -> None:
        match event:
            case TurnFinished() if self.console.is_terminal and is_speech(self.format, event):
                self.console.print(Group(*turn_lines(self.format, self.sides, event, self.console.width)))
            case TurnFinished() if event.kind in self.format.folded:
                self._print(folded_line(event))
            case TurnFinished() if is_speech(self.format, event):
                marks = f" [{', '.join(event.marks)}]" if event.marks else ""
                notes = "".join(f"\n({note})" for note in event.notes)
                self._print(printable(f"\n{title_text(event, self.sides)}{marks}\n{event.content}{notes}"))
            case StepRetrying():
                self._print(f"\n({printable(retry_text(event))})")
            case TurnFinished(content=reason) | LimitReached(reason=reason) if reason and reason != self.aside:
                self.aside = reason
                self._print(f"\n({printable(self.format.reason(reason))})")
            case _:
                pass

    def _print(self, text: str) -> None:
        self.console.file.write(text + "\n")
        self.console.file.flush()


class JsonView(View):
    """Every event as a line of JSON."""

    def show(self, event: Event) -> None:
        sys.stdout.buffer.write(encode(event) + b"\n")
        sys.stdout.buffer.flush()


def _countdown(event: StepRetrying, left: float) -> str:
    when = f"in {left:.0f} s" if left >= 1 else "now"
    return f"{printable(title_of(event))}: attempt {event.attempt} of {event.attempts} {when}"


def text_width(console_width: int) -> int:
    return max(20, min(MAX_LINE, console_width - 2 * len(INDENT)))


def turn_lines(format: AnyFormat, sides: Mapping[str, Side], turn: TurnFinished, console_width: int) -> Iterator[Text]:
    """A whole turn as it would have been left by the live view."""
    if turn.kind in format.folded:
        folded = Text(INDENT + folded_line(turn), style="dim", no_wrap=True)
        folded.truncate(min(console_width, MAX_LINE + 2 * len(INDENT)), overflow="ellipsis")
        yield folded
        return
    yield Text()
    yield headline(format, sides, turn)
    for line, _ in wrap(_live_text(turn.content), text_width(console_width)):
        yield Text(INDENT + line)
    yield from note_lines(turn, console_width)


def folded_line(turn: TurnFinished) -> str:
    """A turn that only examines others: who, what code makes of it, and how it begins."""
    found = (*turn.marks, *turn.notes, shortened_at_word(" ".join(turn.content.split()), MAX_FOLDED))
    return printable(f"· {title_of(turn)}, {turn.kind}: {' · '.join(found)}")


def note_lines(turn: TurnFinished, console_width: int) -> Iterator[Text]:
    """Its marks, and what code found out about it."""
    if turn.marks:
        yield Text(f"{INDENT}[{', '.join(turn.marks)}]", style="dim italic")
    for note in turn.notes:
        for number, (line, _) in enumerate(wrap(printable(note), text_width(console_width) - 2)):
            yield Text(f"{INDENT}{'  ' if number else '› '}{line}", style="dim italic")


def headline(format: AnyFormat, sides: Mapping[str, Side], event: TurnStarted | TurnFinished) -> Text:
    names = [seat.name for seat in format.seats]
    colour = COLOURS[names.index(event.seat) % len(COLOURS)] if event.seat in names else "white"
    line = Text()
    line.append("▌ ", style=colour)
    line.append(_name(event, sides), style=f"bold {colour}")
    line.append(f"  {event.kind}" + (f" · round {event.round}" if event.round else ""), style="dim")
    return line


def title_text(event: TurnFinished, sides: Mapping[str, Side]) -> str:
    return f"{_name(event, sides)} · {event.kind}" + (f" · round {event.round}" if event.round else "")


def _name(event: TurnStarted | TurnFinished, sides: Mapping[str, Side]) -> str:
    """Who speaks, and for which side."""
    side = sides.get(event.seat, Side()).word
    return printable(" · ".join(filter(None, (title_of(event), side))))


def _live_text(text: str) -> str:
    return printable(text).replace("\t", "    ")

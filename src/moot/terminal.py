"""A debate in the terminal: live text with a line of status below it, or plain text into a pipe."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from moot.events import (
    DebateFailed,
    DebateFinished,
    DebateStarted,
    DebateStopped,
    Event,
    LimitReached,
    RoundStarted,
    TurnChunk,
    TurnFinished,
    TurnStarted,
    Waiting,
)
from moot.model import AnyFormat, Outcome, Record

COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red")
INDENT = 2
LONGEST_LINE = 100


class View(Protocol):
    def show(self, event: Event) -> None: ...
    def note(self, text: str) -> None: ...
    def close(self) -> None: ...


def printable(text: str) -> str:
    """Text somebody else wrote, unable to steer the terminal."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "\ufffd" for letter in text)


@dataclass(slots=True)
class _Speech:
    """One turn on its way to the screen."""

    event: TurnStarted
    text: str = ""
    finished: TurnFinished | None = None


@dataclass(slots=True)
class LiveView:
    """Whole lines scroll away above; the line being written and the status stay live below.

    Turns that run side by side are shown one after the other, the earliest position first.
    """

    console: Console
    record: Record
    format: AnyFormat
    seconds_before: float = 0.0
    tokens: int = 0
    live: Live = field(init=False)
    max_rounds: int = field(init=False)
    speeches: dict[int, _Speech] = field(default_factory=dict)
    printed: int = 0
    tail: str = ""
    round: int | None = None
    began: float = field(default_factory=time.monotonic)
    hint: str = "Ctrl-C stops after this turn"

    def __post_init__(self) -> None:
        self.max_rounds = self.format.open(self.record).settings.max_rounds
        self.live = Live(get_renderable=self._bottom, console=self.console, refresh_per_second=12, transient=True)
        self.live.start()

    def close(self) -> None:
        self.live.stop()

    def note(self, text: str) -> None:
        self.hint = text

    def show(self, event: Event) -> None:
        match event:
            case DebateStarted():
                pass
            case RoundStarted():
                self.round = event.round
            case TurnStarted():
                self._started(event)
            case TurnChunk():
                self.speeches[event.position].text += printable(event.text)
                self._flow()
            case TurnFinished():
                self._finished(event)
            case LimitReached():
                self.console.print(Text(f"\n{' ' * INDENT}— {reason_text(event.reason)} —", style="dim"))
            case Waiting() | DebateFinished() | DebateStopped() | DebateFailed():
                pass

    def _started(self, event: TurnStarted) -> None:
        if (broken := self.speeches.get(event.position)) and broken is self._front():
            self._print_tail()
            self.console.print(Text(f"{' ' * INDENT}[the reply broke off; asking again]", style="red"))
            self.printed = 0
        self.speeches[event.position] = _Speech(event)
        self._headline_if_front(event.position)

    def _finished(self, event: TurnFinished) -> None:
        self.tokens += event.usage.output_tokens
        speech = self.speeches.get(event.position)
        if speech is None:
            line = f"{' ' * INDENT}— {self.format.title(event.seat)}: {reason_text(event.content)} —"
            self.console.print(Text(printable(line), style="dim"))
            return
        speech.finished = event
        speech.text = printable(event.content)
        while (front := self._front()) and front.finished:
            self._flow()
            self._print_tail()
            if front.finished.marks:
                self.console.print(Text(f"{' ' * INDENT}[{', '.join(front.finished.marks)}]", style="dim italic"))
            del self.speeches[front.event.position]
            self.printed = 0
            if next_front := self._front():
                self._headline_if_front(next_front.event.position)

    def _front(self) -> _Speech | None:
        return self.speeches[min(self.speeches)] if self.speeches else None

    def _headline_if_front(self, position: int) -> None:
        front = self._front()
        if front and front.event.position == position and not self.printed:
            self.console.print()
            self.console.print(headline(self.format, front.event.seat, front.event.kind, front.event.round))

    def _flow(self) -> None:
        """Print the whole lines the front speech has by now; keep the rest as the live tail."""
        front = self._front()
        if front is None:
            return
        text = front.text[self.printed :]
        lines = wrap(text, self._width())
        for line, length in lines[:-1]:
            self.console.print(Text(" " * INDENT + line))
            self.printed += length
        self.tail = lines[-1][0] if lines else ""

    def _print_tail(self) -> None:
        if self.tail:
            self.console.print(Text(" " * INDENT + self.tail))
        self.tail = ""

    def _width(self) -> int:
        return max(20, min(LONGEST_LINE, self.console.width - 2 * INDENT))

    def _bottom(self) -> RenderableType:
        parts: list[RenderableType] = [Text(" " * INDENT + self.tail)] if self.tail else []
        return Group(*parts, Text(), self._status())

    def _status(self) -> Text:
        front = self._front()
        model = self.record.seats[front.event.seat].model if front and front.event.seat in self.record.seats else ""
        parts = [
            self.record.id,
            f"round {self.round or '–'} of {self.max_rounds}",
            f"{self.seconds_before + time.monotonic() - self.began:.0f} s",
            f"{self.tokens} tokens",
            model,
            self.hint,
        ]
        line = Text(" · ".join(part for part in parts if part), style="reverse dim", no_wrap=True, overflow="ellipsis")
        line.truncate(self.console.width, overflow="ellipsis")
        return line


@dataclass(slots=True)
class PlainView:
    """Whole turns as plain text, for pipes and files."""

    console: Console
    format: AnyFormat

    def show(self, event: Event) -> None:
        match event:
            case TurnFinished():
                title = title_text(self.format, event.seat, event.kind, event.round)
                marks = f" [{', '.join(event.marks)}]" if event.marks else ""
                self._print(f"\n{title}{marks}\n{printable(event.content)}")
            case LimitReached():
                self._print(f"\n({reason_text(event.reason)})")
            case _:
                pass

    def note(self, text: str) -> None:
        self._print(text)

    def close(self) -> None:
        pass

    def _print(self, text: str) -> None:
        self.console.file.write(text + "\n")
        self.console.file.flush()


def wrap(text: str, width: int) -> list[tuple[str, int]]:
    """Lines of at most `width`, each with the length of the text it stands for, its break included.

    The last line may still grow; those before it never change when text is added.
    """
    lines: list[tuple[str, int]] = []
    while True:
        newline = text.find("\n")
        if 0 <= newline <= width:
            lines.append((text[:newline].rstrip(), newline + 1))
            text = text[newline + 1 :]
        elif len(text) > width:
            space = text.rfind(" ", 1, width + 1)
            cut, skip = (space, 1) if space > 0 else (width, 0)
            lines.append((text[:cut].rstrip(), cut + skip))
            text = text[cut + skip :]
        else:
            return [*lines, (text, len(text))]


def headline(format: AnyFormat, seat: str, kind: str, round: int | None) -> Text:
    names = [declared.name for declared in format.seats]
    colour = COLOURS[names.index(seat) % len(COLOURS)] if seat in names else "white"
    line = Text()
    line.append("▌ ", style=colour)
    line.append(format.title(seat), style=f"bold {colour}")
    line.append(f"  {kind}" + (f" · round {round}" if round else ""), style="dim")
    return line


def title_text(format: AnyFormat, seat: str, kind: str, round: int | None) -> str:
    return f"{format.title(seat)} · {kind}" + (f" · round {round}" if round else "")


def reason_text(reason: str | None) -> str:
    texts = {
        "max_rounds": "all rounds were played",
        "max_runtime_seconds": "the time limit was reached",
        "max_total_output_tokens": "the limit of output tokens was reached",
        "no_new_substantive_arguments": "nothing new was being said",
        "concluded": "a person asked for the conclusion",
        "stopped": "a person stopped it",
        "interrupted": "the run was interrupted",
    }
    return texts.get(reason or "", reason or "–")


def outcome_view(outcome: Outcome, stop_reason: str | None) -> RenderableType:
    """The decision, its numbers and what weakens it; the reasons are the last turn, just above."""
    header, *rows = outcome.table()
    table = Table(*header, box=None, padding=(0, 3, 0, 0), header_style="dim")
    for row in rows:
        table.add_row(*(printable(cell) for cell in row))
    parts: list[RenderableType] = [Text(outcome.headline(), style="bold"), Text(), table, Text()]
    parts += [Text(f"! {printable(caveat)}", style="yellow") for caveat in outcome.caveats]
    parts.append(Text(f"Ended because {reason_text(stop_reason)}.", style="dim"))
    return Padding(Group(*parts), (1, INDENT, 0, INDENT))


def outcome_text(outcome: Outcome, stop_reason: str | None) -> str:
    """The same for a pipe."""
    rows = ["  ".join(f"{cell:<10}" for cell in row).rstrip() for row in outcome.table()]
    caveats = [f"! {caveat}" for caveat in outcome.caveats]
    lines = [outcome.headline(), "", *rows, "", *caveats]
    return printable("\n".join([*lines, f"Ended because {reason_text(stop_reason)}."]))


def debates_table(records: Sequence[Record]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold dim")
    for column in ("id", "format", "status", "started", "topic"):
        table.add_column(column, no_wrap=column != "topic", overflow="ellipsis")
    for record in records:
        began = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.created_at))
        topic = Text(printable(" ".join(record.topic.split())), overflow="ellipsis", no_wrap=True)
        table.add_row(record.id, record.format, record.status, began, topic)
    return table


def introduction(record: Record, format: AnyFormat) -> Text:
    models = {seat: chosen.model for seat, chosen in record.seats.items()}
    if len(set(models.values())) == 1:
        who = f"every seat: {next(iter(models.values()))}"
    else:
        who = ", ".join(f"{format.title(seat)}: {model}" for seat, model in models.items())
    text = Text()
    text.append(f"\n{printable(record.topic)}\n", style="bold")
    return text.append(printable(f"{record.format} {record.id} · {who}"), style="dim")

"""A debate in the terminal: live text with a line of status below it, plain text into a pipe, or lines of JSON."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from moot.events import Event, LimitReached, RoundStarted, TurnChunk, TurnFinished, TurnStarted, encode
from moot.model import NO_USAGE, AnyFormat, Outcome, Record, Turn, Usage
from moot.screen import Bottom, printable, wrap

COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red")
INDENT = "  "
LONGEST_LINE = 100
WIDE = 80
"""From this width on, tables show all their columns."""
SECONDS_PER_FRAME = 0.05


class View(Protocol):
    def show(self, event: Event) -> None: ...
    def note(self, text: str) -> None: ...
    def close(self) -> None: ...


@dataclass(slots=True)
class _Speech:
    """One turn on its way to the screen."""

    event: TurnStarted
    text: str = ""
    printed: int = 0
    finished: TurnFinished | None = None


class LiveView:
    """Whole lines scroll away above; the line being written and the status stay below.

    Turns that run side by side are shown one after the other, the earliest position first.
    """

    def __init__(self, console: Console, record: Record, format: AnyFormat, seconds_before: float = 0.0) -> None:
        self._console = console
        self._record = record
        self._format = format
        self._max_rounds = format.open(record).settings.max_rounds
        self._began = time.monotonic() - seconds_before
        self._bottom = Bottom(console)
        self._speeches: dict[int, _Speech] = {}
        self._tail = ""
        self._tokens = 0
        self._round: int | None = None
        self._note = ""
        self._aside = ""
        self._frame = asyncio.get_running_loop().call_soon(self._draw)

    def show(self, event: Event) -> None:
        match event:
            case RoundStarted():
                self._round = event.round
            case TurnStarted():
                self._started(event)
            case TurnChunk():
                self._speeches[event.position].text += _live_text(event.text)
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

    def _finished(self, event: TurnFinished) -> None:
        self._tokens += event.usage.output_tokens
        self._round = event.round or self._round
        if speech := self._speeches.get(event.position):
            speech.finished, speech.text = event, _live_text(event.content)
            self._print_finished()
        elif is_seat(self._format, event.seat):
            self._bottom.print(*turn_lines(self._format, event, self._console.width))
        else:
            self._say_aside(event.content)

    def _print_finished(self) -> None:
        """Print what is left of the front speech, and those behind it that had to wait for it."""
        while (front := self._front()) and front.finished:
            self._flow()
            self._print_tail()
            self._bottom.print(*mark_lines(front.finished))
            del self._speeches[front.event.position]
            if follower := self._front():
                self._headline(follower.event)

    def _front(self) -> _Speech | None:
        return self._speeches[min(self._speeches)] if self._speeches else None

    def _headline(self, event: TurnStarted) -> None:
        self._bottom.print(Text(), headline(self._format, event.seat, event.kind, event.round))

    def _say_aside(self, reason: str) -> None:
        """What happened between turns; a limit of time is told twice, by its turn and by its event."""
        if reason != self._aside:
            self._bottom.print(Text(f"\n{INDENT}— {printable(reason_text(reason))} —", style="dim"))
        self._aside = reason

    def _flow(self) -> None:
        """Print the whole lines the front speech has by now; keep the rest as the tail."""
        if front := self._front():
            *lines, (tail, _) = wrap(front.text[front.printed :], text_width(self._console.width))
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
            front.event.kind if front and closing else f"round {self._round or 1} of {self._max_rounds}",
            f"{time.monotonic() - self._began:.0f} s",
            f"{self._tokens} tokens",
            short_model(front.event.model or "") if front else "",
            self._record.id,
            "" if self._note else "Ctrl-C stops after this turn",
        ]
        line = ""
        for part in filter(None, parts):
            longer = f"{line} · {part}" if line else part
            if cell_len(longer) + 2 > self._console.width:
                break
            line = longer
        return Text(f" {line} ", style="reverse dim")


@dataclass(slots=True)
class PlainView:
    """Whole turns, for pipes and files, and for debates that are over."""

    console: Console
    format: AnyFormat
    aside: str = field(default="", init=False)

    def show(self, event: Event) -> None:
        match event:
            case TurnFinished() if self.console.is_terminal and is_seat(self.format, event.seat):
                self.console.print(Group(*turn_lines(self.format, event, self.console.width)))
            case TurnFinished() if is_seat(self.format, event.seat):
                title = title_text(self.format, event.seat, event.kind, event.round)
                marks = f" [{', '.join(event.marks)}]" if event.marks else ""
                self._print(f"\n{title}{marks}\n{printable(event.content)}")
            case TurnFinished(content=reason) | LimitReached(reason=reason) if reason != self.aside:
                self.aside = reason
                self._print(f"\n({printable(reason_text(reason))})")
            case _:
                pass

    def note(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")

    def close(self) -> None:
        pass

    def _print(self, text: str) -> None:
        self.console.file.write(text + "\n")
        self.console.file.flush()


class JsonView:
    """Every event as a line of JSON."""

    def show(self, event: Event) -> None:
        sys.stdout.buffer.write(encode(event) + b"\n")
        sys.stdout.buffer.flush()

    def note(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")

    def close(self) -> None:
        pass


def is_seat(format: AnyFormat, name: str) -> bool:
    """Whether the format has this seat; the clock and a person who concludes speak from outside."""
    return any(seat.name == name for seat in format.seats)


def text_width(console_width: int) -> int:
    return max(20, min(LONGEST_LINE, console_width - 2 * len(INDENT)))


def turn_lines(format: AnyFormat, turn: TurnFinished, console_width: int) -> Iterator[Text]:
    """A whole turn as it would have been left by the live view."""
    yield Text()
    yield headline(format, turn.seat, turn.kind, turn.round)
    for line, _ in wrap(_live_text(turn.content), text_width(console_width)):
        yield Text(INDENT + line)
    yield from mark_lines(turn)


def mark_lines(turn: TurnFinished) -> Iterator[Text]:
    if turn.marks:
        yield Text(f"{INDENT}[{', '.join(turn.marks)}]", style="dim italic")


def headline(format: AnyFormat, seat: str, kind: str, round: int | None) -> Text:
    names = [declared.name for declared in format.seats]
    colour = COLOURS[names.index(seat) % len(COLOURS)]
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
        "max_cost": "the limit of cost was reached",
        "concluded": "a person asked for the conclusion",
        "stopped": "a person stopped it",
        "interrupted": "the run was interrupted",
        "completed": "everything was said",
    }
    return texts.get(reason or "", (reason or "–").replace("_", " "))


def short_model(name: str) -> str:
    """The model without the address of its server."""
    return name.rpartition("#")[2]


def introduction(record: Record, format: AnyFormat) -> Text:
    models = {seat: short_model(chosen.model) for seat, chosen in record.seats.items()}
    if len(set(models.values())) == 1:
        who = f"{next(iter(models.values()))} in every seat"
    else:
        who = ", ".join(f"{format.title(seat)}: {model}" for seat, model in models.items())
    text = Text("\n")
    text.append(printable(record.topic), style="bold")
    return text.append(printable(f"\n{record.format} {record.id} · {who}"), style="dim")


def outcome_view(outcome: Outcome, stop_reason: str | None) -> RenderableType:
    """The decision, its numbers and what weakens it; the reasons are the last turn, just above."""
    header, *rows = outcome.table()
    table = Table(*header, box=None, padding=(0, 3, 0, 0), header_style="dim")
    for row in rows:
        table.add_row(*(printable(cell) for cell in row))
    parts: list[RenderableType] = [Text(printable(outcome.headline()), style="bold"), Text(), table, Text()]
    parts += [Text(f"! {printable(caveat)}", style="yellow") for caveat in outcome.caveats]
    parts.append(Text(f"Ended because {printable(reason_text(stop_reason))}.", style="dim"))
    return Padding(Group(*parts), (1, len(INDENT), 0, len(INDENT)))


def outcome_text(outcome: Outcome, stop_reason: str | None) -> str:
    """The same for a pipe."""
    caveats = [f"! {caveat}" for caveat in outcome.caveats]
    lines = [outcome.headline(), "", *aligned(outcome.table()), "", *caveats]
    return printable("\n".join([*lines, f"Ended because {reason_text(stop_reason)}."]))


def debate_row(record: Record) -> tuple[str, str, str, str, Text]:
    """For `print_table`: id, format, status, when it began, topic."""
    began = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.created_at))
    topic = Text(printable(" ".join(record.topic.split())), overflow="ellipsis", no_wrap=True)
    return (record.id, record.format, record.status, began, topic)


def print_table(
    console: Console,
    header: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    *,
    wide: Collection[str] = (),
) -> None:
    """The columns named in `wide` are left out on a narrow terminal; a pipe gets everything, uncut."""
    if not console.is_terminal:
        console.file.write("\n".join(aligned([header, *rows])) + "\n")
        return
    kept = [at for at, name in enumerate(header) if console.width >= WIDE or name not in wide]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold dim")
    for at in kept:
        table.add_column(header[at], overflow="fold")
    for row in rows:
        table.add_row(*(row[at] for at in kept))
    console.print(table)


def aligned(rows: Sequence[Sequence[str | Text]]) -> list[str]:
    """Rows as lines of text, their columns one below the other."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*texts, strict=True)]
    return [
        "  ".join(cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in texts
    ]


def _live_text(text: str) -> str:
    return printable(text).replace("\t", "    ")


def usage_cells(usage: Usage) -> tuple[str, ...]:
    """Calls, tokens in, cached, out, and what it cost."""
    cost = "unknown" if usage.cost is None else f"${usage.cost:.4f}" if usage.cost else "$0"
    counts = (usage.calls, usage.input_tokens, usage.cached_tokens, usage.output_tokens)
    return (*(f"{count:,}" for count in counts), cost)


def usage_text(turns: Iterable[Turn]) -> str:
    usage = sum((turn.usage for turn in turns), NO_USAGE)
    calls, sent, cached, written, cost = usage_cells(usage)
    about = "about " if usage.estimated else ""
    price = "the price is unknown" if usage.cost is None else cost
    of_them = f", {cached} of them cached" if usage.cached_tokens else ""
    return f"{calls} calls · {about}{sent} tokens in{of_them} · {written} out · {price}"

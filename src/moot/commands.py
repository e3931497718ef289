"""What each command of the terminal does once its words are parsed."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import closing, suppress
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

import orjson
from pydantic import JsonValue
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from moot import settings
from moot.app import App, build
from moot.engine import Ending
from moot.errors import InvalidInput, MootError
from moot.events import DebateStarted, Event, turn_finished
from moot.export.trace import trace
from moot.formats import find
from moot.llm.cassette import Recorder, Recording
from moot.llm.local import BUILT_IN_MODEL
from moot.model import AnyFormat, Record, Status, span_seconds
from moot.screen import printable
from moot.store.store import Stored
from moot.terminal import (
    INDENT,
    LONGEST_LINE,
    JsonView,
    LiveView,
    PlainView,
    View,
    debate_row,
    introduction,
    outcome_text,
    outcome_view,
    print_table,
    reason_text,
    usage_cells,
    usage_text,
)

TINY = (
    "The built-in model is tiny: it shows how moot works, not how well models argue. For a real debate set "
    "DEEPSEEK_API_KEY or another provider's key, start Ollama, or give --model (see: moot models)."
)


class Exit(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    WAITING = 3
    INTERRUPTED = 130


def run_command(command: Coroutine[None, None, Exit]) -> Exit:
    """Run a command to its exit code; an error is one line on stderr, and what went wrong inside is in moot.log."""
    _log_to_file()
    try:
        code = _event_loop()(command)
        sys.stdout.flush()
        return code
    except InvalidInput as error:
        return _complain(str(error), Exit.USAGE)
    except MootError as error:
        return _complain(str(error), Exit.FAILED)
    except BrokenPipeError:
        _nobody_reads()
        return Exit.FAILED
    except KeyboardInterrupt:
        return Exit.INTERRUPTED


class Asked(NamedTuple):
    """A debate as the command line describes it."""

    question: str | None
    format: str
    options: Mapping[str, JsonValue]
    model_for: Sequence[str]
    set: Sequence[str]

    def topic(self) -> str:
        if self.question is None:
            raise InvalidInput("nothing to debate: give a QUESTION, --resume ID or --list (moot debate --help)")
        return self.question

    def settings(self) -> dict[str, JsonValue]:
        chosen: dict[str, JsonValue] = {name: value for name, value in self.options.items() if value is not None}
        chosen |= dict(_key_value(text) for text in self.set)
        if self.model_for:
            chosen["models"] = dict(map(_pair, self.model_for))
        return chosen


class Tape(NamedTuple):
    """Where model calls are recorded to, or replayed from."""

    record: Path | None
    replay: Path | None
    timing: bool

    def open(self) -> Recorder | Recording | None:
        if self.record and self.replay:
            raise InvalidInput("give either --record or --replay, not both")
        if self.record:
            return Recorder(self.record)
        return Recording.load(self.replay, timing=self.timing) if self.replay else None


async def debate(asked: Asked, tape: Tape, as_json: bool) -> Exit:
    topic, chosen = asked.topic(), asked.settings()
    async with build(settings.load(), tape=tape.open()) as app:
        record = await app.create(asked.format, topic, chosen)
        return await _watch(app, Stored(record, (), ()), as_json)


async def estimate(asked: Asked, as_json: bool) -> Exit:
    async with build(settings.load()) as app:
        most, typical = await app.estimate(asked.format, asked.topic(), asked.settings())
    if as_json:
        _print_json({"most": most, "typical": typical})
        return Exit.DONE
    rows = [(name, *usage_cells(usage)) for name, usage in (("at most", most), ("typically", typical))]
    print_table(Console(), ("", "calls", "tokens in", "cached", "tokens out", "cost"), rows)
    return Exit.DONE


async def resume(debate_id: str, question: str | None, tape: Tape, as_json: bool) -> Exit:
    if question:
        raise InvalidInput("give either a QUESTION or --resume ID, not both")
    async with build(settings.load(), tape=tape.open()) as app:
        stored = await app.load(debate_id)
        if stored.record.status == Status.FINISHED:
            return await _show(app, stored, as_json)
        return await _watch(app, stored, as_json)


async def list_debates(as_json: bool) -> Exit:
    async with build(settings.load()) as app:
        records = await app.list()
    if as_json:
        for record in records:
            _print_json({"id": record.id, "format": record.format, "status": record.status, "topic": record.topic})
    elif records:
        rows = [debate_row(record) for record in records]
        print_table(Console(), ("id", "format", "status", "started", "topic"), rows, wide=("format", "started"))
    else:
        _say(Console(), 'No debates yet. Start one: moot debate "Cats are better than dogs"')
    return Exit.DONE


async def show(debate_id: str, as_json: bool) -> Exit:
    async with build(settings.load()) as app:
        return await _show(app, await app.load(debate_id), as_json)


async def stop(debate_id: str) -> Exit:
    async with build(settings.load()) as app:
        record = await app.stop(debate_id)
    said = {Status.STOPPING: "stops after the step in progress", Status.STOPPED: "is stopped"}
    _say(Console(), f"{record.id} {said.get(record.status, f'is {record.status}: nothing to stop')}")
    return Exit.DONE


async def conclude(debate_id: str) -> Exit:
    async with build(settings.load()) as app:
        record = await app.conclude(debate_id)
    if record.status == Status.RUNNING:
        said = "goes on to its closing after the step in progress"
    elif record.status == Status.FINISHED:
        said = "is finished: nothing to conclude"
    else:
        said = f"is {record.status}; it goes straight to its closing with: moot debate --resume {record.id}"
    _say(Console(), f"{record.id} {said}")
    return Exit.DONE


async def models() -> Exit:
    console = Console()
    async with build(settings.load()) as app:
        rows = await asyncio.gather(*(_provider_row(app, name) for name in app.models.providers))
        built_in = ("local", "in this process", app.models.local_state(), BUILT_IN_MODEL)
        print_table(console, ("provider", "address", "state", "models"), [*rows, built_in], wide=("address",))
        for format in app.formats.values():
            seats = [seat for seat in format.seats if seat.player == "model"]
            choices = [await app.choose_model(seat) for seat in seats]
            console.print()
            chosen = [(seat.title, name, why) for seat, (name, why) in zip(seats, choices, strict=True)]
            print_table(console, (format.name, "model", "because"), chosen)
    return Exit.DONE


async def doctor() -> Exit:
    from moot.doctor import checks

    console = Console()
    healthy = True
    async for check in checks():
        healthy = healthy and check.ok
        _say(console, f"{'✓' if check.ok else '✗'} {check.what}", "green" if check.ok else "red")
        if check.advice:
            _say(console, f"    {check.advice}")
    return Exit.DONE if healthy else Exit.FAILED


async def _watch(app: App, stored: Stored, as_json: bool) -> Exit:
    """Show what is stored of a debate, run it, and show how it ends."""
    record, format = stored.record, find(app.formats, stored.record.format)
    if BUILT_IN_MODEL in {seat.model for seat in record.seats.values()}:
        _remark(Console(stderr=True), TINY, "yellow")
    with closing(_view(stored, format, as_json)) as view:
        ending = await _run_interruptibly(app, stored, view)
    if ending is None:
        return _complain(f"{record.id} was left; go on with: moot debate --resume {record.id}", Exit.INTERRUPTED)
    return _conclude_view(await app.load(record.id), format, ending, as_json)


async def _run_interruptibly(app: App, stored: Stored, view: View) -> Ending | None:
    """Run a debate; the first Ctrl-C stops it after the current turn, the second leaves at once, without an ending."""
    loop = asyncio.get_running_loop()
    debate_id = stored.record.id
    stopping: list[asyncio.Task[Record]] = []

    def sink(event: Event) -> None:
        try:
            if isinstance(event, DebateStarted):
                _show_turns(view, stored)
            view.show(event)
        except BrokenPipeError:
            _nobody_reads()
            running.cancel()

    def interrupt() -> None:
        if stopping:
            running.cancel()
        else:
            view.note("stopping after this turn, Ctrl-C again leaves at once")
            stopping.append(loop.create_task(app.stop(debate_id)))

    running = loop.create_task(app.run(debate_id, sink))
    for name in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):
            loop.add_signal_handler(name, interrupt)
    try:
        return await running
    except asyncio.CancelledError:
        return None
    finally:
        await asyncio.gather(*stopping)


def _show_turns(view: View, stored: Stored) -> None:
    for turn in stored.turns:
        view.show(turn_finished(stored.record.id, turn))


def _conclude_view(stored: Stored, format: AnyFormat, ending: Ending, as_json: bool) -> Exit:
    record = stored.record
    again = f"moot debate --resume {record.id}"
    console = Console(stderr=as_json)
    match ending.status:
        case Status.FAILED:
            return _complain(f"{record.id} failed: {ending.error}; go on with: {again}", Exit.FAILED)
        case Status.FINISHED if not as_json:
            _print_outcome(console, format, ending)
            _remark(console, f"{usage_text(stored.turns)}\nmoot show {record.id} shows it again.")
        case Status.STOPPED:
            _remark(console, f"Stopped: {reason_text(ending.stop_reason)}. Go on with:\n{again}")
        case Status.WAITING:
            _remark(console, f"{record.id} waits for a person.")
            return Exit.WAITING
    return Exit.DONE


def _remark(console: Console, text: str, style: str = "dim") -> None:
    if console.is_terminal:
        width = min(console.width, LONGEST_LINE + 2 * len(INDENT))
        console.print(Padding(Text(text, style=style), (1, len(INDENT), 0, len(INDENT))), width=width)
    else:
        console.file.write(f"\n{text}\n")


async def _show(app: App, stored: Stored, as_json: bool) -> Exit:
    record, format = stored.record, find(app.formats, stored.record.format)
    if as_json:
        _print_json(trace(record, stored.turns))
        return Exit.DONE
    console = Console()
    console.print(introduction(record, format), soft_wrap=not console.is_terminal)
    _show_turns(PlainView(console, format), stored)
    for failure in stored.failures:
        kept = f"; what had arrived: {failure.partial}" if failure.partial else ""
        _say(console, f"\n! {format.title(failure.seat)}, an attempt failed: {failure.message}{kept}", "yellow")
    if record.outcome is not None:
        _print_outcome(console, format, Ending(record.status, record.stop_reason, record.outcome))
        _remark(console, usage_text(stored.turns))
    else:
        reason = record.error or (reason_text(record.stop_reason) if record.stop_reason else "")
        _say(console, f"\n{record.id} is {record.status}{': ' + reason if reason else ''}")
    return Exit.DONE


def _print_outcome(console: Console, format: AnyFormat, ending: Ending) -> None:
    outcome = format.outcome.model_validate(ending.outcome)
    if console.is_terminal:
        console.print(outcome_view(outcome, ending.stop_reason))
    else:
        console.file.write("\n" + outcome_text(outcome, ending.stop_reason) + "\n")


def _view(stored: Stored, format: AnyFormat, as_json: bool) -> View:
    if as_json:
        return JsonView()
    console = Console()
    console.print(introduction(stored.record, format), soft_wrap=not console.is_terminal)
    if not console.is_terminal or console.is_dumb_terminal:
        return PlainView(console, format)
    return LiveView(console, stored.record, format, seconds_before=span_seconds(stored.turns))


async def _provider_row(app: App, name: str) -> tuple[str, str, str, str]:
    provider = app.models.providers[name]
    address = app.models.address(provider)
    if not app.models.configured(provider):
        return (name, address, f"set {provider.key_env}", "")
    found = await app.models.reachable(provider)
    if found is None:
        return (name, address, "not running" if provider.local else "not reachable, or the key is wrong", "")
    return (name, address, "ready", printable(", ".join(found[:8])) + (" …" if len(found) > 8 else ""))


def _key_value(text: str) -> tuple[str, JsonValue]:
    """KEY=VALUE, the value read as JSON where it is JSON."""
    key, value = _pair(text)
    with suppress(orjson.JSONDecodeError):
        return key, orjson.loads(value)
    return key, value


def _pair(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    if not key or not value:
        raise InvalidInput(f"{text!r} is not of the form KEY=VALUE")
    return key, value


def _event_loop() -> Callable[[Coroutine[None, None, Exit]], Exit]:
    try:
        import uvloop
    except ImportError:
        return asyncio.run
    return uvloop.run


def _log_to_file() -> None:
    folder = settings.data_folder()
    with suppress(OSError):  # no place for a log is no reason not to work
        folder.mkdir(parents=True, exist_ok=True)
        logging.basicConfig(filename=folder / "moot.log", level=logging.WARNING, format="%(asctime)s %(message)s")


def _print_json(value: object) -> None:
    sys.stdout.buffer.write(orjson.dumps(value) + b"\n")


def _say(console: Console, text: str, style: str = "") -> None:
    """Print text, broken on words in a terminal and not at all in a pipe."""
    console.print(Text(printable(text), style=style), soft_wrap=not console.is_terminal)


def _nobody_reads() -> None:
    """Let what is still written to stdout vanish, as its reader has."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str, code: Exit) -> Exit:
    sys.stderr.write(f"moot: {printable(' '.join(message.split()))}\n")
    return code

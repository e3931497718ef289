"""What each command of the terminal does once its words are parsed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from enum import IntEnum

import orjson
from pydantic import JsonValue
from rich.console import Console
from rich.table import Table
from rich.text import Text

from moot import settings
from moot.app import App, build
from moot.engine import Ending
from moot.errors import InvalidInput, MootError
from moot.events import Event, encode, turn_finished
from moot.export.trace import trace
from moot.llm.local import BUILT_IN_MODEL
from moot.model import AnyFormat, Record, Status, span_seconds
from moot.store.store import Stored
from moot.terminal import (
    LiveView,
    PlainView,
    View,
    debates_table,
    introduction,
    outcome_text,
    outcome_view,
    printable,
    reason_text,
)

TINY = (
    "The built-in model has 135 million parameters: it shows how moot works, not how well models argue.\n"
    "For a real debate set DEEPSEEK_API_KEY (or another provider's), start Ollama, or name a model: "
    "--model ollama:qwen3:32b"
)


class Exit(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    WAITING = 3
    INTERRUPTED = 130


def run_command(command: Coroutine[None, None, Exit]) -> Exit:
    """Run a command to its exit code; an error is one line on stderr."""
    try:
        return _event_loop()(command)
    except InvalidInput as error:
        return _complain(str(error), Exit.USAGE)
    except MootError as error:
        return _complain(str(error), Exit.FAILED)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED


async def debate(
    question: str | None,
    format: str,
    options: Mapping[str, JsonValue],
    model_for: Sequence[str],
    set: Sequence[str],
    as_json: bool,
) -> Exit:
    if not question:
        raise InvalidInput("nothing to debate: give a QUESTION, --resume ID or --list (moot debate --help)")
    chosen: dict[str, JsonValue] = {name: value for name, value in options.items() if value is not None}
    chosen |= dict(_key_value(text) for text in set)
    if model_for:
        chosen["models"] = dict(map(_pair, model_for))
    async with build(settings.load()) as app:
        record = await app.create(format, question, chosen)
        return await _watch(app, Stored(record, (), ()), as_json)


async def resume(debate_id: str, question: str | None, as_json: bool) -> Exit:
    if question:
        raise InvalidInput("give either a QUESTION or --resume ID, not both")
    async with build(settings.load()) as app:
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
        Console().print(debates_table(records))
    else:
        Console().print('No debates yet. Start one: moot debate "Cats are better than dogs"')
    return Exit.DONE


async def show(debate_id: str, as_json: bool) -> Exit:
    async with build(settings.load()) as app:
        return await _show(app, await app.load(debate_id), as_json)


async def stop(debate_id: str) -> Exit:
    async with build(settings.load()) as app:
        record = await app.stop(debate_id)
    said = {Status.STOPPING: "stops after the step in progress", Status.STOPPED: "is stopped"}
    Console().print(f"{record.id} {said.get(record.status, f'is {record.status}: nothing to stop')}")
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
    Console().print(f"{record.id} {said}")
    return Exit.DONE


async def models() -> Exit:
    console = Console()
    async with build(settings.load()) as app:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold dim")
        for column in ("provider", "address", "state", "models"):
            table.add_column(column, overflow="fold")
        for row in await asyncio.gather(*(_provider_row(app, name) for name in app.models.providers)):
            table.add_row(*row)
        table.add_row("local", "in this process", app.models.local_state(), BUILT_IN_MODEL)
        console.print(table)
        for format in app.formats.values():
            console.print(Text(f"\n{format.name}", style="bold"))
            for seat in format.seats:
                choice = await app.choose_model(seat)
                console.print(Text(f"  {seat.title:<12}{choice.name}  ({choice.why})"))
    return Exit.DONE


async def doctor() -> Exit:
    from moot.doctor import checks

    console = Console()
    healthy = True
    async for check in checks():
        healthy = healthy and check.ok
        console.print(Text(f"{'✓' if check.ok else '✗'} {check.what}", style="green" if check.ok else "red"))
        if check.advice:
            console.print(Text(f"    {check.advice}"))
    return Exit.DONE if healthy else Exit.FAILED


async def _watch(app: App, stored: Stored, as_json: bool) -> Exit:
    """Show what is stored of a debate, run it, and show how it ends."""
    record, format = stored.record, app.formats[stored.record.format]
    if BUILT_IN_MODEL in {seat.model for seat in record.seats.values()}:
        Console(stderr=True).print(Text(TINY, style="yellow"), soft_wrap=True)
    view = _view(stored, format, as_json)
    for turn in stored.turns:
        view.show(turn_finished(record.id, turn))
    try:
        ending = await _run_interruptibly(app, record.id, view)
    except asyncio.CancelledError:
        view.close()
        return _complain(f"{record.id} was left; go on with: moot debate --resume {record.id}", Exit.INTERRUPTED)
    except BaseException:
        view.close()
        raise
    view.close()
    return _conclude_view(record, format, ending, as_json)


async def _run_interruptibly(app: App, debate_id: str, view: View) -> Ending:
    """Run a debate; the first Ctrl-C stops it after the current turn, the second leaves at once."""
    loop = asyncio.get_running_loop()
    stopping: list[asyncio.Task[Record]] = []

    def sink(event: Event) -> None:
        try:
            view.show(event)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            running.cancel()

    def interrupt() -> None:
        if stopping:
            running.cancel()
        else:
            view.note("stopping after this turn; Ctrl-C again leaves at once")
            stopping.append(loop.create_task(app.stop(debate_id)))

    running = loop.create_task(app.run(debate_id, sink))
    for name in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):
            loop.add_signal_handler(name, interrupt)
    return await running


def _conclude_view(record: Record, format: AnyFormat, ending: Ending, as_json: bool) -> Exit:
    again = f"moot debate --resume {record.id}"
    if ending.status == Status.FAILED:
        return _complain(f"{record.id} failed: {ending.error}; go on with: {again}", Exit.FAILED)
    console = Console(stderr=True) if as_json else Console()
    if ending.status == Status.FINISHED and not as_json:
        _print_outcome(console, format, ending)
        console.print(Text(f"\n  moot show {record.id} shows it again.\n", style="dim"))
    elif ending.status == Status.STOPPED:
        console.print(Text(f"{record.id} is stopped; go on with: {again}"))
    elif ending.status == Status.WAITING:
        console.print(Text(f"{record.id} waits for a person."))
        return Exit.WAITING
    return Exit.DONE


async def _show(app: App, stored: Stored, as_json: bool) -> Exit:
    record, format = stored.record, app.formats[stored.record.format]
    if as_json:
        _print_json(trace(record, stored.turns))
        return Exit.DONE
    console = Console()
    view = PlainView(console, format)
    console.print(introduction(record, format))
    for turn in stored.turns:
        view.show(turn_finished(record.id, turn))
    for failure in stored.failures:
        kept = f"; what had arrived: {failure.partial}" if failure.partial else ""
        console.print(Text(printable(f"\n! {failure.seat}, attempt failed: {failure.message}{kept}"), style="yellow"))
    if record.outcome is not None:
        _print_outcome(console, format, Ending(record.status, record.stop_reason, record.outcome))
    else:
        reason = record.error or (reason_text(record.stop_reason) if record.stop_reason else "")
        console.print(Text(printable(f"\n{record.id} is {record.status}{': ' + reason if reason else ''}")))
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
    console.print(introduction(stored.record, format))
    if not console.is_terminal:
        return PlainView(console, format)
    return LiveView(console, stored.record, format, seconds_before=span_seconds(stored.turns))


class JsonView:
    """Every event as a line of JSON."""

    def show(self, event: Event) -> None:
        sys.stdout.buffer.write(encode(event) + b"\n")
        sys.stdout.buffer.flush()

    def note(self, text: str) -> None:
        Console(stderr=True).print(Text(text))

    def close(self) -> None:
        pass


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


def _print_json(value: object) -> None:
    sys.stdout.buffer.write(orjson.dumps(value) + b"\n")


def _complain(message: str, code: Exit) -> Exit:
    sys.stderr.write(f"moot: {printable(' '.join(message.split()))}\n")
    return code

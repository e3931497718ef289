"""What each command of the terminal does once its words are parsed."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

import orjson
from pydantic import JsonValue
from rich.console import Console
from rich.text import Text

from moot import settings
from moot.app import App, build
from moot.core.debate import Action, Record, Status
from moot.core.format import AnyFormat
from moot.core.stored import StoredDebate
from moot.errors import InvalidInput, MootError, NotFound, WrongStatus
from moot.formats import choices, find, load
from moot.llm.local import BUILT_IN_MODEL
from moot.llm.recording import Recorder, Recording
from moot.reading.words import notice_text
from moot.terminal.tables import STATS_HEADER, debate_row, introduction, print_table, stats_row, usage_cells, usage_text
from moot.terminal.views import PlainView
from moot.terminal.watch import (
    Exit,
    Watching,
    discard_stdout,
    print_error,
    print_note,
    print_outcome,
    show_turns,
    waiting_text,
    watch,
)
from moot.text.plain import printable


def run_command(command: Coroutine[None, None, Exit]) -> Exit:
    """Run a command to its exit code; an error is one line on stderr, and what went wrong inside is in moot.log."""
    _log_to_file()
    try:
        code = _event_loop()(command)
        sys.stdout.flush()
        return code
    except InvalidInput as error:
        return print_error(str(error), Exit.USAGE)
    except MootError as error:
        return print_error(str(error), Exit.FAILED)
    except BrokenPipeError:
        discard_stdout()
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
    sources: Sequence[Path] = ()
    unattended: bool = False
    """Whether no person is to be asked."""

    def topic(self) -> str:
        if self.question is None:
            raise InvalidInput("nothing to debate: give a QUESTION, --resume ID or --list (moot debate --help)")
        return self.question

    def settings(self, formats: Mapping[str, AnyFormat]) -> dict[str, JsonValue]:
        chosen: dict[str, JsonValue] = dict(find(formats, self.format).unattended) if self.unattended else {}
        chosen |= {name: value for name, value in self.options.items() if value is not None}
        chosen |= dict(_key_value(text) for text in self.set)
        if self.model_for:
            chosen["models"] = dict(map(_pair, self.model_for))
        if self.sources:
            from moot.retrieval.sources import read_all

            chosen["sources"] = [source.model_dump() for source in read_all(self.sources)]
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


async def debate(asked: Asked, tape: Tape, how: Watching) -> Exit:
    topic = asked.topic()
    async with build(settings.load(), tape=tape.open()) as app:
        record = await app.create(asked.format, topic, asked.settings(app.formats))
        return await watch(app, StoredDebate(record), how)


async def fork(debate_id: str, position: int | None, asked: Asked, how: Watching) -> Exit:
    async with build(settings.load()) as app:
        record = await app.fork(debate_id, position, asked.settings(app.formats))
        return await watch(app, await app.load(record.id), how)


async def estimate(asked: Asked, as_json: bool) -> Exit:
    async with build(settings.load()) as app:
        most, typical = await app.estimate(asked.format, asked.topic(), asked.settings(app.formats))
    if as_json:
        _print_json({"most": most, "typical": typical})
        return Exit.DONE
    rows = [(name, *usage_cells(usage)) for name, usage in (("at most", most), ("typically", typical))]
    print_table(Console(), ("", "calls", "tokens in", "cached", "tokens out", "cost"), rows)
    return Exit.DONE


async def resume(debate_id: str, question: str | None, tape: Tape, how: Watching) -> Exit:
    if question:
        raise InvalidInput("give either a QUESTION or --resume ID, not both")
    async with build(settings.load(), tape=tape.open()) as app:
        stored = await app.load(debate_id)
        if stored.record.status == Status.FINISHED:
            return await _show(app, stored, how.as_json)
        return await watch(app, stored, how)


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
        say(Console(), 'No debates yet. Start one: moot debate "Cats are better than dogs"')
    return Exit.DONE


async def show(debate_id: str, as_json: bool) -> Exit:
    async with build(settings.load()) as app:
        return await _show(app, await app.load(debate_id), as_json)


async def stop(debate_id: str) -> Exit:
    async with build(settings.load()) as app:
        try:
            record = await app.stop(debate_id)
            stopped = record.status is Status.STOPPED
            message = f"{record.id} {'is stopped' if stopped else 'stops after the step in progress'}"
        except WrongStatus as error:  # which is what was wanted
            message = str(error)
    say(Console(), message)
    return Exit.DONE


async def conclude(debate_id: str) -> Exit:
    async with build(settings.load()) as app, _background(app):
        try:
            record = await app.conclude(debate_id)
            message = f"{record.id} {_concluding(record, app.is_shared)}"
        except WrongStatus as error:  # it is over, or has not begun
            message = str(error)
    say(Console(), message)
    return Exit.DONE


def _concluding(record: Record, shared: bool) -> str:
    if record.status is Status.RUNNING or (shared and record.status is Status.QUEUED):
        return "goes on to its closing after the step in progress"
    return f"is {record.status}; it goes straight to its closing with: moot debate --resume {record.id}"


def _background(app: App) -> AbstractAsyncContextManager[object]:
    """Where workers share the database, what lets a debate go on is passed to them."""
    return app.working(0, grace_seconds=0.0) if app.is_shared else nullcontext()


async def reply(debate_id: str, answers: Mapping[Action, str | bool | None], how: Watching) -> Exit:
    """Say one thing to a debate; when it was waiting for it, go on with the debate and watch it."""
    given = [(action, text) for action, text in answers.items() if text]
    if len(given) != 1:
        raise InvalidInput(f"give one of {', '.join(f'--{action}' for action in answers)}")
    (action, text), *_ = given
    async with build(settings.load()) as app:
        said = (await app.reply(debate_id, action, text if isinstance(text, str) else "")).words
        stored = await app.load(debate_id)
        going_on = (Status.QUEUED, Status.WAITING, Status.STOPPED)
        if said and said.position is not None and stored.record.status in going_on:
            return await watch(app, stored, how)
    heard = "It is heard from the next step on." if said else "The debate goes on to its closing."
    say(Console(), f"{debate_id} is {stored.record.status}. {heard}")
    return Exit.DONE


async def rate(debate_id: str, stars: int, comment: str) -> Exit:
    async with build(settings.load()) as app:
        rating = await app.rate(debate_id, stars, comment)
    say(Console(), f"{debate_id}: {'★' * rating.stars}{'☆' * (5 - rating.stars)}")
    return Exit.DONE


async def export(debate_id: str | None, style: str, output: Path | None) -> Exit:
    if debate_id is None:
        raise InvalidInput("name a debate, or give --all for many")
    async with build(settings.load()) as app:
        text = await app.export(debate_id, style)
    if output is None:
        shown = text if style == "json" else printable(text)
        sys.stdout.write(shown.rstrip("\n") + "\n")
    else:
        _write_new(output, text)
        say(Console(stderr=True), f"Written to {output}")
    return Exit.DONE


async def export_all(output: Path | None, style: str, status: str, format: str | None, since: str | None) -> Exit:
    """Finished debates, or those of another status; `any` for all."""
    from moot.export.bundle import Chosen, moment

    if output is None or style != "jsonl":
        raise InvalidInput("many debates are written as JSON lines: moot export --all --as jsonl --output DIR")
    if status not in ("any", *Status):
        raise InvalidInput(f"no status named {status!r}; known: any, {', '.join(Status)}")
    chosen = Chosen(None if status == "any" else Status(status), format, moment(since) if since else None)
    async with build(settings.load()) as app:
        manifest = await app.export_all(output, chosen)
    say(Console(stderr=True), f"{manifest['debates']} debates written to {output}")
    return Exit.DONE


async def workflow(debate_id: str) -> Exit:
    async with build(settings.load()) as app:
        made = await app.make_workflow(debate_id)
    console = Console()
    say(console, f"{made.id} of {debate_id}: {made.title}", "bold")
    say(console, f"\n{made.body}\n")
    say(console, made.result, "green" if made.delivered else "yellow")
    return Exit.DONE if made.delivered or not made.attempts else Exit.FAILED


async def perspectives() -> Exit:
    known = choices(load(), settings.load().formats, "perspectives")
    rows = [(each.name, each.hint, str(each.data["trade_offs"])) for each in known]
    print_table(Console(), ("perspective", "priorities", "trade-offs"), rows)
    return Exit.DONE


async def list_templates() -> Exit:
    async with build(settings.load()) as app:
        known = sorted(app.library.templates().values(), key=lambda template: template.name)
    rows = [(each.name, each.title, "" if each.built_in else "yours", each.when) for each in known]
    print_table(Console(), ("name", "title", "", "when to use it"), rows, wide=("title",))
    return Exit.DONE


async def show_template(name: str) -> Exit:
    async with build(settings.load()) as app:
        known = app.library.templates()
    if name not in known:
        raise NotFound(f"no template named {name!r}; moot templates list shows all")
    say(Console(), f"{known[name].title}\n\n{known[name].when}\n\n{known[name].text}")
    return Exit.DONE


async def search_templates(question: str, top: int) -> Exit:
    if not question.strip():
        raise InvalidInput("nothing to search for: give a QUESTION")
    async with build(settings.load()) as app:
        found = await app.library.find(question, top)
    rows = [(f"{each.score:.2f}", each.template.name, each.template.title) for each in found]
    print_table(Console(), ("score", "name", "title"), rows)
    return Exit.DONE


async def add_template(file: Path) -> Exit:
    async with build(settings.load()) as app:
        added = app.library.add(file)
    say(Console(), f"{added.name}: {added.title}")
    return Exit.DONE


async def remove_template(name: str) -> Exit:
    async with build(settings.load()) as app:
        app.library.remove(name)
    say(Console(), f"{name} is removed")
    return Exit.DONE


async def stats(as_json: bool) -> Exit:
    async with build(settings.load()) as app:
        rows = await app.stats()
    if as_json:
        for row in rows:
            _print_json(row)
    else:
        print_table(Console(), STATS_HEADER, [stats_row(row) for row in rows])
    return Exit.DONE


async def models() -> Exit:
    console = Console()
    async with build(settings.load()) as app:
        rows = await asyncio.gather(*(_provider_row(app, name) for name in app.models.providers))
        built_in = ("local", "in this process", app.models.local_state(), BUILT_IN_MODEL)
        print_table(console, ("provider", "address", "state", "models"), [*rows, built_in], wide=("address",))
        for format in app.formats.values():
            seats = [seat for seat in format.seats if seat.player == "model"]
            choices = [await app.drafts.choose_model(seat) for seat in seats]
            console.print()
            chosen = [(seat.title, name, why) for seat, (name, why) in zip(seats, choices, strict=True)]
            print_table(console, (format.name, "model", "because"), chosen)
    return Exit.DONE


async def doctor() -> Exit:
    from moot.terminal.doctor import checks

    console = Console()
    healthy = True
    async for check in checks():
        healthy = healthy and check.ok
        say(console, f"{'✓' if check.ok else '✗'} {check.what}", "green" if check.ok else "red")
        if check.advice:
            say(console, f"    {check.advice}")
    return Exit.DONE if healthy else Exit.FAILED


async def _show(app: App, stored: StoredDebate, as_json: bool) -> Exit:
    record, reading = stored.record, app.reading(stored)
    if as_json:
        _print_json(reading.trace)
        return Exit.DONE
    console = Console()
    console.print(introduction(reading), soft_wrap=not console.is_terminal)
    show_turns(PlainView(console, reading.format), reading)
    for failure in stored.failures:
        who = reading.titles.get(failure.seat, failure.seat)
        kept = f"; what had arrived: {failure.partial}" if failure.partial else ""
        say(console, f"\n! {who}, an attempt failed: {failure.message}{kept}", "yellow")
    if reading.outcome:
        print_outcome(console, reading)
        print_note(console, usage_text(reading.usage))
    elif asked := reading.question:
        print_note(console, waiting_text(record.id, asked.question, asked.actions))
    else:
        say(console, f"\n{record.id} is {record.status}{': ' + reading.reason if reading.reason else ''}")
    for notice in stored.notices:
        say(console, notice_text(notice), "" if notice.delivered_at else "yellow")
    return Exit.DONE


async def _provider_row(app: App, name: str) -> tuple[str, str, str, str]:
    provider = app.models.providers[name]
    address = app.models.address(provider)
    if not app.models.configured(provider):
        return (name, address, f"set {provider.key_env}", "")
    found = await app.models.reachable(provider)
    if found is None:
        return (name, address, "not running" if provider.local else "not reachable, or the key is wrong", "")
    return (name, address, "ready", printable(", ".join(found[:8])) + (" …" if len(found) > 8 else ""))


def _write_new(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InvalidInput(f"{path} exists already; choose another name or remove it") from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}") from None


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


def say(console: Console, text: str, style: str = "") -> None:
    """Print text, broken on words in a terminal and not at all in a pipe."""
    console.print(Text(printable(text), style=style), soft_wrap=not console.is_terminal)

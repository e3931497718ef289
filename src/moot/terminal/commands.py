"""What each command of the terminal does once its words are parsed."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple, TypeAlias

from rich.console import Console

from moot import settings
from moot.app import App, build, rejudging
from moot.core.debate import Action, Record, Status
from moot.core.stored import StoredDebate
from moot.errors import InvalidInput, Missing, MootError, WrongStatus
from moot.formats import choices, load
from moot.llm.recording import Recorder, Recording
from moot.terminal.allow import offer
from moot.terminal.asked import Asked
from moot.terminal.claims import show_claims, show_found_claims
from moot.terminal.screen import discard_stdout, reader_left, screens
from moot.terminal.sources import show_source, show_sources
from moot.terminal.tables import STATS_HEADER, debate_row, print_json, print_table, say, stats_row, usage_cells
from moot.terminal.user import user_name
from moot.terminal.watch import Exit, Watching, print_error, say_where, show_debate, watch
from moot.text.files import private_file, private_folder
from moot.text.plain import printable

log = logging.getLogger(__name__)

Command: TypeAlias = Coroutine[None, None, Exit | None]
"""Without an exit code it is done."""


def run_command(command: Command, runs_debates: bool = False) -> Exit:
    """Run a command to its exit code; an error is one line on stderr, and what went wrong inside is in moot.log.

    What runs debates is held up by no screen.
    """
    _log_to_file()
    gc.set_threshold(10_000, 10, 10)  # debates are much live data: at Python's 700 this took a sixth of the CPU time
    try:
        offer()
    except KeyboardInterrupt:
        command.close()
        return Exit.INTERRUPTED
    try:
        with screens() if runs_debates else nullcontext():
            return _code_of(command)
    except OSError:
        log.exception("cannot read or write")
        raise


def _code_of(command: Command) -> Exit:
    try:
        code = _event_loop()(command) or Exit.DONE
        sys.stdout.flush()
        return code
    except (InvalidInput, Missing) as error:
        return print_error(str(error), Exit.USAGE)
    except MootError as error:
        return print_error(str(error), Exit.FAILED)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except OSError as error:
        if not reader_left(error):
            raise
        discard_stdout()
        return Exit.FAILED
    except Exception as error:
        log.exception("something went wrong inside")
        return print_error(f"something went wrong inside ({type(error).__name__}); moot.log tells more", Exit.FAILED)


class Tape(NamedTuple):
    """Where model calls are recorded to, or replayed from."""

    record: Path | None = None
    replay: Path | None = None
    timing: bool = False

    @asynccontextmanager
    async def app(self) -> AsyncIterator[App]:
        """An app whose model calls are kept or replayed; a debate that is refused leaves no recording behind."""
        if self.record and self.replay:
            raise InvalidInput("give either --record or --replay, not both")
        recorder = Recorder(self.record) if self.record else None
        recording = Recording.load(self.replay, timing=self.timing) if self.replay else None
        try:
            async with build(settings.load(), tape=recorder or recording) as app:
                yield app
        finally:
            if recorder:
                recorder.drop_if_empty()


async def debate(asked: Asked, tape: Tape, how: Watching) -> Exit:
    topic = asked.topic()
    how.check()
    async with tape.app() as app:
        asked = await asked.in_format(app)
        record = await app.create(asked.format, topic, await asked.settings(app.formats))
        return await watch(app, StoredDebate(record), how)


async def fork(debate_id: str, position: int | None, asked: Asked, how: Watching) -> Exit:
    how.check()
    async with build(settings.load()) as app:
        record = await app.fork(debate_id, position, await asked.settings(app.formats))
        return await watch(app, await app.load(record.id), how)


async def rejudge(debate_id: str, judge: str | None, judgings: int, how: Watching) -> Exit:
    how.check()
    async with build(settings.load()) as app:
        record = await rejudging.rejudge(app, debate_id, judge, judgings)
        return await watch(app, await app.load(record.id), how)


async def estimate(asked: Asked, as_json: bool) -> None:
    async with build(settings.load()) as app:
        asked = await asked.in_format(app)
        found = await app.estimate(asked.format, asked.topic(), await asked.settings(app.formats))
    if as_json:
        print_json(found)
        return
    console = Console()
    rows = [(name, *usage_cells(usage)) for name, usage in (("at most", found.most), ("typically", found.typical))]
    print_table(console, ("", "calls", "tokens in", "cached", "tokens out", "cost"), rows)
    say(console, f"\nTime, {found.duration}")
    if found.duration.warning:
        say(console, f"! {found.duration.warning}", "yellow")


async def resume(debate_id: str, asked: Asked, tape: Tape, how: Watching, estimate: bool) -> Exit | None:
    if asked.question:
        raise InvalidInput("give either a QUESTION or --resume ID, not both")
    if estimate:
        raise InvalidInput("give either --estimate or --resume ID: what is left of a debate is not estimated")
    how.check()
    async with tape.app() as app:
        stored = await app.load(debate_id)
        if asked.format not in ("", stored.record.format):
            raise InvalidInput(f"{debate_id} is a {stored.record.format}; another format is for a new debate")
        if changes := await asked._replace(format=stored.record.format).settings(app.formats):
            await app.change(debate_id, changes)
            stored = await app.load(debate_id)
        if stored.record.status != Status.FINISHED:
            return await watch(app, stored, how)
        show_debate(app.reading(stored), how.as_json)
        await say_where(app, debate_id, Console(stderr=how.as_json), how)
    return None


async def list_debates(as_json: bool) -> None:
    async with build(settings.load()) as app:
        records = await app.list()
    if as_json:
        for record in records:
            shown = ("id", "format", "status", "topic", "origin")
            print_json({name: getattr(record, name) for name in shown})
    elif records:
        console = Console()
        rows = [debate_row(record, console.is_terminal) for record in records]
        print_table(console, ("id", "format", "status", "started", "topic"), rows, wide=("format", "started"))
    else:
        say(Console(), 'No debates yet. Start one: moot debate "Cats are better than dogs"')


async def show(
    debate_id: str, as_json: bool, sources: bool = False, source: str | None = None, claims: bool = False
) -> None:
    async with build(settings.load()) as app:
        reading = await app.read(debate_id)
        forks = await rejudging.forks_of(app, debate_id)
    if source is not None:
        show_source(reading, source, as_json)
    elif claims:
        show_claims(reading, as_json)
    elif sources:
        show_sources(reading, as_json)
    else:
        show_debate(reading, as_json, forks)


async def claims(words: str, as_json: bool) -> None:
    from moot.app.claims import find_claims

    async with build(settings.load()) as app:
        found = await find_claims(app, words)
    if found or as_json:
        show_found_claims(found, as_json)
    else:
        say(Console(), f"No finished debate has a claim about {words!r}.")


async def stop(debate_id: str) -> None:
    async with build(settings.load()) as app:
        try:
            record = await app.stop(debate_id)
            stopped = record.status is Status.STOPPED
            message = f"{record.id} {'is stopped' if stopped else 'stops after the step in progress'}"
        except WrongStatus as error:  # which is what was wanted
            message = str(error)
    say(Console(), message)


async def conclude(debate_id: str) -> Exit:
    async with build(settings.load()) as app, _background(app):
        try:
            record = await app.conclude(debate_id)
            if record.status is Status.QUEUED and not app.is_shared:  # it took that for an answer, and goes on here
                return await watch(app, await app.load(debate_id), Watching())
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


async def reply(debate_id: str, answers: Mapping[Action, str | bool | None], tape: Tape, how: Watching) -> Exit:
    """Say one thing to a debate; when it was waiting for it, go on with the debate and watch it."""
    given = [(action, text) for action, text in answers.items() if text not in (None, False)]
    if len(given) != 1:
        raise InvalidInput(f"give one of {', '.join(f'--{action}' for action in answers)}")
    (action, text), *_ = given
    how.check()
    async with tape.app() as app:
        words, who = text if isinstance(text, str) else "", user_name(app.settings)
        said = (await app.reply(debate_id, action, words, who=who)).words
        stored = await app.load(debate_id)
        going_on = (Status.QUEUED, Status.WAITING, Status.STOPPED)
        if said and said.position is not None and stored.record.status in going_on:
            return await watch(app, stored, how)
    heard = "It is heard from the next step on." if said else "The debate goes on to its closing."
    say(Console(), f"{debate_id} is {stored.record.status}. {heard}")
    return Exit.DONE


async def rate(debate_id: str, stars: int, comment: str) -> None:
    async with build(settings.load()) as app:
        rating = await app.rate(debate_id, stars, comment)
    say(Console(), f"{debate_id}: {'★' * rating.stars}{'☆' * (5 - rating.stars)}")


async def export(debate_id: str | None, style: str, output: Path | None) -> None:
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


async def export_all(output: Path | None, style: str, status: str, format: str | None, since: str | None) -> None:
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


async def workflow(debate_id: str) -> Exit:
    async with build(settings.load()) as app:
        made = await app.make_workflow(debate_id)
    console = Console()
    say(console, f"{made.id} of {debate_id}: {made.title}", "bold")
    say(console, f"\n{made.body}\n")
    say(console, made.result, "green" if made.delivered else "yellow")
    return Exit.DONE if made.delivered or not made.attempts else Exit.FAILED


async def perspectives() -> None:
    known = choices(load(), settings.load().formats, "perspectives")
    rows = [(each.name, each.hint, str(each.data["trade_offs"])) for each in known]
    print_table(Console(), ("perspective", "priorities", "trade-offs"), rows)


async def stats(as_json: bool) -> None:
    async with build(settings.load()) as app:
        rows = await app.stats()
    if as_json:
        for row in rows:
            print_json(row)
    else:
        print_table(Console(), STATS_HEADER, [stats_row(row) for row in rows])


def _write_new(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InvalidInput(f"{path} exists already; choose another name or remove it") from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}") from None


def _event_loop() -> Callable[[Command], Exit | None]:
    try:
        import uvloop
    except ImportError:
        return asyncio.run
    return uvloop.run


def _log_to_file() -> None:
    folder = settings.data_folder()
    with suppress(OSError):  # no place for a log is no reason not to work
        private_folder(folder, own=True)
        private_file(folder / "moot.log")
        logging.basicConfig(filename=folder / "moot.log", level=logging.WARNING, format="%(asctime)s %(message)s")

"""A debate watched from the terminal: run it, let Ctrl-C stop it, talk with its person, show how it ends."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from moot.app import App
from moot.core.debate import Record, Status
from moot.core.duration import span_seconds
from moot.core.emitter import Sink
from moot.core.engine import RunResult
from moot.core.events import DebateStarted, Event, Waiting
from moot.core.format import AnyFormat
from moot.core.prompts import has_short_prompts
from moot.core.stored import StoredDebate
from moot.errors import MootError, WrongStatus
from moot.llm.weights import BUILT_IN_MODEL, SMALL_MODELS
from moot.reading.debate import Reading
from moot.reading.sources import summary_lines
from moot.reading.words import notice_text
from moot.records.documents import Place
from moot.terminal.ask import TEXTS, NoAnswer, ask_person, yes
from moot.terminal.exits import Exit, print_error
from moot.terminal.signals import on_signals
from moot.terminal.tables import (
    INDENT,
    MAX_LINE,
    aligned,
    chart_texts,
    introduction,
    outcome_text,
    outcome_view,
    print_json,
    say,
    usage_text,
)
from moot.terminal.views import JsonView, LiveView, PlainView, View
from moot.text.markdown import body
from moot.text.plain import printable

TINY = (
    "{} is tiny: it says a few sentences, gets facts wrong, and its verdict means nothing. For a real "
    "debate set DEEPSEEK_API_KEY or another provider's key, start Ollama, or give --model (see: moot models)."
)


class Watching(NamedTuple):
    """How a debate is watched."""

    as_json: bool = False
    place: Place | None = None
    """Where its document is written, approved or not."""
    says_where: bool = True
    """Whether it is said where the document is."""

    def check(self) -> None:
        """Raises InvalidInput when its document could not be written."""
        if self.place:
            self.place.check()

    @property
    def talks(self) -> bool:
        """Whether a person is there to be asked."""
        return not self.as_json and sys.stdin.isatty() and sys.stdout.isatty()


def watching(as_json: bool, output: Path | None) -> Watching:
    return Watching(as_json, Place(output) if output else None)


async def watch(app: App, stored: StoredDebate, how: Watching) -> Exit:
    """Show what is stored of a debate, run it, ask its person when it waits, and show how it ends."""
    record, reading = stored.record, app.reading(stored)
    if how.place:
        app.documents.choose(record.id, how.place)
    small = {seat.model for seat in reading.record.seats.values() if seat.model in SMALL_MODELS}
    if small:
        suiting = ", ".join(name for name, format in app.formats.items() if has_short_prompts(format))
        made_for = "" if has_short_prompts(reading.format) else f" Of the formats it can follow: {suiting}."
        named = "The built-in model" if BUILT_IN_MODEL in small else min(small)
        waiting = "".join(
            f" {each.key_env} is set: --model {each.name}:MODEL takes one of its models."
            for each in app.models.shown
            if each.key_env and app.models.configured(each) and not each.default_model
        )
        print_note(Console(stderr=True), printable(TINY.format(named) + waiting + made_for), "yellow")
    if BUILT_IN_MODEL in small:
        try:
            await _fetch_missing(app)
        except asyncio.CancelledError:  # by Ctrl-C
            _say_left(record.id)
            raise
    if not how.as_json:
        console = Console()
        console.print(introduction(reading), soft_wrap=not console.is_terminal)
    async with _playing(app) as playing:
        while True:
            with closing(view_of(reading, how.as_json)) as view:
                ending, asked = await _run_interruptibly(app, reading, view, playing)
            if ending is None:
                return _say_left(record.id)
            if asked is None or not how.talks:
                return await _conclude(app, record.id, ending, asked, how)
            if left := await ask_person(app, asked, reading.format):
                return _leave(record, left)
            reading = app.reading(StoredDebate((await app.read(record.id)).record))  # its turns are on the screen
            if playing.here and reading.record.status not in (Status.QUEUED, Status.WAITING, Status.STOPPED):
                print_note(Console(), f"{record.id} goes on elsewhere; see it with: moot show {record.id}")
                return Exit.DONE


def _say_left(debate_id: str) -> Exit:
    return print_error(f"{debate_id} was left; go on with: moot debate --resume {debate_id}", Exit.INTERRUPTED)


async def _fetch_missing(app: App) -> None:
    """The built-in model before its first debate in this terminal, where it can be seen to come."""
    if not app.is_shared:
        from moot.terminal.pulling import fetch_missing  # slow to import

        await fetch_missing(app, [BUILT_IN_MODEL])


class _Playing(NamedTuple):
    """How a debate is run: in this process, or by the workers on a Postgres."""

    run: Callable[[str, Sink], Coroutine[None, None, RunResult]]
    here: bool


@asynccontextmanager
async def _playing(app: App) -> AsyncIterator[_Playing]:
    if app.models.tape or not app.is_shared:  # only calls of this process can be recorded or replayed
        yield _Playing(app.run, here=True)
        return
    from moot.runs.remote_run import RemoteRun  # slow to import

    async with app.working(0, grace_seconds=0.0) as queue:
        remote = RemoteRun(app.runner, queue, lambda text: print_note(Console(stderr=True), text, "yellow"))
        yield _Playing(remote.play, here=False)


class _Ran(NamedTuple):
    ending: RunResult | None
    asked: Waiting | None


async def _run_interruptibly(app: App, reading: Reading, view: View, playing: _Playing) -> _Ran:
    """Run a debate; the first Ctrl-C stops it after the current turn, the second leaves at once, without an ending."""
    loop = asyncio.get_running_loop()
    debate_id = reading.record.id
    stopping: list[asyncio.Task[None]] = []
    asked: list[Waiting] = []
    shown = False

    def sink(event: Event) -> None:
        nonlocal shown
        if playing.here and isinstance(event, DebateStarted) and not shown:
            shown = True
            _show_turns(view, reading)
        elif isinstance(event, Waiting):
            asked.append(event)
        view.show(event)

    def interrupt(number: signal.Signals) -> None:
        if stopping:
            running.cancel()
        else:
            view.note("stopping after this turn, Ctrl-C again leaves at once")
            stopping.append(loop.create_task(_stop(app, debate_id, number.name.lower())))

    running = loop.create_task(playing.run(debate_id, sink))
    try:
        with on_signals(interrupt):
            ending = await running
        return _Ran(ending, asked[-1] if asked and ending.status is Status.WAITING else None)
    except asyncio.CancelledError:
        return _Ran(None, None)
    finally:
        await asyncio.gather(*stopping)


async def _stop(app: App, debate_id: str, reason: str) -> None:
    with suppress(WrongStatus):  # it has just ended
        await app.stop(debate_id, reason)


def _show_turns(view: View, reading: Reading) -> None:
    for event in reading.events:
        view.show(event)


async def _conclude(app: App, debate_id: str, ending: RunResult, asked: Waiting | None, how: Watching) -> Exit:
    reading = await app.read(debate_id)
    again = f"moot debate --resume {debate_id}"
    console = Console(stderr=how.as_json)
    match ending.status:
        case Status.FAILED:
            if any(failure.seat in reading.record.seats for failure in reading.stored.failures[-1:]):  # a model's
                again += f", or with another model: {again} --model PROVIDER:MODEL"
            return print_error(f"{debate_id} failed: {ending.error}; go on with: {again}", Exit.FAILED)
        case Status.FINISHED:
            if not how.as_json:
                print_outcome(console, reading)
                print_note(console, f"{usage_text(reading.usage)}\nmoot show {debate_id} shows it again.")
            await _follow_up(app, reading, console, how)
        case Status.STOPPED:
            print_note(console, f"Stopped: {reading.format.reason(ending.stop_reason)}. Go on with:\n{again}")
            return Exit.STOPPED
        case Status.WAITING:
            if asked:
                print_note(console, _waiting_text(asked, reading.format))
            return Exit.WAITING
    return Exit.DONE


def show_debate(reading: Reading, as_json: bool, forks: Sequence[str] = ()) -> None:
    """A whole debate as it is stored, on the screen or as JSON; on the screen also which debates came of it."""
    if as_json:
        print_json(reading.trace)
    else:
        _print_debate(reading, forks)


def _print_debate(reading: Reading, forks: Sequence[str]) -> None:
    record, stored = reading.record, reading.stored
    console = Console()
    console.print(introduction(reading), soft_wrap=not console.is_terminal)
    _show_turns(PlainView(console, reading.format, reading.sides), reading)
    for failure in stored.failures:
        who = reading.titles.get(failure.seat, failure.seat)
        kept = f"; what had arrived: {failure.partial}" if failure.partial else ""
        say(console, f"\n! {who}, an attempt failed: {failure.message}{kept}", "yellow")
    if reading.outcome:
        print_outcome(console, reading)
        print_note(console, usage_text(reading.usage))
    elif asked := reading.question:
        print_note(console, _waiting_text(asked, reading.format))
    else:
        say(console, f"\n{record.id} is {record.status}{': ' + reading.reason if reading.reason else ''}")
    if forks:
        again = ", ".join(f"moot show {fork}" for fork in forks)
        print_note(console, f"Run again, continued or judged again: {again}")
    for notice in stored.notices:
        say(console, notice_text(notice), "" if notice.delivered_at else "yellow")


def _waiting_text(asked: Waiting, format: AnyFormat) -> str:
    """What a debate waits for, and how to answer it from any terminal."""
    commands = (
        f"moot reply {asked.debate} --{action}" + (' "…"' if action in TEXTS else "") for action in asked.actions
    )
    labels = (printable(format.actions.get(action, "")) for action in asked.actions)
    lines = aligned([*zip(commands, labels, strict=True)])
    return "\n".join([f"{asked.debate} waits for a person: {printable(asked.question)}", "Answer with one of:", *lines])


def _leave(record: Record, left: NoAnswer) -> Exit:
    why = "paused: nobody answered in time" if left is NoAnswer.NO_ANSWER else "waiting for your answer"
    sys.stderr.write(f"{record.id} is {why}; go on with: moot debate --resume {record.id}\n")
    return Exit.INTERRUPTED if left is NoAnswer.INTERRUPTED else Exit.WAITING


async def _follow_up(app: App, reading: Reading, console: Console, how: Watching) -> None:
    """Say where the document is, and write it if it is missing; then offer a workflow."""
    record, outcome = reading.record, reading.outcome
    approved = outcome if outcome and outcome.is_approved() else None
    if how.says_where:
        await say_where(app, record.id, console, how)
    if approved and how.talks and approved.issue(record) and await yes("Create a workflow from this decision?"):
        try:
            workflow = await app.make_workflow(record.id)
        except MootError as error:
            print_error(str(error), Exit.FAILED)
        else:
            print_note(console, f"{workflow.id}: {workflow.result}", "green" if workflow.delivered else "yellow")


async def say_where(app: App, debate_id: str, console: Console, how: Watching) -> None:
    if path := await app.write_document(debate_id, how.place):
        print_note(console, f"Written to {path}", "green")


def print_note(console: Console, text: str, style: str = "dim") -> None:
    if console.is_terminal:
        width = min(console.width, MAX_LINE + 2 * len(INDENT))
        console.print(Padding(Text(text, style=style), (1, len(INDENT), 0, len(INDENT))), width=width)
    else:
        console.file.write(f"\n{text}\n")


def print_outcome(console: Console, reading: Reading, *, kept: bool = True) -> None:
    """With where to read more, unless nothing is `kept` of the debate."""
    outcome = reading.outcome
    if outcome is None:
        return
    if outcome.shows_document and reading.document:
        _print_document(console, printable(body(reading.document)))
        outcome = outcome.model_copy(update={"caveats": []})  # the document has told them
    if console.is_terminal:
        console.print(outcome_view(outcome, reading.reason))
    else:
        console.file.write("\n" + outcome_text(outcome, reading.reason) + "\n")
    for text in chart_texts(reading.charts, outcome.say):
        print_note(console, text)
    if reading.sources.sources:
        more = [f"moot show {reading.record.id} --sources tells more."] if kept else []
        print_note(console, "\n".join([*map(printable, summary_lines(reading)), *more]))


def _print_document(console: Console, text: str) -> None:
    if console.is_terminal:
        from rich.markdown import Markdown  # slow to import

        width = min(console.width, MAX_LINE + 2 * len(INDENT))
        console.print(Padding(Markdown(text), (1, len(INDENT))), width=width)
    else:
        console.file.write(f"\n{text}\n")


def view_of(reading: Reading, as_json: bool = False) -> View:
    if as_json:
        return JsonView()
    console = Console()
    if not console.is_terminal or console.is_dumb_terminal:
        return PlainView(console, reading.format, reading.sides)
    return LiveView(console, reading.record, reading.format, reading.sides, seconds_before=span_seconds(reading.turns))

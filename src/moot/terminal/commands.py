"""The commands that have debates, once their words are parsed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple, get_args

from pydantic import JsonValue
from rich.console import Console

from moot import settings
from moot.app import App, build, rejudging
from moot.core.debate import Action, Record, Status
from moot.core.stored import StoredDebate
from moot.errors import InvalidInput, WrongStatus
from moot.llm.recording import Recorder, Recording
from moot.terminal.ask import user_name
from moot.terminal.asked import Asked
from moot.terminal.command import refuse, refuse_unused
from moot.terminal.doing import Command
from moot.terminal.exits import Exit
from moot.terminal.tables import print_json, print_table, say, usage_cells
from moot.terminal.watch import Watching, say_where, show_debate, watch, watching


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


def debate(
    *,
    question: str | None,
    format: str | None,
    no_checkpoints: bool,
    source: Sequence[str],
    quick: bool,
    careful: bool,
    model_for: Sequence[str],
    set: Sequence[str],
    estimate: bool,
    record: Path | None,
    replay: Path | None,
    timing: bool,
    resume: str | None,
    output: Path | None,
    as_json: bool,
    **chosen: JsonValue,
) -> Command:
    if not replay:
        refuse_unused("without --replay", ["timing"])
    if estimate:
        refuse_unused("beside --estimate", ["output", "record", "replay"])
    if quick and careful:
        refuse("give --quick or --careful, not both")
    if quick and chosen.get("judges"):
        refuse("further judges are not asked with --quick: leave --judges out, or --quick")
    chosen |= {name: chosen[name] or None for name in ("research", "precedents")}
    chosen["depth"] = "quick" if quick else "careful" if careful else None
    asked = Asked(question, format or "", chosen, model_for, set, source, no_checkpoints)
    tape, how = Tape(record, replay, timing), watching(as_json, output)
    if resume:
        return _resume(resume, asked, tape, how, estimate)
    return _estimate(asked, as_json) if estimate else begin(asked, tape, how)


async def begin(asked: Asked, tape: Tape, how: Watching) -> Exit:
    """A new debate, watched from its beginning."""
    topic = asked.topic()
    how.check()
    async with tape.app() as app:
        asked = await asked.in_format(app)
        record = await app.create(asked.format, topic, await asked.settings(app.formats))
        return await watch(app, StoredDebate(record), how)


async def fork(
    debate_id: str,
    at: int | None,
    model: str | None,
    model_for: Sequence[str],
    set: Sequence[str],
    output: Path | None,
    as_json: bool,
) -> Exit:
    asked, how = Asked(None, "", {"model": model}, model_for, set), watching(as_json, output)
    how.check()
    async with build(settings.load()) as app:
        record = await app.fork(debate_id, at, await asked.settings(app.formats))
        return await watch(app, await app.load(record.id), how)


async def rejudge(debate_id: str, judge: str | None, judgings: int, output: Path | None, as_json: bool) -> Exit:
    how = watching(as_json, output)
    how.check()
    async with build(settings.load()) as app:
        record = await rejudging.rejudge(app, debate_id, judge, judgings)
        return await watch(app, await app.load(record.id), how)


async def _estimate(asked: Asked, as_json: bool) -> None:
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


async def _resume(debate_id: str, asked: Asked, tape: Tape, how: Watching, estimate: bool) -> Exit | None:
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


async def reply(
    debate_id: str,
    output: Path | None,
    record: Path | None,
    replay: Path | None,
    as_json: bool,
    **answers: str | bool | None,
) -> Exit:
    """Say one thing to a debate; when it was waiting for it, go on with the debate and watch it."""
    actions: tuple[Action, ...] = get_args(Action)
    given = [(action, text) for action in actions if (text := answers[action]) not in (None, False)]
    if len(given) != 1:
        raise InvalidInput(f"give one of {', '.join(f'--{action}' for action in actions)}")
    (action, text), *_ = given
    how = watching(as_json, output)
    how.check()
    async with Tape(record, replay).app() as app:
        words, who = text if isinstance(text, str) else "", user_name(app.settings)
        said = (await app.reply(debate_id, action, words, who=who)).words
        stored = await app.load(debate_id)
        going_on = (Status.QUEUED, Status.WAITING, Status.STOPPED)
        if said and said.position is not None and stored.record.status in going_on:
            return await watch(app, stored, how)
    heard = "It is heard from the next step on." if said else "The debate goes on to its closing."
    say(Console(), f"{debate_id} is {stored.record.status}. {heard}")
    return Exit.DONE

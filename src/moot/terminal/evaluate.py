"""Ideas evaluated from the terminal: one that is watched, or several at once that end in a ranking."""

from __future__ import annotations

import asyncio
import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from moot.app import App
from moot.core.debate import Outcome, Record, Status
from moot.core.events import Event, TurnFinished
from moot.core.format import AnyFormat, FileDebate, Files
from moot.core.stored import StoredDebate
from moot.errors import InvalidInput, MootError
from moot.formats import find
from moot.reading.debate import Reading
from moot.records.documents import Place
from moot.terminal.asked import Asked
from moot.terminal.commands import Tape
from moot.terminal.exits import Exit, print_error
from moot.terminal.tables import print_table
from moot.terminal.views import JsonView
from moot.terminal.watch import Watching, print_note, watch

AT_ONCE = 3
EARLIER = 1000
"""So many of the latest debates are searched for the last evaluation of an idea."""


class _Draft(NamedTuple):
    name: str
    """Its own among those evaluated together."""
    place: Place
    files: Files
    record: Record
    calls: int
    before: Outcome | None
    """How it scored the last time, if that is asked for and known."""


async def evaluate(
    *,
    paths: Sequence[Path],
    debate: bool,
    topics: Path | None,
    output: Path | None,
    compare: bool,
    model_for: Sequence[str],
    set: Sequence[str],
    record: Path | None,
    replay: Path | None,
    as_json: bool,
    **chosen: JsonValue,
) -> Exit:
    asked = Asked(None, "evaluation", chosen, model_for, set)
    async with Tape(record, replay).app() as app:
        format = find(app.formats, asked.format)
        if format.files is None:
            raise InvalidInput(f"debates of the format {format.name} cannot be made of files")
        ideas = (path for path in _expanded(paths) if not (format.files and format.files.is_report(path)))
        found = [format.files.read(path, topics, debate) for path in ideas]
        if not found:
            raise InvalidInput("nothing to evaluate: give the PATH of a markdown file or a folder")
        named = list(_named({each.key: each for each in found}.values()))
        places = [_place(name, each, output, len(named) > 1) for name, each in named]
        drafts = [
            await _create(app, format, format.files, name, each, place, compare, asked)
            for (name, each), place in zip(named, places, strict=True)
        ]
        if len(drafts) == 1:
            return await _one(app, drafts[0], compare, as_json)
        return await _several(app, drafts, compare, as_json)


def _expanded(paths: Iterable[Path]) -> Iterator[Path]:
    """Wildcards that the shell has left, as that of Windows does; a file that is called so is meant itself."""
    for path in paths:
        if os.path.lexists(path) or not glob.has_magic(str(path)):
            yield path
        elif matching := sorted(glob.glob(str(path))):
            yield from map(Path, matching)
        else:
            raise InvalidInput(f"no file or folder matches {str(path)!r}")


def _named(found: Iterable[FileDebate]) -> Iterator[tuple[str, FileDebate]]:
    """Each under a name of its own, also when two folders are called alike."""
    used: set[str] = set()
    for each in found:
        names = chain([each.name], (f"{each.name}-{number}" for number in count(2)))
        name = next(name for name in names if name not in used)
        used.add(name)
        yield name, each


def _place(name: str, found: FileDebate, output: Path | None, several: bool) -> Place:
    """Where a report goes, which is free; raises InvalidInput, before a model is called."""
    if output is None:
        place = Place(found.report, report=True, within=found.folder)
    else:
        place = Place(output / name / found.report.name if several else output, report=True)
        if os.path.lexists(place.path) and not place.path.is_dir():
            raise InvalidInput(f"{place.path} exists already; choose another name or remove it")
    place.check()
    return place


async def _create(
    app: App,
    format: AnyFormat,
    files: Files,
    name: str,
    found: FileDebate,
    place: Place,
    compare: bool,
    asked: Asked,
) -> _Draft:
    given = {**await asked.settings(app.formats), **found.settings}
    expected = await app.estimate(format.name, found.topic, given)
    record = await app.create(format.name, found.topic, given)
    app.documents.choose(record.id, place)
    earlier = await app.list(limit=EARLIER, status=Status.FINISHED, format=format.name) if compare else ()
    return _Draft(name, place, files, record, expected.most.calls, files.last(earlier, found.key))


async def _one(app: App, draft: _Draft, compare: bool, as_json: bool) -> Exit:
    code = await watch(app, StoredDebate(draft.record), Watching(as_json, says_where=False))
    reading = await app.read(draft.record.id)
    if reading.outcome:
        await _report(app, reading.outcome, draft, compare, Console(stderr=as_json))
    return code


async def _several(app: App, drafts: Sequence[_Draft], compare: bool, as_json: bool) -> Exit:
    """Evaluate a few at a time; one that fails stops no other."""
    console = Console(stderr=as_json)
    columns = (TextColumn("  {task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        free = asyncio.Semaphore(AT_ONCE)
        left = {draft.record.id: draft for draft in drafts}
        try:
            async with asyncio.TaskGroup() as group:  # which ends when every debate is handed back
                runs = [_run(app, draft, progress, free, as_json, left) for draft in drafts]
                finished = [group.create_task(run) for run in runs]
        except asyncio.CancelledError:  # also those that have not begun
            for draft in left.values():
                print_error(f"{draft.name} was left; {_again(draft)}", Exit.INTERRUPTED)
            raise
    ranked = []
    for draft, task in zip(drafts, finished, strict=True):
        reading = task.result()
        with _failure_told(draft):
            if reading and reading.outcome:
                await _report(app, reading.outcome, draft, compare, console)
                ranked.append((draft.name, reading.outcome))
    if ranked:
        header, *rows = drafts[0].files.ranking(ranked)
        print_table(console, header, rows)
    return Exit.DONE if len(ranked) == len(drafts) else Exit.FAILED


async def _run(
    app: App, draft: _Draft, progress: Progress, free: asyncio.Semaphore, as_json: bool, left: dict[str, _Draft]
) -> Reading | None:
    bar = progress.add_task(draft.name, total=draft.calls)

    def sink(event: Event) -> None:
        if isinstance(event, TurnFinished):
            progress.advance(bar)
        if as_json:
            JsonView().show(event)

    ending = None
    async with free:
        with _failure_told(draft):
            ending = await app.run(draft.record.id, sink)
    del left[draft.record.id]
    if ending is None:
        return None
    if ending.status is not Status.FINISHED:
        why = ending.error or ending.stop_reason
        print_error(f"{draft.name} is {ending.status}: {why}; {_again(draft)}", Exit.FAILED)
        return None
    progress.update(bar, completed=draft.calls)
    return await app.read(draft.record.id)


def _again(draft: _Draft) -> str:
    return f"go on with: moot debate --resume {draft.record.id}"


@contextmanager
def _failure_told(draft: _Draft) -> Iterator[None]:
    """What goes wrong with one idea is said, and the others go on."""
    try:
        yield
    except MootError as error:
        print_error(f"{draft.name}: {error}", Exit.FAILED)


async def _report(app: App, outcome: Outcome, draft: _Draft, compares: bool, console: Console) -> None:
    path = await app.write_document(draft.record.id, draft.place)
    print_note(console, f"{draft.name}: {path}", "green")
    if compares:
        _compare(console, draft, outcome)


def _compare(console: Console, draft: _Draft, outcome: Outcome) -> None:
    if draft.before is None:
        print_note(console, "There is no earlier evaluation of this idea to compare with.")
        return
    for note in draft.files.compared(draft.before, outcome):
        print_note(console, note, "yellow")
    header, *rows = draft.files.compare(draft.before, outcome)
    console.print()
    print_table(console, header, rows)

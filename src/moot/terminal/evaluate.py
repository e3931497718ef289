"""Ideas evaluated from the terminal: one that is watched, or several at once that end in a ranking."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from moot import settings
from moot.app import App, build
from moot.core.debate import Record, Status
from moot.core.events import Event, TurnFinished
from moot.core.stored import StoredDebate
from moot.errors import InvalidInput, MootError
from moot.formats.evaluation.comparison import compare, last_of, ranking
from moot.formats.evaluation.ideas import REPORT, Idea, read, settings_for, topics_from, write_report
from moot.formats.evaluation.scorecard import Scorecard
from moot.terminal.tables import print_table
from moot.terminal.views import JsonView
from moot.terminal.watch import Exit, Watching, discard_stdout, print_error, print_note, watch

AT_ONCE = 3
FORMAT = "evaluation"
EARLIER = 1000
"""So many of the latest debates are searched for the last evaluation of an idea."""


class Evaluating(NamedTuple):
    """What the user wants of it."""

    debate: bool = True
    topics: Path | None = None
    output: Path | None = None
    compares: bool = False
    as_json: bool = False


class _Draft(NamedTuple):
    name: str
    """Its own among those evaluated together."""
    idea: Idea
    record: Record
    calls: int
    before: Scorecard | None
    """How it scored the last time, if that is asked for and known."""


async def evaluate(paths: Sequence[Path], wanted: Evaluating, chosen: Mapping[str, JsonValue]) -> Exit:
    ideas = {idea.key: idea for idea in map(read, paths)}
    if not ideas:
        raise InvalidInput("nothing to evaluate: give the PATH of a markdown file or a folder")
    async with build(settings.load()) as app:
        drafts = [await _create(app, name, idea, wanted, chosen) for name, idea in _named(ideas.values())]
        if len(drafts) == 1:
            return await _one(app, drafts[0], wanted)
        return await _several(app, drafts, wanted)


def _named(ideas: Iterable[Idea]) -> Iterator[tuple[str, Idea]]:
    """Each under a name of its own, also when two folders are called alike."""
    used: set[str] = set()
    for idea in ideas:
        names = chain([idea.name], (f"{idea.name}-{number}" for number in count(2)))
        name = next(name for name in names if name not in used)
        used.add(name)
        yield name, idea


async def _create(app: App, name: str, idea: Idea, wanted: Evaluating, chosen: Mapping[str, JsonValue]) -> _Draft:
    topics = topics_from(wanted.topics) if wanted.topics else None
    given = settings_for(idea, topics=topics, debate=wanted.debate, more=chosen)
    expected = await app.estimate(FORMAT, idea.title, given)
    record = await app.create(FORMAT, idea.title, given)
    earlier = await app.list(limit=EARLIER, status=Status.FINISHED, format=FORMAT) if wanted.compares else ()
    return _Draft(name, idea, record, expected.most.calls, last_of(earlier, idea.key))


async def _one(app: App, draft: _Draft, wanted: Evaluating) -> Exit:
    code = await watch(app, StoredDebate(draft.record), Watching(wanted.as_json))
    stored = await app.load(draft.record.id)
    if stored.record.status is Status.FINISHED:
        _report(stored, draft, wanted.output, wanted.compares, Console(stderr=wanted.as_json))
    return code


async def _several(app: App, drafts: Sequence[_Draft], wanted: Evaluating) -> Exit:
    """Evaluate a few at a time; one that fails stops no other."""
    console = Console(stderr=wanted.as_json)
    columns = (TextColumn("  {task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        free = asyncio.Semaphore(AT_ONCE)
        finished = await asyncio.gather(*(_run(app, draft, progress, free, wanted.as_json) for draft in drafts))
    ranked = []
    for draft, stored in zip(drafts, finished, strict=True):
        place = wanted.output / draft.name / REPORT.name if wanted.output else None
        with _failure_told(draft):
            if stored is not None:
                ranked.append((draft.name, _report(stored, draft, place, wanted.compares, console)))
    if ranked:
        header, *rows = ranking(ranked)
        print_table(console, header, rows)
    return Exit.DONE if len(ranked) == len(drafts) else Exit.FAILED


async def _run(
    app: App, draft: _Draft, progress: Progress, free: asyncio.Semaphore, as_json: bool
) -> StoredDebate | None:
    bar = progress.add_task(draft.name, total=draft.calls)

    def sink(event: Event) -> None:
        if isinstance(event, TurnFinished):
            progress.advance(bar)
        if as_json:
            _print(event)

    again = f"go on with: moot debate --resume {draft.record.id}"
    ending = None
    try:
        async with free:
            with _failure_told(draft):
                ending = await app.run(draft.record.id, sink)
    except asyncio.CancelledError:
        print_error(f"{draft.name} was left; {again}", Exit.INTERRUPTED)
        raise
    if ending is None:
        return None
    if ending.status is not Status.FINISHED:
        why = ending.error or ending.stop_reason
        print_error(f"{draft.name} is {ending.status}: {why}; {again}", Exit.FAILED)
        return None
    progress.update(bar, completed=draft.calls)
    return await app.load(draft.record.id)


@contextmanager
def _failure_told(draft: _Draft) -> Iterator[None]:
    """What goes wrong with one idea is said, and the others go on."""
    try:
        yield
    except MootError as error:
        print_error(f"{draft.name}: {error}", Exit.FAILED)


def _print(event: Event) -> None:
    try:
        JsonView().show(event)
    except BrokenPipeError:
        discard_stdout()  # the reports are written all the same


def _report(stored: StoredDebate, draft: _Draft, output: Path | None, compares: bool, console: Console) -> Scorecard:
    card = Scorecard.model_validate(stored.record.outcome)
    path = write_report(output or draft.idea.report, card.document(stored.record, stored.turns))
    print_note(console, f"{draft.name}: {path}", "green")
    if compares:
        _compare(console, draft.before, card)
    return card


def _compare(console: Console, before: Scorecard | None, card: Scorecard) -> None:
    if before is None:
        print_note(console, "There is no earlier evaluation of this idea to compare with.")
        return
    header, *rows = compare(before, card)
    console.print()
    print_table(console, header, rows)

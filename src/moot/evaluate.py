"""Ideas evaluated from the terminal: one that is watched, or several at once that end in a ranking."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from moot import settings
from moot.app import App, build
from moot.errors import InvalidInput, MootError
from moot.events import Event, TurnFinished
from moot.formats.evaluation.scorecard import Scorecard, compare, last_of, ranking
from moot.ideas import REPORT, Idea, read, settings_for, topics_from, write_report
from moot.model import Record, Status
from moot.store.store import Stored
from moot.tables import print_table
from moot.watch import Exit, Watching, complain, remark, watch

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
    idea: Idea
    record: Record
    calls: int


async def evaluate(paths: Sequence[Path], wanted: Evaluating, chosen: Mapping[str, JsonValue]) -> Exit:
    ideas = [read(path) for path in paths]
    if not ideas:
        raise InvalidInput("nothing to evaluate: give the PATH of a markdown file or a folder")
    async with build(settings.load()) as app:
        drafts = [await _create(app, idea, wanted, chosen) for idea in ideas]
        if len(drafts) == 1:
            return await _one(app, drafts[0], wanted)
        return await _several(app, drafts, wanted)


async def _create(app: App, idea: Idea, wanted: Evaluating, chosen: Mapping[str, JsonValue]) -> _Draft:
    topics = topics_from(wanted.topics) if wanted.topics else None
    given = settings_for(idea, topics=topics, debate=wanted.debate, more=chosen)
    expected = await app.estimate(FORMAT, idea.title, given)
    return _Draft(idea, await app.create(FORMAT, idea.title, given), expected.most.calls)


async def _one(app: App, draft: _Draft, wanted: Evaluating) -> Exit:
    before = last_of(await app.list(limit=EARLIER), draft.idea.key) if wanted.compares else None
    code = await watch(app, Stored(draft.record), Watching(wanted.as_json))
    stored = await app.load(draft.record.id)
    if stored.record.status is Status.FINISHED:
        console = Console(stderr=wanted.as_json)
        card = _report(stored, draft.idea, wanted.output, console)
        if wanted.compares:
            _compare(console, before, card)
    return code


async def _several(app: App, drafts: Sequence[_Draft], wanted: Evaluating) -> Exit:
    """Evaluate a few at a time; one that fails stops no other."""
    console = Console(stderr=wanted.as_json)
    columns = (TextColumn("  {task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        free = asyncio.Semaphore(AT_ONCE)
        finished = await asyncio.gather(*(_run(app, draft, progress, free) for draft in drafts))
    ranked = []
    for draft, stored in zip(drafts, finished, strict=True):
        if stored is not None:
            folder = wanted.output / draft.idea.name / REPORT.name if wanted.output else None
            ranked.append((draft.idea.name, _report(stored, draft.idea, folder, console)))
    if ranked:
        header, *rows = ranking(ranked)
        print_table(Console(), header, rows)
    return Exit.DONE if len(ranked) == len(drafts) else Exit.FAILED


async def _run(app: App, draft: _Draft, progress: Progress, free: asyncio.Semaphore) -> Stored | None:
    bar = progress.add_task(draft.idea.name, total=draft.calls)

    def sink(event: Event) -> None:
        if isinstance(event, TurnFinished):
            progress.advance(bar)

    async with free:
        try:
            ending = await app.run(draft.record.id, sink)
        except MootError as error:
            complain(f"{draft.idea.name}: {error}", Exit.FAILED)
            return None
    if ending.status is not Status.FINISHED:
        why = ending.error or ending.stop_reason
        again = f"moot debate --resume {draft.record.id}"
        complain(f"{draft.idea.name} is {ending.status}: {why}; go on with: {again}", Exit.FAILED)
        return None
    progress.update(bar, total=draft.calls, completed=draft.calls)
    return await app.load(draft.record.id)


def _report(stored: Stored, idea: Idea, output: Path | None, console: Console) -> Scorecard:
    card = Scorecard.model_validate(stored.record.outcome)
    path = write_report(output or idea.report, card.document(stored.record, stored.turns))
    remark(console, f"{idea.name}: {path}", "green")
    return card


def _compare(console: Console, before: Scorecard | None, card: Scorecard) -> None:
    if before is None:
        remark(console, "There is no earlier evaluation of this idea to compare with.")
        return
    header, *rows = compare(before, card)
    console.print()
    print_table(console, header, rows)

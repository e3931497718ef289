"""Commands about debates that are kept: to find, read, rate, stop and export them. None of them plays one."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from moot import settings
from moot.app import build
from moot.core.debate import Status
from moot.errors import InvalidInput, WrongStatus, meant
from moot.formats import choices, find, load
from moot.terminal.command import refuse, refuse_unused
from moot.terminal.doing import Command
from moot.terminal.exits import Exit
from moot.terminal.tables import STATS_HEADER, print_json, print_table, say, stats_row
from moot.text.plain import printable


def show(debate_id: str, as_json: bool, sources: bool, source: str | None, claims: bool) -> Command:
    if claims + sources + (source is not None) > 1:
        refuse("give one of --claims, --sources and --source")
    return _show(debate_id, as_json, sources, source, claims)


async def _show(debate_id: str, as_json: bool, sources: bool, source: str | None, claims: bool) -> None:
    from moot.app.rejudging import forks_of
    from moot.terminal.claims import show_claims
    from moot.terminal.sources import show_source, show_sources
    from moot.terminal.watch import show_debate

    async with build(settings.load()) as app:
        reading = await app.read(debate_id)
        forks = await forks_of(app, debate_id)
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
    from moot.terminal.claims import show_found_claims

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


async def rate(debate_id: str, stars: int, comment: str) -> None:
    async with build(settings.load()) as app:
        rating = await app.rate(debate_id, stars, comment)
    say(Console(), f"{debate_id}: {'★' * rating.stars}{'☆' * (5 - rating.stars)}")


def export(
    debate_id: str | None,
    style: str,
    output: Path | None,
    all: bool,
    status: str,
    format: str | None,
    since: str | None,
) -> Command:
    if all:
        refuse_unused("beside --all", ["debate_id"])
        return _export_all(output, style, status, format, since)
    refuse_unused("without --all", ["status", "format", "since"])
    return _export(debate_id, style, output)


async def _export(debate_id: str | None, style: str, output: Path | None) -> None:
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


async def _export_all(output: Path | None, style: str, status: str, format: str | None, since: str | None) -> None:
    """Finished debates, or those of another status; `any` for all."""
    from moot.export.bundle import Chosen, moment

    if output is None or style != "jsonl":
        raise InvalidInput("many debates are written as JSON lines: moot export --all --as jsonl --output DIR")
    if status not in ("any", *Status):
        known = ("any", *Status)
        raise InvalidInput(f"no status named {status!r}{meant(status, known) or ';'} known: {', '.join(known)}")
    chosen = Chosen(None if status == "any" else Status(status), format, moment(since) if since else None)
    async with build(settings.load()) as app:
        if format and not await app.list(limit=1, format=format):  # nor one of a format that was uninstalled
            find(app.formats, format)
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

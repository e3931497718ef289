"""`moot debate --list`: the latest debates, read from the store with nothing that a list does not need."""

from __future__ import annotations

import os
import sys
import time
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import click

from moot.places import only_database
from moot.store.opening import open_store
from moot.terminal.tables import WIDE, aligned, print_json
from moot.text.plain import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moot.core.record import Record

HEADER = ("id", "format", "status", "started", "topic")
SHOWN = ("id", "format", "status", "topic", "origin")
LATEST = 20


async def list_debates(as_json: bool) -> None:
    store = await open_store(only_database() or _checked())
    try:
        records = await store.list(limit=LATEST)
    finally:
        await store.close()
    if as_json:
        for record in records:
            print_json({name: getattr(record, name) for name in SHOWN})
    elif not records:
        sys.stdout.write('No debates yet. Start one: moot debate "Cats are better than dogs"\n')
    elif sys.stdout.isatty():
        header, *lines = drawn(records, get_terminal_size().columns)
        click.secho(header, bold=True, dim=True, color=os.environ.get("TERM") != "dumb")
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    else:
        rows = [(*_cells(record), " · ".join(_topic(record))) for record in records]
        sys.stdout.write("\n".join(aligned([HEADER, *rows])) + "\n")


def _checked() -> str:
    """The address of the database where other settings are made too, all of which have to be right."""
    from moot.settings import load

    return load().database_url


def drawn(records: Sequence[Record], width: int) -> list[str]:
    """The lines of a terminal, which cuts topics; where a debate was forked from stands below. Rich is not needed."""
    rows: list[tuple[str, ...]] = [HEADER]
    for record in records:
        topic, *origin = _topic(record)
        rows += [(*_cells(record), topic), *(("", "", "", "", each) for each in origin)]
    shown = [at for at, name in enumerate(HEADER) if width >= WIDE or name not in ("format", "started")]
    return [_cut(line, width) for line in aligned([[row[at] for at in shown] for row in rows])]


def _cut(line: str, width: int) -> str:
    from rich.cells import cell_len, chop_cells

    return line if cell_len(line) <= width else chop_cells(line, width - 1)[0].rstrip() + "…"


def _cells(record: Record) -> tuple[str, str, str, str]:
    began = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.created_at))
    return (record.id, record.format, record.status, began)


def _topic(record: Record) -> tuple[str, ...]:
    topic = " ".join(printable(record.title).split())
    return (topic, f"forked from {record.origin.debate}") if record.origin else (topic,)

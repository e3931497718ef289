"""`moot rejudge`: a finished debate judged again, as a debate of its own."""

from __future__ import annotations

from pathlib import Path

import click

from moot.terminal import options
from moot.terminal.options import Number
from moot.terminal.running import run


@click.command()
@options.debate_id
@click.option("--judge", metavar="MODEL", help="PROVIDER:MODEL; the same judge without it.")
@click.option(
    "--judgings",
    type=Number(),
    default=8,
    show_default=True,
    help="How often at most, 1 or an even number up to 12.",
)
@options.output
@options.events
def rejudge(debate_id: str, judge: str | None, judgings: int, output: Path | None, as_json: bool) -> None:
    """Judge a finished debate again in a new one, by another model or more often; costs its judgings only."""
    from moot.terminal import commands, watch

    run(commands.rejudge(debate_id, judge, judgings, watch.watching(as_json, output)), runs_debates=True)

"""`moot rejudge`: a finished debate judged again, as a debate of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from moot.terminal.options import DebateId, EventsAsJson, Output
from moot.terminal.running import run


def rejudge(
    debate_id: DebateId,
    judge: Annotated[
        str | None, typer.Option(metavar="MODEL", help="PROVIDER:MODEL; the same judge without it.")
    ] = None,
    judgings: Annotated[int, typer.Option(help="How often at most, 1 or an even number up to 12.")] = 8,
    output: Output = None,
    as_json: EventsAsJson = False,
) -> None:
    """Judge a finished debate again in a new one, by another model or more often; costs its judgings only."""
    from moot.terminal import commands, watch

    run(commands.rejudge(debate_id, judge, judgings, watch.watching(as_json, output)), runs_debates=True)

"""The command for a first look: parse the words, hand them to `terminal.demo`."""

from __future__ import annotations

from typing import Annotated

import typer

from moot.terminal.running import run


def demo(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="caching, backup, parts-shelf or four-day-week.")
    ] = None,
    speed: Annotated[float, typer.Option(metavar="N", min=0, help="Twice as fast: 2; all at once: 0.")] = 1.0,
) -> None:
    """Watch a recorded debate of a large model, then have one of your own."""
    from moot.terminal import demo as first

    run(first.demo(name, speed), runs_debates=True)

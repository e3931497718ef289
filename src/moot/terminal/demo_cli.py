"""The command for a first look: parse the words, hand them to `terminal.demo`."""

from __future__ import annotations

import sys

import click

from moot.terminal.help import EXAMPLE_DEBATES, beginning_with
from moot.terminal.options import Number
from moot.terminal.running import run


@click.command()
@click.argument(
    "name",
    required=False,
    metavar="[NAME]",
    help=f"{', '.join(EXAMPLE_DEBATES[:-1])} or {EXAMPLE_DEBATES[-1]}.",
    shell_complete=beginning_with(EXAMPLE_DEBATES),
)
@click.option(
    "--speed", type=Number(0, kind=float), default=1.0, show_default=True, help="Twice as fast: 2; all at once: 0."
)
def demo(name: str | None, speed: float) -> None:
    """Watch a recorded debate of a large model, then have one of your own."""
    from moot.terminal import demo as first

    run(first.demo(name, speed), runs_debates=sys.stdout.isatty())  # a pipe gets the recording alone

"""How a command that was parsed comes to its exit code; nothing heavy is imported before there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import typer

if TYPE_CHECKING:
    from moot.terminal.doing import Command


def run(command: Command, runs_debates: bool = False) -> NoReturn:
    from moot.terminal.doing import run_command

    raise typer.Exit(run_command(command, runs_debates))

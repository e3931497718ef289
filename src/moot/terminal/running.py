"""How a command that was parsed comes to its exit code; nothing heavy is imported before there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from click.exceptions import Exit

if TYPE_CHECKING:
    from moot.terminal.doing import Command


def run(command: Command, runs_debates: bool = False, stays: bool = False) -> NoReturn:
    from moot.terminal.doing import run_command

    raise Exit(run_command(command, runs_debates, stays))

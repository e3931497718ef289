"""Completion of words in a shell: its script, and the line that a shell reads it by."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from moot.terminal.help import beginning_with

if TYPE_CHECKING:
    from collections.abc import Callable

FILES = {
    "bash": (".bashrc", 'eval "$(moot --show-completion bash)"'),
    "zsh": (
        ".zshrc",
        'whence compdef >/dev/null || { autoload -Uz compinit && compinit; }; eval "$(moot --show-completion zsh)"',
    ),
    "fish": (".config/fish/completions/moot.fish", "moot --show-completion fish | source"),
    "powershell": ("", ""),
}
"""By shell: the file at home that it reads, and the line to write there; a PowerShell has no one place for it."""


def _shell(given: str) -> str:
    """The shell that was named, or the user's. Raises UsageError."""
    name = given if given != "your shell" else Path(os.environ.get("SHELL", "")).name
    if name not in FILES:
        raise click.UsageError(f"name your shell: {', '.join(FILES)}" + (f"; not {name!r}" if name else ""))
    return name


def _show_script(context: click.Context, parameter: click.Parameter, given: str | None) -> None:
    if given:
        from click.shell_completion import get_completion_class

        known = get_completion_class(_shell(given))
        assert known  # noqa: S101
        click.echo(known(context.command, {}, "moot", "_MOOT_COMPLETE").source())
        context.exit()


def _install(context: click.Context, parameter: click.Parameter, given: str | None) -> None:
    if given:
        file, line = FILES[shell := _shell(given)]
        if not file:
            raise click.UsageError(f"add to your profile what this shows: moot --show-completion {shell}")
        path = Path.home() / file
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+", encoding="utf-8") as opened:
            opened.seek(0)
            if line not in opened.read():
                opened.write(f"\n{line}\n")
        click.echo(f"{path} has the line now; open a new {shell}, and Tab completes moot.")
        context.exit()


def _option(
    name: str, callback: Callable[[click.Context, click.Parameter, str | None], None], help: str
) -> click.Option:
    return click.Option(
        [name],
        metavar="[SHELL]",
        is_flag=False,
        flag_value="your shell",
        expose_value=False,
        is_eager=True,
        callback=callback,
        shell_complete=beginning_with(FILES),
        help=help,
    )


install = _option("--install-completion", _install, f"Let your shell complete words: {', '.join(list(FILES)[:3])}.")
show_script = _option("--show-completion", _show_script, "Show what completes words in your shell, or in SHELL.")

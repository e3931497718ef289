"""The `moot` program: its commands, and how a call of one comes to an exit code."""

from __future__ import annotations

import gc
import sys
from contextlib import suppress

import click

from moot.terminal import debate_commands, setup_commands
from moot.terminal.command import Commands, below
from moot.terminal.completion import install, show_script
from moot.terminal.help import misused
from moot.terminal.screen import discard_stdout, open_missing_streams, reader_left

FIRST = (debate_commands.demo.examples[0], debate_commands.debate.examples[1], *setup_commands.doctor.examples)
"""What a newcomer does first."""


def _show_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        click.echo(f"moot {version('moot')}")
        context.exit()


cli = Commands(
    "moot",
    "Put a question before language models that argue it out, and get a decision you can check.",
    *debate_commands.COMMANDS,
    *setup_commands.COMMANDS,
    params=[
        click.Option(
            ["--version", "-V"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_show_version,
            help="Show the version.",
        ),
        install,
        show_script,
    ],
    epilog=f"{below(FIRST)}\n\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 waiting for a person, 4 stopped, 130 left at once.",
)


def _tell(error: OSError) -> int:
    if not reader_left(error):
        where = f" {error.filename}" if error.filename else ""
        with suppress(OSError):
            sys.stderr.write(f"moot: cannot read or write{where}: {error.strerror or error}\n")
    return 1


def main() -> None:
    """The `moot` program."""
    gc.set_threshold(10_000, 10, 10)  # imports and debates are much live data: at 700 this took a sixth of the time
    open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    try:
        code = _called(sys.argv[1:])
        sys.stdout.flush()
    except OSError as error:  # of an output, most likely
        discard_stdout()
        code = _tell(error)
    if "xllamacpp" in sys.modules:
        from moot.llm.local import leave

        leave(code or 0)
    sys.exit(code)


def _called(words: list[str]) -> int | None:
    """The exit code of the command; `moot help COMMAND` is `moot COMMAND --help`."""
    if words[:1] in ([], ["help"]):
        words = [*words[1:], "--help"]
    try:
        code: int | None = cli(words, prog_name="moot", standalone_mode=False)
    except click.ClickException as error:
        code = misused(error)
    except click.Abort:  # Ctrl-C before a command had begun
        code = 130
    return code

"""Write docs/commands.md, the help of every command: python docs/commands.py"""

from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner

from moot.terminal.cli import cli

PLAIN = {"COLUMNS": "100", "TERM": "dumb"}


def text() -> str:
    parts = ["# Commands\n"]
    for words in _every(cli):
        shown = CliRunner().invoke(cli, [*words, "--help"], env=PLAIN, prog_name="moot").output.strip()
        parts.append(f"## {' '.join(['moot', *words])}\n\n```\n{shown}\n```\n")
    return "\n".join(parts)


def _every(command: click.Command, *words: str) -> Iterator[tuple[str, ...]]:
    """The words of a command, and of those below it."""
    yield words
    for name, each in sorted(getattr(command, "commands", {}).items()):
        yield from _every(each, *words, name)


if __name__ == "__main__":
    Path(__file__).with_name("commands.md").write_text(text())

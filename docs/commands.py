"""Write docs/commands.md, the help of every command: python docs/commands.py"""

from pathlib import Path

from click.testing import CliRunner

from moot.terminal.cli import cli

PLAIN = {"COLUMNS": "100", "TERM": "dumb"}


def text() -> str:
    names = sorted(cli.commands)
    parts = ["# Commands\n"]
    for words in [[], *([name] for name in names)]:
        shown = CliRunner().invoke(cli, [*words, "--help"], env=PLAIN, prog_name="moot").output.strip()
        parts.append(f"## {' '.join(['moot', *words])}\n\n```\n{shown}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    Path(__file__).with_name("commands.md").write_text(text())

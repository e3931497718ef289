"""The terminal's commands: parse the words, hand them to `moot.commands`. Heavy imports happen inside."""

from __future__ import annotations

import sys
from collections.abc import Coroutine
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from moot.commands import Exit

cli = typer.Typer(
    name="moot",
    help="Put a question before language models that argue it out, and get a decision you can check.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
DebateId = Annotated[str, typer.Argument(metavar="ID", help="The debate, DEB-…")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"moot {version('moot')}")
        raise typer.Exit


@cli.callback()
def moot(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


@cli.command()
def debate(
    question: Annotated[str | None, typer.Argument(metavar="QUESTION", help="What to debate.")] = None,
    format: Annotated[str, typer.Option(help="The rules of the debate.")] = "duel",
    max_rounds: Annotated[int | None, typer.Option(help="End after so many rounds at the latest.")] = None,
    stance_a: Annotated[str | None, typer.Option(metavar="pro|con", help="Debater A's stance.")] = None,
    model: Annotated[str | None, typer.Option(help="PROVIDER:MODEL for every seat.")] = None,
    model_for: Annotated[list[str] | None, typer.Option(metavar="SEAT=MODEL", help="The model of one seat.")] = None,
    set: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="Any setting of the format.")] = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Say what it would cost, and call no model.")] = False,
    record: Annotated[Path | None, typer.Option(metavar="FILE", help="Keep every model call in FILE.")] = None,
    replay: Annotated[Path | None, typer.Option(metavar="FILE", help="Answer model calls from FILE.")] = None,
    timing: Annotated[bool, typer.Option("--timing", help="Replay at the recorded pace.")] = False,
    resume: Annotated[str | None, typer.Option(metavar="ID", help="Go on with a debate.")] = None,
    list: Annotated[bool, typer.Option("--list", help="Show the latest debates.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print events as JSON lines.")] = False,
) -> None:
    """Debate a QUESTION and watch it live."""
    from moot import commands

    if list:
        _run(commands.list_debates(as_json))
    tape = commands.Tape(record, replay, timing)
    if resume:
        _run(commands.resume(resume, question, tape, as_json))
    options = {"max_rounds": max_rounds, "stance_a": stance_a, "model": model}
    asked = commands.Asked(question, format, options, model_for or [], set or [])
    _run(commands.estimate(asked, as_json) if estimate else commands.debate(asked, tape, as_json))


@cli.command()
def show(debate_id: DebateId, as_json: AsJson = False) -> None:
    """Show a debate: its turns, its outcome, what went wrong."""
    from moot import commands

    _run(commands.show(debate_id, as_json))


@cli.command()
def stop(debate_id: DebateId) -> None:
    """Stop a debate after the step in progress; it can be resumed."""
    from moot import commands

    _run(commands.stop(debate_id))


@cli.command()
def conclude(debate_id: DebateId) -> None:
    """End the rounds after the step in progress, and go on to the verdict."""
    from moot import commands

    _run(commands.conclude(debate_id))


@cli.command()
def models() -> None:
    """Show which models can be reached, and what each seat would use."""
    from moot import commands

    _run(commands.models())


@cli.command()
def doctor() -> None:
    """Check the set-up, and say what to do about each problem."""
    from moot import commands

    _run(commands.doctor())


def _run(command: Coroutine[None, None, Exit]) -> NoReturn:
    from moot.commands import run_command

    raise typer.Exit(run_command(command))


def main() -> None:
    """The `moot` program."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    try:
        code = cli(sys.argv[1:] or ["--help"], prog_name="moot", standalone_mode=False)
    except typer.TyperException as error:
        sys.stderr.write(f"moot: {error.format_message().rstrip('.')}; see: moot --help\n")
        code = 2
    if "xllamacpp" in sys.modules:
        from moot.llm.local import leave

        leave(code or 0)
    sys.exit(code)

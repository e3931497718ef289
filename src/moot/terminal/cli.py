"""The terminal's commands: parse the words, hand them to `terminal.commands`. Heavy imports happen inside."""

from __future__ import annotations

import gc
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from moot.terminal import options
from moot.terminal.completion import install, show_script
from moot.terminal.demo_cli import demo
from moot.terminal.help import FIRST, FORMATS, Commands, beginning_with, below, misused, refuse_unused, with_examples
from moot.terminal.kept_cli import claims, export, perspectives, rate, show, stop, trace_commands, workflow
from moot.terminal.model_cli import allow, doctor, model_commands
from moot.terminal.options import FILE, Number
from moot.terminal.rejudge_cli import rejudge
from moot.terminal.running import run
from moot.terminal.screen import discard_stdout, open_missing_streams, reader_left
from moot.terminal.serve_cli import database_commands, mcp, serve, worker
from moot.terminal.template_cli import template_commands

if TYPE_CHECKING:
    from pydantic import JsonValue

    from moot.core.debate import Action

USUAL_FORMAT = "panel"
"""As `moot.formats` has it, which is slow to import."""


def _show_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        click.echo(f"moot {version('moot')}")
        context.exit()


@click.group(
    "moot",
    cls=Commands,
    epilog=f"{below(FIRST)}\n\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 waiting for a person, 4 stopped, 130 left at once.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version", "-V", is_flag=True, expose_value=False, is_eager=True, callback=_show_version, help="Show the version."
)
@install
@show_script
def cli() -> None:
    """Put a question before language models that argue it out, and get a decision you can check."""


@cli.command()
@click.argument("question", required=False, help="What to debate.")
@click.option(
    "--format",
    "-f",
    metavar="|".join(FORMATS),
    help="The rules of the debate.",
    show_default=f"{USUAL_FORMAT}; duel for a tiny local model",
    shell_complete=beginning_with(FORMATS),
)
@click.option("--perspectives", metavar="N|NAMES", help="How many debaters, or their perspectives: 3, or 'A,B'.")
@click.option(
    "--max-rounds", "-n", type=Number(), help="End after so many rounds at the latest.", show_default="the format's"
)
@click.option("--no-checkpoints", is_flag=True, help="Run through without asking a person between rounds.")
@click.option(
    "--source",
    "-s",
    multiple=True,
    type=click.Path(),
    metavar="PATH",
    help="A file, folder or 'pattern' of documents or code to argue from.",
)
@click.option("--research", is_flag=True, help="Let debaters look things up before they speak (docs/research.md).")
@click.option("--precedents", is_flag=True, help="Offer approved decisions of this folder as sources.")
@click.option("--stance-a", metavar="pro|con", help="Debater A's stance.")
@click.option("--quick", "-q", is_flag=True, help="Judge once: the price of a plain debate.")
@click.option("--careful", is_flag=True, help="Judge up to eight times.")
@click.option("--ballots", type=Number(), help="Ask so many models alone, in a poll or beside a duel or panel.")
@options.model
@options.model_for
@options.judges
@options.set
@click.option("--estimate", is_flag=True, help="Say what it would cost, and call no model.")
@options.record
@options.replay
@click.option("--timing", is_flag=True, help="Replay at the recorded pace.")
@click.option("--resume", metavar="ID", help="Go on, also with another --model.")
@click.option("--list", is_flag=True, help="Show the latest debates.")
@options.output
@options.events
@click.pass_context
def debate(
    context: click.Context,
    /,
    *,
    question: str | None,
    format: str | None,
    no_checkpoints: bool,
    source: tuple[str, ...],
    research: bool,
    precedents: bool,
    quick: bool,
    careful: bool,
    model_for: tuple[str, ...],
    set: tuple[str, ...],
    estimate: bool,
    record: Path | None,
    replay: Path | None,
    timing: bool,
    resume: str | None,
    list: bool,
    output: Path | None,
    as_json: bool,
    **chosen: JsonValue,
) -> None:
    """Debate a QUESTION and watch it live."""
    if list:
        from moot.terminal import listing

        refuse_unused(context, "beside --list", used=("list", "as_json"))
        run(listing.list_debates(as_json))
    from moot.terminal import commands, watch
    from moot.terminal.asked import Asked

    if not replay:
        refuse_unused(context, "without --replay", ["timing"])
    if estimate:
        refuse_unused(context, "beside --estimate", ["output", "record", "replay"])
    if quick and careful:
        raise click.BadParameter("give --quick or --careful, not both", context)
    if quick and chosen.get("judges"):
        raise click.BadParameter("further judges are not asked with --quick: leave --judges out, or --quick", context)
    chosen |= {"depth": "quick" if quick else "careful" if careful else None}
    chosen |= {"research": research or None, "precedents": precedents or None}
    asked = Asked(question, format or "", chosen, model_for, set, source, no_checkpoints)
    tape, how = commands.Tape(record, replay, timing), watch.watching(as_json, output)
    if resume:
        run(commands.resume(resume, asked, tape, how, estimate), runs_debates=True)
    if estimate:
        run(commands.estimate(asked, as_json))
    run(commands.debate(asked, tape, how), runs_debates=True)


@cli.command()
@options.debate_id
@click.option(
    "--at", type=Number(), help="Begin with its first N turns; without it with as many as leave something to play."
)
@options.model
@options.model_for
@options.set
@options.output
@options.events
def fork(
    debate_id: str,
    at: int | None,
    model: str | None,
    model_for: tuple[str, ...],
    set: tuple[str, ...],
    output: Path | None,
    as_json: bool,
) -> None:
    """Go on from the first turns of a debate in a new one, with other models or settings."""
    from moot.terminal import commands, watch
    from moot.terminal.asked import Asked

    asked = Asked(None, "", {"model": model}, model_for, set)
    run(commands.fork(debate_id, at, asked, watch.watching(as_json, output)), runs_debates=True)


@cli.command()
@click.argument(
    "paths", nargs=-1, required=True, type=FILE, metavar="PATH…", help="A markdown file or a folder with idea.md."
)
@click.option(
    "--debate/--no-debate", default=True, show_default=True, help="Argue the scores, or stop once there are some."
)
@click.option("--topics", type=FILE, metavar="FILE", help="Topics of your own.")
@click.option("--output", "-o", type=FILE, metavar="PLACE", help="Where the report goes.")
@click.option("--compare", is_flag=True, help="Show how scores moved since the last time.")
@options.model
@options.model_for
@options.judges
@options.set
@options.record
@options.replay
@options.events
def evaluate(
    paths: tuple[Path, ...],
    debate: bool,
    topics: Path | None,
    output: Path | None,
    compare: bool,
    model: str | None,
    model_for: tuple[str, ...],
    judges: str | None,
    set: tuple[str, ...],
    record: Path | None,
    replay: Path | None,
    as_json: bool,
) -> None:
    """Have an idea defended, attacked and scored; several ideas end in a ranking."""
    from moot.terminal import commands
    from moot.terminal import evaluate as ideas
    from moot.terminal.asked import Asked

    asked = Asked(None, "evaluation", {"model": model, "judges": judges}, model_for, set)
    wanted = ideas.Evaluating(debate, topics, output, compare, as_json)
    run(ideas.evaluate(paths, wanted, asked, commands.Tape(record, replay)), runs_debates=True)


@cli.command()
@options.debate_id
@click.option("--continue", "go_on", is_flag=True, help="Let the next round begin.")
@click.option("--guide", metavar="TEXT", help="Guidance for all that follows.")
@click.option("--end", is_flag=True, help="End the rounds and conclude.")
@click.option("--answer", metavar="TEXT", help="The answer to a question.")
@click.option("--approve", is_flag=True, help="Approve the decision.")
@click.option("--reject", metavar="REASON", help="Reject the decision; '' for no reason.")
@click.option("--output", "-o", type=FILE, metavar="DIR", help="Where an approved decision is written.")
@options.record
@options.replay
@options.events
def reply(
    debate_id: str,
    go_on: bool,
    guide: str | None,
    end: bool,
    answer: str | None,
    approve: bool,
    reject: str | None,
    output: Path | None,
    record: Path | None,
    replay: Path | None,
    as_json: bool,
) -> None:
    """Answer a debate that waits, and go on with it; or guide one that runs."""
    from moot.terminal import commands, watch

    given: dict[Action, str | bool | None] = {
        "continue": go_on,
        "guide": guide,
        "end": end,
        "answer": answer,
        "approve": approve,
        "reject": reject,
    }
    tape, how = commands.Tape(record, replay), watch.watching(as_json, output)
    run(commands.reply(debate_id, given, tape, how), runs_debates=True)


@cli.command()
@options.debate_id
def conclude(debate_id: str) -> None:
    """End the rounds after the step in progress, and go on to the verdict."""
    from moot.terminal import commands

    run(commands.conclude(debate_id), runs_debates=True)


for command in (
    show,
    stop,
    rate,
    export,
    workflow,
    claims,
    perspectives,
    demo,
    rejudge,
    serve,
    worker,
    mcp,
    doctor,
    allow,
):
    cli.add_command(command)
for group in (template_commands, trace_commands, database_commands, model_commands):
    cli.add_command(group)
with_examples(cli)


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

"""The terminal's commands: parse the words, hand them to `terminal.commands`. Heavy imports happen inside."""

from __future__ import annotations

import gc
import sys
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moot.terminal.demo_cli import demo
from moot.terminal.help import FIRST, FORMATS, Commands, below, complete_format, misused, refuse_unused, with_examples
from moot.terminal.model_cli import allow, doctor, model_commands
from moot.terminal.options import (
    AsJson,
    DebateId,
    EventsAsJson,
    Judges,
    Model,
    ModelFor,
    Output,
    Record,
    Replay,
    Set,
)
from moot.terminal.rejudge_cli import rejudge
from moot.terminal.running import run
from moot.terminal.screen import discard_stdout, open_missing_streams, reader_left
from moot.terminal.serve_cli import database_commands, mcp, serve, worker
from moot.terminal.template_cli import template_commands

if TYPE_CHECKING:
    from moot.core.debate import Action

cli = typer.Typer(
    name="moot",
    help="Put a question before language models that argue it out, and get a decision you can check.",
    epilog=f"{below(FIRST)}\n\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 waiting for a person, 4 stopped, 130 left at once.",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
USUAL_FORMAT = "panel"
"""As `moot.formats` has it, which is slow to import."""


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
    context: typer.Context,
    question: Annotated[str | None, typer.Argument(metavar="QUESTION", help="What to debate.")] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            metavar="|".join(FORMATS),
            help="The rules of the debate.",
            show_default=f"{USUAL_FORMAT}; duel for a tiny local model",
            autocompletion=complete_format,
        ),
    ] = None,
    perspectives: Annotated[
        str | None, typer.Option(metavar="N|NAMES", help="How many debaters, or their perspectives: 3, or 'A,B'.")
    ] = None,
    max_rounds: Annotated[
        int | None,
        typer.Option("--max-rounds", "-n", help="End after so many rounds at the latest.", show_default="the format's"),
    ] = None,
    no_checkpoints: Annotated[
        bool, typer.Option("--no-checkpoints", help="Run through without asking a person between rounds.")
    ] = False,
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--source", "-s", metavar="PATH", help="A file, folder or 'pattern' of documents or code to argue from."
        ),
    ] = None,
    research: Annotated[
        bool, typer.Option("--research", help="Let debaters look things up before they speak (docs/research.md).")
    ] = False,
    precedents: Annotated[
        bool, typer.Option("--precedents", help="Offer approved decisions of this folder as sources.")
    ] = False,
    stance_a: Annotated[str | None, typer.Option(metavar="pro|con", help="Debater A's stance.")] = None,
    quick: Annotated[bool, typer.Option("--quick", "-q", help="Judge once: the price of a plain debate.")] = False,
    careful: Annotated[bool, typer.Option("--careful", help="Judge up to eight times.")] = False,
    ballots: Annotated[
        int | None, typer.Option(help="Ask so many models alone, in a poll or beside a duel or panel.")
    ] = None,
    model: Model = None,
    model_for: ModelFor = None,
    judges: Judges = None,
    set: Set = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Say what it would cost, and call no model.")] = False,
    record: Record = None,
    replay: Replay = None,
    timing: Annotated[bool, typer.Option("--timing", help="Replay at the recorded pace.")] = False,
    resume: Annotated[str | None, typer.Option(metavar="ID", help="Go on, also with another --model.")] = None,
    list: Annotated[bool, typer.Option("--list", help="Show the latest debates.")] = False,
    output: Output = None,
    as_json: EventsAsJson = False,
) -> None:
    """Debate a QUESTION and watch it live."""
    if list:
        from moot.terminal import kept

        refuse_unused(context, "beside --list", used=("list", "as_json"))
        run(kept.list_debates(as_json))
    from moot.terminal import commands, watch
    from moot.terminal.asked import Asked

    if not replay:
        refuse_unused(context, "without --replay", ["timing"])
    if estimate:
        refuse_unused(context, "beside --estimate", ["output", "record", "replay"])
    tape, how = commands.Tape(record, replay, timing), watch.watching(as_json, output)
    if quick and careful:
        raise typer.BadParameter("give --quick or --careful, not both")
    options = {
        "perspectives": perspectives,
        "max_rounds": max_rounds,
        "stance_a": stance_a,
        "ballots": ballots,
        "depth": "quick" if quick else "careful" if careful else None,
        "model": model,
        "research": research or None,
        "precedents": precedents or None,
        "judges": judges,
    }
    asked = Asked(question, format or "", options, model_for or [], set or [], source or [], no_checkpoints)
    if resume:
        run(commands.resume(resume, asked, tape, how, estimate), runs_debates=True)
    if estimate:
        run(commands.estimate(asked, as_json))
    run(commands.debate(asked, tape, how), runs_debates=True)


@cli.command()
def fork(
    debate_id: DebateId,
    at: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Begin with its first N turns; without it with as many as leave something to play."
        ),
    ] = None,
    model: Model = None,
    model_for: ModelFor = None,
    set: Set = None,
    output: Output = None,
    as_json: EventsAsJson = False,
) -> None:
    """Go on from the first turns of a debate in a new one, with other models or settings."""
    from moot.terminal import commands, watch
    from moot.terminal.asked import Asked

    asked = Asked(None, "", {"model": model}, model_for or [], set or [])
    run(commands.fork(debate_id, at, asked, watch.watching(as_json, output)), runs_debates=True)


@cli.command()
def evaluate(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH…", help="A markdown file or a folder with idea.md.")],
    debate: Annotated[bool, typer.Option(help="Argue the scores, or stop once there are some.")] = True,
    topics: Annotated[Path | None, typer.Option(metavar="FILE", help="Topics of your own.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PLACE", help="Where the report goes.")
    ] = None,
    compare: Annotated[bool, typer.Option("--compare", help="Show how scores moved since the last time.")] = False,
    model: Model = None,
    model_for: ModelFor = None,
    judges: Judges = None,
    set: Set = None,
    record: Record = None,
    replay: Replay = None,
    as_json: EventsAsJson = False,
) -> None:
    """Have an idea defended, attacked and scored; several ideas end in a ranking."""
    from moot.terminal import commands
    from moot.terminal import evaluate as ideas
    from moot.terminal.asked import Asked

    asked = Asked(None, "evaluation", {"model": model}, model_for or [], set or [])
    wanted = ideas.Evaluating(debate, topics, output, compare, as_json)
    run(ideas.evaluate(paths, wanted, asked, commands.Tape(record, replay)), runs_debates=True)


@cli.command()
def reply(
    debate_id: DebateId,
    go_on: Annotated[bool, typer.Option("--continue", help="Let the next round begin.")] = False,
    guide: Annotated[str | None, typer.Option(metavar="TEXT", help="Guidance for all that follows.")] = None,
    end: Annotated[bool, typer.Option("--end", help="End the rounds and conclude.")] = False,
    answer: Annotated[str | None, typer.Option(metavar="TEXT", help="The answer to a question.")] = None,
    approve: Annotated[bool, typer.Option("--approve", help="Approve the decision.")] = False,
    reject: Annotated[str | None, typer.Option(metavar="REASON", help="Reject the decision; '' for no reason.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Where an approved decision is written.")
    ] = None,
    record: Record = None,
    replay: Replay = None,
    as_json: EventsAsJson = False,
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
def rate(
    debate_id: DebateId,
    stars: Annotated[int, typer.Argument(metavar="STARS", help="1 to 5.")],
    comment: Annotated[str, typer.Option(help="Why.")] = "",
) -> None:
    """Rate the outcome of a debate."""
    from moot.terminal import kept

    run(kept.rate(debate_id, stars, comment))


@cli.command()
def export(
    context: typer.Context,
    debate_id: Annotated[str | None, typer.Argument(metavar="ID", help="The debate, DEB-…")] = None,
    style: Annotated[
        str, typer.Option("--as", metavar="md|json|html|argdown|aif|jsonl", help="The form of it; jsonl for many.")
    ] = "md",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PATH", help="A new file instead of the screen; a new folder for many."),
    ] = None,
    all: Annotated[bool, typer.Option("--all", help="Many debates, with a manifest.")] = False,
    status: Annotated[str, typer.Option(help="Of many, those of this status; any for all.")] = "finished",
    format: Annotated[str | None, typer.Option(help="Of many, those of this format.")] = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Of many, those created since then.")] = None,
) -> None:
    """Print a debate as a document: the decision or the transcript, the whole trace, a page, or an argument map."""
    from moot.terminal import kept

    if all:
        refuse_unused(context, "beside --all", ["debate_id"])
        run(kept.export_all(output, style, status, format, since))
    refuse_unused(context, "without --all", ["status", "format", "since"])
    run(kept.export(debate_id, style, output))


@cli.command()
def workflow(debate_id: DebateId) -> None:
    """Make an issue of a decision and hand it to what moot.yaml names."""
    from moot.terminal import kept

    run(kept.workflow(debate_id))


@cli.command()
def perspectives() -> None:
    """Show the perspectives a panel can be cast from."""
    from moot.terminal import kept

    run(kept.perspectives())


@cli.command()
def show(
    debate_id: DebateId,
    as_json: AsJson = False,
    sources: Annotated[bool, typer.Option("--sources", help="What became of its sources instead.")] = False,
    source: Annotated[str | None, typer.Option(metavar="S1", help="The text of one source instead.")] = None,
    claims: Annotated[
        bool, typer.Option("--claims", help="What was claimed, what was said to it, how it ended.")
    ] = False,
) -> None:
    """Show a debate: its turns, its outcome, what went wrong."""
    from moot.terminal import kept

    if claims + sources + (source is not None) > 1:
        raise typer.BadParameter("give one of --claims, --sources and --source")
    run(kept.show(debate_id, as_json, sources, source, claims))


@cli.command()
def stop(debate_id: DebateId) -> None:
    """Stop a debate after the step in progress; it can be resumed."""
    from moot.terminal import kept

    run(kept.stop(debate_id))


@cli.command()
def conclude(debate_id: DebateId) -> None:
    """End the rounds after the step in progress, and go on to the verdict."""
    from moot.terminal import commands

    run(commands.conclude(debate_id), runs_debates=True)


for command in (demo, rejudge):
    cli.command()(command)
cli.add_typer(template_commands, name="templates")


@cli.command()
def claims(
    words: Annotated[str, typer.Argument(metavar="WORDS", help="What they are about.")], as_json: AsJson = False
) -> None:
    """Show where a claim was made in any debate, by whom, and how it ended."""
    from moot.terminal import kept

    run(kept.claims(words, as_json))


traces = typer.Typer(help="What all debates together tell.", no_args_is_help=True)
cli.add_typer(traces, name="traces")


@traces.command("stats")
def stats(as_json: AsJson = False) -> None:
    """Ratings, rounds, early stops and tokens, by format and model."""
    from moot.terminal import kept

    run(kept.stats(as_json))


for process in (serve, worker, mcp):
    cli.command()(process)
cli.add_typer(database_commands, name="db")


cli.add_typer(model_commands, name="models")
for setting_up in (doctor, allow):
    cli.command()(setting_up)


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
        code = cli(sys.argv[1:] or ["--help"], prog_name="moot", standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        code = misused(error)
    except OSError as error:  # of an output, most likely
        discard_stdout()
        code = _tell(error)
    if "xllamacpp" in sys.modules:
        from moot.llm.local import leave

        leave(code or 0)
    sys.exit(code)

"""The commands about debates that are kept: parse the words, hand them to `terminal.kept`."""

from __future__ import annotations

from pathlib import Path

import click

from moot.terminal import options
from moot.terminal.help import FORMATS, Commands, beginning_with, refuse_unused
from moot.terminal.options import FILE, Number
from moot.terminal.running import run

EXPORTS = ("md", "json", "html", "argdown", "aif", "jsonl")


@click.command()
@options.debate_id
@click.argument("stars", type=Number(), help="1 to 5.")
@click.option("--comment", default="", metavar="TEXT", help="Why.")
def rate(debate_id: str, stars: int, comment: str) -> None:
    """Rate the outcome of a debate."""
    from moot.terminal import kept

    run(kept.rate(debate_id, stars, comment))


@click.command()
@click.argument("debate_id", required=False, metavar="[ID]", help="The debate, DEB-…")
@click.option(
    "--as",
    "style",
    default="md",
    show_default=True,
    metavar="|".join(EXPORTS),
    help="The form of it; jsonl for many.",
    shell_complete=beginning_with(EXPORTS),
)
@click.option(
    "--output", "-o", type=FILE, metavar="PATH", help="A new file instead of the screen; a new folder for many."
)
@click.option("--all", is_flag=True, help="Many debates, with a manifest.")
@click.option("--status", default="finished", show_default=True, help="Of many, those of this status; any for all.")
@click.option("--format", help="Of many, those of this format.", shell_complete=beginning_with(FORMATS))
@click.option("--since", metavar="TIME", help="Of many, those created since then.")
@click.pass_context
def export(
    context: click.Context,
    debate_id: str | None,
    style: str,
    output: Path | None,
    all: bool,
    status: str,
    format: str | None,
    since: str | None,
) -> None:
    """Print a debate as a document: the decision or the transcript, the whole trace, a page, or an argument map."""
    from moot.terminal import kept

    if all:
        refuse_unused(context, "beside --all", ["debate_id"])
        run(kept.export_all(output, style, status, format, since))
    refuse_unused(context, "without --all", ["status", "format", "since"])
    run(kept.export(debate_id, style, output))


@click.command()
@options.debate_id
def workflow(debate_id: str) -> None:
    """Make an issue of a decision and hand it to what moot.yaml names."""
    from moot.terminal import kept

    run(kept.workflow(debate_id))


@click.command()
def perspectives() -> None:
    """Show the perspectives a panel can be cast from."""
    from moot.terminal import kept

    run(kept.perspectives())


@click.command()
@options.debate_id
@options.json
@click.option("--sources", is_flag=True, help="What became of its sources instead.")
@click.option("--source", metavar="S1", help="The text of one source instead.")
@click.option("--claims", is_flag=True, help="What was claimed, what was said to it, how it ended.")
def show(debate_id: str, as_json: bool, sources: bool, source: str | None, claims: bool) -> None:
    """Show a debate: its turns, its outcome, what went wrong."""
    from moot.terminal import kept

    if claims + sources + (source is not None) > 1:
        raise click.BadParameter("give one of --claims, --sources and --source", click.get_current_context())
    run(kept.show(debate_id, as_json, sources, source, claims))


@click.command()
@options.debate_id
def stop(debate_id: str) -> None:
    """Stop a debate after the step in progress; it can be resumed."""
    from moot.terminal import kept

    run(kept.stop(debate_id))


@click.command()
@click.argument("words", help="What they are about.")
@options.json
def claims(words: str, as_json: bool) -> None:
    """Show where a claim was made in any debate, by whom, and how it ended."""
    from moot.terminal import kept

    run(kept.claims(words, as_json))


@click.group("traces", cls=Commands)
def trace_commands() -> None:
    """What all debates together tell."""


@trace_commands.command()
@options.json
def stats(as_json: bool) -> None:
    """Ratings, rounds, early stops and tokens, by format and model."""
    from moot.terminal import kept

    run(kept.stats(as_json))

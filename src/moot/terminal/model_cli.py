"""The commands about models and the set-up: parse the words, hand them to `terminal.doctor`, `terminal.pulling`
and `terminal.allow`.
"""

from __future__ import annotations

from pathlib import Path

import click

from moot.terminal.help import Commands, refuse_unused
from moot.terminal.options import FILE
from moot.terminal.running import run


@click.group("models", cls=Commands, invoke_without_command=True)
@click.pass_context
def model_commands(context: click.Context) -> None:
    """Show which models can be reached, and what each seat would use."""
    if context.invoked_subcommand is None:
        from moot.terminal import doctor as checks

        run(checks.models())


@model_commands.command()
@click.argument("source", help="smollm2, https://…/FILE.gguf, or OWNER/REPOSITORY/FILE.gguf.")
@click.option("--name", help="What to call it: local:NAME; without it as its file is called.")
@click.option(
    "--hub",
    envvar="HF_ENDPOINT",
    show_envvar=True,
    metavar="URL",
    default="https://huggingface.co",
    show_default=True,
    help="The hub that OWNER/REPOSITORY is on.",
)
@click.option("--sha256", metavar="SUM", help="What the file's SHA-256 must be.")
def pull(source: str, name: str | None, hub: str, sha256: str | None) -> None:
    """Get a GGUF file for llama.cpp; local:NAME is a model from then on. A cut download goes on when asked again."""
    from moot.terminal import pulling

    run(pulling.pull(source, name, hub, sha256))


@click.command()
def doctor() -> None:
    """Check the set-up, and say what to do about each problem."""
    from moot.terminal import doctor as checks

    run(checks.doctor())


@click.command()
@click.argument("folder", type=FILE, default=Path(), metavar="[FOLDER]", help="Where the file is; here when left out.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--revoke", is_flag=True, help="Take it back.")
@click.option("--list", is_flag=True, help="Show the files that were allowed or refused.")
@click.pass_context
def allow(context: click.Context, folder: Path, yes: bool, revoke: bool, list: bool) -> None:
    """Let the moot.yaml of a folder name servers, programs, addresses and files."""
    from moot.terminal import allow as allowing

    if list:
        refuse_unused(context, "beside --list", used=["list"])
    context.exit(allowing.run(folder, yes, revoke, list))

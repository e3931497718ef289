"""The commands about models and the set-up: parse the words, hand them to `terminal.doctor`, `terminal.pulling`
and `terminal.allow`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moot.terminal.help import refuse_unused
from moot.terminal.running import run

model_commands = typer.Typer(invoke_without_command=True)


@model_commands.callback()
def models(context: typer.Context) -> None:
    """Show which models can be reached, and what each seat would use."""
    if context.invoked_subcommand is None:
        from moot.terminal import doctor as checks

        run(checks.models())


@model_commands.command("pull")
def pull(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="smollm2, https://…/FILE.gguf, or OWNER/REPOSITORY/FILE.gguf.")
    ],
    name: Annotated[
        str | None, typer.Option(help="What to call it: local:NAME; without it as its file is called.")
    ] = None,
    hub: Annotated[
        str, typer.Option(envvar="HF_ENDPOINT", metavar="URL", help="The hub that OWNER/REPOSITORY is on.")
    ] = "https://huggingface.co",
    sha256: Annotated[str | None, typer.Option(metavar="SUM", help="What the file's SHA-256 must be.")] = None,
) -> None:
    """Get a GGUF file for llama.cpp; local:NAME is a model from then on. A cut download goes on when asked again."""
    from moot.terminal import pulling

    run(pulling.pull(source, name, hub, sha256))


def doctor() -> None:
    """Check the set-up, and say what to do about each problem."""
    from moot.terminal import doctor as checks

    run(checks.doctor())


def allow(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the file is; here when left out.")] = Path(),
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Take it back.")] = False,
    list: Annotated[bool, typer.Option("--list", help="Show the files that were allowed or refused.")] = False,
) -> None:
    """Let the moot.yaml of a folder name servers, programs, addresses and files."""
    from moot.terminal import allow as allowing

    if list:
        refuse_unused(context, "beside --list", used=["list"])
    raise typer.Exit(allowing.run(folder, yes, revoke, list))

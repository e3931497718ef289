"""The commands about reasoning templates: parse the words, hand them to `terminal.templates`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moot.terminal.running import run

template_commands = typer.Typer(help="Reasoning templates: moot's own and yours.", no_args_is_help=True)
TemplateName = Annotated[str, typer.Argument(metavar="NAME")]


@template_commands.command("list")
def list_templates() -> None:
    """Show all templates, and what each is for."""
    from moot.terminal import templates

    run(templates.list_templates())


@template_commands.command("show")
def show_template(name: TemplateName) -> None:
    """Show one template as a model reads it."""
    from moot.terminal import templates

    run(templates.show_template(name))


@template_commands.command("search")
def search_templates(
    question: Annotated[str, typer.Argument(metavar="QUESTION")],
    top: Annotated[int, typer.Option(metavar="N", min=1, help="How many.")] = 3,
) -> None:
    """Show which templates a question would get."""
    from moot.terminal import templates

    run(templates.search_templates(question, top))


@template_commands.command("add")
def add_template(file: Annotated[Path, typer.Argument(metavar="FILE")]) -> None:
    """Check a template of your own and keep it."""
    from moot.terminal import templates

    run(templates.add_template(file))


@template_commands.command("remove")
def remove_template(name: TemplateName) -> None:
    """Remove a template of your own."""
    from moot.terminal import templates

    run(templates.remove_template(name))

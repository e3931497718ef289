"""The commands about reasoning templates: parse the words, hand them to `terminal.templates`."""

from __future__ import annotations

from pathlib import Path

import click

from moot.terminal.help import Commands
from moot.terminal.options import FILE, Number
from moot.terminal.running import run


@click.group("templates", cls=Commands)
def template_commands() -> None:
    """Reasoning templates: moot's own and yours."""


@template_commands.command("list")
def list_templates() -> None:
    """Show all templates, and what each is for."""
    from moot.terminal import templates

    run(templates.list_templates())


@template_commands.command("show")
@click.argument("name", help="As `moot templates list` shows it.")
def show_template(name: str) -> None:
    """Show one template as a model reads it."""
    from moot.terminal import templates

    run(templates.show_template(name))


@template_commands.command("search")
@click.argument("question", help="What would be debated.")
@click.option("--top", type=Number(1), default=3, show_default=True, help="How many.")
def search_templates(question: str, top: int) -> None:
    """Show which templates a question would get."""
    from moot.terminal import templates

    run(templates.search_templates(question, top))


@template_commands.command("add")
@click.argument("file", type=FILE, help="Markdown, as docs/templates.md describes it.")
def add_template(file: Path) -> None:
    """Check a template of your own and keep it."""
    from moot.terminal import templates

    run(templates.add_template(file))


@template_commands.command("remove")
@click.argument("name", help="One of your own.")
def remove_template(name: str) -> None:
    """Remove a template of your own."""
    from moot.terminal import templates

    run(templates.remove_template(name))

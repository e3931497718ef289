"""What helps to write a command: words to complete, and what was meant by a wrong one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from moot.errors import meant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_FOLDER = Path(__file__).parent.parent / "formats"
FORMATS = sorted(file.parent.name for file in _FOLDER.glob("*/format.py"))
"""Those of moot, as `moot.formats` has them, which is slow to import; packages may add others."""
USUAL_FORMAT = "panel"
EXAMPLE_DEBATES = ("caching", "backup", "parts-shelf", "four-day-week")
"""As `moot.examples` has them."""
PROVIDERS = "deepseek openai anthropic gemini openrouter mistral groq together xai ollama vllm llamacpp lmstudio local"
_TOO_MUCH = "Got unexpected extra argument"
"""How click begins to say so."""


def beginning_with(words: Iterable[str]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """What completes a word that is begun."""
    known = [*words]
    return lambda context, parameter, begun: [word for word in known if word.startswith(begun)]


def misused(error: click.ClickException) -> int:
    """Tell what is wrong with the words of a command; its exit code."""
    if type(error).__name__ == "NoArgsIsHelpError":  # a group without its command: what there is
        click.echo(error.format_message())
        return 0
    from moot.terminal.exits import Exit, print_error

    return print_error(_in_a_line(error), Exit.USAGE)


def _in_a_line(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    said = error.format_message().strip().rstrip(".").removeprefix("Invalid value: ")
    if said.startswith("Invalid value for "):
        where, _, what = said.removeprefix("Invalid value for ").partition(": ")
        said = ": ".join([where.replace("'", "").strip("[]"), what])
    if isinstance(error, click.NoSuchOption):
        said = f"there is no option {error.option_name}{meant(error.option_name, error.possibilities or ())}"
    elif isinstance(error, click.exceptions.NoSuchCommand):
        said = f"there is no command {error.command_name!r}{meant(error.command_name, error.possibilities or ())}"
    elif isinstance(error, click.MissingParameter) and error.param:
        said = error.param.get_error_hint(context).replace("'", "") + " is missing"
    elif said.startswith(_TOO_MUCH):
        said = f"too many words: {said.partition('(')[2].removesuffix(')')}"
        if context and any(isinstance(each, click.Argument) for each in context.command.params):
            said += "; put quotes around those that belong together"
    said = said[:1].lower() + said[1:] if said.startswith("Option ") else said
    return f"{said}{'' if said.endswith('?') else ';'} see: {context.command_path if context else 'moot'} --help"

"""What helps to write a command: examples below its help, words to complete, what was meant by a wrong one."""

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
EXAMPLE_DEBATES = ("caching", "backup", "parts-shelf", "four-day-week")
"""As `moot.examples` has them."""
PROVIDERS = "deepseek openai anthropic gemini openrouter mistral groq together xai ollama vllm llamacpp lmstudio local"
EXAMPLES = {
    "debate": (
        'moot debate "Should we use Redis or PostgreSQL for caching?" --source our-numbers.pdf',
        'moot debate "Tabs are better than spaces" -f duel -m ollama:qwen3:32b',
        'moot debate "Which database?" --perspectives 3 --no-checkpoints --estimate',
        "moot debate --resume DEB-k3v8q2ab --model openai:gpt-4.1",
    ),
    "fork": ("moot fork DEB-k3v8q2ab --at 4 -m openai:gpt-4.1",),
    "evaluate": ("moot evaluate ideas/balcony-solar", "moot evaluate ideas/* --compare"),
    "reply": ('moot reply DEB-k3v8q2ab --guide "Think of the three-person team"', "moot reply DEB-k3v8q2ab --approve"),
    "rate": ('moot rate DEB-k3v8q2ab 4 --comment "Missed the licence"',),
    "export": (
        "moot export DEB-k3v8q2ab --as html -o decision.html",
        "moot export --all --as jsonl -o traces --since 2026-01-01",
    ),
    "workflow": ("moot workflow DEB-k3v8q2ab",),
    "perspectives": ("moot perspectives",),
    "show": ("moot show DEB-k3v8q2ab", "moot show DEB-k3v8q2ab --claims"),
    "stop": ("moot stop DEB-k3v8q2ab",),
    "conclude": ("moot conclude DEB-k3v8q2ab",),
    "rejudge": ("moot rejudge DEB-k3v8q2ab --judge anthropic:claude-sonnet-4-5 --judgings 8",),
    "claims": ('moot claims "latency"',),
    "serve": ("moot serve", "MOOT_TOKEN=… moot serve --host 0.0.0.0 --port 80"),
    "worker": ("MOOT_DATABASE_URL=postgresql://… moot worker --concurrency 20",),
    "mcp": ("claude mcp add moot -- moot mcp", "moot mcp --http --port 8322"),
    "doctor": ("moot doctor",),
    "demo": ("moot demo", "moot demo --speed 3"),
    "allow": ("moot allow", "moot allow --list"),
    "models pull": ("moot models pull https://…/qwen3-4b.gguf --name qwen3", "moot debate … -m local:qwen3"),
    "traces stats": ("moot traces stats --json",),
    "db upgrade": ("moot db upgrade",),
    "templates list": ("moot templates list",),
    "templates show": ("moot templates show fermi-estimate",),
    "templates search": ('moot templates search "How many piano tuners are in Chicago?" --top 1',),
    "templates add": ("moot templates add my-template.md",),
    "templates remove": ("moot templates remove my-template",),
}
"""By the words of the command."""


FIRST = (*EXAMPLES["demo"][:1], EXAMPLES["debate"][1], *EXAMPLES["doctor"])
"""What a newcomer does first."""
_TOO_MUCH = "Got unexpected extra argument"
"""How click begins to say so."""


class Commands(click.Group):
    """A group that tells what each of its commands does in a whole sentence, in the order in which they stand here."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(limit=200)) for name, each in self.commands.items()])

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.commands]

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except click.BadOptionUsage as error:  # click does not say of which command
            if not error.ctx and ctx.invoked_subcommand:
                error.ctx = click.Context(self.commands[ctx.invoked_subcommand], ctx, ctx.invoked_subcommand)
            raise


def with_examples(group: click.Group, words: str = "") -> None:
    """Put the examples of its commands below their help, and the first of each below that of a group."""
    for name, command in group.commands.items():
        command.context_settings = {"help_option_names": ["-h", "--help"]}
        if isinstance(command, click.Group):
            with_examples(command, f"{name} ")
            command.epilog = below([shown[0] for called, shown in EXAMPLES.items() if called.startswith(f"{name} ")])
        else:
            command.epilog = below(EXAMPLES[f"{words}{name}"])


def below(examples: Iterable[str]) -> str:
    return "\b\n" + "\n".join(("Examples:", *(f"  {example}" for example in examples)))


def beginning_with(words: Iterable[str]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """What completes a word that is begun."""
    known = [*words]
    return lambda context, parameter, begun: [word for word in known if word.startswith(begun)]


def refuse_unused(context: click.Context, beside: str, unused: Iterable[str] = (), used: Iterable[str] = ()) -> None:
    """Raises BadParameter for what was given although it has no effect: one of `unused`, or all but what is `used`."""
    names = set(unused) or {parameter.name for parameter in context.command.params} - set(used)
    for parameter in context.command.params:
        given = context.get_parameter_source(parameter.name)
        if parameter.name in names and given and given.name == "COMMANDLINE":
            raise click.BadParameter(f"has no effect {beside}", ctx=context, param=parameter)


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

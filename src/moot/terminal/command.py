"""A command of the terminal: its words, and where its code is, which is imported when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from moot.terminal.doing import Command as Doing

HELP = {"help_option_names": ["-h", "--help"]}


class _Help(click.HelpFormatter):
    """Fits narrow terminals too, where click would break words: it takes none to have less than this."""

    LEAST = 50

    def __init__(self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None) -> None:
        import shutil  # slow to import

        room = shutil.get_terminal_size().columns - 2
        super().__init__(indent_increment, max(room, 20) if room < self.LEAST else width, max_width)

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl(rows, col_max if self.width >= self.LEAST else self.width // 3, col_spacing)


class Context(click.Context):
    formatter_class = _Help


class Command(click.Command):
    """`does` is a function, or the module of the terminal and its function, after which the command is named.

    It is given what was parsed, and returns what is to be done, or an exit code when that is done. Without examples it
    is called with a debate, if it takes one, and nothing else.
    """

    context_class = Context

    def __init__(
        self,
        does: str | Callable[..., int],
        help: str,
        *takes: click.Parameter,
        examples: Sequence[str] = (),
        runs_debates: bool = False,
        stays: bool = False,
    ) -> None:
        name = does.partition(".")[2] if isinstance(does, str) else does.__name__.strip("_")
        debate = " DEB-k3v8q2ab" if takes and takes[0].name == "debate_id" else ""
        self.examples = examples or (f"moot {name}{debate}",)
        super().__init__(name, HELP, self._call, [*takes], help, below(self.examples))
        self._does = does
        self._how = runs_debates, stays

    def does(self) -> Callable[..., Doing | int]:
        if not isinstance(self._does, str):
            return self._does
        module, _, function = self._does.partition(".")
        found: Callable[..., Doing | int] = getattr(import_module(f"moot.terminal.{module}"), function)
        return found

    def _call(self, **given: Any) -> NoReturn:
        done = self.does()(**given)
        raise click.exceptions.Exit(done if isinstance(done, int) else run(done, *self._how))


class Commands(click.Group):
    """A group that tells what each of its commands does in a whole sentence, in the order in which they stand here."""

    context_class = Context

    def __init__(self, name: str, help: str, *commands: click.Command, **more: Any) -> None:
        examples = [command.examples[0] for command in commands if isinstance(command, Command)]
        shown: dict[str, Any] = {"help": help, "epilog": below(examples), "context_settings": HELP}
        super().__init__(name, [*commands], **shown | more)

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


def run(doing: Doing, runs_debates: bool = False, stays: bool = False) -> int:
    """The exit code to which a command comes; nothing heavy is imported before there is one."""
    from moot.terminal.doing import run_command

    return run_command(doing, runs_debates, stays)


def below(examples: Iterable[str]) -> str:
    return "\b\n" + "\n".join(("Examples:", *(f"  {example}" for example in examples)))


def refuse_unused(beside: str, unused: Iterable[str] = (), used: Iterable[str] = ()) -> None:
    """Raises BadParameter for what was given although it has no effect: one of `unused`, or all but what is `used`."""
    context = click.get_current_context()
    names = set(unused) or {parameter.name for parameter in context.command.params} - set(used)
    for parameter in context.command.params:
        given = context.get_parameter_source(parameter.name)
        if parameter.name in names and given and given.name == "COMMANDLINE":
            raise click.BadParameter(f"has no effect {beside}", ctx=context, param=parameter)


def refuse(message: str) -> NoReturn:
    """Raises BadParameter for words that do not go together."""
    raise click.BadParameter(message, click.get_current_context())

"""The options that several commands have, and how numbers are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from moot.terminal.help import PROVIDERS, beginning_with


class Number(click.ParamType[float]):
    """A number, refused in moot's words."""

    name = "N"

    def __init__(self, least: int | None = None, most: int | None = None, kind: type[float] = int) -> None:
        self.least, self.most, self.kind = least, most, kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = self.kind(value)
        except ValueError:
            self.fail(f"write a {'whole ' if self.kind is int else ''}number, not {value!r}", param, ctx)
        if self.least is not None and not number >= self.least:
            self.fail(f"at least {self.least:,}, not {value}", param, ctx)
        if self.most is not None and not number <= self.most:
            self.fail(f"at most {self.most:,}, not {value}", param, ctx)
        return number


NUMBER = Number()
PORT = Number(0, 65535)
FILE = click.Path(path_type=Path)


class _Option(click.Option):
    """Refuses a value that is none, as of a variable that nobody set: it would have no effect, or stand for here."""

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        for each in value if isinstance(value, tuple | list) else (value,):
            if isinstance(each, str) and not each.strip(" ,"):
                raise click.UsageError(f"{self.opts[0]} is empty: say which, or leave it out", ctx)
        return super().type_cast_value(ctx, value)


def option(*names: str, **about: Any) -> click.Option:
    return _Option(names, **about)


def words(*names: str, **about: Any) -> click.Option:
    """What a person says, which may be nothing."""
    return click.Option(names, **about)


def flag(*names: str, help: str) -> click.Option:
    return click.Option(names, is_flag=True, help=help)


def argument(name: str, **about: Any) -> click.Argument:
    return click.Argument([name], **about)


debate_id = argument("debate_id", metavar="ID", help="The debate, DEB-…")
json = flag("--json", "as_json", help="Print JSON.")
events = flag("--json", "as_json", help="Print events as JSON lines.")
model = option(
    "--model",
    "-m",
    metavar="PROVIDER:MODEL",
    help=f"For every seat; `moot models` shows what there is. Providers: {', '.join(PROVIDERS.split())}.",
    shell_complete=beginning_with(f"{name}:" for name in PROVIDERS.split()),
)
model_for = option("--model-for", metavar="SEAT=MODEL", multiple=True, help="The model of one seat.")
judges = option("--judges", metavar="MODEL,MODEL", help="Judges of other models, each for a pair of judgings.")
set = option("--set", metavar="KEY=VALUE", multiple=True, help="Any setting of the format.")
record = option("--record", type=FILE, metavar="FILE", help="Keep every model call in FILE.")
replay = option("--replay", type=FILE, metavar="FILE", help="Answer model calls from FILE.")
output = option("--output", "-o", type=FILE, metavar="DIR", help="Write the outcome's document here, approved or not.")
chosen = (model, model_for, judges, set)
tape = (record, replay)
told = (output, events)
host = option(
    "--host",
    metavar="ADDRESS",
    help="Where to listen; beyond this machine only with MOOT_TOKEN.",
    show_default="MOOT_HOST, 127.0.0.1",
)
port = option("--port", "-p", type=PORT, help="0 takes a free one.", show_default="MOOT_PORT, 8321")

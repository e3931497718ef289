"""Asking the user whether a folder's moot.yaml may do what reaches beyond a debate, and keeping the answer."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from pathlib import Path

import orjson
from rich.console import Console
from rich.text import Text

from moot.errors import InvalidInput
from moot.settings import FILE, ConfigFile, allowed_files, config_files, read_config
from moot.terminal.command import refuse_unused
from moot.terminal.exits import Exit, print_error
from moot.terminal.tables import print_table, say
from moot.text.plain import one_line

MAX_SHOWN = 400
MEANINGS = {
    "allowed_hosts": "the names under which others reach your server",
    "database_url": "where debates are kept and read",
    "decisions": "where files are written",
    "formats": "the servers or files that are models",
    "host": "who can reach your server",
    "metrics_host": "who can reach your worker",
    "model": "the server or file that is the model",
    "models": "the servers or files that are models",
    "prompts": "what models are told",
    "providers": "where debates are sent, with which keys of your environment",
    "research": "what is run, and what is sent where, when debaters look things up",
    "token": "who may use your server",
    "webhooks": "who is told of debates",
    "workflow": "what is run with decisions, or where they are sent",
}
_LOGIN = re.compile(r"(://)[^/\s@\"]*@")


def offer() -> None:
    """Before a command: ask about a folder's file that the user has not seen yet, or say what of it is ignored."""
    with suppress(InvalidInput):  # which the command itself says, if it needs the settings
        for file in config_files():
            if file.answer is None and file.ignored and sys.stdin.isatty() and sys.stderr.isatty():
                _ask(file)
            elif file.ignored:
                say(Console(stderr=True), f"moot: {file.warning}")


def allow(folder: Path, yes: bool, revoke: bool, list: bool) -> Exit:
    """The command `moot allow`, outside of an event loop, in which Ctrl-C would not end a question."""
    if list:
        refuse_unused("beside --list", used=["list"])
    try:
        _list() if list else _revoke(folder) if revoke else _allow(folder, yes)
    except InvalidInput as error:
        return print_error(str(error), Exit.USAGE)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    return Exit.DONE


def _allow(folder: Path, yes: bool) -> None:
    file = _read(folder)
    if not file.guarded:
        say(Console(), f"{file.path} sets nothing that must be allowed.")
    elif file.answer:
        say(Console(), f"{file.path} is allowed already.")
    elif yes:
        _show(file, Console(stderr=True))
        allowed_files().keep(file.path, file.content, True)
        say(Console(), f"{file.path} is allowed until it changes.")
    elif not sys.stdin.isatty():
        raise InvalidInput(f"nobody can be asked about {file.path} here: read it, and give --yes")
    else:
        _ask(file)


def _revoke(folder: Path) -> None:
    path = _place(folder)
    was = allowed_files().forget(path)
    say(Console(), f"{path} is no longer allowed." if was else f"{path} was not allowed.")


def _list() -> None:
    kept = allowed_files().list()
    if not kept:
        say(Console(), "No file is allowed. In a folder with one: moot allow")
        return
    rows = [(one_line(str(path)), _state(path)) for path in dict.fromkeys(each.path for each in kept)]
    print_table(Console(), ("file", ""), rows, wide=("file",))


def _state(path: Path) -> str:
    """What was answered for the file as it is now."""
    try:
        answer = read_config(path).answer
    except InvalidInput:
        return "not there, or no settings any more: ignored"
    return "changed since, and ignored" if answer is None else "allowed" if answer else "refused"


def _read(folder: Path) -> ConfigFile:
    path = _place(folder)
    if not path.is_file():
        raise InvalidInput(f"there is no {FILE} in {path.parent}")
    return read_config(path)


def _place(folder: Path) -> Path:
    """As a process in that folder finds it."""
    return (folder.parent if folder.name == FILE else folder).resolve() / FILE


def _ask(file: ConfigFile) -> None:
    """Ask, and keep the answer; whoever gives none is asked again the next time."""
    console = Console(stderr=True)
    _show(file, console)
    console.print(Text("Allow that, until the file changes? [y/N] "), end="")
    answer = sys.stdin.readline()
    if answer.strip().lower() in ("y", "yes"):
        allowed_files().keep(file.path, file.content, True)
        say(console, "Allowed. To take it back: moot allow --revoke")
    else:
        if answer:
            allowed_files().keep(file.path, file.content, False)
        say(console, "Not allowed, and ignored. To change that: moot allow")


def _show(file: ConfigFile, console: Console) -> None:
    say(console, f"{file.path} is not of your own settings. It would decide:")
    for name, value in file.guarded.items():
        say(console, f"  {MEANINGS.get(name, name)}\n    {name}: {_shown(value)}")


def _shown(value: object) -> str:
    text = one_line(_LOGIN.sub(r"\1…@", orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()))
    rest = len(text) - MAX_SHOWN
    return text if rest <= 0 else f"{text[:MAX_SHOWN]}… and {rest} more characters: read the file"

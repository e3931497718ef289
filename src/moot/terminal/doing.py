"""A command brought to its exit code."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine
from contextlib import nullcontext, suppress
from typing import TypeAlias

from moot.errors import InvalidInput, Missing, MootError
from moot.places import data_folder, has_files
from moot.terminal.exits import Exit, print_error
from moot.terminal.screen import discard_stdout, reader_left, screens
from moot.text.files import private_file, private_folder

log = logging.getLogger(__name__)

Command: TypeAlias = Coroutine[None, None, Exit | None]
"""Without an exit code it is done."""


def run_command(command: Command, runs_debates: bool = False, stays: bool = False) -> Exit:
    """Run a command to its exit code; an error is one line on stderr, and what went wrong inside is in moot.log.

    What runs debates is held up by no screen; that and what stays is worth a faster event loop.
    """
    _log_to_file()
    try:
        if has_files():
            from moot.terminal.allow import offer

            offer()
    except KeyboardInterrupt:
        command.close()
        return Exit.INTERRUPTED
    except FileNotFoundError as error:
        command.close()
        if error.filename:
            raise
        return print_error("the folder you are in is not there any more: go to another one", Exit.FAILED)
    try:
        with screens() if runs_debates else nullcontext():
            return _code_of(command, runs_debates or stays)
    except OSError:
        log.exception("cannot read or write")
        raise


def _code_of(command: Command, lasts: bool) -> Exit:
    try:
        code = _event_loop(lasts)(command) or Exit.DONE
        sys.stdout.flush()
        return code
    except (InvalidInput, Missing) as error:
        return print_error(str(error), Exit.USAGE)
    except MootError as error:
        return print_error(str(error), Exit.FAILED)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except OSError as error:
        if not reader_left(error):
            raise
        discard_stdout()
        return Exit.FAILED
    except Exception as error:
        log.exception("something went wrong inside")
        return print_error(f"something went wrong inside ({type(error).__name__}); moot.log tells more", Exit.FAILED)


def _event_loop(lasts: bool) -> Callable[[Command], Exit | None]:
    if not lasts:  # it is done before another loop is imported
        return asyncio.run
    try:
        import uvloop
    except ImportError:
        return asyncio.run
    return uvloop.run


def _log_to_file() -> None:
    folder = data_folder()
    logging.raiseExceptions = False  # a log that cannot be written is no reason to fill the screen
    with suppress(OSError):  # no place for a log is no reason not to work
        private_folder(folder, own=True)
        private_file(folder / "moot.log")
        logging.basicConfig(filename=folder / "moot.log", level=logging.WARNING, format="%(asctime)s %(message)s")

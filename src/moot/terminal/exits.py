"""How a command ends: its exit code, and what went wrong in one line."""

from __future__ import annotations

import sys
from contextlib import suppress
from enum import IntEnum

from moot.text.plain import printable


class Exit(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    WAITING = 3
    STOPPED = 4
    INTERRUPTED = 130


def print_error(message: str, code: Exit) -> Exit:
    with suppress(OSError):  # where nobody can be told, the code has to do
        sys.stderr.write(f"moot: {printable(' '.join(message.split()))}\n")
    return code

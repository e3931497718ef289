"""Who runs a debate: a name for this process, and whether the process behind a name is known to be dead."""

from __future__ import annotations

import functools
import os
import socket
from pathlib import Path


@functools.cache
def _machine() -> str:
    """This machine since its last start, and the room in which its process numbers count."""
    marks = []
    for path in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        try:
            marks.append(os.readlink(path) if path.endswith("pid") else Path(path).read_text().strip()[:8])
        except OSError:
            continue
    return f"{socket.gethostname()} ({', '.join(marks)})"


def this_process() -> str:
    return f"process {os.getpid()} on {_machine()}"


def is_dead(owner: str) -> bool:
    """True only when it was a process of this machine and there is none alive with its number any more."""
    number, _, machine = owner.removeprefix("process ").partition(" on ")
    if machine != _machine() or not number.isdigit():
        return False
    try:
        os.kill(int(number), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        return False
    return _is_zombie(number)


def _is_zombie(number: str) -> bool:
    """Ended, but not yet taken note of by its parent; in a container that may last for ever."""
    try:
        status = Path(f"/proc/{number}/stat").read_text(errors="replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] == "Z"

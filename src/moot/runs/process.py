"""Who runs a debate: a name for this process, and whether the process behind a name is known to be dead."""

from __future__ import annotations

import functools
import os
import socket
from pathlib import Path
from typing import Protocol

from moot.core.debate import Record, Status

SINCE = ", since "


class Processes(Protocol):
    """What a system tells of its processes."""

    def ended(self, number: int) -> bool:
        """Whether a process is known to have ended."""
        ...

    def began(self, number: int) -> str:
        """When a process began, as the system counts; nothing where that is not known."""
        ...


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
    return _name(os.getpid())


@functools.cache
def _name(number: int) -> str:
    return f"process {number} on {_machine()}{_since(number, system())}"


def is_dead(owner: str, processes: Processes | None = None) -> bool:
    """True only when it was a process of this machine that is not alive any more."""
    number, _, place = owner.removeprefix("process ").partition(" on ")
    machine, _, since = place.partition(SINCE)
    if machine != _machine() or not number.isdigit():
        return False
    processes = processes or system()
    # A number is given again, in a container soon; who had it before began at another time.
    return processes.ended(int(number)) or bool(since and _since(int(number), processes) not in ("", SINCE + since))


def is_lost(record: Record, now: float) -> bool:
    """Whether a debate's run is over without having said so: its process is dead, or its lease has ended."""
    if record.status is not Status.RUNNING:
        return False
    return (record.lease_until or 0.0) < now or bool(record.owner and is_dead(record.owner))


def _since(number: int, processes: Processes) -> str:
    return f"{SINCE}{began}" if (began := processes.began(number)) else ""


@functools.cache
def system() -> Processes:
    if os.name == "nt":
        from moot.runs.windows import WindowsProcesses

        return WindowsProcesses()
    return PosixProcesses()


class PosixProcesses:
    def ended(self, number: int) -> bool:
        try:
            os.kill(number, 0)
        except (ProcessLookupError, OverflowError):
            return True
        except OSError:
            return False
        return self._state(number) == "Z"

    def began(self, number: int) -> str:
        """In ticks since the machine's start, on Linux."""
        status = _status(number)
        return status[19] if status else ""

    def _state(self, number: int) -> str:
        """`Z` when it has ended, but its parent has not taken note of that; in a container that may last for ever."""
        status = _status(number)
        return status[0] if status else ""


def _status(number: int) -> list[str]:
    """What Linux tells of a process, from its state on."""
    try:
        return Path(f"/proc/{number}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []

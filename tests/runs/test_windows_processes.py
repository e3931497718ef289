"""Windows' processes, by the branch that Windows runs, with functions that answer as its own do.

What stands for kernel32 here keeps a table of processes; handles that are not given back are seen.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from moot.runs.process import SINCE, is_dead, system, this_process
from moot.runs.windows import INVALID_PARAMETER, STILL_ACTIVE, WindowsProcesses

ACCESS_DENIED = 5


class Kernel32:
    """Processes by number: their exit code and when they began; None may not be looked at."""

    def __init__(self, processes: dict[int, tuple[int, int] | None]) -> None:
        self.processes = processes
        self.error = 0
        self.open: set[int] = set()

    def OpenProcess(self, access: int, inherit: bool, number: int) -> int | None:
        if self.processes.get(number) is None:
            self.error = ACCESS_DENIED if number in self.processes else INVALID_PARAMETER
            return None
        self.open.add(number)
        return number

    def GetExitCodeProcess(self, handle: int, code: Any) -> int:
        code._obj.value = self._of(handle)[0]
        return 1

    def GetProcessTimes(self, handle: int, began: Any, ended: Any, kernel: Any, user: Any) -> int:
        began._obj.value = self._of(handle)[1]
        return 1

    def CloseHandle(self, handle: int) -> int:
        self.open.remove(handle)
        return 1

    def _of(self, handle: int) -> tuple[int, int]:
        found = self.processes[handle]
        assert found is not None
        assert handle in self.open
        return found


def owned_by(number: int, since: int) -> str:
    """A run's owner as this machine would have named it."""
    machine = this_process().partition(" on ")[2].partition(SINCE)[0]
    return f"process {number} on {machine}{SINCE}{since}"


@pytest.mark.parametrize(
    ("number", "since", "dead"),
    [
        (10, 500, False),  # it runs
        (10, 400, True),  # another process has its number by now
        (11, 500, True),  # it has ended, and somebody still holds on to it
        (12, 500, True),  # nobody has that number
        (13, 500, False),  # it may not be looked at
    ],
)
def test_a_process_of_windows_is_dead_only_when_that_is_known(number: int, since: int, dead: bool) -> None:
    kernel = Kernel32({10: (STILL_ACTIVE, 500), 11: (0, 500), 13: None})
    assert is_dead(owned_by(number, since), WindowsProcesses(kernel, lambda: kernel.error)) == dead
    assert kernel.open == set()


def test_a_run_of_another_machine_is_never_called_dead() -> None:
    kernel = Kernel32({})
    owner = owned_by(12, 500).replace(" on ", " on other-")
    assert not is_dead(owner, WindowsProcesses(kernel, lambda: kernel.error))


@pytest.mark.skipif(os.name != "nt", reason="asks Windows itself")
def test_windows_itself_knows_this_process_and_no_other_of_its_name() -> None:
    processes = system()
    assert isinstance(processes, WindowsProcesses)
    assert (processes.ended(os.getpid()), processes.began(os.getpid()) > "") == (False, True)

"""Whether the process that runs a debate is known to be dead."""

from __future__ import annotations

import os
import subprocess
import sys

from moot.runs.process import SINCE, is_dead, this_process

HERE = this_process().partition(" on ")[2].partition(SINCE)[0]


def test_this_process_is_not_dead() -> None:
    assert not is_dead(this_process())


def test_a_process_that_has_ended_is_dead() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    assert is_dead(f"process {process.pid} on {HERE}")


def test_a_killed_process_is_dead_before_its_parent_has_noticed() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert not is_dead(f"process {process.pid} on {HERE}")
        process.kill()
        assert process.stdout
        process.stdout.read()  # ends when the process does
        while not is_dead(f"process {process.pid} on {HERE}"):
            assert process.returncode is None


def test_a_process_is_dead_whose_number_another_has_by_now() -> None:
    assert is_dead(f"process {os.getpid()} on {HERE}{SINCE}1")
    assert not is_dead(f"process {os.getpid()} on {HERE}")  # as versions before this one wrote it


def test_nothing_is_known_of_processes_elsewhere() -> None:
    assert not is_dead("process 999999 on otherhost (12345678, pid:[1])")
    assert not is_dead("somebody")
    assert not is_dead(f"process x on {HERE}")


def test_a_process_of_somebody_else_is_not_dead() -> None:
    assert not is_dead(f"process 1 on {HERE}")

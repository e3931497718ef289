"""What tests start ends with them, also when they are killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from model_server import PATIENCE

TESTS = Path(__file__).parents[1]
STARTS = """
import signal, sys
sys.path.insert(0, sys.argv[1])
from forkserver import ForkedPopen
forked = [sys.executable, "-c", "import signal, sys; print('here', file=sys.stderr); signal.pause()"]
ForkedPopen(forked, start_new_session=sys.argv[2] == "own session")
signal.pause()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forked from a server on Linux only")
@pytest.mark.parametrize("session", ["own session", "same session"])
def test_a_forked_process_ends_with_a_killed_one_that_started_it(session: str) -> None:
    command = [sys.executable, "-c", STARTS, str(TESTS), session]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        assert process.stderr.readline() == "here\n"
        process.kill()
        _, left = process.communicate(timeout=PATIENCE)  # until nobody holds the pipe any more
    assert (process.returncode, left) == (-9, "")

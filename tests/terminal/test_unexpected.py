"""What nobody has thought of: one line for the user, the rest in the log."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from model_server import PATIENCE
from moot.terminal.doing import run_command
from moot.terminal.exits import Exit


async def _broken() -> None:
    raise RuntimeError("boom")


def test_an_unexpected_fault_is_one_line_and_its_traceback_is_in_the_log(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert run_command(_broken()) is Exit.FAILED
    assert capsys.readouterr().err == "moot: something went wrong inside (RuntimeError); moot.log tells more\n"
    assert "boom" in caplog.text


def test_a_log_that_cannot_be_written_does_not_fill_the_screen() -> None:
    program = "from test_unexpected import _broken; from moot.terminal.doing import run_command as run; run(_broken())"
    ran = subprocess.run(
        ["sh", "-c", f'ulimit -f 0; exec "{sys.executable}" -c "{program}"'],
        env=os.environ | {"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ran.stderr == "moot: something went wrong inside (RuntimeError); moot.log tells more\n"

"""What nobody has thought of: one line for the user, the rest in the log."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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


def test_a_folder_that_was_removed_under_ones_feet_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert run_command(_broken()) is Exit.FAILED
    assert capsys.readouterr().err == "moot: the folder you are in is not there any more: go to another one\n"

"""What nobody has thought of: one line for the user, the rest in the log."""

from __future__ import annotations

import pytest

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

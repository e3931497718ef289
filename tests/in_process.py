"""The `moot` program without a process of its own, ten times as fast: for what no process needs to show."""

from __future__ import annotations

import pytest

from moot.terminal.cli import cli
from program import Ran


def moot(capsys: pytest.CaptureFixture[str], *words: object) -> Ran:
    capsys.readouterr()
    code = cli(list(map(str, words)), standalone_mode=False)
    return Ran(code, *capsys.readouterr())

"""The `moot` program as a process of its own, forked from one in which it is imported already."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from forkserver import ForkedPopen
from model_server import PATIENCE

COMMAND = [sys.executable, "-m", "moot"]


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def turns(self) -> list[dict[str, Any]]:
        return turns(self.events)


def turns(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == "turn_finished"]


def run(*arguments: str, env: Mapping[str, str] | None = None) -> Ran:
    """Run moot to its end."""
    with started(*arguments, env={**os.environ, **(env or {})}) as process:
        out, err = process.communicate(timeout=2 * PATIENCE)
    return Ran(process.returncode, out, err)


@contextmanager
def started(*arguments: str, env: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    """A running moot with pipes; killed at the latest with the end of the block."""
    files = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with ForkedPopen([*COMMAND, *arguments], **files, text=True, env=env) as process:
        try:
            yield process
        finally:
            process.kill()


def events_until(process: subprocess.Popen[str], type: str, count: int = 1) -> list[dict[str, Any]]:
    """Read events up to the nth of a type."""
    seen: list[dict[str, Any]] = []
    assert process.stdout
    while count:
        line = process.stdout.readline()
        assert line, f"moot ended before {type}: {process.communicate()[1]}"
        seen.append(json.loads(line))
        count -= seen[-1]["type"] == type
    return seen


def finish(process: subprocess.Popen[str], before: list[dict[str, Any]], seconds: float = PATIENCE) -> Ran:
    """Let it come to its end; what had been read of its events comes first."""
    out, err = process.communicate(timeout=seconds)
    return Ran(process.returncode, "".join(json.dumps(event) + "\n" for event in before) + out, err)

"""The next line that a person types, without holding up the event loop, on every system."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

Heard: TypeAlias = Callable[[str], object]
"""Called with a line, or with nothing when the terminal was closed."""


def next_line(loop: asyncio.AbstractEventLoop, heard: Heard) -> Callable[[], None]:
    """Hand the next line to `heard`, in the loop; the function returned says that nobody waits for it any more."""
    terminal = sys.stdin.fileno()

    def read() -> None:
        try:
            heard(os.read(terminal, 65536).decode("utf-8", "replace"))
        except OSError:  # it was closed
            heard("")

    try:
        loop.add_reader(terminal, read)
    except NotImplementedError:  # Windows' loop waits for no terminal
        return _of_stdin().listen(lambda line: _told(loop, heard, line))

    def leave() -> None:
        loop.remove_reader(terminal)

    return leave


def _told(loop: asyncio.AbstractEventLoop, heard: Heard, line: str) -> None:
    loop.call_soon_threadsafe(heard, line)


class ThreadedLines:
    """Lines that a thread reads. One that comes when nobody waits is kept for who asks next, as a terminal does."""

    def __init__(self, read: Callable[[], str]) -> None:
        self._read = read
        self._heard: Heard | None = None
        self._kept: list[str] = []
        self._reading = False
        self._change = threading.Lock()

    def listen(self, heard: Heard) -> Callable[[], None]:
        with self._change:
            if self._kept:
                heard(self._kept.pop(0))
                return lambda: None
            self._heard = heard
            if not self._reading:
                self._reading = True
                threading.Thread(target=self._work, name="lines", daemon=True).start()
        return self._leave

    def _leave(self) -> None:
        with self._change:
            self._heard = None

    def _work(self) -> None:
        try:
            line = self._read()
        except (OSError, ValueError):  # it was closed
            line = ""
        with self._change:
            self._reading = False
            if self._heard:
                self._heard(line)
                self._heard = None
            else:
                self._kept.append(line)


@cache
def _of_stdin() -> ThreadedLines:
    return ThreadedLines(lambda: sys.stdin.readline())

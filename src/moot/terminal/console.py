"""The terminal as a place to write: text that cannot steer it, lines broken on words, lines that stay below."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rich.cells import cell_len, chop_cells
from rich.console import Console, RenderableType
from rich.text import Text


def wrap(text: str, width: int) -> list[tuple[str, int]]:
    """Lines of at most `width` cells, each with the length of the text it stands for, its break included.

    The last line may still grow; those before it never change when text is added.
    """
    lines: list[tuple[str, int]] = []
    while True:
        fitting = _fitting(text, width)
        newline = text.find("\n", 0, fitting + 1)
        if newline >= 0:
            cut, skip = newline, 1
        elif fitting < len(text):
            space = text.rfind(" ", 1, fitting + 1)
            cut, skip = (space, 1) if space > 0 else (fitting, 0)
        else:
            return [*lines, (text, len(text))]
        lines.append((text[:cut].rstrip(), cut + skip))
        text = text[cut + skip :]


def _fitting(text: str, width: int) -> int:
    """How many letters of the first line fill at most `width` cells."""
    line = text[: 4 * width].partition("\n")[0]
    return len(line) if cell_len(line) <= width else max(1, len(chop_cells(line, width)[0]))


class Bottom:
    """A line that is being written and a status line, below everything printed; every change is one write.

    The cursor waits at the end of the line being written, so that a resize takes it along and we know where we are.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._above = ""
        self._shown: tuple[str, str, int] | None = None
        self._echo_again = _without_echo()

    def print(self, *lines: RenderableType) -> None:
        """Print lines above; they appear with the next `draw`."""
        self._above += self._rendered(*lines)

    def draw(self, tail: str, status: Text) -> None:
        width = self._console.width
        if not self._above and self._shown == (tail, status.plain, width):
            return
        below = f"{tail}\n\n{self._rendered(status).rstrip()}\x1b[2A\r"
        column = cell_len(tail)
        self._write(self._above + below + (f"\x1b[{column}C" if column else ""))
        self._shown = (tail, status.plain, width)

    def close(self) -> None:
        self._write(self._above)
        self._echo_again()

    def _write(self, text: str) -> None:
        """One write, shown at once where the terminal knows how to (mode 2026)."""
        self._console.file.write(f"\x1b[?2026h{self._back()}\x1b[J{text}\x1b[?2026l")
        self._console.file.flush()
        self._above, self._shown = "", None

    def _back(self) -> str:
        """To the start of the line being written, which a narrower window has broken into several."""
        rows = (cell_len(self._shown[0]) - 1) // self._console.width if self._shown else 0
        return f"\r\x1b[{rows}A" if rows > 0 else "\r"

    def _rendered(self, *lines: RenderableType) -> str:
        with self._console.capture() as captured:
            for line in lines:
                self._console.print(line)
        return captured.get()


def _without_echo() -> Callable[[], None]:
    """Keep typed letters, ^C among them, off the screen; the function returned lets them back."""
    try:
        import termios
    except ImportError:
        return lambda: None
    gone = (OSError, ValueError, termios.error)

    def set_to(attributes: list[Any]) -> None:
        with suppress(*gone):  # the terminal was closed meanwhile
            termios.tcsetattr(terminal, termios.TCSANOW, attributes)  # which waits for no screen

    with suppress(*gone):
        terminal = sys.stdin.fileno()
        if not os.isatty(terminal) or os.tcgetpgrp(terminal) != os.getpgrp():
            return lambda: None
        before = termios.tcgetattr(terminal)
        quiet = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
        set_to(quiet)
        return lambda: set_to(before)
    return lambda: None

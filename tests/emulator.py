"""A terminal in a few lines: what the few control sequences moot writes leave on the screen; any other is an error."""

from __future__ import annotations

import re

from rich.cells import cell_len

CONTROL = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])|([\x00-\x1f\x7f-\x9f])")


class Screen:
    """All lines ever written, without a height; `text` is what a reader sees, line ends stripped."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._lines: list[list[str]] = [[]]
        self._row = self._column = 0

    @property
    def text(self) -> str:
        return "\n".join("".join(line).rstrip() for line in self._lines).rstrip()

    def feed(self, output: str) -> None:
        at = 0
        for match in CONTROL.finditer(output):
            self._write(output[at : match.start()])
            at = match.end()
            self._control(match)
        self._write(output[at:])

    def _control(self, match: re.Match[str]) -> None:
        number = int(match[1]) if (match[1] or "").isdigit() else 1
        match match[3] or match[2]:
            case "\n":
                self._row, self._column = self._row + 1, 0
                self._lines += [[] for _ in range(self._row + 1 - len(self._lines))]
            case "\r":
                self._column = 0
            case "A":
                self._row -= number
            case "C":
                self._column += number
            case "J":
                del self._lines[self._row + 1 :]
                del self._lines[self._row][self._column :]
            case "m":
                pass
            case "h" | "l" if match[1] == "?2026":
                pass
            case _:
                raise AssertionError(f"a control sequence moot does not write: {match[0]!r}")

    def _write(self, text: str) -> None:
        """A letter of two cells is followed by an empty cell."""
        line = self._lines[self._row]
        line += " " * (self._column - len(line))
        cells = [cell for letter in text for cell in (letter, *[""] * (cell_len(letter) - 1))]
        line[self._column : self._column + len(cells)] = cells
        self._column += len(cells)
        assert cell_len("".join(line)) <= self.width, f"wider than the terminal: {''.join(line)!r}"

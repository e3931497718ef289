"""The screen of a command that runs debates: a thread writes to it, so that no terminal and no reader holds one up.

A closed terminal, Ctrl-S and a pipe that nobody reads cost what would have been shown, and never a turn.
"""

from __future__ import annotations

import errno
import io
import os
import select
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from moot.terminal.windows import console

if TYPE_CHECKING:
    from types import FrameType

    from typing_extensions import Buffer

HELD = 4 * 1024 * 1024
"""So many bytes are kept for a reader who does not read; what comes then is not shown."""
CHUNK = 4096
"""A pipe takes so much or nothing; what is taken shows that somebody reads."""
LEAVING_SECONDS = 5.0
"""A screen that takes nothing for so long keeps no process from ending."""
UNREAD = "moot: nobody reads the output any more; what runs goes on to its end (see: moot debate --list)\n"


def reader_left(error: OSError, system: str = os.name) -> bool:
    """Whether nobody reads a pipe any more, which Windows calls an invalid argument."""
    return isinstance(error, BrokenPipeError) or (system == "nt" and error.errno == errno.EINVAL)


class Screen(io.RawIOBase):
    """A file that takes everything at once, also when nobody reads it any more; `left` is called once then."""

    def __init__(self, file: int, left: Callable[[], object] = lambda: None) -> None:
        self._file = file
        self._left = left
        self._held: deque[bytes] = deque()
        self._size = self._taken = self.lost = 0
        self._change = threading.Condition()
        self.error: OSError | None = None
        self.hung_up = False
        threading.Thread(target=self._work, name=f"screen {file}", daemon=True).start()

    def fileno(self) -> int:
        return self._file

    def isatty(self) -> bool:
        return os.isatty(self._file)

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer, /) -> int:
        piece = bytes(data)
        with self._change:
            if self.error or self._size + len(piece) > HELD:
                self.lost += len(piece)
            elif piece:
                self._held.append(piece)
                self._size += len(piece)
                self._change.notify_all()
        return len(piece)

    def finish(self) -> None:
        """Wait until everything is shown, for as long as somebody takes it."""
        with self._change:
            before = -1
            while self._size and before != self._taken:
                before = self._taken
                self._change.wait_for(lambda: not self._size or self._taken != before, LEAVING_SECONDS)  # noqa: B023
            self.lost += self._size

    def _work(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._held)
                piece = self._held[0]
            for at in range(0, len(piece), CHUNK):
                self._show(piece[at : at + CHUNK])
            with self._change:
                self._held.popleft()

    def _show(self, chunk: bytes) -> None:
        written = 0 if self.error else self._write(chunk)
        with self._change:
            self._size -= len(chunk)
            self._taken += 1
            self.lost += len(chunk) - written
            self._change.notify_all()

    def _write(self, chunk: bytes) -> int:
        at = 0
        while at < len(chunk):
            try:
                at += os.write(self._file, chunk[at:])
            except BlockingIOError:  # somebody else has made the file so
                select.select([], [self._file], [])
            except OSError as error:
                self.error = error
                self.hung_up = self.hung_up or error.errno == errno.EIO  # a terminal that is closed
                if reader_left(error) and not self.hung_up:
                    self._left()
                return at
        return at


def open_missing_streams() -> None:
    """Put an empty file in the place of what is closed; without a stdout the program ends, as all would be lost."""
    closed = sys.stdout is None
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # in this order each gets its own number, and no database ever does
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open to the end
    if closed:
        sys.stderr.write("moot: stdout is closed; send what is shown to a file or to /dev/null\n")
        sys.exit(2)


def discard_stdout() -> None:
    """Let what is still written to stdout vanish, as its reader has."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def screens() -> Iterator[None]:
    """Stdout and stderr as screens, and no end by the end of the terminal. Raises what kept stdout from being written.

    One file that is both is one screen, so that what is written to them stays in order.
    """
    plain = sys.stdout, sys.stderr
    try:
        out, err = (stream.fileno() for stream in plain)
    except (OSError, ValueError):  # they are no files: a program has put something else in their place
        yield
        return
    told = Screen(err)
    same = os.path.samestat(os.fstat(out), os.fstat(err))
    shown = told if same else Screen(out, lambda: told.write(UNREAD.encode()))
    sys.stdout, sys.stderr = _text(shown), _text(told)
    try:
        with console(), _through_signals(shown, told):
            yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        shown.finish()
        told.finish()
        sys.stdout, sys.stderr = plain
    _tell_loss(shown, told)


def _text(screen: Screen) -> io.TextIOWrapper:
    return io.TextIOWrapper(screen, encoding="utf-8", errors="replace", line_buffering=True)  # type: ignore[arg-type]


@contextmanager
def _through_signals(*shown: Screen) -> Iterator[None]:
    """A terminal that is closed says so by SIGHUP, and takes the readers of pipes with it. SIGTERM is as Ctrl-C."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGHUP"):
        yield
        return

    def hang_up(number: int, frame: FrameType | None) -> None:
        for screen in shown:
            screen.hung_up = True

    before = signal.signal(signal.SIGHUP, hang_up)
    signal.signal(signal.SIGTERM, lambda number, frame: signal.raise_signal(signal.SIGINT))  # debates are left in order
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _tell_loss(shown: Screen, told: Screen) -> None:
    if not shown.lost or shown.hung_up or (shown.error and reader_left(shown.error)):
        return
    if shown.error:
        raise shown.error
    if told is not shown and not told.lost:
        sys.stderr.write(f"moot: nobody read the output, so {shown.lost} bytes of it were left out\n")

"""What Windows' terminals need: lines read by a thread, and a console that understands UTF-8."""

from __future__ import annotations

import asyncio
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from moot.terminal.lines import ThreadedLines, next_line
from moot.terminal.windows import STREAMS, UTF_8, VIRTUAL_TERMINAL, console


async def test_a_line_comes_from_a_thread_and_one_that_nobody_waited_for_goes_to_who_asks_next() -> None:
    typed, loop = SimpleQueue[str](), asyncio.get_running_loop()
    lines = ThreadedLines(typed.get)

    async def line() -> str:
        heard: asyncio.Future[str] = loop.create_future()
        lines.listen(lambda text: loop.call_soon_threadsafe(heard.set_result, text) and None)
        async with asyncio.timeout(30):
            return await heard

    typed.put("first\n")
    assert await line() == "first\n"
    leave = lines.listen(lambda text: None)
    leave()  # the time is up, and the thread still reads
    asked = asyncio.create_task(line())
    await asyncio.sleep(0)
    typed.put("second\n")
    assert await asked == "second\n"


async def test_a_terminal_that_is_closed_says_so() -> None:
    heard: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def closed() -> str:
        raise ValueError("I/O operation on closed file")

    loop = asyncio.get_running_loop()
    ThreadedLines(closed).listen(lambda text: loop.call_soon_threadsafe(heard.set_result, text) and None)
    async with asyncio.timeout(30):
        assert await heard == ""


class _NoReaders(asyncio.SelectorEventLoop):
    """A loop like that of Windows, which waits for sockets and no terminals."""

    def add_reader(self, fd: Any, callback: Any, *args: Any) -> None:
        raise NotImplementedError


def test_where_a_loop_waits_for_no_terminal_a_thread_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "typed").write_text("continue\n")
    with (tmp_path / "typed").open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)

        async def main() -> str:
            heard: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            next_line(asyncio.get_running_loop(), heard.set_result)
            async with asyncio.timeout(30):
                return await heard

        with asyncio.Runner(loop_factory=_NoReaders) as runner:
            assert runner.run(main()) == "continue\n"


class _Console:
    """Stdout is a console, stderr a file."""

    def __init__(self) -> None:
        self.page = 850
        self.modes = {STREAMS[0]: 0x3}

    def GetConsoleOutputCP(self) -> int:
        return self.page

    def SetConsoleOutputCP(self, page: int) -> None:
        self.page = page

    def GetStdHandle(self, stream: int) -> int:
        return stream

    def GetConsoleMode(self, handle: int, mode: Any) -> int:
        mode._obj.value = self.modes.get(handle, 0)
        return int(handle in self.modes)

    def SetConsoleMode(self, handle: int, mode: int) -> None:
        self.modes[handle] = mode


def test_a_windows_console_takes_utf_8_while_debates_are_shown_and_is_left_as_it_was() -> None:
    kernel = _Console()
    with console(kernel):
        assert kernel.page == UTF_8
    assert kernel.page == 850
    assert kernel.modes == {STREAMS[0]: 0x3 | VIRTUAL_TERMINAL}

"""The console of Windows as other terminals are: UTF-8, and what steers a terminal steers it too."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

UTF_8 = 65001
STREAMS = (-11, -12)
"""Stdout and stderr, as `GetStdHandle` knows them."""
VIRTUAL_TERMINAL = 0x4


@contextmanager
def console(kernel: Any = None) -> Iterator[None]:
    """Have bytes understood as they are meant for as long as this lasts; nothing happens on other systems."""
    if kernel is None:
        if sys.platform != "win32":
            yield
            return
        kernel = ctypes.WinDLL("kernel32")
        kernel.GetStdHandle.restype = ctypes.c_void_p
        kernel.GetConsoleMode.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        kernel.SetConsoleMode.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
    before = kernel.GetConsoleOutputCP()
    kernel.SetConsoleOutputCP(UTF_8)
    for stream in STREAMS:
        handle, mode = kernel.GetStdHandle(stream), ctypes.c_uint32()
        if kernel.GetConsoleMode(handle, ctypes.byref(mode)):  # it is a console and no file
            kernel.SetConsoleMode(handle, mode.value | VIRTUAL_TERMINAL)
    try:
        yield
    finally:
        if before:
            kernel.SetConsoleOutputCP(before)

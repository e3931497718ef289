"""What Windows tells of its processes. Asked by its own functions: `os.kill` would send a Ctrl-C, not a question."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any, Protocol

QUERY_LIMITED_INFORMATION = 0x1000
STILL_ACTIVE = 259
INVALID_PARAMETER = 87
"""What `OpenProcess` says of a number that nobody has."""


class Kernel(Protocol):
    """The functions of kernel32 that are used, by their own names."""

    def OpenProcess(self, access: int, inherit: bool, number: int) -> int | None: ...  # noqa: N802
    def GetExitCodeProcess(self, handle: int, code: Any) -> int: ...  # noqa: N802
    def GetProcessTimes(self, handle: int, began: Any, ended: Any, kernel: Any, user: Any) -> int: ...  # noqa: N802
    def CloseHandle(self, handle: int) -> int: ...  # noqa: N802


class WindowsProcesses:
    def __init__(self, kernel: Kernel | None = None, last_error: Callable[[], int] | None = None) -> None:
        self._kernel = kernel or _kernel32()
        self._last_error: Callable[[], int] = last_error or vars(ctypes)["get_last_error"]  # which only Windows has

    def ended(self, number: int) -> bool:
        """Whether a process is known to have ended; one that may not be looked at is taken for alive."""
        handle = self._kernel.OpenProcess(QUERY_LIMITED_INFORMATION, False, number)
        if not handle:
            return self._last_error() == INVALID_PARAMETER
        try:
            code = ctypes.c_uint32()
            return bool(self._kernel.GetExitCodeProcess(handle, ctypes.byref(code)) and code.value != STILL_ACTIVE)
        finally:
            self._kernel.CloseHandle(handle)

    def began(self, number: int) -> str:
        """When a process began, in tenths of microseconds since 1601; nothing where that is not known."""
        handle = self._kernel.OpenProcess(QUERY_LIMITED_INFORMATION, False, number)
        if not handle:
            return ""
        try:
            times = [ctypes.c_uint64() for _ in range(4)]
            known = self._kernel.GetProcessTimes(handle, *map(ctypes.byref, times))
            return str(times[0].value) if known else ""
        finally:
            self._kernel.CloseHandle(handle)


def _kernel32() -> Any:
    if sys.platform != "win32":
        raise OSError("kernel32 is a part of Windows")
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    handle = pointer = ctypes.c_void_p  # which has 64 bits where an int has 32
    kernel.OpenProcess.restype = handle
    kernel.GetExitCodeProcess.argtypes = [handle, pointer]
    kernel.GetProcessTimes.argtypes = [handle, pointer, pointer, pointer, pointer]
    kernel.CloseHandle.argtypes = [handle]
    return kernel

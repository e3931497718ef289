"""Python processes forked from one that has imported moot already: there at once, where a new one needs a second.

`ForkedPopen` is `subprocess.Popen` for commands like `[sys.executable, "-m", "moot", ...]`, also with `-c` or the path
of a script. What a process must show from its very start on (its imports, its encoding) needs a new one.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import logging
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from types import ModuleType
from typing import Any

PRELOADED = (
    *(f"moot.formats.{name}.format" for name in ("duel", "critique", "evaluation", "panel", "poll")),
    *("moot.terminal.commands", "moot.runs.workers", "moot.store.sqlite", "moot.web.server", "moot.llm.openai_api"),
    *("moot.testing", "moot.core.prompt_files", "moot.terminal.listing", "genai_prices", "asyncpg", "uvloop"),
)
"""What a process of moot imports sooner or later."""
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


class ForkServer:
    """The process all others are forked from. They become children of this one, as if it had started them itself."""

    def __init__(self) -> None:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen([sys.executable, __file__], stdin=theirs, start_new_session=True)
        self._asking = threading.Lock()
        atexit.register(self.close)

    def fork(self, order: dict[str, Any], files: list[int]) -> int:
        """The id of a process that has these files as its input, output and errors."""
        with self._asking:
            socket.send_fds(self._socket, [b"!"], files)
            self._socket.sendall(json.dumps(order).encode() + b"\n")
            return int(self._socket.recv(20))

    def close(self) -> None:
        self._socket.close()
        self._process.wait()


_server: ForkServer | None = None


class ForkedPopen(subprocess.Popen[Any]):
    """Takes the arguments of `Popen` it is used with: the standard files, `env`, `text` and `start_new_session`."""

    if sys.platform == "linux":

        def _execute_child(self, args: Any, *more: Any) -> None:  # type: ignore[override]
            global _server  # one for all tests of this process
            _server = _server or ForkServer()
            env, pipes, new_session = more[5], more[9:15], more[20]
            files = [pipes[0], pipes[3], pipes[5]]
            order = {
                "argv": [os.fspath(word) for word in args],
                "environ": dict(os.environ if env is None else env),
                "folder": os.getcwd(),
                "parent": os.getpid(),
                "new_session": new_session,
            }
            self.pid = _server.fork(order, [own if given == -1 else given for own, given in enumerate(files)])
            self._child_created = True
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def serve(asked: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Fork for every order; returns in the new processes only, with what each is to do."""
    while True:
        try:
            byte, files, *_ = socket.recv_fds(asked, 1, 3)
        except ConnectionResetError:  # whoever asked was killed before it read an answer
            os._exit(0)
        if not byte:
            os._exit(0)
        order = b""
        while not order.endswith(b"\n"):
            if not (more := asked.recv(2**20)):
                os._exit(0)
            order += more
        reading, writing = os.pipe()
        if not (between := os.fork()):  # its end makes its child one of whoever asks
            between = os.getpid()
            if pid := os.fork():
                os.write(writing, b"%d" % pid)
                os._exit(0)
            for mine in (asked.fileno(), reading, writing):
                os.close(mine)
            while os.getppid() == between:
                time.sleep(0.001)
            return json.loads(order), files
        os.waitpid(between, 0)
        with contextlib.suppress(BrokenPipeError):
            asked.sendall(os.read(reading, 20))
        for given in (reading, writing, *files):
            os.close(given)


def become(order: dict[str, Any], files: list[int]) -> None:
    """What the interpreter does when it starts; this one ends with whoever asked for it, however that ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != order["parent"]:
        os._exit(1)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environ"])
    time.tzset()
    for number, given in enumerate(files):
        os.dup2(given, number)
        os.close(given)
    if order["new_session"]:
        os.login_tty(os.dup(0)) if os.isatty(0) else os.setsid()
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - they are open as long as it lives
    sys.stdout = open(1, "w", buffering=1 if os.isatty(1) else -1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.path[0:1] = ["", *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]


def run(argv: list[str]) -> None:
    match argv[1:]:
        case ["-W", action, *_]:
            warnings.simplefilter(action)  # type: ignore[arg-type]
            run(argv[2:])
        case ["-m", module, *_]:
            sys.argv = argv[2:]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["-c", script, *arguments]:
            sys.argv = ["-c", *arguments]
            sys.modules["__main__"] = main = ModuleType("__main__")
            exec(script, main.__dict__)
        case [path, *_]:
            sys.argv, sys.path[0] = argv[1:], os.path.dirname(os.path.abspath(path))
            runpy.run_path(path, run_name="__main__")


if __name__ == "__main__":
    for name in PRELOADED:
        importlib.import_module(name)
    logging.getLogger().handlers.clear()  # some library has set one up when it was imported
    gc.collect()
    gc.freeze()
    order, files = serve(socket.socket(fileno=os.dup(0)))
    become(order, files)
    run(order["argv"])

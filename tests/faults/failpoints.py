"""moot in a process of its own that dies by itself: before its nth write, before its nth NOTIFY, or with a full disk.

It wraps the database drivers from outside, before moot is started. Every process can be given a machine of its own by
name, so that nobody can look whether it is alive and its lease alone tells.
"""

from __future__ import annotations

import functools
import itertools
import os
import pickle
import re
import signal
import socket
import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

WRITE = re.compile(r"\b(INSERT|UPDATE|DELETE|COMMIT)\b", re.IGNORECASE)
SENT_BY = ("execute", "executemany", "fetch", "fetchrow", "fetchval")


class Failpoint(NamedTuple):
    """Where a process kills itself."""

    what: Literal["write", "notify"]
    number: int
    """The first is 1."""


class Part(NamedTuple):
    """How a process is started."""

    arguments: Sequence[str]
    environ: Mapping[str, str]
    folder: str
    machine: str | None = None
    failpoint: Failpoint | None = None
    most_bytes: int | None = None
    """No file of it can grow beyond this."""


def play(part: Part) -> None:
    """Be moot; its errors go to a file."""
    os.chdir(part.folder)
    os.environ.clear()
    os.environ.update(part.environ)
    with open(f"{os.getpid()}.err", "wb") as errors:
        os.dup2(errors.fileno(), sys.stderr.fileno())
    if part.machine:
        socket.gethostname = lambda: part.machine or ""
    if part.failpoint:
        arm(part.failpoint)
    if part.most_bytes:
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (part.most_bytes, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    from moot.terminal.cli import main

    sys.argv = ["moot", *part.arguments]
    main()


def arm(failpoint: Failpoint) -> None:
    """Count what is sent to the databases, and die before the statement that is the nth of its kind."""
    count = itertools.count(1)

    def sending(query: str) -> None:
        if _kind(query) == failpoint.what and next(count) == failpoint.number:
            os.kill(os.getpid(), signal.SIGKILL)

    _wrap_postgres(sending)
    _wrap_sqlite(sending)


def _kind(query: str) -> str:
    if "pg_notify" in query:
        return "notify"
    return "write" if WRITE.search(query) else "read"


def _wrap_postgres(sending: Callable[[str], None]) -> None:
    import asyncpg

    for name in SENT_BY:
        send = getattr(asyncpg.Connection, name)
        setattr(asyncpg.Connection, name, _told(send, sending))


def _told(send: Callable[..., Any], sending: Callable[[str], None]) -> Callable[..., Any]:
    @functools.wraps(send)
    async def tell(connection: object, query: str, *arguments: Any, **options: Any) -> Any:
        sending(query)
        return await send(connection, query, *arguments, **options)

    return tell


def _wrap_sqlite(sending: Callable[[str], None]) -> None:
    class Told(sqlite3.Connection):
        def execute(self, query: str, *arguments: Any) -> sqlite3.Cursor:
            sending(query)
            return super().execute(query, *arguments)

    sqlite3.connect = functools.partial(sqlite3.connect, factory=Told)  # type: ignore[assignment]


if __name__ == "__main__":
    play(pickle.loads(bytes.fromhex(sys.argv[1])))

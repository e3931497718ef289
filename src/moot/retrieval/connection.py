"""Connections to MCP servers that can neither flood us nor outlive their use.

A server is a command or an address that the user named. It gets no variable of our environment but those named for it,
and is read no further than `MAX_BYTES`.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import TypeAlias

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import Client
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from moot.settings import ResearchServer

MAX_BYTES = 2_000_000
"""That a server may send in a line or a response, and all in all."""
GRACE_SECONDS = 1.0
"""What a process has to end by itself once its input is closed."""

Received: TypeAlias = MemoryObjectReceiveStream[SessionMessage | Exception]
Streams: TypeAlias = tuple[Received, MemoryObjectSendStream[SessionMessage]]


class TooMuch(Exception):
    def __init__(self) -> None:
        super().__init__(f"it sent more than {MAX_BYTES // 1_000_000} MB")


def connected(server: ResearchServer, environ: Mapping[str, str]) -> AbstractAsyncContextManager[Client]:
    """A session with the server; its faults are raised as they come. The server can ask nothing of us in turn."""
    return Client(_process(server, environ) if server.command else _address(server, environ), cache=None)


@asynccontextmanager
async def _address(server: ResearchServer, environ: Mapping[str, str]) -> AsyncIterator[Streams]:
    key = environ.get(server.key_env or "", "")
    headers = {"Accept-Encoding": "identity", **({"Authorization": f"Bearer {key}"} if key else {})}
    async with (
        httpx2.AsyncClient(transport=_Bounded(), headers=headers, timeout=None) as client,
        streamable_http_client(server.url or "", http_client=client) as streams,
    ):
        yield streams  # type: ignore[misc]


class _Bounded(httpx2.AsyncHTTPTransport):
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if response.headers.pop("content-encoding", "identity") != "identity":
            raise httpx2.DecodingError("its answers are packed, which nobody asked for")
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Counted(response.stream)
        return response


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_BYTES
        async for chunk in self._stream:
            left -= len(chunk)
            if left < 0:
                raise TooMuch
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


@asynccontextmanager
async def _process(server: ResearchServer, environ: Mapping[str, str]) -> AsyncIterator[Streams]:
    """As the SDK does it, which reads lines of any length."""
    given = {name: environ[name] for name in server.env if name in environ}
    process = await asyncio.create_subprocess_exec(
        *server.words,
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env={**get_default_environment(), **given},
        limit=MAX_BYTES,
        start_new_session=True,  # so that whatever it starts ends with it
    )
    received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, sent = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_receive, process, received)
            group.start_soon(_send, process, sent)
            yield incoming, outgoing
            group.cancel_scope.cancel()
    finally:
        for stream in (received, incoming, outgoing, sent):
            stream.close()
        with anyio.CancelScope(shield=True):
            await _end(process)


async def _receive(process: Process, received: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    assert process.stdout  # noqa: S101 - it is a pipe
    left = MAX_BYTES
    with received, suppress(anyio.BrokenResourceError):
        while line := await _line(process.stdout):
            left -= len(line)
            if left < 0:
                raise TooMuch
            await received.send(_message(line))


async def _line(stdout: asyncio.StreamReader) -> bytes:
    try:
        return await stdout.readline()
    except ValueError:  # it is longer than the limit
        raise TooMuch from None


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _send(process: Process, sent: MemoryObjectReceiveStream[SessionMessage]) -> None:
    assert process.stdin  # noqa: S101 - it is a pipe
    with sent, suppress(ConnectionError):
        async for each in sent:
            process.stdin.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await process.stdin.drain()


async def _end(process: Process) -> None:
    """Let it end by itself, then end it, and whatever it has started in any case."""
    if process.stdin:
        process.stdin.close()
    await _ended(process)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
    await _ended(process)
    if transport := getattr(process, "_transport", None):  # something that has left its group may hold the pipes
        transport.close()


async def _ended(process: Process) -> None:
    with anyio.move_on_after(GRACE_SECONDS):  # not asyncio.timeout: before 3.11.3 that fails in a cancelled task
        await process.wait()

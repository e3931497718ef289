"""A model server on a real socket that sends exactly the bytes it is told to, and then misbehaves."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from socket import SO_LINGER, SOL_SOCKET
from typing import Any, Self

STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@dataclass
class StreamFormat:
    """The server's end of one connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()


Answer = Callable[[StreamFormat], Awaitable[None]]


@dataclass(frozen=True)
class Received:
    line: str
    headers: dict[str, str]
    body: Any


class BadServer:
    """Gives one answer to each request, in order, whichever connection it comes on."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self._wires: list[StreamFormat] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.requests: list[Received] = []
        self.hung_up = asyncio.Event()
        """A connection has ended, by either side."""

    @property
    def connections(self) -> int:
        return len(self._wires)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for wire in self._wires:
            wire.writer.close()
        await asyncio.gather(*self._tasks)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._wires.append(StreamFormat(reader, writer))
        self._tasks.append(asyncio.create_task(self._serve(self._wires[-1])))

    async def _serve(self, wire: StreamFormat) -> None:
        try:
            while not wire.writer.is_closing():
                self.requests.append(await _receive(wire.reader))
                await self._answers.pop(0)(wire)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.hung_up.set()
            wire.writer.close()


async def _receive(reader: asyncio.StreamReader) -> Received:
    line, *fields = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
    headers = {name.lower(): value for name, value in (field.split(": ", 1) for field in fields)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(line, headers, json.loads(body) if body else None)


def sends(*parts: bytes) -> Answer:
    """Send the parts, each in a write of its own, and keep the connection."""

    async def answer(wire: StreamFormat) -> None:
        for part in parts:
            await wire.send(part)

    return answer


def hangs_after(*parts: bytes) -> Answer:
    """Send the parts, then nothing until the client hangs up."""

    async def answer(wire: StreamFormat) -> None:
        await sends(*parts)(wire)
        await wire.reader.read()
        wire.writer.close()

    return answer


def closes_after(*parts: bytes) -> Answer:
    async def answer(wire: StreamFormat) -> None:
        await sends(*parts)(wire)
        wire.writer.close()

    return answer


def resets_after(*parts: bytes, when: asyncio.Event) -> Answer:
    """Send the parts, then RST once they have been read, as a RST discards what has not."""

    async def answer(wire: StreamFormat) -> None:
        await sends(*parts)(wire)
        await when.wait()
        wire.writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
        wire.writer.transport.abort()

    return answer


def whole(status: str, body: bytes | dict[str, Any], *headers: str, kind: str = "application/json") -> bytes:
    """An answer with a length."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    fields = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(data)}", *headers]
    return "\r\n".join(fields).encode() + b"\r\n\r\n" + data


def framed(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(content: Any = None, finish_reason: str | None = None, **more: Any) -> bytes:
    """A server-sent event with one chunk of a chat completion."""
    delta = {"content": content} if not isinstance(content, dict) else content
    chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}], **more}
    return b"data: %s\n\n" % json.dumps(chunk).encode()


USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
DONE = b"data: [DONE]\n\n"
END = b"0\r\n\r\n"


def streamed(*events: bytes) -> bytes:
    """A whole streamed answer of these events, each a chunk of its own."""
    return STREAM_HEAD + b"".join(framed(item) for item in events) + END


def said(*texts: str) -> bytes:
    """A flawless streamed answer."""
    return streamed(
        *map(event, texts),
        event("", "stop"),
        b'data: {"choices": [], "usage": %s}\n\n' % json.dumps(USAGE).encode(),
        DONE,
    )


# --- Ollama's own API ---

LINES_HEAD = STREAM_HEAD.replace(b"text/event-stream", b"application/x-ndjson")


def line(content: str = "", **more: Any) -> bytes:
    """A line with one part of an answer of /api/chat."""
    return (
        json.dumps({"model": "m1", "message": {"role": "assistant", "content": content}, "done": False} | more).encode()
        + b"\n"
    )


def last_line(reason: str = "stop") -> bytes:
    return line(done=True, done_reason=reason, prompt_eval_count=7, eval_count=3, total_duration=5)


def lined(*lines: bytes) -> bytes:
    """A whole streamed answer of these lines, each a chunk of its own."""
    return LINES_HEAD + b"".join(framed(item) for item in lines) + END


def shows(context: int | None = None) -> Answer:
    """The answer to /api/show."""
    info = {"general.architecture": "qwen3"} | ({"qwen3.context_length": context} if context else {})
    return sends(whole("200 OK", {"model_info": info}))

"""HTTP from anybody, before anything is known of them: what they send is bounded in bytes, lines and time.

uvicorn over h11 with limits of our own, because whoever may not enter must not hold anybody up either. The rest of a
request, its body's size among it, is the guard's.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_HEAD = 32 * 1024
MAX_HEADERS = 100
PIECE = 1024
"""Heads are read in pieces of this size, so that the limits are looked at before much is parsed."""
SECONDS_FOR_HEAD = 10.0
SECONDS_FOR_BODY = 60.0
MAX_UNFINISHED = 200
"""So many connections may be in the middle of a request; when there are more, the one that is longest is closed."""


class BoundedProtocol(H11Protocol):
    def __init__(self, unfinished: dict[BoundedProtocol, None], **parts: Any) -> None:
        super().__init__(**parts)
        self._unfinished = unfinished
        self._later = b""
        self._size = self._lines = 0
        self._state: object = None
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._bound_time()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._finish()

    def data_received(self, data: bytes) -> None:
        while data and not self.transport.is_closing():
            if self.conn.their_state is h11.IDLE:
                self._receive_head(data[:PIECE])
                data = data[PIECE:]
            elif self.conn.their_state is h11.SEND_BODY:
                super().data_received(data)
                data = b""
            else:  # the next request, before this one is answered
                self._later += data
                self.flow.pause_reading()
                data = b""
        self._bound_time()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._later and not self.transport.is_closing():
            later, self._later = self._later, b""
            self.data_received(later)

    def send_400_response(self, msg: str) -> None:
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:  # in the middle of an answer
            self.transport.abort()

    def _receive_head(self, piece: bytes) -> None:
        super().data_received(piece)
        if self.conn.their_state is not h11.IDLE:
            self._size = self._lines = 0
            return
        self._size, self._lines = self._size + len(piece), self._lines + piece.count(b"\n")
        if (self._size > MAX_HEAD or self._lines > MAX_HEADERS) and not self.transport.is_closing():
            self.send_400_response(f"Send headers of at most {MAX_HEAD // 1024} kB in at most {MAX_HEADERS} lines.")

    def _bound_time(self) -> None:
        """Watch the clock from the moment in which a head, or a body, begins to be awaited."""
        if self.conn.their_state is self._state and not self.transport.is_closing():
            return
        self._finish()
        self._state = self.conn.their_state
        seconds = {h11.IDLE: SECONDS_FOR_HEAD, h11.SEND_BODY: SECONDS_FOR_BODY}.get(self._state)
        if seconds is not None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(seconds, self.transport.abort)
            self._unfinished[self] = None
            if len(self._unfinished) > MAX_UNFINISHED:
                longest = next(iter(self._unfinished))
                longest._finish()
                longest.transport.abort()

    def _finish(self) -> None:
        self._unfinished.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

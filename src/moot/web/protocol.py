"""HTTP from anybody, before anything is known of them: what they send is bounded in bytes, lines and time.

uvicorn over h11 with limits of our own, because whoever may not enter must not hold anybody up either. The rest of a
request, its body's size among it, is the guard's.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from moot.web.guard import OPEN_PATHS

MAX_HEAD = 32 * 1024
MAX_HEADERS = 100
PIECE = 1024
"""What comes is read in pieces of this size, so that the limits are looked at before much is parsed."""
PIECES = 8
"""So many at a time: a body in tiny chunks takes long to read, and others have their turn in between."""
SECONDS_FOR_HEAD = 10.0
SECONDS_FOR_BODY = 60.0
MAX_UNFINISHED = 200
"""So many connections may be in the middle of a head, and so many of a body; when there are more, one is closed."""


class BoundedProtocol(H11Protocol):
    def __init__(self, unfinished: dict[BoundedProtocol, None], **parts: Any) -> None:
        super().__init__(**parts)
        self._unfinished = unfinished
        self._later = b""
        self._turn: asyncio.Handle | None = None
        self._size = self._lines = 0
        self._state: object = None
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._bound_time()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._later = b""
        self._finish()

    def data_received(self, data: bytes) -> None:
        self._later += data
        if self._turn is None:
            self._read_on()

    def _read_on(self) -> None:
        """Read a little of what has come, and the rest when others had their turn."""
        self._turn = None
        for _ in range(PIECES):
            if not self._later or not self._can_read():
                break
            piece, self._later = self._later[:PIECE], self._later[PIECE:]
            if self.conn.their_state is h11.IDLE:
                self._receive_head(piece)
            else:
                super().data_received(piece)
        self._bound_time()
        if self._later:
            self.flow.pause_reading()
            if self._can_read():
                self._turn = self.loop.call_soon(self._read_on)

    def _can_read(self) -> bool:
        """Not before this request is answered, when the next one has come already."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY) and not self.transport.is_closing()

    def on_response_complete(self) -> None:
        if self.conn.their_state is h11.SEND_BODY:  # refused: nobody reads the rest
            self._later = b""
            self.transport.close()
        super().on_response_complete()
        if self._turn is None and not self.transport.is_closing():
            self._read_on()

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
            self._make_room()

    def _make_room(self) -> None:
        """Close the longest of those that are as far as this one, a body of somebody unknown before others."""
        alike = [each for each in self._unfinished if each._state is self._state]
        if len(alike) > MAX_UNFINISHED:
            unknown = (each for each in alike if each._state is h11.SEND_BODY and each.scope["path"] in OPEN_PATHS)
            one = next(unknown, alike[0])
            one._finish()
            one.transport.abort()

    def _finish(self) -> None:
        self._unfinished.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

"""A model server on a real socket for tests with real processes: it answers alike to the same question, counts its
calls, and holds back the rest of a reply for as long as a test wants.
"""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Replies = Callable[[dict[str, Any]], str]
VERDICT = {"summary": "The first side was clearer.", "score_a": 8, "score_b": 5}
PATIENCE = 60.0
"""Seconds after which a test that waits for something has failed."""


def speech_or_verdict(request: dict[str, Any]) -> str:
    """A verdict where JSON is asked for, else a speech that depends on the question alone."""
    if "response_format" in request:
        return json.dumps(VERDICT)
    number = zlib.crc32(json.dumps(request["messages"]).encode()) % 1000
    return f"Point {number} stands, and nobody has answered it so far."


class ModelServer:
    """Answers `replies(request)` word by word; what it was asked is in `requests`, with what keys in `keys`."""

    def __init__(self, replies: Replies = speech_or_verdict, models: tuple[str, ...] = ("mock",)) -> None:
        self.replies = replies
        self.models = models
        self.refusal: tuple[int, str] | None = None
        """A status and a message with which it answers every call instead."""
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._pause: tuple[int, int] | None = None
        self._paused = threading.Event()
        self._go_on = threading.Event()
        self._counting = threading.Lock()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._http.server_port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}/v1"

    @property
    def model(self) -> str:
        return f"{self.url}#mock"

    def pause_in(self, call: int, *, after_words: int = 3) -> None:
        """Hold the reply to this call (from 1) back after some words, until `go_on`."""
        self._pause = (call, after_words)

    def wait_until_paused(self) -> None:
        assert self._paused.wait(PATIENCE), f"call {self._pause} never came; there were {len(self.requests)}"

    def go_on(self) -> None:
        self._go_on.set()

    def count(self, request: dict[str, Any], key: str | None) -> int:
        with self._counting:
            self.requests.append(request)
            self.keys.append(key)
            return len(self.requests)

    def at_word(self, call: int, word: int) -> None:
        if self._pause == (call, word):
            self._paused.set()
            self._go_on.wait()

    @contextmanager
    def running(self) -> Iterator[ModelServer]:
        thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield self
        finally:
            self._go_on.set()
            self._http.shutdown()
            thread.join()
            self._http.server_close()


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if server.refusal:
                self._whole(server.refusal[0], {"error": {"message": server.refusal[1]}})
                return
            tags = {"models": [{"name": name} for name in server.models]}  # as Ollama lists them
            listed = {"data": [{"id": name} for name in server.models]}
            self._whole(200, tags if self.path == "/api/tags" else listed)

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            call = server.count(request, self.headers.get("Authorization"))
            if server.refusal:
                self._whole(server.refusal[0], {"error": {"message": server.refusal[1]}})
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            words = server.replies(request).split(" ")
            for at, word in enumerate(words):
                server.at_word(call, at)
                self._event(word if at == 0 else f" {word}", None)
            server.at_word(call, len(words))
            self._event("", "stop", {"prompt_tokens": 10, "completion_tokens": len(words)})
            self.wfile.write(b"data: [DONE]\n\n")

        def _whole(self, status: int, body: object) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _event(self, text: str, finish_reason: str | None, usage: dict[str, int] | None = None) -> None:
            choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish_reason}
            self.wfile.write(b"data: %s\n\n" % json.dumps({"choices": [choice], "usage": usage}).encode())
            self.wfile.flush()

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:
                self.close_connection = True  # the process we talked to is gone

        def log_message(self, *_: object) -> None:
            pass

    return Handler

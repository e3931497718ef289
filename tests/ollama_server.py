"""An Ollama server on a real socket, for real processes: it lists models, chats and embeds."""

from __future__ import annotations

import json
import re
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
DIMENSION = 512


class OllamaServer:
    """What it was asked is in `asked`, by path. Texts with words in common get vectors in a similar direction."""

    def __init__(self, models: tuple[str, ...], replies: Callable[[Body], str]) -> None:
        self.models = models
        self.replies = replies
        self.asked: list[tuple[str, Body]] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._http.server_port}"

    def bodies(self, path: str) -> list[Body]:
        return [body for asked, body in self.asked if asked == path]

    def answer(self, path: str, body: Body) -> list[Body]:
        """The lines of a reply."""
        self.asked.append((path, body))
        if path == "/api/show":
            return [{"model_info": {"qwen3.context_length": 40_960}}]
        if path == "/api/embed":
            return [{"embeddings": [_vector(text) for text in body["input"]]}]
        words = re.findall(r"\S+\s*", self.replies(body))
        counts = {"prompt_eval_count": 10, "eval_count": len(words)}
        return [*({"message": {"content": word}} for word in words), {"done": True, "done_reason": "stop", **counts}]

    @contextmanager
    def running(self) -> Iterator[OllamaServer]:
        thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            thread.join()
            self._http.server_close()


def _vector(text: str) -> list[float]:
    vector = [0.0] * DIMENSION
    for word in re.findall(r"\w+", text.lower()):
        vector[zlib.crc32(word.encode()) % DIMENSION] += 1
    return vector


def _handler(server: OllamaServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._write([{"models": [{"name": name} for name in server.models]}])

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._write(server.answer(self.path, body))

        def _write(self, lines: list[Body]) -> None:
            data = "".join(json.dumps(line) + "\n" for line in lines).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-ndjson" if len(lines) > 1 else "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    return Handler

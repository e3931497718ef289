"""What is seen while a model's file is fetched, and when that fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from in_process import moot

CONTENT = b"GGUF" + bytes(50_000)


class _Answer(BaseHTTPRequestHandler):
    """HTTP/1.0, which does not say how large a file is unless asked to."""

    def do_GET(self) -> None:
        self.send_response(200)
        if "sized" in self.path:
            self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def _files() -> Iterator[str]:
    """The address, without its scheme, of a server that sends one file by any name."""
    with HTTPServer(("127.0.0.1", 0), _Answer) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def test_no_password_of_an_address_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with _files() as address:
        ran = moot(capsys, "models", "pull", f"http://anna:secret@{address}/sized.gguf?token=hidden")
    assert (ran.code, ran.err) == (0, f"Fetching http://{address}/sized.gguf: 0 MB …\n")
    assert "secret" not in ran.out
    assert "end" not in ran.out


def test_a_file_of_unknown_size_that_nobody_could_check_is_called_so(capsys: pytest.CaptureFixture[str]) -> None:
    with _files() as address:
        ran = moot(capsys, "models", "pull", f"HTTP://{address}/file.gguf")
    assert ran.code == 0
    assert "The server did not say how large the file is: should the end be missing, nobody has noticed." in ran.out

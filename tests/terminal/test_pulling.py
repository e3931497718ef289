"""What is seen while a model's file is fetched, and when that fails."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from test_screen import until

from in_process import moot
from model_server import PATIENCE
from moot.app import App, build
from moot.core.stored import StoredDebate
from moot.llm import weights
from moot.settings import load
from moot.terminal import watch as watching
from program import started

CONTENT = b"GGUF" + bytes(50_000)


class _Answer(BaseHTTPRequestHandler):
    """HTTP/1.0, which does not say how large a file is unless asked to."""

    def do_GET(self) -> None:
        self.send_response(200)
        if "sized" in self.path:
            self.send_header("Content-Length", str(len(CONTENT) + ("cut" in self.path)))
        if "tagged" in self.path:
            self.send_header("ETag", '"1"')
        self.end_headers()
        self.wfile.write(CONTENT)
        if "cut" in self.path:
            self.rfile.read()  # until the other side goes

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


@pytest.mark.parametrize(
    ("file", "kept"),
    [
        ("tagged-sized-cut", f"; {len(CONTENT):,} bytes are kept, and the same command goes on from there"),
        ("sized-cut", ""),
    ],
)
def test_who_stops_a_download_is_told_what_is_kept(file: str, kept: str) -> None:
    with _files() as address, started("models", "pull", f"http://{address}/{file}.gguf") as process:
        part = weights.folder() / f"{file}.new.part"
        until(lambda: part.exists() and part.stat().st_size == len(CONTENT))
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=PATIENCE)[1] == (
            f"Fetching http://{address}/{file}.gguf: 0 MB …\n"
            f"moot: stopped fetching http://{address}/{file}.gguf{kept}\n"
        )
    assert process.returncode == 130


async def test_who_leaves_while_the_built_in_model_is_fetched_is_told_how_the_debate_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    async def fetch(app: App) -> None:
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(watching, "_fetch_missing", fetch)
    async with build(load()) as app:
        record = await app.create("duel", "Cats?", {"model": "local:smollm2"})
        watched = asyncio.create_task(watching.watch(app, StoredDebate(record), watching.Watching()))
        await begun.wait()
        watched.cancel()
        with pytest.raises(asyncio.CancelledError):
            await watched
    said = f"moot: {record.id} was left; go on with: moot debate --resume {record.id}\n"
    assert capsys.readouterr().err.endswith(said)

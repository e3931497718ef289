"""What a terminal, a pipe or a full disk can do to a debate that is watched: cost what is shown, never a turn."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from test_views import _read

from forkserver import ForkedPopen
from model_server import PATIENCE, VERDICT, ModelServer
from moot.terminal import screen
from moot.terminal.screen import Screen
from program import COMMAND, run, started

LONG = " ".join(["word"] * 300)
F_SETPIPE_SZ = 1031
"""Of Linux: how much a pipe holds."""
DUEL = ["debate", "Cats", "--format", "duel", "--max-rounds", "1", "--model"]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(lambda asked: json.dumps(VERDICT) if "response_format" in asked else LONG).running() as server:
        yield server


def until(is_so: Callable[[], object]) -> None:
    ends = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < ends, "it never was so"
        time.sleep(0.02)


@contextmanager
def in_terminal(server: ModelServer) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A duel in a terminal of its own; killed at the latest with the end of the block."""
    terminal, theirs = os.openpty()
    files = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    with ForkedPopen([*COMMAND, *DUEL, server.model], **files, start_new_session=True) as process:
        os.close(theirs)
        try:
            yield process, terminal
        finally:
            process.kill()


def is_finished(tmp_path: Path) -> bool:
    with closing(sqlite3.connect(tmp_path / "data" / "moot" / "moot.db")) as database:
        return database.execute("SELECT status FROM debates").fetchall() == [("finished",)]


def test_a_pipe_that_nobody_reads_holds_no_debate_up_and_loses_nothing_that_is_read_later(
    server: ModelServer, tmp_path: Path
) -> None:
    server.pause_in(1, after_words=0)
    with started(*DUEL, server.model, "--json") as process:
        server.wait_until_paused()
        assert process.stdout
        fcntl.fcntl(process.stdout.fileno(), F_SETPIPE_SZ, screen.CHUNK)
        server.go_on()
        until(lambda: len(server.requests) == 3 and is_finished(tmp_path))
        out, err = process.communicate(timeout=PATIENCE)
    events = [json.loads(line) for line in out.splitlines()]
    assert (process.returncode, err) == (0, "")
    assert len(out) > 2 * screen.CHUNK
    assert [event["id"] for event in events[:-1]] == list(range(10**9 + 1, 10**9 + len(events)))
    assert events[-1]["type"] == "debate_finished"


def test_ctrl_s_holds_no_debate_up_and_ctrl_q_shows_the_rest(server: ModelServer, tmp_path: Path) -> None:
    server.pause_in(1)
    with in_terminal(server) as (process, terminal):
        server.wait_until_paused()
        os.write(terminal, b"\x13")
        server.go_on()
        until(lambda: len(server.requests) == 3 and is_finished(tmp_path))
        os.write(terminal, b"\x11")
        seen = b""
        while data := _read(terminal):
            seen += data
        os.close(terminal)
        assert process.wait(PATIENCE) == 0
    assert b"Debater A (pro) wins" in seen


def test_a_debate_whose_terminal_is_closed_goes_on_to_its_end(server: ModelServer, tmp_path: Path) -> None:
    server.pause_in(1)
    with in_terminal(server) as (process, terminal):
        server.wait_until_paused()
        os.close(terminal)
        server.go_on()
        assert process.wait(PATIENCE) == 0
    assert is_finished(tmp_path)
    assert len(server.requests) == 3


def test_a_pipe_whose_reader_goes_with_the_terminal_ends_no_debate(server: ModelServer, tmp_path: Path) -> None:
    server.pause_in(1)
    with started(*DUEL, server.model, "--json") as process:
        server.wait_until_paused()
        process.send_signal(signal.SIGHUP)
        assert process.stdout
        process.stdout.close()
        server.go_on()
        assert process.wait(PATIENCE) == 0
    assert is_finished(tmp_path)


def test_a_screen_that_takes_nothing_keeps_no_process_from_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "LEAVING_SECONDS", 0.01)
    reading, writing = os.pipe()
    shown = Screen(writing)
    shown.write(b"x" * 10**6)
    shown.finish()
    assert shown.lost == 10**6 - 16 * screen.CHUNK  # what a pipe of Linux holds
    os.close(reading)


def test_what_a_screen_cannot_keep_is_left_out_in_whole_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "HELD", 2**20 + 10)
    reading, writing = os.pipe()
    shown = Screen(writing)
    shown.write(b"x" * 2**20)
    pieces = [b"%03d\n" % number for number in range(100)]
    for piece in pieces:
        shown.write(piece)
    lost = shown.lost
    seen = b""
    while len(seen) < 2**20 + 400 - lost:
        seen += os.read(reading, 65536)
    assert lost > 0
    assert seen == b"x" * 2**20 + b"".join(pieces)[: 400 - lost]
    os.close(reading)


@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["plain", "json"])
def test_a_debate_whose_reader_has_left_goes_on_to_its_end_and_says_so_once(
    server: ModelServer, tmp_path: Path, as_json: list[str]
) -> None:
    server.pause_in(1)
    with started(*DUEL, server.model, *as_json) as process:
        server.wait_until_paused()
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        server.go_on()
        assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == screen.UNREAD
    assert is_finished(tmp_path)
    assert len(server.requests) == 3


def test_a_debate_begins_although_nobody_reads_its_first_line(server: ModelServer, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [*COMMAND, *DUEL, server.model]
    with ForkedPopen(command, stdout=writing, stderr=subprocess.PIPE, text=True) as process:
        os.close(writing)
        _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, screen.UNREAD)
    assert is_finished(tmp_path)


@pytest.mark.parametrize(
    ("number", "system", "left"),
    [
        (errno.EPIPE, "posix", True),
        (errno.EPIPE, "nt", True),
        (errno.EINVAL, "nt", True),  # as Windows says it
        (errno.EINVAL, "posix", False),
        (errno.ENOSPC, "nt", False),
    ],
)
def test_a_pipe_without_a_reader_is_known_on_every_system(number: int, system: str, left: bool) -> None:
    assert screen.reader_left(OSError(number, "gone"), system) is left


def test_a_reader_who_has_left_is_told_of_once() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    told: list[str] = []
    shown = Screen(writing, lambda: told.append("left"))
    assert [shown.write(piece) for piece in (b"one", b"two", b"three")] == [3, 3, 5]
    shown.finish()
    assert (told, shown.lost) == (["left"], 11)


@pytest.mark.parametrize("command", ["debate", "list", "help", "group"])
def test_a_full_disk_for_an_output_is_one_line(server: ModelServer, tmp_path: Path, command: str) -> None:
    plain = {"list": ["debate", "--list"], "help": ["--help"], "group": ["templates"]}
    arguments = plain.get(command) or [*DUEL, server.model]
    with (
        open("/dev/full", "w") as full,
        ForkedPopen([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True) as process,
    ):
        _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (1, f"moot: cannot read or write: {os.strerror(errno.ENOSPC)}\n")
    if command == "debate":
        assert is_finished(tmp_path)


def test_wrong_words_are_wrong_usage_also_where_nobody_can_be_told() -> None:
    with open("/dev/full", "w") as full:
        assert subprocess.run([*COMMAND, "nothing"], stdout=full, stderr=full, check=False).returncode == 2


def test_closed_streams_are_told_in_one_line_or_not_needed() -> None:
    def moot(words: str) -> tuple[int, str, str]:
        shell = f"exec {sys.executable} -m moot debate --list {words}"
        done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    closed = "moot: stdout is closed; send what is shown to a file or to /dev/null\n"
    assert moot("<&- >&-") == (2, "", closed)
    assert moot("<&- 2>&-") == (0, 'No debates yet. Start one: moot debate "Cats are better than dogs"\n', "")
    assert moot(">&- 2>&-") == (2, "", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_debate_stopped_by_a_signal_ends_with_a_code_of_its_own_and_says_which(
    server: ModelServer, tmp_path: Path, number: signal.Signals
) -> None:
    server.pause_in(1)
    with started(*DUEL, server.model) as process:
        server.wait_until_paused()
        process.send_signal(number)
        assert process.stderr
        assert process.stderr.readline().startswith("stopping after this turn")
        server.go_on()
        _, err = process.communicate(timeout=PATIENCE)
    why = {signal.SIGINT: "it was interrupted (Ctrl-C)", signal.SIGTERM: "its process was told to stop (SIGTERM)"}[
        number
    ]
    assert (process.returncode, err) == (4, "")
    with closing(sqlite3.connect(tmp_path / "data" / "moot" / "moot.db")) as database:
        (debate_id,) = database.execute("SELECT id FROM debates").fetchone()
    assert run("show", debate_id).out.endswith(f"{debate_id} is stopped: {why}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", "nowhere.md"],
        ["debate", "x", "--source", "nowhere.md"],
        ["debate", "x", "--replay", "nowhere.jsonl"],
        ["templates", "add", "nowhere.yaml"],
        ["debate", "x", "--format", "dule"],
    ],
    ids=" ".join,
)
def test_what_is_named_and_not_there_is_a_fault_of_usage(arguments: list[str]) -> None:
    ran = run(*arguments)
    assert ran.code == 2
    assert re.fullmatch(r"moot: [^\n]*(nowhere|dule)[^\n]*\n", ran.err)

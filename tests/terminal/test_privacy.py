"""What moot keeps is its owner's alone, and no password or key is kept or shown."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from model_server import ModelServer
from moot.llm.addresses import public_name
from program import run
from replies import answers

DUEL = ("debate", "Cats are better than dogs", "--format", "duel", "--max-rounds", "1", "--json", "--model")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(answers).running() as server:
        yield server


def modes(*paths: Path) -> dict[str, str]:
    return {path.name: oct(path.stat().st_mode & 0o777) for path in paths}


def test_what_is_kept_can_be_read_by_its_owner_alone(server: ModelServer, tmp_path: Path) -> None:
    data = tmp_path / "data" / "moot"
    assert run(*DUEL, server.model, "--record", "tapes/duel.jsonl").code == 0
    assert modes(data, Path("tapes"), Path("tapes/duel.jsonl")) == {
        "moot": "0o700",
        "tapes": "0o700",
        "duel.jsonl": "0o600",
    }
    with sqlite3.connect(data / "moot.db") as database:  # while it is open, its log is beside it
        database.execute("UPDATE debates SET topic = topic")
        database.commit()
        files = [data / name for name in ("moot.db", "moot.db-shm", "moot.db-wal", "moot.log")]
        private = {path.name: "0o600" for path in files}
        assert modes(*files) == private
        for path in (data, *files):  # as an earlier version has left them
            path.chmod(0o755)
        assert run("debate", "--list").code == 0
        assert modes(data, *files) == {"moot": "0o700", **dict.fromkeys(private, "0o700")}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("http://u:hunter#2pw@h:9/v1#m", "http://h:9/v1#m"),
        ("http://u:hunter#2pw@h:9/v1", "http://h:9/v1"),
        ("http://u:a/b@h/v1#m", "http://h/v1#m"),
        (r"http:\\u:hunter2@h/v1#m", "http://h/v1#m"),
        ("http://h/v1?key=a#b#m", "http://h/v1#m"),
        ("http://h/v1#m@sha", "http://h/v1#m@sha"),
        ("deepseek:deepseek-chat", "deepseek:deepseek-chat"),
    ],
)
def test_an_address_is_shown_without_its_password_wherever_that_ends(name: str, shown: str) -> None:
    assert public_name(name) == shown


def test_one_address_that_cannot_be_used_is_one_line_among_the_models() -> None:
    ran = run("models", env={"MOOT_PROVIDERS__MINE__BASE_URL": "http://host:99999/v1", "COLUMNS": "300"})
    assert ran.code == 0
    assert "the address of mine cannot be used" in ran.out
    assert "deepseek" in ran.out


def test_what_is_secret_in_an_address_is_shown_and_kept_nowhere(server: ModelServer, tmp_path: Path) -> None:
    secret = server.url.replace("//", "//anna:sentinel@")
    refused = run(*DUEL, f"{secret}?key=sentinel#mock")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == (
        f"moot: {server.url}#mock: an address with a password or a key in it would be kept with the debate; name the "
        "server under `providers` in moot.yaml, with base_url and key_env, and give PROVIDER:MODEL\n"
    )
    env = {
        "MOOT_PROVIDERS__MINE__BASE_URL": secret,
        "DEEPSEEK_BASE_URL": "http://anna:sentinel@127.0.0.1:9/v1",
        "DEEPSEEK_API_KEY": "sk-0123456789",
    }
    ran = [run(*DUEL, "mine:mock", env=env), run(*DUEL, "deepseek:x", env=env)]
    ran += [run(word, env={**env, "MOOT_MODEL": f"{secret}#mock"}) for word in ("models", "doctor")]
    ran += [run(*DUEL, wrong) for wrong in (secret, secret.upper(), "http://anna:sentinel@[::1#m")]
    ran += [
        run(*DUEL, wrong) for wrong in ("http://anna:sentinel#2@127.0.0.1:9/v1#m", r"http:\\anna:sentinel@host/v1#m")
    ]
    assert [each.code for each in ran] == [0, 1, 0, 1, 2, 2, 2, 2, 2]
    kept = b"".join(path.read_bytes() for path in (tmp_path / "data" / "moot").rglob("*") if path.is_file())
    assert b"mine:mock" in kept
    assert "sentinel" not in f"{ran}{kept.decode(errors='replace')}".lower()

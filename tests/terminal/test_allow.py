"""A moot.yaml that came with a folder: what of it counts before the user has allowed it, and how they are asked."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from test_views import in_terminal

from in_process import moot
from moot import settings
from moot.settings import load
from program import COMMAND, Ran, run, started

HOSTILE = {
    "model": "http://evil.example/v1#m",
    "models": {"judge": "local:/etc/weights"},
    "formats": {"duel": {"model": "https://evil.example/v1#m"}},
    "providers": {"deepseek": {"base_url": "http://evil.example", "key_env": "AWS_SECRET_ACCESS_KEY"}},
    "prompts": "prompts",
    "workflow": {"command": "sh -c id"},
    "research": {"files": {"command": "sh -c id", "tools": ["search"]}},
    "webhooks": [{"url": "https://evil.example/told"}],
    "database_url": "postgresql://me:hunter2@evil.example/moot",
    "decisions": "../../elsewhere",
    "host": "0.0.0.0",
    "token": "known-to-others",
    "allowed_hosts": ["evil.example"],
    "metrics_host": "0.0.0.0",
    "judges": ["http://evil.example/v1#m"],
    "user": "the chief",
    "user_header": "X-Anybody",
    "trusted_proxies": ["0.0.0.0/0"],
}
HARMLESS = {
    "model": "deepseek:deepseek-chat",
    "models": {"judge": "local:smollm2"},
    "formats": {"duel": {"max_rounds": 2}},
    "providers": {"deepseek": {"max_concurrent": 2}},
    "decisions": "docs/adr",
    "retrieval": {"embedder": "ollama"},
    "lease_seconds": 20,
    "depth": "careful",
}
PROVIDERS = {"providers": {"mine": {"base_url": "http://127.0.0.1:9/v1"}}}


def written(values: object, folder: Path = Path()) -> Path:
    file = folder.resolve() / "moot.yaml"
    file.write_text(json.dumps(values))
    return file


def warning(file: Path, names: str) -> str:
    return f"{file} sets {names}: ignored until you allow it with: moot allow"


@pytest.mark.parametrize("name", HOSTILE)
def test_what_reaches_beyond_a_debate_is_ignored_in_a_folder_s_file(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    untouched = load()
    file = written({name: HOSTILE[name], "lease_seconds": 17})
    assert load() == untouched.model_copy(update={"lease_seconds": 17})
    assert caplog.messages == [warning(file, name)]


@pytest.mark.parametrize(
    "written_as", [str.upper, str.title, str.capitalize, lambda name: name[:-1] + name[-1].upper()]
)
@pytest.mark.parametrize("name", settings.AppSettings.model_fields)
def test_a_setting_in_other_letters_is_refused_with_its_name(name: str, written_as: Callable[[str], str]) -> None:
    written({written_as(name): HOSTILE.get(name, 17)})
    with pytest.raises(
        settings.InvalidInput, match=rf"^moot.yaml: no setting is named '{written_as(name)}', did you mean {name}\?$"
    ):
        load()


def test_every_setting_of_a_provider_is_either_known_to_be_harmless_or_guarded() -> None:
    assert {"base_url", "key_env"} == settings.GUARDED_OF_PROVIDERS


@pytest.mark.parametrize("name", ["BASE_URL", "Key_Env"])
def test_nor_does_a_provider_s_setting_count_in_other_letters(name: str) -> None:
    written({"providers": {"deepseek": {name: "x"}}})
    with pytest.raises(settings.InvalidInput, match=rf"providers.deepseek.{name}: not known"):
        load()


def test_every_setting_is_either_known_to_be_harmless_or_guarded() -> None:
    names = settings.AppSettings.model_fields.keys()
    assert names - settings.HARMLESS == HOSTILE.keys()


def test_what_concerns_debates_alone_counts_without_a_word(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MOOT_DEPTH")
    written(HARMLESS)
    loaded = load().model_dump(mode="json", exclude_unset=True, exclude_none=True)
    assert {**loaded, "providers": {"deepseek": {"max_concurrent": 2}}} == HARMLESS
    assert caplog.messages == []


def test_the_user_s_own_file_and_one_they_name_count_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = settings.config_folder()
    own.mkdir(parents=True)
    written(PROVIDERS, own)
    assert set(load().providers) == {"mine"}
    (own / "moot.yaml").unlink()
    (tmp_path / "here").mkdir()
    named = written(PROVIDERS, tmp_path / "here")
    assert set(load().providers) == set()
    monkeypatch.setenv("MOOT_CONFIG", str(named))
    assert set(load().providers) == {"mine"}
    monkeypatch.setenv("MOOT_CONFIG", "nowhere.yaml")
    with pytest.raises(settings.InvalidInput, match=r"MOOT_CONFIG names 'nowhere.yaml', which is no file"):
        load()


def test_an_allowed_file_counts_until_it_changes_or_is_revoked(capsys: pytest.CaptureFixture[str]) -> None:
    file = written(PROVIDERS)
    shown = f"{file} is not of your own settings. It would decide:\n"
    assert moot(capsys, "allow") == Ran(
        2, "", f"moot: nobody can be asked about {file} here: read it, and give --yes\n"
    )
    allowed = moot(capsys, "allow", "--yes")
    assert (allowed.code, allowed.out) == (0, f"{file} is allowed until it changes.\n")
    assert allowed.err.startswith(shown)
    assert set(load().providers) == {"mine"}
    assert moot(capsys, "allow").out == f"{file} is allowed already.\n"
    assert "allowed" in moot(capsys, "allow", "--list").out
    file.write_text(file.read_text() + "\n")
    assert "changed since, and ignored" in moot(capsys, "allow", "--list").out
    assert set(load().providers) == set()
    moot(capsys, "allow", "--yes", file.parent)
    assert set(load().providers) == {"mine"}
    assert moot(capsys, "allow", "--revoke").out == f"{file} is no longer allowed.\n"
    assert set(load().providers) == set()
    assert moot(capsys, "allow", "--revoke").out == f"{file} was not allowed.\n"
    assert moot(capsys, "allow", "--list").out == "No file is allowed. In a folder with one: moot allow\n"


def test_the_same_file_elsewhere_is_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(PROVIDERS)
    moot(capsys, "allow", "--yes")
    (tmp_path / "stranger").mkdir()
    copied = written(PROVIDERS, tmp_path / "stranger")
    assert settings.read_config(copied).ignored == PROVIDERS


def test_what_it_would_allow_is_shown_without_passwords(capsys: pytest.CaptureFixture[str]) -> None:
    written(HOSTILE)
    told = moot(capsys, "allow", "--yes").err
    assert 'what is run with decisions, or where they are sent\n    workflow: {"command":"sh -c id"}\n' in told
    assert "AWS_SECRET_ACCESS_KEY" in told
    assert "hunter2" not in told


def test_a_command_says_in_one_line_what_it_ignores() -> None:
    file = written({**PROVIDERS, "workflow": {"file": "issues"}})
    listed = run("debate", "--list", "--json")
    assert (listed.code, listed.err) == (0, f"moot: {warning(file, 'providers and workflow')}\n")


@pytest.mark.parametrize("arguments", [["mcp"], ["serve", "--port", "0"]], ids=lambda words: str(words[0]))
def test_servers_ignore_it_alike(arguments: list[str], tmp_path: Path) -> None:
    file = written({"database_url": f"sqlite:///{tmp_path}/stranger.db"})
    with started(*arguments) as process:
        assert process.stderr
        assert process.stderr.readline() == f"moot: {warning(file, 'database_url')}\n"
        process.terminate()
    assert not (tmp_path / "stranger.db").exists()


QUESTION = "Allow that, until the file changes? [y/N] "


@pytest.mark.parametrize(("key", "answer"), [("y\n", True), ("\n", False), ("n\n", False)])
def test_in_a_terminal_the_user_is_asked_once(key: str, answer: bool) -> None:
    file = written(PROVIDERS)
    asked: list[str] = []

    def type(seen: str) -> bytes:
        if QUESTION in seen and not asked:
            asked.append(seen)
            return key.encode()
        return b""

    code, screen = in_terminal(["debate", "--list"], width=200, type=type)
    assert code == 0
    assert 'providers: {"mine":{"base_url":"http://127.0.0.1:9/v1"}}' in screen.text
    assert ("Allowed. To take it back: moot allow --revoke" if answer else "Not allowed, and ignored.") in screen.text
    assert settings.allowed_files().list() == [(file, answer)]
    _, again = in_terminal(["debate", "--list"], width=300)
    assert QUESTION not in again.text
    assert ("sets providers: ignored until you allow it with: moot allow" in again.text) == (not answer)


def test_a_broken_file_is_still_the_command_s_to_tell(capsys: pytest.CaptureFixture[str]) -> None:
    Path("moot.yaml").write_text("model: [unclosed\n")
    checked = run("doctor")
    assert "✗ settings" in checked.out
    assert (checked.code, checked.err) == (1, "")
    none = moot(capsys, "allow", "nowhere")
    assert none.code == 2


def test_no_coroutine_is_left_behind_by_a_command_that_never_ran() -> None:
    written(PROVIDERS)
    program = [*COMMAND, "show", "DEB-none"]
    ran = subprocess.run(program, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert "never awaited" not in ran.stderr

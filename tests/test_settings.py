"""Where settings come from, which of them win, and what is said about broken ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from moot import settings
from moot.app import open_store
from moot.errors import InvalidInput
from moot.settings import AppSettings, load


def user_file() -> Path:
    path = settings.config_folder() / "moot.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def test_defaults_need_no_file(tmp_path: Path) -> None:
    assert load().database_url == f"sqlite:///{tmp_path}/data/moot/moot.db"
    assert (load().model, load().models, load().providers) == (None, {}, {})


def test_the_environment_wins_over_the_folders_file_and_that_over_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    user_file().write_text("model: user:m\nlease_seconds: 7\nheartbeat_seconds: 3\n")
    assert (load().model, load().lease_seconds, load().heartbeat_seconds) == ("user:m", 7, 3)
    Path("moot.yaml").write_text("model: here:m\nlease_seconds: 8\n")
    assert (load().model, load().lease_seconds, load().heartbeat_seconds) == ("here:m", 8, 3)
    monkeypatch.setenv("MOOT_MODEL", "environment:m")
    assert (load().model, load().lease_seconds, load().heartbeat_seconds) == ("environment:m", 8, 3)


def test_nested_settings_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_MODELS__JUDGE", "ollama:wise")
    monkeypatch.setenv("MOOT_PROVIDERS__MINE__BASE_URL", "http://mine/v1")
    loaded = load()
    assert loaded.models == {"judge": "ollama:wise"}
    assert loaded.providers["mine"].base_url == "http://mine/v1"


def test_parts_of_a_setting_from_the_environment_and_the_file_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("moot.yaml").write_text("models: {judge: file:m, moderator: file:m}\nformats: {duel: {max_rounds: 2}}\n")
    monkeypatch.setenv("MOOT_MODELS", '{"judge": "whole:m", "skeptic": "whole:m"}')
    monkeypatch.setenv("moot_models__Skeptic", "part:m")
    monkeypatch.setenv("MOOT_FORMATS__PANEL__MAX_ROUNDS", "3")
    monkeypatch.setenv("MOOT_RETRIEVAL__EMBEDDER", "ollama")
    monkeypatch.setenv("MOOT_JUDGES", "a:m, b:m")
    loaded = load(models={"guest": "given:m"})
    assert loaded.models == {"judge": "whole:m", "moderator": "file:m", "skeptic": "part:m", "guest": "given:m"}
    assert loaded.formats == {"duel": {"max_rounds": 2}, "panel": {"max_rounds": "3"}}
    assert (loaded.retrieval.embedder, loaded.judges) == ("ollama", ["a:m", "b:m"])


LAUGHS = "a0: &a0 [x]\n" + "".join(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}]\n" for n in range(9))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("modle: x\n", "moot.yaml: no setting is named 'modle', did you mean model?"),
        (
            "root:x: 1\nb: 2\nc: 3\nd: 4\n",
            "moot.yaml: no setting is named 'root:x' or 'b' or 'c'; known: allowed_hosts",
        ),
        ("y" * 50 + ": x\n", "moot.yaml: no setting is named with 50 letters; known: allowed_hosts, "),
        ("lease_seconds: soon\n", "settings (MOOT_* or moot.yaml): lease_seconds: "),
        *(
            (
                f"{name}_seconds: .inf\n",
                f"settings (MOOT_* or moot.yaml): {name}_seconds: write a number that is not infinite",
            )
            for name in ("lease", "heartbeat", "share", "retry", "grace")
        ),
        ("lease_seconds: -1\n", "settings (MOOT_* or moot.yaml): lease_seconds: "),
        (
            "retrieval: {embeder: x}\n",
            "settings (MOOT_* or moot.yaml): retrieval.embeder: not known, did you mean embedder?",
        ),
        (
            "providers: {mine: {comand: x}}\n",
            "settings (MOOT_* or moot.yaml): providers.mine.comand: not known, did you mean command of research or "
            "workflow? known: base_url, key_env, max_concurrent, requests_per_minute",
        ),
        (
            "retrieval: {key_env: x}\n",
            "settings (MOOT_* or moot.yaml): retrieval.key_env: not known, did you mean key_env of providers or "
            "research? known: embedder, store",
        ),
        (
            "retrieval: {nothing: x}\n",
            "settings (MOOT_* or moot.yaml): retrieval.nothing: not known; known: embedder, store",
        ),
        (
            "retrieval: {embedder: olama}\n",
            "settings (MOOT_* or moot.yaml): retrieval.embedder: write wordllama, ollama or ollama:MODEL, not 'olama'",
        ),
        ("model: [unclosed\n", "moot.yaml: line 2: this is no YAML: "),
        ("just words\n", "moot.yaml holds no settings: write lines of the form `name: value`"),
        ("- a\n- list\n", "moot.yaml holds no settings: write lines of the form `name: value`"),
        (LAUGHS, "moot.yaml: line 2: write out what *a0 stands for"),
        ("formats: &a {duel: *a}\n", "moot.yaml: line 1: write out what *a stands for"),
        ("formats: " + "[" * 50_000, "moot.yaml: line 1: nested too deeply to be read"),
        ('port: 1\nx: !!int ""', "moot.yaml: line 2: this cannot be read as int"),
        ("x: !!bool x", "moot.yaml: line 1: this cannot be read as bool"),
        ("x: [!!timestamp x]", "moot.yaml: line 1: this cannot be read as timestamp"),
        ("x: !!timestamp 2020-13-45", "moot.yaml: line 1: this cannot be read as timestamp"),
        ("x: !!float ''", "moot.yaml: line 1: this cannot be read as float"),
        ("x: !!int 0x", "moot.yaml: line 1: this cannot be read as int"),
        ("model: x\n" * 10_000, "moot.yaml is over 64 kB"),
        ("port: " + "9" * 5_000, "moot.yaml: line 1: a number with too many digits"),
    ],
)
def test_a_broken_file_is_said_in_one_line(text: str, said: str) -> None:
    Path("moot.yaml").write_text(text)
    with pytest.raises(InvalidInput) as raised:
        load()
    message = str(raised.value)
    assert message.startswith(said)
    assert "\n" not in message


@pytest.mark.parametrize(("variable", "field"), [("MOOT_LEASE_SECONDS", "lease_seconds"), ("MOOT_MODELS", "models")])
def test_a_broken_variable_is_said(monkeypatch: pytest.MonkeyPatch, variable: str, field: str) -> None:
    monkeypatch.setenv(variable, "soon")
    with pytest.raises(InvalidInput, match=rf"^(settings \(MOOT_.*{field}|{variable} is no JSON: write it as JSON)"):
        load()


def test_a_file_is_read_no_further_than_it_may_be_long() -> None:
    with Path("moot.yaml").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(InvalidInput, match=r"^moot.yaml is over 64 kB$"):
        load()


def test_a_link_out_of_the_folder_is_not_followed_and_nothing_of_its_target_shown(tmp_path: Path) -> None:
    (tmp_path / "shadow").write_text("root:$6$secret:19000::\n")
    (tmp_path / "folder").mkdir()
    os.chdir(tmp_path / "folder")
    Path("moot.yaml").symlink_to("../shadow")
    with pytest.raises(
        InvalidInput, match=r"moot.yaml is a link out of its folder; remove it, or name the file it"
    ) as told:
        load()
    assert "secret" not in str(told.value)
    Path("moot.yaml").unlink()
    Path("moot.yaml").symlink_to("settings.yaml")
    Path("settings.yaml").write_text("port: 17\n")
    assert load().port == 17


def test_the_user_s_own_file_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles.yaml").write_text("port: 17\n")
    user_file().symlink_to(tmp_path / "dotfiles.yaml")
    assert load().port == 17


def test_an_empty_file_is_no_problem() -> None:
    Path("moot.yaml").write_text("# nothing yet\n")
    assert load() == AppSettings()


@pytest.mark.parametrize("url", ["mysql://me:secret@host/db", "sqlite:relative.db", "moot.db", "secret", ""])
async def test_another_database_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        await open_store(url)
    assert "write sqlite:///FILE or postgresql://" in str(raised.value)
    assert "secret@" not in str(raised.value)


async def test_sqlite_takes_relative_and_absolute_files(tmp_path: Path) -> None:
    for url in ("sqlite:///here.db", f"sqlite:///{tmp_path}/there/new.db"):
        await (await open_store(url)).close()
    assert (tmp_path / "here.db").is_file()
    assert (tmp_path / "there" / "new.db").is_file()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:secret@host:5432/moot", "postgresql://me:…@host:5432/moot"),
        ("postgresql://me:se@cr/et@host/moot", "postgresql://me:…@host/moot"),
        ("postgresql://me@host/moot", "postgresql://me@host/moot"),
        ("postgresql://host/moot?user=me&password=secret", "postgresql://host/moot?user=me&password=…"),
        ("sqlite:////data/moot.db", "sqlite:////data/moot.db"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    assert AppSettings(database_url=url).database_name == shown


def test_a_token_of_white_space_is_refused_and_one_of_nothing_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for token, kept in (("", None), (" long and random\n", "long and random")):
        monkeypatch.setenv("MOOT_TOKEN", token)
        found = load().token
        assert (found and found.get_secret_value()) == kept
    monkeypatch.setenv("MOOT_TOKEN", " \t\n")
    with pytest.raises(InvalidInput, match=r"token: .*holds nothing but white space; set it to a long random text"):
        load()


MAY_BE_EMPTY = {"model", "token", "user", "judges", "allowed_hosts", "trusted_proxies"}


@pytest.mark.parametrize("name", sorted(AppSettings.model_fields))
def test_a_variable_that_is_empty_means_none_or_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = f"MOOT_{name.upper()}"
    monkeypatch.setenv(variable, "")
    if name in MAY_BE_EMPTY:
        assert not getattr(load(), name)
        return
    with pytest.raises(InvalidInput, match=f"^{variable} is empty: give it a value, or unset it$"):
        load()


def test_an_empty_part_of_a_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_MODELS__JUDGE", " ")
    with pytest.raises(InvalidInput, match=r"^MOOT_MODELS__JUDGE is empty: give it a value, or unset it$"):
        load()


@pytest.mark.parametrize(
    ("server", "told"),
    [
        ({"tools": ["search"]}, "write either a command or a url"),
        ({"command": "a", "url": "https://b.example", "tools": ["search"]}, "write either a command or a url"),
        ({"command": " ", "tools": ["search"]}, "command names no program"),
        ({"command": "a 'b", "tools": ["search"]}, "No closing quotation"),
        ({"command": "a", "tools": []}, "give at least 1"),
        ({"command": "a"}, "is missing"),
        ({"url": "ftp://b.example", "tools": ["search"]}, "is not an address"),
        ({"url": "https://b.example", "env": ["KEY"], "tools": ["search"]}, "write key_env for the key of a url"),
        ({"command": "a", "key_env": "KEY", "tools": ["search"]}, "name the variables of a command under env"),
    ],
)
def test_a_server_of_research_is_a_command_or_an_address_with_named_tools(server: object, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        load(research={"files": server})

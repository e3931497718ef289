"""Rows that another version or a fault has written: their debate says so, and every other one is shown as before."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError

from in_process import moot
from integrations.mcp_stage import read, talking, use
from moot.app import App
from moot.store.sqlite import open_sqlite
from moot.testing import ScriptedModel, scripted_app
from web.live import Live, serving
from web.theatre import company

DAMAGE: list[tuple[str, str, Any]] = [
    ("debates", "outcome", "not json"),
    ("debates", "status", "newstatus"),
    ("debates", "seats", '{"x": 5}'),
    ("debates", "seats", '{"judge": {"model": 5, "temperature": "hot", "max_tokens": null}}'),
    ("debates", "created_at", -1e15),
    ("debates", "created_at", "yesterday"),
    ("debates", "finished_at", 1e18),
    ("debates", "settings", "[]"),
    ("debates", "format_version", "two"),
    ("debates", "topic", b"\xff"),
    ("turns", "usage", "not json"),
    ("turns", "usage", '{"input_tokens": "many"}'),
    ("turns", "marks", "{}"),
    ("turns", "data", "not json"),
    ("turns", "finished_at", 1e18),
]
SAID = "cannot be read"
ODD_SETTINGS = '{"max_runtime_seconds": "long", "max_rounds": [], "models": 7}'


class Place:
    """A database with a whole duel, and one for each damage."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.whole, *self.damaged = asyncio.run(self.visit(self._play))
        with closing(sqlite3.connect(file)) as database, database:
            for (trigger,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                database.execute(f"DROP TRIGGER {trigger}")
            for debate, (table, column, value) in zip(self.damaged, DAMAGE, strict=True):
                which = "id" if table == "debates" else "debate_id"
                database.execute(f"UPDATE {table} SET {column} = ? WHERE {which} = ?", (value, debate))

    def set_settings(self, settings: str) -> None:
        with closing(sqlite3.connect(self.file)) as database, database:
            database.execute("UPDATE debates SET settings = ? WHERE id = ?", (settings, self.whole))

    async def _play(self, app: App) -> list[str]:
        made = [await app.create("duel", "Cats?", {"max_rounds": 1}) for _ in range(len(DAMAGE) + 1)]
        for record in made:
            await app.run(record.id, lambda event: None)
        await app.close()
        return [record.id for record in made]

    async def visit(self, do: Callable[[App], Awaitable[Any]]) -> Any:
        return await do(scripted_app(ScriptedModel(company()), await open_sqlite(self.file)))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("MOOT_DATABASE_URL", f"sqlite:///{tmp_path / 'moot.db'}")
    return Place(tmp_path / "moot.db")


def test_a_damaged_row_is_said_of_its_own_debate_and_harms_no_other(
    place: Place, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before = _rows(place)
    asyncio.run(place.visit(lambda app: _browse(app, place)))
    _use_terminal(place, capsys, tmp_path)
    assert _rows(place) == before


def test_a_debate_with_settings_of_other_types_has_its_page(place: Place) -> None:
    place.set_settings(ODD_SETTINGS)

    async def look(app: App) -> int:
        async with serving(app) as live:
            return (await live.get(f"/debates/{place.whole}")).status

    assert asyncio.run(place.visit(look)) == 200


def test_an_assistant_gets_words_about_a_damaged_row_and_all_the_others(place: Place) -> None:
    asyncio.run(place.visit(lambda app: _assist(app, place)))


async def _assist(app: App, place: Place) -> None:
    async with talking(app) as client:
        listed = (await use(client, "list_debates", limit=50))["debates"]
        assert {line["id"] for line in listed} == {place.whole, *place.damaged}
        assert place.whole in json.dumps(await use(client, "search_decisions"))
        assert place.whole in await read(client, "moot://debates")
        for debate, damage in zip(place.damaged, DAMAGE, strict=True):
            assert SAID in json.dumps(await use(client, "look_at_debate", debate_id=debate)), damage
            await _try_all(client, debate, damage)
        place.set_settings(ODD_SETTINGS)
        await _try_all(client, place.whole, ODD_SETTINGS)


async def _try_all(client: Any, debate: str, damage: object) -> None:
    for part in ("transcript", "decision", "trace"):
        assert "went wrong inside" not in await _read(client, f"moot://debates/{debate}/{part}"), (part, damage)
    for tool in ("look", "wait", "stop", "resume", "conclude", "fork"):
        name = {"look": "look_at_debate", "wait": "wait_for_debate"}.get(tool, f"{tool}_debate")
        said = str((await client.call_tool(name, {"debate_id": debate})).content)
        assert "went wrong inside" not in said, (tool, damage, said)


async def _read(client: Any, uri: str) -> str:
    try:
        return await read(client, uri)
    except MCPError as error:
        return str(error)


def _rows(place: Place) -> list[Any]:
    with closing(sqlite3.connect(place.file)) as database:
        return database.execute("SELECT * FROM debates ORDER BY id").fetchall()


async def _browse(app: App, place: Place) -> None:
    async with serving(app) as live:
        for path in ("/", "/metrics", f"/debates/{place.whole}"):
            assert (await live.get(path)).status == 200, path
        lines = {line["id"]: line["status"] for line in (await live.get("/api/debates?limit=100")).body["debates"]}
        assert [lines[id] for id in (place.whole, *place.damaged[:3])] == ["finished", "finished", "failed", "failed"]
        assert lines.keys() == {place.whole, *place.damaged}
        found = (await live.get("/api/debates?limit=100&status=failed")).body["debates"]
        seats = {id for id, (_, column, _) in zip(place.damaged, DAMAGE, strict=True) if column == "seats"}
        assert {line["id"] for line in found} == {id for id in lines if lines[id] == "failed"} - seats
        for debate, damage in zip(place.damaged, DAMAGE, strict=True):
            await _look_at(live, debate, damage)


async def _look_at(live: Live, debate: str, damage: object) -> None:
    page = await live.get(f"/debates/{debate}")
    assert (page.status, SAID in page.body) == (200, True), damage
    whole = (await live.get(f"/api/debates/{debate}")).body
    assert SAID in (whole["error"] or whole["headline"]), damage
    assert (await live.ended(debate))["type"] in ("debate_finished", "debate_failed"), damage
    for style in ("md", "html", "argdown", "json"):
        assert (await live.get(f"/api/debates/{debate}/export?as={style}")).status == 200, (damage, style)
    assert (await live.post(f"/api/debates/{debate}/resume")).status == 409, damage


def _use_terminal(place: Place, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    listed = moot(capsys, "debate", "--list")
    assert (listed.code, place.whole in listed.out, place.damaged[0] in listed.out) == (0, True, True)
    for debate, damage in zip(place.damaged, DAMAGE, strict=True):
        shown = moot(capsys, "show", debate)
        assert (shown.code, SAID in shown.out) == (0, True), damage
    refused = moot(capsys, "fork", place.damaged[1])
    assert (refused.code, SAID in refused.err) == (1, True)
    assert moot(capsys, "export", "--all", "--status", "any", "--as", "jsonl", "--output", folder / "all").code == 0
    ids = [json.loads(line)["id"] for line in (folder / "all" / "debates.jsonl").read_text().splitlines()]
    assert sorted(ids) == sorted([place.whole, *place.damaged])
    assert moot(capsys, "traces", "stats").code == 0

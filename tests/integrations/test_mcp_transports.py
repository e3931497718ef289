from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from base64 import b64encode
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_stage import (
    Raw,
    cast,
    panel_app,
    refusal,
    serving,
    started,
    use,
)

from model_server import PATIENCE
from moot.core.debate import Status
from moot.errors import InvalidInput, StoreError
from moot.integrations.mcp.serve import serve_http
from moot.settings import AppSettings
from moot.store.sqlite import Memory, open_sqlite
from moot.testing import ScriptedModel, scripted_app
from moot.web.guard import Access
from pdf_file import pdf

# Over HTTP


async def test_only_who_knows_the_token_comes_in() -> None:
    async with serving(panel_app(), Access(token="s3cret")) as live, aiohttp.ClientSession() as session:
        async with session.post(live.url, json={}) as refused:
            assert (refused.status, (await refused.json())["error"]["code"]) == (401, "unauthorized")
        async with (
            httpx2.AsyncClient(headers={"Authorization": "Bearer s3cret"}) as http,
            Client(streamable_http_client(live.url, http_client=http)) as client,
        ):
            assert (await use(client, "list_debates"))["debates"] == []


async def test_other_names_sites_and_paths_are_refused() -> None:
    asked: list[tuple[str, dict[str, str], int]] = [
        ("/mcp", {"Host": "evil.example"}, 421),
        ("/mcp", {"Origin": "http://evil.example"}, 403),
        ("/mcp", {"Sec-Fetch-Site": "cross-site"}, 403),
        ("/", {}, 404),
        ("/api/debates", {}, 404),
        ("/docs", {}, 404),
    ]
    async with serving(panel_app()) as live, aiohttp.ClientSession() as session:
        for path, headers, status in asked:
            url = live.url.removesuffix("/mcp") + path
            async with session.post(url, json={}, headers=headers) as refused:
                assert (path, headers, refused.status) == (path, headers, status)


async def test_a_debate_over_http_may_bring_its_sources_along() -> None:
    source = {"name": "report", "text": "It is so. " * 50_000}
    async with serving(panel_app()) as live, Client(live.url) as client:
        started = await use(client, "start_debate", format="panel", topic="Redis?", settings={"sources": [source]})
        assert (await live.app.load(started["debate"]["id"])).record.settings["sources"] == [source]


async def test_a_document_that_is_made_to_harm_is_refused_in_words() -> None:
    long = {"name": "long.pdf", "base64": b64encode(pdf(*[""] * 10_000)).decode()}
    async with serving(panel_app()) as live, Client(live.url) as client:
        told = await refusal(client, "start_debate", format="duel", topic="Redis?", settings={"sources": [long]})
    assert "long.pdf has over 2,000 pages" in told


async def test_beyond_this_machine_it_wants_a_token() -> None:
    with pytest.raises(InvalidInput, match=r"listening on 0\.0\.0\.0 lets others in: set MOOT_TOKEN"):
        await serve_http(AppSettings(), "0.0.0.0", 0)


class Away(Memory):
    async def write(self, operation: object) -> Any:
        raise StoreError("the database is away; try again later")


async def test_health_says_when_the_database_is_away() -> None:
    app = scripted_app(ScriptedModel(cast()))
    app.store.database = Away(time.time)
    async with (
        serving(app) as live,
        aiohttp.ClientSession() as session,
        session.get(live.url.removesuffix("mcp") + "health") as health,
    ):
        told = health.status, await health.json()
    assert told == (503, {"status": "the database is away; try again later"})


async def test_a_server_as_a_process_tells_its_health_and_ends_when_asked(tmp_path: Path) -> None:
    with started("http", tmp_path) as server:
        assert server.stdout
        url = (await asyncio.to_thread(server.stdout.readline)).strip()
        async with aiohttp.ClientSession() as session, session.get(url.removesuffix("mcp") + "health") as health:
            assert (health.status, (await health.json())["status"]) == (200, "ok")
        async with Client(url) as client:
            assert (await use(client, "list_debates"))["debates"] == []
        server.terminate()
        assert await asyncio.to_thread(server.wait, PATIENCE) == 0


# Over stdio


async def test_stdout_carries_the_protocol_alone_and_what_is_left_unfinished_the_next_process_ends(
    tmp_path: Path,
) -> None:
    with started("stdio", tmp_path, words=3) as process:
        client = Raw(process)
        debate = client.call("start_debate", format="duel", topic="Cats?", settings={"max_rounds": 1})["debate"]
        assert process.stderr
        assert [process.stderr.readline() for _ in range(2)] == ["noise of a library\n", "stuck\n"]
        assert (process.communicate(timeout=PATIENCE), process.returncode) == (("", ""), 0)
    store = await open_sqlite(tmp_path / "moot.db")
    assert (await store.load(debate["id"])).record.status is Status.QUEUED
    await store.close()
    with started("stdio", tmp_path) as process:
        report = Raw(process).call("wait_for_debate", debate_id=debate["id"])
        assert (report["debate"]["status"], report["speeches"]) == ("finished", 3)
        process.terminate()  # with stdin open
        assert process.wait(PATIENCE) == 0


def test_without_the_extra_a_message_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['mcp'] = None\n"
        "sys.argv = ['moot', *sys.argv[1:]]\n"
        "from moot.terminal.cli import main; main()\n"
    )
    for options in ([], ["--http"]):
        done = subprocess.run(
            [sys.executable, "-c", code, "mcp", *options], capture_output=True, text=True, timeout=PATIENCE
        )
        message = "moot: the MCP server is not installed: pip install 'moot[mcp]'\n"
        assert (done.stdout, done.stderr, done.returncode) == ("", message, 2)

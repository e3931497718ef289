"""Files that become sources: sent to the API, inside a debate's settings, and by a form without JavaScript."""

from __future__ import annotations

import base64
import io
from collections.abc import AsyncIterator

import aiohttp
import pytest
from live import Live, serving, simple_app

from moot.retrieval.sources import MAX_FILE, NO_TEXT
from pdf_file import pdf

REPORT = pdf("The first page.", "The second page.")
READ = {"name": "report.pdf", "text": "The first page.\n\f\nThe second page."}
AS_FILE = {"Content-Type": "application/octet-stream"}


@pytest.fixture
async def live() -> AsyncIterator[Live]:
    async with serving(simple_app()) as live:
        yield live


async def test_a_file_that_is_sent_comes_back_as_a_source(live: Live) -> None:
    answer = await live.ask("POST", "/api/sources?name=report.pdf", data=REPORT, headers=AS_FILE)
    assert (answer.status, answer.body) == (200, READ)


async def test_a_file_that_cannot_be_read_is_refused_with_what_to_do(live: Live) -> None:
    picture = await live.ask("POST", "/api/sources?name=a.png", data=b"\x89PNG\0", headers=AS_FILE)
    assert picture.problem == (400, "invalid_input", f"a.png {NO_TEXT}")
    large = await live.ask("POST", "/api/sources?name=a.txt", data=io.BytesIO(b"a" * (MAX_FILE + 1)), headers=AS_FILE)
    assert large.status == 413


async def test_a_file_in_base64_is_a_source_of_the_debate(live: Live) -> None:
    sent = {"name": "report.pdf", "base64": base64.b64encode(REPORT).decode()}
    debate_id = await live.create(format="panel", start=False, sources=[sent, {"name": "b", "text": "words"}])
    record = (await live.app.load(debate_id)).record
    assert record.settings["sources"] == [READ, {"name": "b", "text": "words"}]


@pytest.mark.parametrize(
    ("format", "source", "fault"),
    [
        ("panel", {"name": "a", "base64": "no!"}, "a is no base64"),
        ("panel", {"base64": ""}, "a source is a name and a text, or a name and a file in base64"),
        ("duel", {"name": "a", "base64": "no!"}, "a is no base64"),
    ],
)
async def test_what_is_no_source_is_refused(live: Live, format: str, source: dict[str, str], fault: str) -> None:
    body = {"format": format, "topic": "Cats?", "settings": {"sources": [source]}}
    assert (await live.post("/api/debates", body)).problem[2] == fault


async def test_a_form_without_javascript_sends_files(live: Live) -> None:
    form = aiohttp.FormData({"topic": "Cats?", "format": "panel", "do": "start"})
    form.add_field("sources.0.name", "typed")
    form.add_field("sources.0.text", "Words.")
    form.add_field("sources.files", REPORT, filename="report.pdf")
    form.add_field("sources.files", b"", filename="")  # what a browser sends of an empty field
    answer = await live.ask("POST", "/new", data=form, allow_redirects=False)
    assert answer.status == 303
    record = (await live.app.load(answer.headers["Location"].rpartition("/")[2])).record
    assert record.settings["sources"] == [{"name": "typed", "text": "Words."}, READ]


async def test_a_form_with_a_file_that_cannot_be_read_is_shown_again_with_the_reason(live: Live) -> None:
    form = aiohttp.FormData({"topic": "Cats?", "format": "panel", "do": "start"})
    form.add_field("sources.files", REPORT, filename="report.pdf")
    form.add_field("sources.files", b"\x89PNG\0", filename="a.png")
    answer = await live.ask("POST", "/new", data=form)
    assert answer.status == 422
    assert f"a.png {NO_TEXT}" in answer.body
    assert "The first page." in answer.body  # what could be read is kept

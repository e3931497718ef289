from __future__ import annotations

import re
import runpy
import sys
from contextlib import aclosing
from pathlib import Path

import httpx
import pytest

from moot.formats import built_in, by_name
from moot.testing import ScriptedModel, scripted_app
from moot.web.server import build_app
from moot.web.stream.hub import Hub

ROOT = Path(__file__).parent.parent


def test_the_command_reference_is_fresh() -> None:
    """When it is not: python docs/commands.py"""
    text = runpy.run_path(str(ROOT / "docs/commands.py"))["text"]()
    assert (ROOT / "docs/commands.md").read_text() == text


def test_the_settings_reference_is_fresh() -> None:
    """When it is not: python docs/settings.py"""
    assert (ROOT / "docs/settings.md").read_text() == runpy.run_path(str(ROOT / "docs/settings.py"))["text"]()


def test_the_reference_of_calls_and_events_is_fresh() -> None:
    """When it is not: python docs/api.py"""
    assert (ROOT / "docs/api.md").read_text() == runpy.run_path(str(ROOT / "docs/api.py"))["text"]()


async def test_the_pictures_show_pages_of_the_structure_they_have_now(tmp_path: Path) -> None:
    """When a page has changed: python docs/screenshots.py, and look at the pictures."""
    script = runpy.run_path(str(ROOT / "docs/screenshots.py"))
    taken = (ROOT / "docs/pictures/structure.txt").read_text("utf-8").split("\n\n")
    async with script["playing"](tmp_path) as (app, model):
        web = httpx.ASGITransport(build_app(app, Hub(app.follow)))
        async with (
            httpx.AsyncClient(transport=web, base_url="http://localhost") as client,
            aclosing(script["scenes"](app, model)) as scenes,
        ):
            found = [(await script["structure"](client.get, scene)).rstrip("\n") async for scene in scenes]
        await app.queue.drain(0)
    assert [each.splitlines()[0] for each in found] == [each.splitlines()[0] for each in taken]
    for now, then in zip(found, taken, strict=True):
        assert now.splitlines() == then.splitlines()


def test_an_outline_tells_of_structure_and_of_nothing_that_changes_by_itself() -> None:
    outline = runpy.run_path(str(ROOT / "docs/screenshots.py"))["outline"]
    row = '<li class="row" id="DEB-{0}"><h2>Topic {0}</h2><svg class="ico"><path class="a" d="M{0}"/></svg></li>'
    page = f'<main><ul>{row.format(1)}{row.format(2)}</ul><p>4 min</p><form><input name="q"><b>x</b></form></main>'
    assert [*outline(page)] == ["main", " li.row", "  h2", "  svg.ico", " form", "  input"]


def test_every_link_in_the_docs_leads_somewhere() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "bench/README.md"]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_a_reader_of_the_site_is_told_of_to_nobody() -> None:
    page = '<a href="https://github.com/x/y" class="md-source" data-md-component="source">x</a>'
    made = runpy.run_path(str(ROOT / "docs/site.py"))["on_post_page"](page, page=None, config=None)
    assert made == '<a href="https://github.com/x/y" class="md-source" >x</a>'


def test_every_format_has_a_page_of_its_own() -> None:
    assert [format.name for format in built_in() if not (ROOT / f"docs/{format.name}.md").exists()] == []


async def test_the_format_in_the_docs_works_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write_slam(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    from slam.format import SLAM  # type: ignore[import-not-found]

    app = scripted_app(ScriptedModel(lambda request: "rain " * 10), formats=by_name([SLAM]))
    record = await app.create("slam", "Rain", {"max_rounds": 2})
    await app.run(record.id, lambda event: None)
    outcome = (await app.load(record.id)).record.outcome
    assert outcome == {
        "summary": "first wrote 98 letters.",
        "caveats": [],
        "lead": "",
        "figures": [],
        "language": "en",
        "trust": None,
        "coverage": None,
        "ledger": None,
        "winner": "first",
    }
    assert "slam" in sys.modules


async def test_what_the_format_in_the_docs_declares_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write_slam(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    from slam.declared import SLAM  # type: ignore[import-not-found]

    app = scripted_app(ScriptedModel(lambda request: "rain " * 10), formats=by_name([SLAM]))
    record = await app.create("slam", "Rain", {"max_rounds": 2})
    await app.run(record.id, lambda event: None)
    (chart,) = app.reading(await app.load(record.id)).charts
    assert (chart.title, chart.series[0].name, chart.series[0].values) == ("Letters by round", "First", {1: 49, 2: 49})
    assert (SLAM.reason("silence"), SLAM.reason("max_cost")) == (
        "a poet had nothing more to say",
        "the limit of cost was reached",
    )


async def test_the_format_in_the_docs_that_looks_something_up_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_slam(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    from slam.looking import ALMANAC, SLAM  # type: ignore[import-not-found]

    app = scripted_app(ScriptedModel([]), formats=by_name([SLAM]))
    record = await app.create("slam", "Rain")
    result = await app.run(record.id, lambda event: None)
    assert result.outcome is not None
    assert result.outcome["summary"] == f"1 of 1: {ALMANAC}"


def _write_slam(site: Path) -> None:
    """The package in the page about formats."""
    page = (ROOT / "docs/formats.md").read_text()
    folder = site / "slam"
    folder.mkdir()
    files = (
        ("python", "format.py"),
        ("python", "declared.py"),
        ("python", "looking.py"),
        ("jinja", "rules.md"),
        ("jinja", "poem.md"),
    )
    for language, name in files:
        blocks = re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)
        (folder / name).write_text(next(block for block in blocks if name in block.splitlines()[0]))

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

from moot.formats import by_name
from moot.testing import ScriptedModel, scripted_app

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


def test_every_link_in_the_docs_leads_somewhere() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "bench/README.md"]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


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


def _write_slam(site: Path) -> None:
    """The package in the page about formats."""
    page = (ROOT / "docs/formats.md").read_text()
    folder = site / "slam"
    folder.mkdir()
    files = (("python", "format.py"), ("python", "declared.py"), ("jinja", "rules.md"), ("jinja", "poem.md"))
    for language, name in files:
        blocks = re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)
        (folder / name).write_text(next(block for block in blocks if name in block.splitlines()[0]))

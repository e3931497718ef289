"""Charts in a file that stands alone: the same as on the pages, and nothing in it that runs or is fetched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from moot.app import build
from moot.examples.catalog import Example, examples
from moot.export import html
from moot.export.charts.figures import figures
from moot.export.documents import export
from moot.export.html import Drawings, page
from moot.llm.recording import Recording
from moot.reading.debate import Reading
from moot.settings import AppSettings
from moot.web.pages.assets import FOLDER


async def played(example: Example, folder: Path) -> Reading:
    tape = Recording.load(example.recording)
    async with build(AppSettings(database_url=f"sqlite:///{folder}/moot.db"), {}, tape=tape) as app:
        record = await app.create(example.format, example.topic, example.settings())
        await app.run(record.id, lambda event: None)
        return await app.read(record.id)


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
async def test_an_html_file_has_the_charts_of_its_outcome_before_the_speeches(example: Example, tmp_path: Path) -> None:
    reading = await played(example, tmp_path)
    html = export(reading, "html")
    found = re.findall(r"<figure class=.chart.*?</figure>", html, re.DOTALL)
    assert tuple(found) == figures(reading)
    assert len(found) >= len(reading.charts) >= 2
    assert html.index("<h2>Charts</h2>") == [at.start() for at in re.finditer("<h2>", html)][1]
    for chart in found:
        assert re.search(r'<svg [^>]*role="img".*<title .*<table>', chart, re.DOTALL)
    assert not re.search(r"<script|<link|<img|src=|url\((?!#)|@import", html)


def test_figures_come_after_the_outcome_wherever_that_stands() -> None:
    text = "# T\n\n## Question\n\nq\n\n## Outcome\n\no\n\n## Round 1\n\nr\n"
    assert re.findall("<h2>(.*?)</h2>", page(text, "T", Drawings(["<i></i>"]))) == [
        "Question",
        "Outcome",
        "Charts",
        "Round 1",
    ]
    assert re.findall("<h2>(.*?)</h2>", page("# T\n\n## Only\n", "T", Drawings(["<i></i>"]))) == ["Only", "Charts"]
    assert "figures" not in page(text, "T")


def test_a_seat_has_the_colour_in_a_file_that_it_has_on_the_pages() -> None:
    pages, file = (FOLDER / "base.css").read_text("utf-8"), (html.FOLDER / "tokens.css").read_text("utf-8")
    for token in ("--accent", "--good", "--bad", *(f"--seat-{number}" for number in range(7))):
        colours = re.findall(rf"{token}: (#[0-9a-f]+)", file)
        assert colours == re.findall(rf"{token}: (#[0-9a-f]+)", pages)[:2], token


def test_nothing_of_a_chart_is_hidden_on_paper() -> None:
    """A class of a page's part that is left out there was once that of a dot, too."""
    (hidden,) = re.findall(r"([^{}]+)\{ display: none !important \}", (FOLDER / "print.css").read_text("utf-8"))
    names = {each.strip().removeprefix(".") for each in hidden.split(",")}
    drawn = {
        name
        for file in (Path(__file__).parent.parent / "snapshots").glob("chart-*.svg")
        for classes in re.findall(r'class="([^"]+)"', file.read_text("utf-8"))
        for name in classes.split()
    }
    assert "after" in drawn
    assert not names & drawn

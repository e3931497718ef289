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


def test_every_link_in_the_docs_leads_somewhere() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "bench/README.md"]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


async def test_the_format_in_the_docs_works_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs/formats.md").read_text()
    folder = tmp_path / "slam"
    folder.mkdir()
    for language, name in (("python", "format.py"), ("jinja", "rules.md"), ("jinja", "poem.md")):
        blocks = re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)
        (folder / name).write_text(next(block for block in blocks if name in block.splitlines()[0]))
    monkeypatch.syspath_prepend(str(tmp_path))
    from slam.format import SLAM  # type: ignore[import-not-found]

    app = scripted_app(ScriptedModel(lambda request: "rain " * 10), formats=by_name([SLAM]))
    record = await app.create("slam", "Rain", {"max_rounds": 2})
    await app.run(record.id, lambda event: None)
    outcome = (await app.load(record.id)).record.outcome
    assert outcome == {"summary": "first wrote 98 letters.", "caveats": [], "winner": "first"}
    assert "slam" in sys.modules

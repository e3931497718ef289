"""A format from a package of somebody else: found by its entry point, with its own prompts and outcome."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from model_server import ModelServer
from program import run

FORMAT = """
from pathlib import Path

from moot.model import Debate, Format, Outcome, Script, Seat, Settings


class HaikuSettings(Settings):
    season: str = "spring"


class Haiku(Outcome):
    season: str

    def headline(self) -> str:
        return f"A poem for {self.season}"

    def table(self) -> tuple[tuple[str, ...], ...]:
        return (("season",), (self.season,))


def script(debate: Debate[HaikuSettings]) -> Script[Haiku]:
    with debate.until_closing():
        for round in debate.rounds(["poet"], closing=["critic"]):
            yield from debate.ask("poet", "verse", round)
    last = yield from debate.ask("critic", "praise")
    return Haiku(summary=last.content, season=debate.settings.season)


FORMAT = Format(
    name="haiku",
    version=1,
    summary="A poet writes, a critic praises.",
    settings=HaikuSettings,
    seats=(Seat("poet", "The Poet", "debater", max_tokens=50), Seat("critic", "The Critic", "judge", max_tokens=50)),
    outcome=Haiku,
    script=script,
    folder=Path(__file__).parent / "prompts",
)
WORDS = "no format at all"
"""
PROMPTS = {
    "rules": "You love poems about {{ topic | data }}.",
    "verse": "Verse {{ round }}, for {{ s.season }}.",
    "praise": "Praise it.",
}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(heard).running() as server:
        yield server


def heard(request: dict[str, Any]) -> str:
    return f"Heard: {request['messages'][-1]['content'].splitlines()[-1]}"


def install(folder: Path, *entries: str) -> dict[str, str]:
    """A package as pip would leave it, and the environment in which it is found."""
    package = folder / "haiku_format"
    (package / "prompts").mkdir(parents=True)
    (package / "__init__.py").write_text(FORMAT)
    for name, text in PROMPTS.items():
        (package / "prompts" / f"{name}.md").write_text(text)
    info = folder / "haiku_format-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: haiku-format\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(["[moot.formats]", *entries]) + "\n")
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))}


def test_an_installed_format_is_played_with_its_own_prompts_to_its_own_outcome(
    server: ModelServer, tmp_path: Path
) -> None:
    env = install(tmp_path / "site", "haiku = haiku_format:FORMAT")
    options = ["--format", "haiku", "--max-rounds", "2", "--set", "season=autumn", "--model", server.model]
    ran = run("debate", "frogs", *options, env=env)
    assert (ran.code, ran.err) == (0, "")
    assert (
        re.sub(r"DEB-\w{8}", "DEB-ID", ran.out)
        == """
frogs
haiku DEB-ID · mock in every seat

The Poet · verse · round 1
Heard: Verse 1, for autumn.

The Poet · verse · round 2
Heard: Verse 2, for autumn.

(all rounds were played)

The Critic · praise
Heard: Praise it.

A poem for autumn

season
autumn

Ended because all rounds were played.

3 calls · 30 tokens in · 13 out · the price is unknown
moot show DEB-ID shows it again.
"""
    )
    assert server.requests[0]["messages"] == [
        {"role": "system", "content": "You love poems about frogs."},
        {"role": "user", "content": "Verse 1, for autumn."},
    ]


def test_a_debate_of_a_format_that_is_gone_says_so(server: ModelServer, tmp_path: Path) -> None:
    env = install(tmp_path / "site", "haiku = haiku_format:FORMAT")
    played = run("debate", "frogs", "--format", "haiku", "--max-rounds", "1", "--model", server.model, env=env)
    debate_id = re.findall(r"DEB-\w{8}", played.out)[0]
    shown = run("show", debate_id)
    assert (shown.code, shown.out) == (1, "")
    assert re.fullmatch(r"moot: no format named 'haiku'; known: .*duel.*\n", shown.err)
    assert run("show", debate_id, env=env).code == 0


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (
            ["haiku = haiku_format:FORMAT", "again = haiku_format:FORMAT"],
            "two formats are named 'haiku'; uninstall one .*",
        ),
        (["words = haiku_format:WORDS"], "entry point 'haiku_format:WORDS' .* is no moot.model.Format"),
        (["lost = haiku_format:NOTHING"], "entry point 'haiku_format:NOTHING' .* cannot be loaded: .*"),
        (["lost = nowhere:FORMAT"], "entry point 'nowhere:FORMAT' .* cannot be loaded: No module named 'nowhere'"),
    ],
)
def test_a_package_that_is_broken_is_named(tmp_path: Path, entries: list[str], said: str) -> None:
    ran = run("debate", "frogs", env=install(tmp_path / "site", *entries))
    assert (ran.code, ran.out) == (2, "")
    assert re.fullmatch(f"moot: {said}\n", ran.err), ran.err

"""A format from a package of somebody else: found by its entry point, with its own prompts and outcome.

What a format declares is seen on every surface, and nothing outside its folder knows of it: see examples/.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from live import Live, serving
from markup import Element, parsed
from test_views import in_terminal

from model_server import ModelServer
from moot.formats import load
from moot.llm.client import Request
from moot.testing import ScriptedModel, scripted_app
from pdf_file import pdf
from program import run

EXAMPLE = Path(__file__).parent.parent / "examples" / "third-party-format" / "src"
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
    return _registered(folder, "haiku_format", entries)


def _registered(folder: Path, name: str, entries: tuple[str, ...]) -> dict[str, str]:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(["[moot.formats]", *entries]) + "\n")
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))}


def test_a_format_whose_package_was_built_without_its_prompts_says_which_is_not_there(
    server: ModelServer, tmp_path: Path
) -> None:
    env = install(tmp_path / "site", "haiku = haiku_format:FORMAT")
    (tmp_path / "site/haiku_format/prompts/verse.md").unlink()
    ran = run("debate", "frogs", "--format", "haiku", "--model", server.model, env=env)
    where = tmp_path / "site/haiku_format/prompts"
    told = f"there is no prompt file verse.md in {where}; a package has to carry the .md files beside its format"
    assert (ran.code, told in " ".join(ran.err.split())) == (1, True), ran.err


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


def test_an_installed_format_takes_sources_whose_quotes_and_pages_are_checked(tmp_path: Path) -> None:
    env = install(tmp_path / "site", "haiku = haiku_format:FORMAT")
    report = tmp_path / "report.pdf"
    report.write_bytes(pdf("Frogs sing at night.", "The pond is deep and cold."))
    verse = 'It is "deep and cold" [S1 p. 1], and "the pond is shallow" [S1].'
    with ModelServer(lambda request: verse).running() as server:
        options = ["--format", "haiku", "--max-rounds", "1", "--source", str(report), "--model", server.model]
        ran = run("debate", "frogs", *options, env=env)
        asked = server.requests[0]["messages"]
    assert (ran.code, ran.err) == (0, "")
    assert "The pond is deep and cold." in asked[0]["content"]
    assert "\n(not found: “the pond is shallow” [S1])\n(“deep and cold” [S1 p. 1]: that stands on p. 2)\n" in ran.out
    assert "\nCarried the decision: S1 report.pdf\n" in ran.out


def test_a_debate_of_a_format_that_is_gone_is_shown_as_far_as_can_be(server: ModelServer, tmp_path: Path) -> None:
    env = install(tmp_path / "site", "haiku = haiku_format:FORMAT")
    played = run("debate", "frogs", "--format", "haiku", "--max-rounds", "1", "--model", server.model, env=env)
    debate_id = re.findall(r"DEB-\w{8}", played.out)[0]
    shown = run("show", debate_id)
    assert (shown.code, shown.err) == (0, "")
    assert "\nPoet · verse · round 1\nHeard: Verse 1, for spring.\n" in shown.out
    assert "\nThe outcome was written by another version of the format and cannot be read\n" in shown.out
    assert "\nA poem for spring\n" in run("show", debate_id, env=env).out


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


# What the example declares, on every surface


@pytest.fixture
def socratic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example installed, here and in every process that is started."""
    site = tmp_path / "site"
    shutil.copytree(EXAMPLE, site, ignore=shutil.ignore_patterns("__pycache__"))
    env = _registered(site, "moot_socratic", ("socratic = moot_socratic:SOCRATIC",))
    monkeypatch.setenv("PYTHONPATH", env["PYTHONPATH"])
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.syspath_prepend(str(site))


def questions(form: str | None, last: str) -> str:
    """Doubt grows from question to question."""
    if form == "asked":
        first = "Ask the first question" in last
        return json.dumps({"question": "All?" if first else "And some?", "doubt": 3 if first else 8.5})
    return json.dumps({"reasoning": "It held.", "standing": "stands"}) if form == "verdict" else "Yes."


def answered(request: dict[str, Any]) -> str:
    form = request.get("response_format", {}).get("json_schema", {}).get("name")
    return questions(form, request["messages"][-1]["content"])


def scripted(request: Request) -> str:
    return questions(request.schema.name if request.schema else None, request.messages[-1].content)


SWANS = ("debate", "All swans are white", "--format", "socratic")


@pytest.mark.usefixtures("socratic")
def test_its_question_table_and_reason_are_shown_in_a_terminal(server: ModelServer) -> None:
    server.replies = answered
    answers = [b"c\n", b"e\n"]

    def answer(seen: str) -> bytes:
        return answers.pop(0) if answers and seen.count("> ") > 2 - len(answers) else b""

    code, screen = in_terminal([*SWANS, "--model", server.model], width=80, type=answer)
    assert code == 0
    shown = re.sub(r"DEB-\w{8}", "DEB-ID", screen.text)
    assert (
        """
═══ Round 1 Complete ═══
Questioner: Does the thesis still hold for you?

[C] Ask on  [G] Add something  [E] I have heard enough
> c
═══ Round 2 Starting ═══
"""
        in shown
    )
    assert (
        """
  The thesis stands, after 2 questions

  questions   the thesis   doubt at the end
  2           stands       ████████░░ 8.5

  Ended because the person who asked had heard enough.

  Doubt by round (shaken from 7 on)
  round  1  2
  Doubt  3  8.5
"""
        in shown
    )


@pytest.mark.usefixtures("socratic")
def test_what_it_has_come_to_is_shown_again_and_exported(server: ModelServer) -> None:
    server.replies = answered
    ran = run(*SWANS, "--max-rounds", "2", "--model", server.model)
    debate_id = re.findall(r"DEB-\w{8}", ran.out)[0]
    assert (ran.code, ran.err) == (3, "")
    waits = f"""
{debate_id} waits for a person: Does the thesis still hold for you?
Answer with one of:
moot reply {debate_id} --continue   Ask on
moot reply {debate_id} --guide "…"  Add something
moot reply {debate_id} --end        I have heard enough
"""
    assert ran.out.endswith(waits)
    assert run("show", debate_id).out.endswith(waits)
    assert run("reply", debate_id, "--end").code == 0
    shown, exported = run("show", debate_id), run("export", debate_id)
    assert "\n1          stands      ███░░░░░░░ 3.0\n" in shown.out
    assert (
        """
Ended because the person who asked had heard enough.

Doubt by round (shaken from 7 on)
round  1
Doubt  3

"""
        in shown.out
    )
    assert "| questions | the thesis | doubt at the end |\n| --- | --- | --- |\n| 1 | stands | 3.0 |" in exported.out
    page = run("export", debate_id, "--as", "html").out
    for document in (exported.out, page):
        assert " · finished · the person who asked had heard enough" in document
    assert "\nstop_reason: convinced\n" in exported.out


@pytest.mark.usefixtures("socratic")
def test_nobody_is_asked_when_it_is_to_run_through(server: ModelServer) -> None:
    server.replies = answered
    ran = run(*SWANS, "--max-rounds", "2", "--no-checkpoints", "--model", server.model)
    assert (ran.code, ran.err) == (0, "")
    assert "Ended because all rounds were played." in ran.out


@pytest.mark.usefixtures("socratic")
async def test_its_form_question_chart_and_reason_are_on_the_pages() -> None:
    async with serving(scripted_app(ScriptedModel(scripted), formats=load())) as live:
        form = parsed((await live.get("/new?format=socratic")).body).one("section", aria_label="Settings of socratic")
        assert _labels(form)[:2] == ["Ask me after each reply", "The questioner is"]
        bills = [(await live.get(f"/new?format={name}")).body for name in ("socratic", "poll", "duel")]
        assert ["Medium confidence" in each for each in bills] == [False, False, True]
        debate_id = await live.create("All swans are white", "socratic")
        assert (await live.ended(debate_id))["question"] == "Does the thesis still hold for you?"
        assert _buttons(await _page(live, debate_id)) == ["Ask on", "Add something", "I have heard enough"]
        assert (await live.post(f"/api/debates/{debate_id}/reply", {"action": "continue"})).status == 202
        await live.ended(debate_id)
        assert (await live.post(f"/api/debates/{debate_id}/reply", {"action": "end"})).status == 202
        await live.ended(debate_id)
        page = await _page(live, debate_id)
    verdict, numbers = page.one(id="verdict"), page.one(id="numbers")
    assert verdict.one("h2", class_="headline").text == "The thesis stands, after 2 questions"
    assert [cell.text for cell in numbers.one("tbody").all() if cell.tag in ("th", "td")] == ["2", "stands", "8.5"]
    assert "Ended because the person who asked had heard enough." in verdict.text
    assert page.one(id="words").one("div", class_="prose").text
    chart = page.one(id="pictures").one("figure", class_="chart-figure")
    assert chart.one("figcaption").text == "Doubt by round"
    assert chart.one("desc").text == "Doubt: 3 in round 1, 8.5 in round 2"
    assert "shaken from 7 on" in chart.one("svg").text


def _labels(form: Element) -> list[str]:
    """What the fields are called, in the order of the page."""
    found = (each for each in form if each.tag in ("label", "legend") and each.attributes.get("class") != "button")
    return [each.text for each in found if each.text not in ("kind", "stern")]


def _buttons(page: Element) -> list[str]:
    return [button.text for button in page.one(id="controls").one("div", class_="row").all("button")]


async def _page(live: Live, debate_id: str) -> Element:
    return parsed((await live.get(f"/debates/{debate_id}")).body)

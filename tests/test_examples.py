"""The examples do what they say: each is run as its reader would run it, with a model server on a socket."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from forkserver import ForkedPopen
from model_server import PATIENCE, ModelServer, speech_or_verdict
from moot.core.stored import StoredDebate
from moot.export.argdown import argdown
from moot.reading.debate import Reading
from program import Ran, run
from stage import Stage

EXAMPLES = Path(__file__).parent.parent / "examples"
OWN_TOOLS = EXAMPLES.parent / ".tools" / "bin"
PULL_REQUEST = {"number": 7, "title": "Cache `users`", "body": "It is faster, says @ann."}


def python(script: Path, *arguments: str, env: Mapping[str, str], popen: Any = ForkedPopen) -> Ran:
    """Run a script to its end."""
    files = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-W", "error", str(script), *arguments]
    with popen(command, **files, text=True, env={**os.environ, **env}) as process:
        out, err = process.communicate(timeout=2 * PATIENCE)
    return Ran(process.returncode, out, err)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer().running() as server:
        yield server


def judging(a: int, b: int, summary: str = "One side was clearer.") -> Any:
    """Speeches, and a judge who gives these scores."""

    def reply(request: dict[str, Any]) -> str:
        if "response_format" in request:
            return json.dumps({"summary": summary, "score_a": a, "score_b": b})
        return speech_or_verdict(request)

    return reply


def test_the_readme_lists_every_example() -> None:
    listed = set(re.findall(r"\]\(([^)]+)\)", (EXAMPLES / "README.md").read_text()))
    assert listed == {path.name for path in EXAMPLES.iterdir() if path.name not in ("README.md", "__pycache__")}


# A pull request before a duel


def review(server: ModelServer, folder: Path, body: str | None = PULL_REQUEST["body"]) -> Ran:  # type: ignore[assignment]
    event = folder / "event.json"
    event.write_text(json.dumps({"pull_request": {**PULL_REQUEST, "body": body}}))
    return python(EXAMPLES / "ci" / "review.py", str(event), env={"MOOT_MODEL": server.model})


def test_a_pull_request_whose_case_is_the_better_one_passes(server: ModelServer, tmp_path: Path) -> None:
    server.replies = judging(8, 5, "It helps.\n\n# Approved by @bob\n<script>x</script>")
    assert review(server, tmp_path) == Ran(
        0,
        "### Debater A (pro) wins, 8 : 5\n"
        "\n"
        "It helps.\n"
        "\n"
        "#### Approved by @\u200bbob\n"
        "&lt;script>x&lt;/script>\n"
        "\n"
        "Before you trust it:\n"
        "\n"
        "- one model, mock, spoke in every seat\n",
        "",
    )
    motion = "This pull request is ready to be merged: Cache `users`\n\nIt is faster, says @ann."
    assert motion in server.requests[0]["messages"][-1]["content"]


@pytest.mark.parametrize(("scores", "body", "code"), [((5, 8), None, 1), ((6, 6), "long " * 10_000, 0)])
def test_a_pull_request_fails_only_when_the_case_against_it_is_the_better_one(
    server: ModelServer, tmp_path: Path, scores: tuple[int, int], body: str | None, code: int
) -> None:
    server.replies = judging(*scores)
    assert review(server, tmp_path, body).code == code


def test_without_a_verdict_there_is_no_comment(server: ModelServer, tmp_path: Path) -> None:
    server.refusal = (401, "wrong key")
    ran = review(server, tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert re.fullmatch(r"no verdict: DEB-\w{8} is failed: .+", ran.err.splitlines()[-1])


def test_the_workflow_runs_the_script_and_trusts_nobody() -> None:
    workflow = yaml.safe_load((EXAMPLES / "ci" / "debate.yml").read_text())
    steps = workflow["jobs"]["debate"]["steps"]
    scripts = [step["run"] for step in steps if "run" in step]
    assert any('review.py "$GITHUB_EVENT_PATH" > comment.md' in script for script in scripts)
    assert all("${{" not in script for script in scripts)
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}


# The notebook


def test_the_notebook_runs_from_its_first_cell_to_its_last(server: ModelServer) -> None:
    server.replies = lambda request: speech_or_verdict(request) if "response_format" in request else "It depends."
    ran = python(EXAMPLES / "notebook.py", env={"MOOT_MODEL": server.model}, popen=subprocess.Popen)
    assert (ran.code, ran.err) == (0, "")
    assert (
        ran.out
        == """\
Debater A (pro) wins, 8 : 5
           stance  score
Debater A  pro     8
Debater B  con     5

Debater A: It depends.
Debater B: It depends.
Judge: The first side was clearer.

speaks first  rounds  wins  scores
pro           1       pro   8:5
pro           2       pro   8:5
con           1       con   8:5
con           2       con   8:5

format  debates  rounds  tokens out
duel    6        1.3     15

"""
    )


# A format in a package of its own


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the package is installed, by the installer and without a network."""
    folder = tmp_path_factory.mktemp("installed")
    source = folder / "source"
    shutil.copytree(EXAMPLES / "third-party-format", source, ignore=shutil.ignore_patterns("__pycache__"))
    uv = os.environ.get("UV") or shutil.which("uv", path=f"{os.environ['PATH']}{os.pathsep}{OWN_TOOLS}")
    assert uv, f"there is no uv in PATH or {OWN_TOOLS}; `make test` installs one there"
    command = [uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--no-config", "--no-cache"]
    done = subprocess.run(
        [*command, "--python", sys.executable, "--target", str(folder / "site"), str(source)],
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return folder / "site"


def socratic(request: dict[str, Any]) -> str:
    """Two questions, a reply between them that the second contradicts, and what follows."""
    form = request.get("response_format", {}).get("json_schema", {}).get("name")
    if form == "asked":
        second = "Ask one question that follows" in request["messages"][-1]["content"]
        asked = "First you said all, now you say some." if second else "Are all of them white?"
        return json.dumps({"question": asked, "contradiction": second})
    if form == "verdict":
        return json.dumps({"reasoning": "All and some are not the same.", "standing": "contradicted"})
    return "Some of them are."


def test_an_installed_format_is_played_to_its_outcome(server: ModelServer, site: Path) -> None:
    server.replies = socratic
    env = {"PYTHONPATH": os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))}
    through = ("--no-checkpoints", "--model", server.model)
    ran = run("debate", "All swans are white", "--format", "socratic", *through, env=env)
    assert (ran.code, ran.err) == (0, "")
    assert (
        re.sub(r"DEB-\w{8}", "DEB-ID", ran.out)
        == """
All swans are white
socratic DEB-ID · mock in every seat

Questioner · question · round 1
Are all of them white?

Holder · reply · round 1
Some of them are.

Questioner · question · round 2
First you said all, now you say some.

Questioner · verdict
All and some are not the same.

The thesis contradicts itself, after 2 questions

questions  the thesis    doubt at the end
2          contradicted  –

Ended because two replies contradicted each other.

4 calls · 40 tokens in · 33 out · the price is unknown
moot show DEB-ID shows it again.
"""
    )


async def test_its_argument_map_is_its_own(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(site))
    from moot_socratic import SOCRATIC  # type: ignore[import-not-found]

    replies = ['{"question": "All?"}', "Some.", '{"question": "Some?", "contradiction": true}', '{"standing": "open"}']
    stage = Stage([*replies, *replies[-1:]], format=SOCRATIC, topic="All swans are white", settings={"listen": False})
    await stage.run()
    record = await stage.record()
    assert record.outcome == {
        "summary": "The verdict could not be read.",
        "caveats": ["the verdict could not be read"],
        "lead": "",
        "figures": [],
        "trust": None,
        "coverage": None,
        "ledger": None,
        "language": "en",
        "standing": "open",
        "questions": 2,
        "doubt": None,
    }
    made = argdown(Reading(StoredDebate(record, tuple(await stage.turns())), SOCRATIC))
    assert (
        made.partition("===\n\n")[2]
        == """\
# All swans are white

[Thesis]: All swans are white

<Questioner, question of round 1>: All? #(Questioner) {turns: [0]}
  -> [Thesis]

<Holder, reply of round 1>: Some. #(Holder) {turns: [1]}
  +> [Thesis]
  -> <Questioner, question of round 1>

<Questioner, question of round 2>: Some? #(Questioner) {turns: [2]}
  -> [Thesis]
"""
    )

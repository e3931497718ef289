"""What a stranger finds at the door: releases, workflows and templates that fit the project as it is."""

from __future__ import annotations

import importlib.metadata
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
RELEASE = runpy.run_path(str(ROOT / "scripts/release.py"))
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CHANGES = "# Changes\n\n## Unreleased\n\n- Debates have a map.\n\n## 0.1.0 (2026-01-02)\n\n- Debates.\n"


def test_a_release_dates_what_was_unreleased_and_leaves_room_for_what_comes() -> None:
    assert RELEASE["dated"](CHANGES, "0.2.0", "2026-03-04") == (
        "# Changes\n\n## Unreleased\n\n## 0.2.0 (2026-03-04)\n\n- Debates have a map.\n\n"
        "## 0.1.0 (2026-01-02)\n\n- Debates.\n"
    )


def test_there_is_no_release_of_nothing() -> None:
    once = RELEASE["dated"](CHANGES, "0.2.0", "2026-03-04")
    with pytest.raises(SystemExit, match="nothing under Unreleased"):
        RELEASE["dated"](once, "0.2.1", "2026-03-05")


@pytest.mark.parametrize("version", ["0.1.9", PROJECT["version"]])
def test_no_release_comes_before_the_one_there_is(version: str) -> None:
    with pytest.raises(SystemExit, match=f"{version} does not come after {PROJECT['version']}"):
        RELEASE["release"](version)


def test_a_release_that_cannot_be_finished_changes_nothing(tmp_path: Path) -> None:
    for name in ("scripts/release.py", "pyproject.toml", "CITATION.cff"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    (tmp_path / "CHANGELOG.md").write_text(CHANGES)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").symlink_to(shutil.which("git") or "git")
    (tmp_path / ".gitignore").write_text("bin\n")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "All"]):
        subprocess.run([*git, *words], check=True)
    release = [sys.executable, str(tmp_path / "scripts/release.py"), "99.0.0"]
    ran = subprocess.run(release, env={"PATH": str(tmp_path / "bin")}, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (1, "uv is not on your PATH; the one that make brought is in .tools/bin\n")
    assert subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True).stdout == ""


def test_the_version_is_the_same_wherever_it_is_written() -> None:
    assert set(RELEASE["written"]().values()) == {PROJECT["version"]}


@pytest.mark.parametrize("file", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda file: file.name)
def test_what_the_forge_reads_is_yaml_and_its_steps_run_what_there_is(file: Path) -> None:
    read = yaml.safe_load(file.read_text())
    runs = [step.get("run", "") for job in read.get("jobs", {}).values() for step in job.get("steps", [])]
    targets = re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text())
    for line in runs:
        assert {*re.findall(r"\bmake ([a-z-]+)", line)} <= {*targets}, line
        for path in re.findall(r"\b(?:scripts|\.ci)/[\w.]+", line):
            assert (ROOT / path).exists(), path


def test_what_runs_in_ci_is_named_by_its_commit_so_that_nobody_can_change_it_afterwards() -> None:
    text = "".join(file.read_text() for file in (ROOT / ".github/workflows").glob("*.yml"))
    named = [each for each in re.findall(r"(?m)uses: (.*)$", text) if not each.startswith("./")]
    assert [each for each in named if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []
    assert len({*named}) == len({each.partition("@")[0] for each in named}), "one action in two versions"


def test_nothing_is_published_before_all_tests_have_passed() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/publish.yml").read_text())["jobs"]
    called = yaml.safe_load((ROOT / jobs["tests"]["uses"]).read_text())
    assert "workflow_call" in called[True]  # YAML reads the word "on" so
    assert {name: job.get("needs") for name, job in jobs.items()} == {
        "tests": None,
        "build": "tests",
        "package": "build",
        "image": "build",
    }


def test_ci_tries_every_python_that_the_package_names() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())["jobs"]
    named = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    assert jobs["quick"]["strategy"]["matrix"]["python"] == named
    assert f">={named[0]}" == PROJECT["requires-python"]


def test_every_python_of_ci_has_what_the_quick_tests_need() -> None:
    """The optional store alone stays away: its tests say that they are left out."""
    jobs = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())["jobs"]
    synced = " ".join(step.get("run", "") for step in jobs["quick"]["steps"])
    assert {*re.findall(r"--extra (\w+)", synced)} == {*PROJECT["optional-dependencies"]} - {"chroma"}


def test_no_pattern_repeats_a_group_possessively_as_pythons_before_3_11_5_then_read_too_far() -> None:
    found = {
        str(file): re.findall(r".*\)(?:[*+?]|\{[\d,]+\})\+.*", file.read_text("utf-8"))
        for file in ROOT.glob("src/**/*.py")
    }
    assert {file: lines for file, lines in found.items() if lines} == {}


def test_what_the_package_index_shows_links_to_files_of_this_version_by_their_address() -> None:
    shown = str(importlib.metadata.metadata("moot").get_payload())
    ours = rf"https://(?:github\.com/moot-debate/moot/blob|raw\.githubusercontent\.com/moot-debate/moot)/v{PROJECT['version']}/"
    beside = re.findall(r"\]\(([^)]+)\)", (ROOT / "README.md").read_text())
    assert [re.sub(ours, "", link) for link in re.findall(r"\]\(([^)]+)\)", shown)] == beside
    assert [link for link in re.findall(r"\]\(([^)]+)\)", shown) if not link.startswith("https://")] == []
    assert shown.count("raw.githubusercontent.com") == shown.count("![")

"""Every block of code in README and docs does what it says: commands parse, settings load, Python compiles or runs, and
the tutorial is walked from its first command to its last.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from theatre import company

from model_server import ModelServer
from moot.formats.evaluation.ideas import CHALLENGES, EVALUATION, TOPICS
from moot.llm.client import Message, Request, Schema
from moot.settings import AppSettings
from moot.terminal.cli import cli

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LANGUAGES = {"sh", "console", "python", "yaml", "json", "toml", "sql", "jinja", "markdown", "argdown", ""}
ENDS = {"|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1"}


class Block(NamedTuple):
    page: str
    line: int
    language: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in re.finditer(r"(?ms)^( *)```(\w*)[^\n]*\n(.*?)^ *```$", text):
        body = re.sub(rf"(?m)^{found[1]}", "", found[3])
        yield Block(str(page.relative_to(ROOT)), text[: found.start()].count("\n") + 1, found[2], body)


BLOCKS = [block for page in PAGES for block in blocks(page)]


def named(*languages: str) -> list[Any]:
    return [pytest.param(each, id=f"{each.page}:{each.line}") for each in BLOCKS if each.language in languages]


def test_no_block_is_in_a_language_that_nothing_tries() -> None:
    assert {block.language for block in BLOCKS} <= LANGUAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_stands_between_fences_where_it_is_found_and_tried(page: Path) -> None:
    around = re.sub(r"(?ms)^( *)```.*?^ *```$", "", page.read_text())
    assert re.findall(r"(?m)^\n {4,}\S.*", around) == []


@pytest.mark.parametrize("block", named("sh", "console"))
def test_every_command_can_be_called_as_it_is_written(block: Block) -> None:
    for words in commands(block.text):
        command: Any = cli
        while hasattr(command, "commands") and words and words[0] in command.commands:
            command, words = command.commands[words[0]], words[1:]
        if words not in (["--version"], ["--help"], ["--install-completion"]):
            command.make_context("moot", words).close()


def commands(text: str) -> Iterator[list[str]]:
    """What is given to moot in the lines of a shell."""
    whole = re.sub(r"(?s)<<'?(\w+)'?\n.*?\n\1\n", "\n", text.replace("\\\n", " "))
    for line in whole.splitlines():
        words = split(line.removeprefix("$ "))
        for at, word in enumerate(words):
            before = words[at - 1] if at else "run"
            if re.fullmatch(r"(.*/)?moot", word) and ("=" in before or before in ENDS | {"run"}):
                rest = words[at + 1 :]
                end = next((number for number, each in enumerate(rest) if each in ENDS), len(rest))
                yield rest[:end]


def split(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split, lexer.commenters = True, "#"
    try:
        return list(lexer)
    except ValueError:  # a text of several lines: no command of moot's ends in the middle of one
        return []


FILES_OF_IDEAS = {"# evaluation.yaml": EVALUATION, "# challenges.yaml": CHALLENGES, "- name: Team": TOPICS}
"""YAML that is no settings, by its first line: what lies beside an idea."""
SHOWN: Mapping[str, str] = {
    "scrape_configs:": "settings of Prometheus",
    "moot.example {": "settings of Caddy",
    "2 × certainty": "a formula; tests/formats/test_evaluation_rules.py reckons by it",
    "slam/": "a folder; tests/test_docs.py makes it",
    "POST /hooks/moot": "what a receiver gets; tests/delivery/test_webhooks.py is one",
    "Webhook chat.example": "a line of moot show; tests/delivery/test_webhooks.py reads it",
    "the perspectives voted": "a line of a record; tests/formats/test_panel_votes.py has it",
    "═══ Round 2 Complete": "what a person sees; tests/terminal/test_ask.py is one",
    "Yes: 12 of 15": "what a poll prints; tests/formats/test_poll.py plays one",
    "not in duel.jsonl": "an error; tests/llm/test_recording.py meets it",
    "Debater A (pro) wins": "what a duel prints; tests/formats/test_duel_judgings.py plays one",
    "… ; 5 independent answers": "a line of trust; tests/formats/test_duel_poll.py has it",
    "Usage: moot": "the help of a command; tests/test_docs.py compares it",
}
"""How blocks begin that show something and are not run, each with the reason."""


@pytest.mark.parametrize("block", named("yaml"))
def test_settings_can_be_used_as_they_are_written(block: Block) -> None:
    read = yaml.safe_load(block.text)
    if of_idea := FILES_OF_IDEAS.get(block.text.splitlines()[0]):
        of_idea.validate_python(read)
    elif not block.text.startswith(tuple(SHOWN)):
        AppSettings.model_validate({name: value for name, value in read.items() if "…" not in str(value)})


@pytest.mark.parametrize("block", named("", "sql"))
def test_what_is_only_shown_says_why(block: Block) -> None:
    if "max(moot_database_up)" in block.text:
        told = {f"moot_{name}" for name in re.findall(r"moot_(\w+?)(?:_total|_bucket)?\b", block.text)}
        known = "".join(path.read_text() for path in (ROOT / "src/moot").rglob("metrics*.py"))
        assert [name for name in told if f'"{name}"' not in known] == []
    else:
        assert block.text.startswith(tuple(SHOWN))


def test_no_reason_is_given_for_a_block_that_is_gone() -> None:
    assert [shown for shown in SHOWN if not any(block.text.startswith(shown) for block in BLOCKS)] == []


@pytest.mark.parametrize("reason", SHOWN.values())
def test_the_tests_that_are_named_instead_are_there(reason: str) -> None:
    assert all((ROOT / path).is_file() for path in re.findall(r"tests/[\w/]+\.py", reason)), reason


@pytest.mark.parametrize("block", named("toml"))
def test_toml_is_toml(block: Block) -> None:
    assert tomllib.loads(block.text)


@pytest.mark.parametrize("block", named("json"))
def test_json_is_json(block: Block) -> None:
    assert json.loads(re.sub(r"…(, )?", "", block.text))


@pytest.mark.parametrize("block", named("python"))
def test_python_is_python(block: Block) -> None:
    text = textwrap.dedent(block.text).replace("[…]", "[...]")
    compile(text, f"{block.page}:{block.line}", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def answering(play: Callable[[Request], str]) -> Callable[[dict[str, Any]], str]:
    """What a play answers to the requests of the OpenAI API."""

    def reply(request: dict[str, Any]) -> str:
        form = request.get("response_format")
        schema = Schema(form["json_schema"]["name"], form["json_schema"]["schema"]) if form else None
        messages = tuple(Message(each["role"], each["content"]) for each in request["messages"])
        return play(Request(model="mock", messages=messages, max_tokens=100, temperature=0.5, schema=schema))

    return reply


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(answering(company())).running() as server:
        yield server


def test_the_first_block_about_python_runs(server: ModelServer, tmp_path: Path) -> None:
    block = next(block for block in BLOCKS if block.page == "docs/python.md")
    env = {**os.environ, "MOOT_MODEL": server.model}
    ran = subprocess.run([sys.executable, "-c", block.text], env=env, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout.splitlines()[0]) == (0, "Debater A (pro) wins, 7 : 4"), ran.stderr


NOT_HERE = ("uv tool install", "export DEEPSEEK_API_KEY", "moot serve")
"""Lines of the tutorial that install, want a key, or stay."""


def test_the_tutorial_is_walked_to_an_approved_decision(server: ModelServer, tmp_path: Path) -> None:
    lines = "".join(block.text for block in BLOCKS if block.page == "docs/tutorial.md" and block.language == "sh")
    kept = "\n".join(line for line in lines.splitlines() if not line.startswith(NOT_HERE))
    python = shlex.quote(sys.executable)
    first = 'import json,sys; print(json.loads(sys.stdin.readline())["id"])'
    newest = f"$(moot debate --list --json | {python} -c '{first}')"
    waiting_is_no_fault = f'moot() {{ {python} -m moot "$@" || [ $? = 3 ]; }}'
    script = f"set -eu\n{waiting_is_no_fault}\n{kept.replace('DEB-…', newest)}"
    env = {**os.environ, "MOOT_MODEL": server.model, "MOOT_PORT": "0", "MOOT_DEPTH": "normal"}
    ran = subprocess.run(["bash", "-c", script], env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    (decision,) = (tmp_path / "docs/decisions").glob("0001-*.md")
    assert "Redis or PostgreSQL" in decision.read_text()
    assert (tmp_path / "decision.html").read_text().lower().startswith("<!doctype html>")

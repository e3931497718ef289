"""Help as people know it from other programs: -h, examples that work, words to complete."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete

from moot import formats
from moot.examples.catalog import examples
from moot.llm.providers import BUILT_IN
from moot.terminal.cli import cli
from moot.terminal.help import EXAMPLE_DEBATES, FORMATS, PROVIDERS
from program import run


def commands(group: Any = None, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in (group or cli).commands.items():
        yield from commands(command, (*words, name)) if hasattr(command, "commands") else [((*words, name), command)]


COMMANDS = dict(commands())


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_shows_examples_that_it_can_be_called_with(words: tuple[str, ...]) -> None:
    examples = COMMANDS[words].examples
    assert examples
    assert COMMANDS[words].epilog == "\b\nExamples:\n" + "\n".join(f"  {example}" for example in examples)
    for example in examples:
        given = shlex.split(example.partition("moot ")[2] if "mcp add" not in example else "mcp")
        if tuple(given[: len(words)]) == words:
            COMMANDS[words].make_context("moot", given[len(words) :]).close()


def test_the_first_help_shows_examples_and_whole_sentences() -> None:
    shown = run("-h").out
    assert "Examples:\n    moot demo\n" in shown
    assert "..." not in shown.partition("Commands:")[2]


@pytest.mark.parametrize("words", [(), ("serve",), ("export",), ("models",)], ids=" ".join)
@pytest.mark.parametrize("columns", [40, 80, 200])
def test_help_fits_the_terminal_and_breaks_no_word(
    words: tuple[str, ...], columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    cli([*words, "--help"], standalone_mode=False)
    shown = capsys.readouterr().out.partition("Examples:")[0]
    assert max(map(len, shown.splitlines())) <= columns
    monkeypatch.setenv("COLUMNS", "80")
    cli([*words, "--help"], standalone_mode=False)
    assert shown.split() == capsys.readouterr().out.partition("Examples:")[0].split()


@pytest.mark.parametrize("group", sorted({words[0] for words in COMMANDS if len(words) > 1}))
def test_a_group_shows_an_example_of_each_of_its_commands(group: str) -> None:
    shown = run(group, "-h").out.partition("Examples:\n")[2].splitlines()
    assert shown == [f"    {COMMANDS[words].examples[0]}" for words in COMMANDS if words[0] == group]


def test_every_command_has_its_code_where_it_is_looked_for() -> None:
    for words, command in COMMANDS.items():
        given = inspect.signature(command.does()).parameters
        takes = {parameter.name for parameter in command.params}
        rest = {name for name, each in given.items() if each.kind is each.VAR_KEYWORD}
        assert {*given} - rest <= takes, words
        assert rest or {*given} == takes, words


def test_formats_and_providers_are_named_as_they_are() -> None:
    assert {*FORMATS} == {*formats.BUILT_IN}
    assert {*EXAMPLE_DEBATES} == {example.name for example in examples()}
    assert PROVIDERS.split() == [*(provider.name for provider in BUILT_IN), "local"]
    shown = " ".join(run("debate", "-h").out.split())
    assert f"Providers: {', '.join(PROVIDERS.split())}." in shown


def completed(*words: str) -> list[str]:
    """What a shell would offer for the last of these words."""
    *before, begun = words
    return [item.value for item in ShellComplete(cli, {}, "moot", "_MOOT_COMPLETE").get_completions(before, begun)]


def test_what_is_begun_is_completed() -> None:
    assert completed("debate", "-f", "p") == ["panel", "poll"]
    assert completed("debate", "x", "--model", "open") == ["openai:", "openrouter:"]
    assert completed("demo", "") == ["caching", "backup", "parts-shelf", "four-day-week"]
    assert completed("export", "DEB-abcdefgh", "--as", "a") == ["argdown", "aif"]
    assert completed("--show-completion", "z") == ["zsh"]
    assert completed("models", "p") == ["pull"]


def test_a_group_without_a_command_shows_what_there_is() -> None:
    ran, other = run("templates"), run("templates", "-h")
    assert (ran.code, ran.err, ran.out) == (0, "", other.out)


def test_help_may_be_asked_for_as_a_command() -> None:
    for words in ([], ["debate"], ["templates", "show"]):
        assert run("help", *words) == run(*words, "--help")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_completion_can_be_shown_for_a_shell(shell: str) -> None:
    ran = run("--show-completion", shell, env={"SHELL": "/bin/sh"})
    assert (ran.code, ran.err, f"{shell}_complete" in ran.out) == (0, "", True)


def test_completion_is_that_of_the_users_shell_where_none_is_named() -> None:
    assert "zsh_complete" in run("--show-completion", env={"SHELL": "/usr/bin/zsh"}).out
    ran = run("--show-completion", env={"SHELL": "/bin/csh"})
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "moot: name your shell: bash, zsh, fish, powershell; not 'csh'; see: moot --help\n"


def test_completion_is_installed_once(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("alias ll='ls -l'")
    for _ in range(2):
        assert run("--install-completion", "bash", env={"HOME": str(tmp_path)}).code == 0
    assert (tmp_path / ".bashrc").read_text() == ("alias ll='ls -l'\neval \"$(moot --show-completion bash)\"\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("debate X --timing", "--timing: has no effect without --replay"),
        ("debate X --list", "QUESTION: has no effect beside --list"),
        ("debate --list --max-rounds 3", "--max-rounds / -n: has no effect beside --list"),
        ("debate X --estimate --record x", "--record: has no effect beside --estimate"),
        ("models pull smollm2 --hub x", "has no effect beside an address or the built-in model"),
        ("models pull https://127.0.0.1:9/x.gguf --hub x", "has no effect beside an address or the built-in model"),
        ("export DEB-abcdefgh --since 2020-01-01", "--since: has no effect without --all"),
        ("export DEB-abcdefgh --all", "ID: has no effect beside --all"),
        ("allow --list --revoke", "--revoke: has no effect beside --list"),
        ("mcp --port 2000", "--port / -p: has no effect without --http"),
        ("show DEB-abcdefgh --claims --sources", "give one of --claims, --sources and --source"),
    ],
)
def test_an_option_without_an_effect_is_refused(words: str, told: str) -> None:
    ran = run(*words.split())
    assert (ran.code, ran.out, told in ran.err) == (2, "", True), ran.err

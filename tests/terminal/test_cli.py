"""The `moot` program, in real processes against a real model server on a socket."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from forkserver import ForkedPopen
from model_server import VERDICT, ModelServer, speech_or_verdict
from program import COMMAND, events_until, finish, run, started

DUEL = ("debate", "Cats are better than dogs", "--format", "duel", "--json", "--model")
POSITIONS = list(range(11))
ID = re.compile(r"DEB-[a-z0-9]{8}")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer().running() as server:
        yield server


def test_a_duel_as_json_has_eleven_turns_and_ends_with_its_verdict(server: ModelServer) -> None:
    ran = run(*DUEL, server.model)
    assert (ran.code, ran.err) == (0, ""), ran.err
    seats = ["debater_a", "debater_b"] * 5 + ["judge"]
    assert [(turn["position"], turn["seat"]) for turn in ran.turns] == list(zip(POSITIONS, seats, strict=True))
    last = ran.events[-1]
    assert (last["type"], last["stop_reason"]) == ("debate_finished", "max_rounds")
    expected = {**VERDICT, "winner": "a", "fallback": False, "stance_a": "pro", "stance_b": "con"}
    assert {key: last["outcome"][key] for key in expected} == expected
    assert len(server.requests) == 11


@pytest.mark.parametrize("after_words", [0, 3], ids=["before its first word", "in mid-stream"])
def test_a_killed_debate_goes_on_at_once_without_losing_or_doubling_a_turn(
    server: ModelServer, after_words: int
) -> None:
    server.pause_in(5, after_words=after_words)
    with started(*DUEL, server.model) as process:
        before = events_until(process, "turn_finished", 4)
        server.wait_until_paused()
        process.kill()
        process.wait()
    server.go_on()
    ran = run("debate", "--resume", before[0]["debate"], "--json")
    assert (ran.code, ran.err) == (0, ""), ran.err
    assert [turn["position"] for turn in ran.turns] == POSITIONS
    assert ran.turns[:4] == [event for event in before if event["type"] == "turn_finished"]
    assert len(server.requests) == 11 + 1
    assert server.requests[4] == server.requests[5]


def test_the_first_interrupt_stops_after_the_current_turn(server: ModelServer) -> None:
    server.pause_in(3)
    with started(*DUEL, server.model) as process:
        before = events_until(process, "turn_finished", 2)
        server.wait_until_paused()
        process.send_signal(signal.SIGINT)
        assert process.stderr
        assert process.stderr.readline() == "stopping after this turn, Ctrl-C again leaves at once\n"
        debate_id = before[0]["debate"]
        assert run("stop", debate_id).out == f"{debate_id} stops after the step in progress\n"
        server.go_on()
        ran = finish(process, before)
    assert ran.code == 4
    assert ran.err == f"\nStopped: it was interrupted (Ctrl-C). Go on with:\nmoot debate --resume {debate_id}\n"
    assert [turn["position"] for turn in ran.turns] == [0, 1, 2]
    assert ran.events[-1]["type"] == "debate_stopped"
    resumed = run("debate", "--resume", debate_id, "--json")
    assert [turn["position"] for turn in resumed.turns] == POSITIONS
    assert resumed.turns[:3] == ran.turns
    assert len(server.requests) == 11


def test_the_second_interrupt_leaves_at_once_and_the_debate_can_be_resumed(server: ModelServer) -> None:
    server.pause_in(3)
    with started(*DUEL, server.model) as process:
        before = events_until(process, "turn_finished", 2)
        server.wait_until_paused()
        process.send_signal(signal.SIGINT)
        assert process.stderr
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        ran = finish(process, before)
    server.go_on()
    debate_id = before[0]["debate"]
    assert (ran.code, ran.err) == (
        130,
        f"moot: {debate_id} was left; go on with: moot debate --resume {debate_id}\n",
    )
    # Whether the first signal's wish was stored before the second one came is a matter of moments.
    reasons = ("the run was interrupted", "it was interrupted (Ctrl-C)")
    assert run("show", debate_id).out.endswith(tuple(f"\n{debate_id} is stopped: {reason}\n" for reason in reasons))
    assert [turn["position"] for turn in run("debate", "--resume", debate_id, "--json").turns] == POSITIONS


def test_a_running_debate_cannot_be_resumed_by_another_process(server: ModelServer) -> None:
    server.pause_in(2)
    with started(*DUEL, server.model) as process:
        before = events_until(process, "turn_finished")
        server.wait_until_paused()
        other = run("debate", "--resume", before[0]["debate"], "--json")
        server.go_on()
        ran = finish(process, before)
    assert (other.code, other.out) == (1, "")
    assert re.fullmatch(rf"moot: {before[0]['debate']} is being run by .*\n", other.err)
    assert [turn["position"] for turn in ran.turns] == POSITIONS
    assert len(server.requests) == 11


def test_another_process_can_stop_a_debate(server: ModelServer) -> None:
    server.pause_in(2)
    with started(*DUEL, server.model) as process:
        before = events_until(process, "turn_finished")
        server.wait_until_paused()
        stop = run("stop", before[0]["debate"])
        server.go_on()
        ran = finish(process, before)
    assert (stop.code, stop.out) == (0, f"{before[0]['debate']} stops after the step in progress\n")
    assert (ran.code, ran.events[-1]["type"], len(ran.turns)) == (4, "debate_stopped", 2)
    again = run("stop", before[0]["debate"])
    assert (again.code, again.out) == (0, f"{before[0]['debate']} is stopped\n")


def test_another_process_can_have_a_debate_concluded(server: ModelServer) -> None:
    server.pause_in(3)
    with started(*DUEL, server.model) as process:
        before = events_until(process, "turn_finished", 2)
        server.wait_until_paused()
        conclude = run("conclude", before[0]["debate"])
        server.go_on()
        ran = finish(process, before)
    debate_id = before[0]["debate"]
    assert (conclude.code, conclude.out) == (0, f"{debate_id} goes on to its closing after the step in progress\n")
    assert [turn["seat"] for turn in ran.turns] == ["debater_a", "debater_b", "debater_a", "human", "judge"]
    assert (ran.code, ran.events[-1]["stop_reason"]) == (0, "concluded")
    assert run("conclude", debate_id).out == f"{debate_id} is finished; there is nothing to conclude\n"


def test_a_pipe_gets_plain_text(server: ModelServer) -> None:
    server.replies = lambda request: (
        json.dumps(VERDICT) if "response_format" in request else "It is so.\n\nFor one reason: " + "why not? " * 20
    )
    ran = run("debate", "Cats are better than dogs", "--format", "duel", "--max-rounds", "1", "--model", server.model)
    speech = f"It is so.\n\nFor one reason: {'why not? ' * 20}".strip()
    assert (ran.code, ran.err) == (0, ""), ran.err
    assert (
        ID.sub("DEB-ID", ran.out)
        == f"""
Cats are better than dogs
duel DEB-ID · mock in every seat

Debater A · For · argument · round 1
{speech}

Debater B · Against · argument · round 1
{speech}

(all rounds were played)

Judge · verdict
The first side was clearer.

Debater A (pro) wins, 8 : 5

           stance  score
Debater A  pro     8
Debater B  con     5

Trust: Low
  - judged once: whether another judging would say the same is not known

! one model, mock, spoke in every seat
Ended because all rounds were played.

3 calls · 30 tokens in · 102 out · the price is unknown
moot show DEB-ID shows it again.
"""
    )


def test_a_finished_debate_can_be_listed_and_shown(server: ModelServer) -> None:
    long = "Is it " + "very " * 40 + "late?"
    first = run("debate", long, "--format", "duel", "--max-rounds", "1", "--model", server.model)
    second = run(*DUEL, server.model, "--max-rounds", "1")
    ids = [ID.findall(first.out)[0], second.events[0]["debate"]]
    listed = run("debate", "--list").out.splitlines()
    assert listed[0].split() == ["id", "format", "status", "started", "topic"]
    assert [(line[:12], line[14:30], line[50:]) for line in listed[1:]] == [
        (ids[1], "duel    finished", "Cats are better than dogs"),
        (ids[0], "duel    finished", long),
    ]
    topics = [json.loads(line)["topic"] for line in run("debate", "--list", "--json").out.splitlines()]
    assert topics == ["Cats are better than dogs", long]
    shown = first.out.replace("\n(all rounds were played)\n", "").replace(f"moot show {ids[0]} shows it again.\n", "")
    assert run("show", ids[0]).out == shown
    assert run("debate", "--resume", ids[0]).out == shown
    assert json.loads(run("show", ids[1], "--json").out) == second.events[-1]["trace"]


def test_without_debates_the_list_says_how_to_start_one() -> None:
    assert run("debate", "--list").out == 'No debates yet. Start one: moot debate "Cats are better than dogs"\n'


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["debate"], 2, "nothing to debate: give a QUESTION, --resume ID or --list .*"),
        (["debate", "  "], 2, "the topic is empty: write the question to debate"),
        (["debate", "x", "--resume", "DEB-x"], 2, "give either a QUESTION or --resume ID, not both"),
        (["debate", "x", "--model", "deepseek:x"], 2, "deepseek needs a key: set DEEPSEEK_API_KEY, or .*"),
        (["debate", "x", "--model", "nobody:x"], 2, "no provider in 'nobody:x': write PROVIDER:MODEL with one .*"),
        (["debate", "x", "--set", "judge"], 2, "'judge' is not of the form KEY=VALUE"),
        (
            ["debate", "x", "--format", "duel", "--set", "size=3"],
            2,
            "duel settings: size: not known; known: ballots, depth, extend_runtime, judge, .*",
        ),
        (
            ["debate", "x", "--format", "duel", "--max-rounds", "0"],
            2,
            "duel settings: max_rounds: at least 1, not 0",
        ),
        (
            ["debate", "x", "--max-rounds", "few"],
            2,
            "--max-rounds / -n: write a whole number, not 'few'; see: moot debate --help",
        ),
        (
            ["debate", "x", "--format", "duel", "--model-for", "jury=local:smollm2"],
            2,
            "duel has no seat 'jury'; its seats: .*",
        ),
        (["debate", "x", "--format", "dule"], 2, "no format named 'dule', did you mean duel\\? known: .*duel.*"),
        (["debate", "--resume", "DEB-none"], 1, "no debate 'DEB-none'; moot debate --list shows the latest"),
        (["show", "DEB-none"], 1, "no debate 'DEB-none'; moot debate --list shows the latest"),
        (["stop", "DEB-none"], 1, "no debate 'DEB-none'; moot debate --list shows the latest"),
        (["conclude", "DEB-none"], 1, "no debate 'DEB-none'; moot debate --list shows the latest"),
        (["debate", "--colour"], 2, "there is no option --colour; see: moot debate --help"),
        (["debate", "--modle", "x"], 2, "there is no option --modle, did you mean --model.* see: moot debate --help"),
        (["debat", "x"], 2, r"there is no command 'debat', did you mean debate\? see: moot --help"),
        (
            ["debate", "x", "--model", "opnai:gpt"],
            2,
            r"no provider in 'opnai:gpt', did you mean openai\? write PROVIDER:MODEL .*",
        ),
        (
            ["serve", "--port", "99999"],
            2,
            "--port / -p: at most 65,535, not 99999; see: moot serve --help",
        ),
        (["discuss"], 2, "there is no command 'discuss'; see: moot --help"),
        (["show"], 2, "ID is missing; see: moot show --help"),
        (["deb", "x"], 2, r"there is no command 'deb', did you mean debate\? see: moot --help"),
        (["debate", "x", "--est"], 2, r"there is no option --est, did you mean --estimate\? see: moot debate --help"),
        (["debate", "--format"], 2, "option '--format' requires an argument; see: moot debate --help"),
        (["models", "pull", "--name"], 2, "option '--name' requires an argument; see: moot models pull --help"),
        (["debate", "x", "--json=1"], 2, "option '--json' does not take a value; see: moot debate --help"),
        (
            ["debate", "Should", "we", "use", "Redis?"],
            2,
            r"too many words: we use Redis\?; put quotes around those that belong together; see: moot debate --help",
        ),
        (["doctor", "\x1b[31mnow"], 2, r"too many words: .*now; see: moot doctor --help"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_every_error_is_one_line_that_says_what_to_do(arguments: list[str], code: int, said: str) -> None:
    ran = run(*arguments)
    assert (ran.code, ran.out) == (code, "")
    assert re.fullmatch(f"moot: {said}\n", ran.err), ran.err


def test_a_server_that_is_not_there_is_told_within_moments() -> None:
    ran = run("debate", "x", "--format", "duel", "--model", "http://127.0.0.1:9/v1#m", "--json")
    debate_id = ran.events[0]["debate"]
    assert ran.code == 1
    assert ran.err == (
        f"moot: {debate_id} failed: cannot reach http://127.0.0.1:9/v1: is the server running?; "
        f"go on with: moot debate --resume {debate_id}, "
        f"or with another model: moot debate --resume {debate_id} --model PROVIDER:MODEL\n"
    )
    assert run("show", debate_id).out.splitlines()[-1] == (
        f"{debate_id} is failed: cannot reach http://127.0.0.1:9/v1: is the server running?"
    )


def test_a_wrong_key_is_told_with_the_variable_to_check(server: ModelServer) -> None:
    server.refusal = (401, "no")
    ran = run("debate", "x", "--format", "duel", env={"DEEPSEEK_API_KEY": "sk-wrong", "DEEPSEEK_BASE_URL": server.url})
    assert ran.code == 1
    assert re.fullmatch(
        r"moot: (DEB-\w+) failed: deepseek refused the key: check DEEPSEEK_API_KEY; go on with: .* --resume \1.*\n",
        ran.err,
    )
    assert len(server.requests) == 1


def test_broken_settings_are_one_line() -> None:
    Path("moot.yaml").write_text("modle: local:smollm2\n")
    ran = run("debate", "x", "--format", "duel")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "moot: moot.yaml: no setting is named 'modle', did you mean model?\n"


@pytest.mark.parametrize("command", ["show", "list"])
def test_a_reader_who_leaves_early_sees_no_traceback(server: ModelServer, command: str) -> None:
    debate_id = ID.findall(run("debate", "x", "--format", "duel", "--max-rounds", "1", "--model", server.model).out)[0]
    arguments = {"show": ["show", debate_id], "list": ["debate", "--list"]}[command]
    reading, writing = os.pipe()
    os.close(reading)
    with ForkedPopen([*COMMAND, *arguments], stdout=writing, stderr=subprocess.PIPE, text=True) as process:
        os.close(writing)
        _, err = process.communicate()
    assert (process.returncode, err) == (1, "")


def output_and_imports(*arguments: str) -> tuple[str, set[str]]:
    """What a command prints, and what it has imported by then."""
    script = (
        "import sys, moot.terminal.cli\ntry: moot.terminal.cli.main()\nexcept SystemExit: pass\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    printed, _, imported = done.stdout.rstrip().rpartition("\n")
    return printed, {*imported.split()}


def test_help_is_shown_without_the_heavy_imports() -> None:
    printed, imported = output_and_imports("--help")
    assert printed.startswith("Usage: moot [OPTIONS] COMMAND")
    assert not imported & {"aiohttp", "pydantic", "rich", "uvloop", "jinja2", "asyncpg"}


PLAYING = {
    *("aiohttp", "asyncpg", "jinja2", "markdown_it", "mcp", "numpy", "pydantic_settings", "rapidfuzz", "yaml"),
    *("moot.app.drafts", "moot.core.engine", "moot.core.prompts", "moot.llm.models", "moot.players.model"),
    *("moot.retrieval.library", "moot.runs.runner", "moot.terminal.watch"),
}
"""What takes long to import, and only debates that are played need."""
READING = {"moot.core.format", "moot.core.events", "moot.core.page", "moot.formats.duel", "moot.reading.debate"}


@pytest.mark.parametrize(
    ("command", "begins"),
    [
        (["debate", "--list"], "No debates yet."),
        (["traces", "stats"], "format "),
        (["stop", "DEB-abcdefgh"], ""),
        (["rate", "DEB-abcdefgh", "5"], ""),
    ],
)
def test_a_command_that_plays_nothing_does_not_import_what_plays(command: list[str], begins: str) -> None:
    printed, imported = output_and_imports(*command)
    assert printed.startswith(begins)
    assert imported & (PLAYING | READING) == set()


def test_the_list_is_read_without_what_checks_settings_and_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MOOT_DEPTH")
    _, imported = output_and_imports("debate", "--list")
    assert not imported & {"pydantic", "rich.console", "uvloop", "importlib.metadata", "moot.settings", "moot.app"}


def test_the_list_checks_settings_where_there_are_some() -> None:
    assert run("debate", "--list", env={"MOOT_PORT": "high"}).err.startswith(
        "moot: settings (MOOT_* or moot.yaml): port"
    )
    assert run("debate", "--list", env={"MOOT_MODLE": "x"}).err == (
        "moot: the variable MOOT_MODLE is no setting, did you mean MOOT_MODEL?\n"
    )
    Path("moot.yml").write_text("")
    assert run("debate", "--list").err.endswith("moot.yml is not read: rename it to moot.yaml\n")


def test_a_debate_is_shown_without_what_plays_it(server: ModelServer) -> None:
    debate_id = run(*DUEL, server.model).events[0]["debate"]
    printed, imported = output_and_imports("show", debate_id)
    assert debate_id in printed
    assert imported & PLAYING <= {"moot.core.engine", "moot.core.prompts", "moot.terminal.watch"}


def test_moot_alone_shows_its_help() -> None:
    ran, help = run(), run("--help")
    assert ran == help
    assert ran.code == 0


def test_keys_stay_out_of_outputs_errors_and_the_database(server: ModelServer, tmp_path: Path) -> None:
    key = "sk-sentinel-0123456789"
    env = {"DEEPSEEK_API_KEY": key, "DEEPSEEK_BASE_URL": server.url, "MOOT_DATABASE_URL": f"sqlite:///{tmp_path}/d.db"}

    good = run("debate", "x", "--format", "duel", "--max-rounds", "1", "--json", env=env)
    assert good.code == 0
    assert set(server.keys) == {f"Bearer {key}"}
    bad = []
    for status in (400, 401, 404):
        server.refusal = (status, f"You sent the key {key}")
        bad.append(run("debate", "x", "--format", "duel", env=env))
    assert [ran.code for ran in bad] == [1, 1, 1]
    others = [run(*words, env=env) for words in (["models"], ["doctor"], ["show", good.events[0]["debate"]])]
    said = "".join(ran.out + ran.err for ran in (good, *bad, *others))
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert key not in said
    assert key.encode() not in kept


def test_control_characters_of_a_model_never_reach_a_pipe_raw(server: ModelServer) -> None:
    evil = "one \x1b[2J\x1b]0;owned\x07 two \u202e\x9b31m three \x08\x7f end"
    server.replies = lambda request: json.dumps({**VERDICT, "summary": evil}) if "response_format" in request else evil
    ran = run("debate", "Is \x1b[31m red?", "--format", "duel", "--max-rounds", "1", "--model", server.model)
    shown = run("show", ID.findall(ran.out)[0])
    listed = run("debate", "--list")
    text = ran.out + shown.out + listed.out + ran.err
    assert re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text) == []
    assert "one \ufffd[2J\ufffd]0;owned\ufffd two \ufffd\ufffd31m three \ufffd\ufffd end" in text


def test_every_seat_can_have_its_own_model(server: ModelServer) -> None:
    ran = run(*DUEL, server.model, "--model-for", f"judge={server.url}#wise", "--max-rounds", "1")
    assert [request["model"] for request in server.requests] == ["mock", "mock", "wise"]
    assert ran.events[-1]["outcome"]["caveats"] == []


def test_a_fork_goes_on_with_another_model_and_says_where_it_is_from(server: ModelServer) -> None:
    origin = run(*DUEL, server.model, "--max-rounds", "2").events[0]["debate"]
    calls = len(server.requests)
    forked = run("fork", origin, "--at", "3", "--model", f"{server.url}#other")
    assert (forked.code, [request["model"] for request in server.requests[calls:]]) == (0, ["other", "other"])
    assert f"forked from {origin} after the first 3 turns" in forked.out
    made = next(name for name in ID.findall(forked.out) if name != origin)
    assert f"forked from {origin} after the first 3 turns" in run("show", made).out
    assert f"Run again, continued or judged again: moot show {made}\n" in run("show", origin).out
    assert json.loads(run("show", made, "--json").out)["origin"] == {"debate": origin, "position": 3}
    listed = run("debate", "--list").out.splitlines()
    assert [line[50:] for line in listed[1:]] == [
        f"Cats are better than dogs · forked from {origin}",
        "Cats are better than dogs",
    ]
    origins = [json.loads(line)["origin"] for line in run("debate", "--list", "--json").out.splitlines()]
    assert origins == [{"debate": origin, "position": 3}, None]
    refused = run("fork", origin, "--at", "9")
    assert (refused.code, refused.err) == (
        2,
        f"moot: {origin} has 5 turns; fork it at a position from 0 to 5\n",
    )


def test_a_debate_is_judged_again_and_each_names_the_other(server: ModelServer) -> None:
    origin = run(*DUEL, server.model, "--max-rounds", "1").events[0]["debate"]
    again = run("rejudge", origin, "--judge", f"{server.url}#other", "--judgings", "4")
    assert again.code == 0
    made = next(name for name in ID.findall(again.out) if name != origin)
    assert "holds in 2 of 2 judgings, margin 3.0" in again.out
    assert f"forked from {origin} after the first 2 turns" in run("show", made).out
    assert f"judged again: moot show {made}\n" in run("show", origin).out


def test_a_debate_goes_on_with_another_model_and_more_rounds(server: ModelServer) -> None:
    server.refusal = (404, "no such model")
    failed = run("debate", "Cats?", "--format", "duel", "--max-rounds", "1", "--model", f"{server.url}#gone", "--json")
    debate_id, server.refusal = failed.events[0]["debate"], None
    again = f"moot debate --resume {debate_id}"
    assert failed.err.endswith(f"go on with: {again}, or with another model: {again} --model PROVIDER:MODEL\n")
    ran = run("debate", "--resume", debate_id, "--model", server.model, "--max-rounds", "2")
    told = "Settings changed: mock in every seat instead of gone; max_rounds 2 instead of 1."
    assert (ran.code, ran.err) == (0, "")
    assert f"You · settings\n{told}\n" in ran.out
    assert f"You · settings\n{told}\n" in run("show", debate_id).out
    trace = json.loads(run("show", debate_id, "--json").out)
    assert [turn["kind"] for turn in trace["turns"]] == ["settings", *["argument"] * 4, "verdict"]
    assert (trace["total_rounds"], set(trace["models"].values())) == (2, {server.model})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--max-rounds", "1"], "max_rounds of DEB-.* is 5 and can only be raised, not set to 1; .*"),
        (["--stance-a", "con"], "stance_a of DEB-.* cannot be changed any more, .*"),
        (["--set", "judge=each_round"], "judge of DEB-.* cannot be changed any more, .*"),
        (["--model-for", "jury=local:smollm2"], "duel has no seat 'jury'; .*"),
        (["--format", "panel"], "DEB-.* is a duel; another format is for a new debate"),
        (["--estimate"], "give either --estimate or --resume ID.*"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_a_debate_cannot_go_on_with_is_refused(server: ModelServer, options: list[str], said: str) -> None:
    server.refusal = (404, "no such model")
    debate_id = run(*DUEL, server.model).events[0]["debate"]
    ran = run("debate", "--resume", debate_id, *options)
    assert (ran.code, ran.out) == (2, "")
    assert re.fullmatch(f"moot: {said}\n", ran.err), ran.err


def test_a_debate_that_the_server_broke_off_can_be_resumed(server: ModelServer) -> None:
    healthy = True

    def replies(request: dict[str, object]) -> str:
        if not healthy:
            raise ConnectionError
        return speech_or_verdict(request)

    server.replies = replies
    server.pause_in(3, after_words=0)
    with started(*DUEL, server.model, "--max-rounds", "2") as process:
        before = events_until(process, "turn_finished", 2)
        server.wait_until_paused()
        healthy = False
        server.go_on()
        failed = finish(process, before)
    healthy = True
    assert len(failed.turns) == 3
    assert failed.code == 1
    resumed = run("debate", "--resume", before[0]["debate"], "--json")
    assert resumed.turns[:3] == failed.turns
    assert [turn["position"] for turn in resumed.turns] == [0, 1, 2, 3, 4]


def said(events: list[dict[str, object]]) -> list[object]:
    """What readers saw, without what differs from one debate to the next."""
    return [
        (event["type"], event["seat"], event["position"], event.get("text"), event.get("content"), event.get("data"))
        for event in events
        if event["type"] in ("turn_chunk", "turn_finished")
    ]


def test_a_recorded_debate_replays_chunk_for_chunk_with_the_server_gone(tmp_path: Path) -> None:
    tape = str(tmp_path / "calls.jsonl")
    with ModelServer().running() as server:
        recorded = run(*DUEL, server.model, "--max-rounds", "2", "--record", tape)
        model = server.model
    replayed = run(*DUEL, model, "--max-rounds", "2", "--replay", tape)
    assert (recorded.code, replayed.code, replayed.err) == (0, 0, "")
    assert said(replayed.events) == said(recorded.events)
    unnamed = run(
        "debate",
        "Cats are better than dogs",
        "--format",
        "duel",
        "--json",
        "--max-rounds",
        "2",
        "--replay",
        tape,
        "--timing",
    )
    assert said(unnamed.events) == said(recorded.events)


def test_a_call_that_was_not_recorded_fails_with_the_first_difference(server: ModelServer, tmp_path: Path) -> None:
    tape = str(tmp_path / "calls.jsonl")
    run(*DUEL, server.model, "--max-rounds", "1", "--record", tape)
    ran = run(
        "debate",
        "Cats are better than cows",
        "--format",
        "duel",
        "--model",
        server.model,
        "--max-rounds",
        "1",
        "--replay",
        tape,
    )
    assert ran.code == 1
    assert len(ran.err.splitlines()) == 1
    assert "differs from the closest recorded call at character" in ran.err
    assert run(*DUEL, server.model, "--record", tape).err == (
        f"moot: {tape} exists and is not overwritten: replay it, or delete it to record anew\n"
    )
    both = run(*DUEL, server.model, "--record", tape, "--replay", tape)
    assert (both.code, both.err) == (2, "moot: give either --record or --replay, not both\n")


def test_an_estimate_calls_no_model_and_needs_no_key(server: ModelServer) -> None:
    question = ("debate", "Cats are better than dogs", "--format", "duel", "--estimate")
    unknown = json.loads(run(*question, "--model", server.model, "--json").out)
    assert {name: unknown[name]["cost"] for name in ("most", "typical")} == {"most": None, "typical": None}
    lines = run(*question, "--model", "deepseek:deepseek-chat").out.splitlines()
    assert lines[-1].startswith("Time, a guess: typically 1 min, at most 2 min, at 50 tokens a second (assumed, ")
    assert [line.split()[0] for line in lines if line] == ["calls", "at", "typically", "Time,"]
    assert re.search(r"6,800 +\$0\.\d{4}$", lines[1])
    assert server.requests == []
    assert run("debate", "--list").out == 'No debates yet. Start one: moot debate "Cats are better than dogs"\n'


def test_a_price_of_the_users_own_shows_what_a_debate_cost(server: ModelServer, tmp_path: Path) -> None:
    price = f"prices:\n  '{server.model}': {{input: 1, output: 1000}}\n"
    (tmp_path / "moot.yaml").write_text(price)
    ran = run("debate", "Cats are better than dogs", "--format", "duel", "--model", server.model, "--max-rounds", "1")
    assert re.search(r"3 calls · 30 tokens in · \d+ out · \$0\.\d{4}\n", ran.out)
    limited = run(*DUEL, server.model, "--set", "max_cost=0.03")
    assert limited.events[-1]["stop_reason"] == "max_cost"


def test_models_shows_who_is_ready_and_what_each_seat_would_use_and_why(server: ModelServer) -> None:
    env = {"DEEPSEEK_API_KEY": "sk-0123456789", "DEEPSEEK_BASE_URL": server.url, "DEEPSEEK_MODEL_JUDGE": "wise"}
    ran = run("models", env=env)
    assert ran.code == 0
    rows = [re.split(r" {2,}", line) for line in ran.out.splitlines()]
    assert ["deepseek", server.url, "ready", "mock"] in rows
    assert ["openai", "https://api.openai.com/v1", "set OPENAI_API_KEY"] in rows
    assert ["ollama", "http://127.0.0.1:9", "not running"] in rows
    duel = rows.index(["duel", "model", "because"])
    assert rows[duel + 1 : duel + 4] == [
        ["Debater A", "deepseek:deepseek-chat", "DEEPSEEK_API_KEY is set"],
        ["Debater B", "deepseek:deepseek-chat", "DEEPSEEK_API_KEY is set"],
        ["Judge", "deepseek:wise", "DEEPSEEK_MODEL_JUDGE is set"],
    ]


def test_doctor_finds_nothing_wrong_with_a_good_set_up(server: ModelServer, tmp_path: Path) -> None:
    env = {"DEEPSEEK_API_KEY": "sk-0123456789", "DEEPSEEK_BASE_URL": server.url, "MOOT_PORT": "0"}
    ran = run("doctor", env={**env, "SSL_CERT_FILE": "", "SSL_CERT_DIR": ""})
    assert (ran.code, ran.err) == (0, "")
    assert [re.sub(r"\d[\d,]* MB", "9 MB", line) for line in ran.out.splitlines()] == [
        f"✓ Python {sys.version.split()[0]}",
        "✓ settings (no moot.yaml: defaults and MOOT_* apply)",
        f"✓ database sqlite:///{tmp_path}/data/moot/moot.db",
        "✓ decisions go to docs/decisions",
        f"✓ 9 MB free for debates in {tmp_path}/data/moot",
        "✓ pages at http://127.0.0.1:0, once moot serve runs",
        f"✓ deepseek at {server.url}",
        "✓ model deepseek:deepseek-chat (DEEPSEEK_API_KEY is set)",
        "✓ embedder wordllama",
    ]


def test_doctor_asks_the_servers_of_research_for_the_tools_that_are_named(server: ModelServer) -> None:
    bare = shlex.join([sys.executable, "-IS", str(Path(__file__).parent.parent / "bare_server.py")])
    servers = {"files": {"command": bare, "tools": ["search"]}, "web": {"command": bare, "tools": ["search", "read"]}}
    ran = run("doctor", env={"MOOT_MODEL": server.model, "MOOT_RESEARCH": json.dumps(servers)})
    assert ran.code == 1
    assert (
        "✓ research server files with search\n"
        "✗ research server web with search, read\n"
        "    it has no tool 'read'; name others under `tools`\n"
    ) in ran.out


def test_doctor_says_what_to_do_about_the_embedder_and_the_folder_for_decisions(
    server: ModelServer, tmp_path: Path
) -> None:
    (tmp_path / "docs").touch()
    ran = run("doctor", env={"MOOT_MODEL": server.model, "MOOT_RETRIEVAL__EMBEDDER": "ollama:nomic"})
    assert ran.code == 1
    cannot = "cannot write to 'docs/decisions'; name a folder that can be written to"
    assert f"✗ decisions go to docs/decisions\n    {cannot}\n" in ran.out
    assert re.search(r"✗ embedder ollama:nomic\n    cannot reach http://127.0.0.1:9: is the server running\?", ran.out)


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("argument", "Argue.\n{% if round %}\nMore.\n", r", line \d: Unexpected end of template.*"),
        ("argument", "Argue.\nIn {{ colour }}.\n", ", line 2: 'colour' is undefined; mend it, or .*"),
        ("rules", "{{ 1 / 0 }}", ", line 1: division by zero; .*"),
        ("verdict", "{% set x = 1 %}", ", line 1: assign cannot stand in a prompt: .*"),
        ("verdict", b"\xff\xfe", ": 'utf-8' codec can't decode .*"),
    ],
    ids=["cut", "undefined", "wrong", "forbidden", "bytes"],
)
def test_a_broken_prompt_file_is_one_line_with_its_place_and_doctor_finds_it(
    server: ModelServer, tmp_path: Path, kind: str, text: str | bytes, said: str
) -> None:
    file = tmp_path / "prompts" / "duel" / f"{kind}.md"
    file.parent.mkdir(parents=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    env = {"MOOT_PROMPTS": str(tmp_path / "prompts")}
    failed = run("debate", "x", "--format", "duel", "--max-rounds", "1", "--model", server.model, env=env)
    told = f"the prompt file {re.escape(str(file))}{said}"
    assert failed.code == 1
    assert re.fullmatch(rf"moot: DEB-\w+ failed: {told}; go on with: moot debate --resume DEB-\w+\n", failed.err)
    found = run("doctor", env={**env, "MOOT_MODEL": server.model})
    assert found.code == 1
    assert re.search(rf"✗ prompt file {re.escape(str(file))}\n    {told}\n", found.out), found.out


def test_doctor_finds_prompt_files_that_nobody_uses(server: ModelServer, tmp_path: Path) -> None:
    for name in ("duel/argument.md", "duel/argumnet.md", "dule/argument.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("Argue.")
    found = run("doctor", env={"MOOT_PROMPTS": str(tmp_path), "MOOT_MODEL": server.model})
    assert found.code == 1
    assert [line.split("/")[-2:] for line in found.out.splitlines() if "prompt file" in line] == [
        ["duel", "argument.md"],
        ["duel", "argumnet.md"],
        ["dule", "argument.md"],
    ]
    assert found.out.count("no format has such a prompt, did you mean duel/argument.md?") == 2


def test_doctor_counts_the_workers_of_a_postgres(server: ModelServer, postgres_url: str) -> None:
    ran = run("doctor", env={"MOOT_DATABASE_URL": postgres_url, "MOOT_MODEL": server.model})
    assert (ran.code, ran.out.splitlines()[3]) == (
        0,
        "✓ no worker alive on it: moot debate and moot serve work themselves, moot worker starts one",
    )


def test_doctor_says_what_to_do_about_a_wrong_key_and_a_broken_database(server: ModelServer, tmp_path: Path) -> None:
    server.refusal = (401, "no such key")
    env = {"DEEPSEEK_API_KEY": "sk-0123456789", "DEEPSEEK_BASE_URL": server.url}
    ran = run("doctor", env=env)
    assert ran.code == 1
    assert f"✗ deepseek at {server.url}\n    deepseek refused the key: check DEEPSEEK_API_KEY\n" in ran.out
    (tmp_path / "notes.txt").write_text("no database " * 100)
    ran = run("doctor", env={"MOOT_DATABASE_URL": f"sqlite:///{tmp_path}/notes.txt"})
    assert ran.code == 1
    assert re.search(r"✗ database sqlite:///\S+notes.txt\n    .*this file is no moot database", ran.out)


def test_ctrl_c_while_moot_is_still_being_imported_ends_it_without_a_traceback() -> None:
    script = (
        "import builtins, signal, sys\nfrom moot.__main__ import main\nplain = builtins.__import__\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # who starts the tests may have it ignored
        "def importing(name, *rest):\n    if name == 'click': signal.raise_signal(signal.SIGINT)\n"
        "    return plain(name, *rest)\nbuiltins.__import__ = importing\nmain()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, "debate", "--list"], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "")


@pytest.mark.parametrize(
    "option", [("--model", ""), ("--judges", " ,"), ("--perspectives", ""), ("--output", ""), ("--source", "")]
)
def test_an_option_without_a_value_is_not_passed_over(option: tuple[str, str]) -> None:
    ran = run("debate", "Cats are better than dogs", *option)
    assert (ran.code, ran.out) == (2, "")
    assert f"{option[0]} is empty: say which, or leave it out" in ran.err


def test_further_judges_are_not_passed_over_where_there_is_one_judging() -> None:
    ran = run("debate", "Cats are better than dogs", "--quick", "--judges", "openai:gpt-4.1")
    assert (ran.code, ran.out) == (2, "")
    assert "further judges are not asked with --quick" in ran.err


def test_a_key_that_names_no_model_is_told_where_a_tiny_model_speaks_instead() -> None:
    Path("tiny.gguf").write_bytes(b"GGUF")
    asked = ("debate", "Cats?", "--format", "duel", "--model", "local:./tiny.gguf")
    said = "GROQ_API_KEY is set: --model groq:MODEL takes one of its models."
    assert said in run(*asked, env={"GROQ_API_KEY": "gsk-0123456789"}).err
    assert "is set:" not in run(*asked, env={"DEEPSEEK_API_KEY": "sk-0123456789"}).err

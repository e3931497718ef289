"""The dialogue with a person: in a real terminal, from another one with `moot reply`, and where there is none."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from test_views import in_terminal

from model_server import ModelServer
from moot.core.events import Waiting
from moot.core.prompts import Message
from moot.formats.panel.format import PANEL
from moot.llm.client import Request, Schema
from moot.terminal.ask import question_lines
from program import COMMAND, run
from stage import ANALYSIS, CLEAR, FAST, Panelists

QUESTION = "Should we use Redis or PostgreSQL for caching?"
ID = re.compile(r"DEB-[a-z0-9]{8}")
EVALUATIONS = [
    {"summary": "Both have said why.", "state": "new_ground", "decision": "continue"},
    {
        "summary": "Arguments are diverging on operational complexity.\nNew points still emerging.",
        "state": "new_ground",
        "decision": "continue",
    },
]
WORDS = "Focus more on our team's PostgreSQL experience"


def served(panelists: Panelists) -> Callable[[dict[str, Any]], str]:
    """What a panel answers to the requests of the OpenAI API."""

    def reply(request: dict[str, Any]) -> str:
        form = request.get("response_format")
        schema = Schema(form["json_schema"]["name"], {}) if form else None
        messages = tuple(Message(each["role"], each["content"]) for each in request["messages"])
        return panelists(Request(model="mock", messages=messages, max_tokens=100, temperature=0.5, schema=schema))

    return reply


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(served(Panelists(evaluation=EVALUATIONS))).running() as server:
        yield server


@pytest.fixture(autouse=True)
def a_terminal_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    for variable in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)


def typing(*steps: tuple[str, str]) -> Callable[[str], bytes]:
    """Somebody who waits for a text to appear and then types, and so on."""
    left, read = list(steps), 0

    def type(seen: str) -> bytes:
        nonlocal read
        if left and (at := seen.find(left[0][0], read)) >= 0:
            read = at + len(left[0][0])
            return left.pop(0)[1].encode()
        return b""

    return type


def talk(server: ModelServer, *steps: tuple[str, str], rounds: int = 2, more: tuple[str, ...] = ()) -> tuple[int, str]:
    """Debate in a terminal; what it shows from the first question on, ids hidden, and its exit code."""
    arguments = ["debate", QUESTION, "--max-rounds", str(rounds), "--model", server.model, *more]
    code, screen = in_terminal(arguments, width=100, type=typing(*steps))
    return code, screen.text


def hidden(text: str) -> str:
    return re.sub(r"WFL-[a-z0-9]{8}", "WFL-ID", ID.sub("DEB-ID", text))


def said(debate_id: str) -> list[tuple[str, str]]:
    """What the person has said to a debate, read from its trace."""
    trace = json.loads(run("show", debate_id, "--json").out)
    return [(turn["kind"], turn["content"]) for turn in trace["turns"] if turn["seat"] == "human"]


PROMPT, CTRL_C, CTRL_D = "\n> ", "\x03", "\x04"


def test_the_checkpoint_in_a_terminal_and_what_follows_approval(server: ModelServer) -> None:
    code, shown = talk(
        server,
        (PROMPT, "c\n"),
        (PROMPT, "g\n"),
        ("Your guidance: ", f"{WORDS}\n"),
        (PROMPT, "a\n"),
        ("[y/N] ", "y\n"),
        rounds=3,
    )
    assert code == 0
    lines = shown.splitlines()
    begin, end = lines.index("═══ Round 2 Complete ═══"), lines.index("═══ Round 3 Starting ═══")
    assert lines[begin - 1 : end + 2] == [
        "",
        "═══ Round 2 Complete ═══",
        "Moderator: Arguments are diverging on operational complexity.",
        "           New points still emerging.",
        f"           Share of what was said in new words: {FAST} 95%,",
        f"           {CLEAR} 95%",
        "",
        "[C]ontinue  [G]uide  [E]nd early",
        "> g",
        f"Your guidance: {WORDS}",
        "═══ Round 3 Starting ═══",
        "",
    ]
    begin = lines.index("═══ Your turn ═══")
    assert lines[begin : begin + 3] == [
        "═══ Your turn ═══",
        "Moderator: Use Redis. It is fast enough.",
        "           Confidence: Low (the perspectives did not come to one",
    ]
    assert lines[lines.index("[A]pprove  [G]uide  [R]eject") + 1] == "> a"
    path = Path("docs/decisions/0001-should-we-use-redis-or-postgresql-for-caching.md")
    assert hidden(shown).splitlines()[-7:] == [
        "  moot show DEB-ID shows it again.",
        "",
        f"  Written to {path}",
        "",
        "Create a workflow from this decision? [y/N] y",
        "",
        "  WFL-ID: kept in moot; name a file, command or webhook under `workflow` in moot.yaml",
    ]
    debate_id = ID.findall(shown)[0]
    assert path.read_text() == run("export", debate_id).out
    assert said(debate_id) == [("guidance", ""), ("guidance", WORDS), ("approval", "")]
    assert [WORDS in json.dumps(request) for request in server.requests] == [False] * 13 + [True] * 7
    assert re.findall(r"WFL-\w{8}", run("workflow", debate_id).out) == re.findall(r"WFL-\w{8}", shown)


def test_what_is_not_an_answer_is_asked_again(server: ModelServer) -> None:
    code, shown = talk(
        server,
        (PROMPT, "\n"),
        (PROMPT, "go\n"),
        (PROMPT, "Guide\n"),
        ("Your guidance: ", "  \n"),
        (PROMPT, "E\n"),
        (PROMPT, "reject\n"),
        ("Your reason (or none): ", "No money.\n"),
        (PROMPT, "R\n"),
        ("Your reason (or none): ", "\n"),
    )
    assert code == 0
    first = shown[shown.index("[C]ontinue") : shown.index("▌ Moderator  synthesis")]
    assert first.splitlines() == [
        "[C]ontinue  [G]uide  [E]nd early",
        ">",
        "Type one of C, G, E, then Enter.",
        "> go",
        "Type one of C, G, E, then Enter.",
        "> Guide",
        "Your guidance:",
        "`guide` needs a text: say what you want the debate to hear",
        "> E",
        "",
    ]
    assert said(ID.findall(shown)[0]) == [("guidance", ""), ("approval", "No money."), ("approval", "")]
    assert not Path("docs").exists()
    assert "workflow" not in shown


def test_a_vague_question_is_asked_back_in_the_terminal(server: ModelServer, tmp_path: Path) -> None:
    vague = {**ANALYSIS, "too_vague": True, "question": "Caching of what?"}
    server.replies = served(Panelists(analysis=vague))
    code, shown = talk(server, ("Your answer: ", "User sessions.\n"), (PROMPT, "a\n"), ("[y/N] ", "\n"), rounds=1)
    assert code == 0
    assert "\n═══ Your turn ═══\nModerator: Caching of what?\nYour answer: User sessions.\n" in shown
    assert hidden(shown).endswith("\nCreate a workflow from this decision? [y/N]")
    with closing(sqlite3.connect(tmp_path / "data" / "moot" / "moot.db")) as database:
        assert database.execute("SELECT count(*) FROM workflows").fetchone() == (0,)


def test_ctrl_d_leaves_the_debate_waiting_and_it_goes_on_where_it_was(server: ModelServer) -> None:
    code, shown = talk(server, (PROMPT, CTRL_D))
    debate_id = ID.findall(shown)[0]
    assert (code, shown.splitlines()[-2:]) == (
        3,
        [">", f"{debate_id} is waiting for your answer; go on with: moot debate --resume {debate_id}"],
    )
    calls = len(server.requests)
    code, screen = in_terminal(
        ["debate", "--resume", debate_id], width=100, type=typing((PROMPT, "e\n"), (PROMPT, CTRL_D))
    )
    assert (code, screen.text.count("═══ Round 1 Complete ═══")) == (3, 1)
    assert len(server.requests) == calls + 1


def test_ctrl_c_at_a_question_leaves_at_once(server: ModelServer) -> None:
    code, shown = talk(server, (PROMPT, CTRL_C))
    debate_id = ID.findall(shown)[0]
    assert (code, shown.splitlines()[-1]) == (
        130,
        f"{debate_id} is waiting for your answer; go on with: moot debate --resume {debate_id}",
    )
    assert json.loads(run("show", debate_id, "--json").out)["status"] == "waiting"


def test_a_question_nobody_answers_in_time_pauses_the_debate(server: ModelServer) -> None:
    code, shown = talk(server, more=("--set", "checkpoint_timeout_seconds=0.2"))
    debate_id = ID.findall(shown)[0]
    assert (code, shown.splitlines()[-1]) == (
        3,
        f"{debate_id} is paused: nobody answered in time; go on with: moot debate --resume {debate_id}",
    )
    trace = json.loads(run("show", debate_id, "--json").out)
    assert (trace["status"], trace["stop_reason"]) == ("stopped", "checkpoint_timeout")


def test_a_terminal_that_goes_away_ends_the_program_and_the_debate_waits_on(server: ModelServer) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.execve(COMMAND[0], [*COMMAND, "debate", QUESTION, "--model", server.model], os.environ)
    seen = b""
    while b"\n> " not in seen:
        seen += os.read(terminal, 65536)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) > 0
    trace = json.loads(run("show", ID.findall(seen.decode())[0], "--json").out)
    assert (trace["status"], len(trace["turns"])) == ("waiting", 7)


def test_a_question_answered_elsewhere_meanwhile_is_not_answered_twice(server: ModelServer) -> None:
    elsewhere: list[int] = []

    def type(seen: str) -> bytes:
        if not elsewhere and PROMPT.replace("\n", "\r\n") in seen:
            elsewhere.append(run("reply", ID.findall(seen)[0], "--guide", WORDS).code)
            return b"c\n"
        return CTRL_D.encode() if "answered elsewhere" in seen and seen.endswith("> ") else b""

    arguments = ["debate", QUESTION, "--max-rounds", "3", "--model", server.model]
    code, screen = in_terminal(arguments, width=100, type=type)
    assert (code, elsewhere) == (3, [3])
    assert "\n> c\nThis was answered elsewhere.\n" in screen.text
    assert said(ID.findall(screen.text)[0]) == [("guidance", WORDS)]


def test_without_a_terminal_it_says_how_to_answer_and_each_answer_carries_on(server: ModelServer) -> None:
    first = run("debate", QUESTION, "--max-rounds", "2", "--model", server.model)
    debate_id = ID.findall(first.out)[0]
    assert (first.code, first.err) == (3, "")
    assert first.out.endswith(
        f"""
{debate_id} waits for a person: Both have said why.
Answer with one of:
moot reply {debate_id} --continue
moot reply {debate_id} --guide "…"
moot reply {debate_id} --end
"""
    )
    wrong = run("reply", debate_id, "--approve", "--record", "refused.jsonl")
    assert not Path("refused.jsonl").exists()
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err == f"moot: {debate_id} waits for one of: continue, guide, end; not 'approve'\n"
    second = run("reply", debate_id, "--guide", WORDS, "--record", "calls.jsonl")
    assert (second.code, second.err) == (3, "")
    assert len(Path("calls.jsonl").read_text().splitlines()) == 1 + 7
    assert second.out.endswith(
        f'moot reply {debate_id} --approve\nmoot reply {debate_id} --guide "…"\nmoot reply {debate_id} --reject "…"\n'
    )
    assert [WORDS in json.dumps(request) for request in server.requests] == [False] * 7 + [True] * 7
    third = run("reply", debate_id, "--approve")
    assert (third.code, third.err) == (0, "")
    assert third.out.endswith("\nWritten to docs/decisions/0001-should-we-use-redis-or-postgresql-for-caching.md\n")
    late = run("reply", debate_id, "--guide", WORDS)
    assert (late.code, late.err) == (
        1,
        f"moot: {debate_id} is finished; what you say cannot be heard any more\n",
    )


def test_as_json_there_are_only_events_on_stdout_and_the_way_on_is_told_on_stderr(server: ModelServer) -> None:
    first = run("debate", QUESTION, "--max-rounds", "1", "--model", server.model, "--json")
    last = first.events[-1]
    debate_id = last["debate"]
    assert first.code == 3
    assert {key: last[key] for key in ("type", "seat", "kind", "round", "position", "actions")} == {
        "type": "waiting",
        "seat": "human",
        "kind": "approval",
        "round": None,
        "position": 8,
        "actions": ["approve", "guide", "reject"],
    }
    assert f"\nmoot reply {debate_id} --approve\n" in first.err
    second = run("reply", debate_id, "--approve", "--json")
    assert (second.code, second.events[-1]["type"]) == (0, "debate_finished")
    assert second.err == "\nWritten to docs/decisions/0001-should-we-use-redis-or-postgresql-for-caching.md\n"


@pytest.mark.parametrize("options", [[], ["--continue", "--end"]], ids=["none", "two"])
def test_a_reply_is_one_thing(options: list[str]) -> None:
    ran = run("reply", "DEB-none", *options)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "moot: give one of --continue, --guide, --end, --answer, --approve, --reject\n"


def test_a_question_is_broken_on_words_as_wide_as_the_terminal() -> None:
    asked = Waiting(
        debate="DEB-abcdefgh",
        seat="human",
        kind="checkpoint",
        position=3,
        round=1,
        question="perspectives " * 20,
        actions=("continue", "end"),
    )
    lines = question_lines(asked, PANEL, 40)
    assert max(map(len, lines)) <= 40
    assert {word for line in lines[2:-2] for word in line.removeprefix("Moderator:").split()} == {"perspectives"}

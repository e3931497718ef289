"""What becomes of a finished debate, through the program: decision files, exports, ratings and workflows."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import stat
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from in_process import moot
from model_server import ModelServer
from moot import settings
from program import Ran, run
from replies import answers

QUESTION = "Which cache should we use?"
PANEL = ("debate", QUESTION, "--max-rounds", "1", "--json")
ID = re.compile(r"DEB-[a-z0-9]{8}")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(answers).running() as server:
        yield server


@pytest.fixture
def decided(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The id of a panel that recommends Redis, and that nobody was asked to approve; played once for all tests."""
    kept, mine = tmp_path_factory.getbasetemp() / "decided.db", tmp_path / "data" / "moot" / "moot.db"
    if not kept.exists():
        with ModelServer(answers).running() as server:
            assert run(*PANEL, "--no-checkpoints", "--model", server.model).code == 0
        shutil.copy(mine, kept)
    mine.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(kept, mine)
    with sqlite3.connect(mine) as database:
        return str(database.execute("SELECT id FROM debates").fetchone()[0])


def waiting(server: ModelServer) -> str:
    """A panel that asks for approval."""
    ran = run(*PANEL, "--model", server.model)
    assert ran.code == 3
    return str(ran.events[0]["debate"])


def decisions(folder: str = "docs/decisions") -> list[str]:
    return sorted(path.name for path in Path(folder).glob("*"))


# Decisions


def test_an_approved_decision_is_written_as_its_export_says(server: ModelServer) -> None:
    debate_id = waiting(server)
    assert decisions() == []
    approved = run("reply", debate_id, "--approve")
    assert (approved.code, approved.err) == (0, "")
    assert approved.out.endswith("\nWritten to docs/decisions/0001-which-cache-should-we-use.md\n")
    text = Path("docs/decisions/0001-which-cache-should-we-use.md").read_text()
    assert text == run("export", debate_id).out
    front = dict(line.split(": ", 1) for line in text.split("---\n")[1].splitlines() if ": " in line)
    assert (front["debate"], front["title"], front["status"]) == (debate_id, QUESTION, "accepted")
    assert re.findall(r"^## .*", text, re.MULTILINE) == [
        "## Question",
        "## Next steps",
        "## Tensions",
        "## Dissent",
        "## Perspectives",
    ]


def test_no_decision_is_written_through_a_link_that_leads_out_of_the_folder(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, outside = tmp_path / "strangers", tmp_path / "outside"
    outside.mkdir()
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "decisions").symlink_to(outside)
    monkeypatch.chdir(folder)
    debate_id = waiting(server)
    approved = run("reply", debate_id, "--approve")
    assert f"docs/decisions leads out of {folder} through a link, to {outside}; remove the link" in approved.err
    assert list(outside.iterdir()) == []
    (folder / "docs" / "decisions").unlink()
    (folder / "docs" / "decisions").symlink_to("..")
    run("debate", "--resume", debate_id)
    assert decisions(".")[0] == "0001-which-cache-should-we-use.md"


def test_a_decision_is_written_once_wherever_its_debate_is_looked_at_again(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    monkeypatch.chdir(here)
    debate_id = waiting(server)
    run("reply", debate_id, "--approve")
    monkeypatch.chdir(there)
    again = run("debate", "--resume", debate_id)
    name = "0001-which-cache-should-we-use.md"
    assert (again.code, again.out.splitlines()[-1]) == (0, f"Written to {here}/docs/decisions/{name}")
    assert (decisions(), decisions(f"{here}/docs/decisions")) == ([], [name])
    shutil.rmtree(here)
    run("debate", "--resume", debate_id)
    assert (here.exists(), decisions()) == (False, [name])


def test_a_rejected_decision_is_written_nowhere_unless_the_user_says_where(server: ModelServer) -> None:
    rejected = run("reply", waiting(server), "--reject", "", "--output", "kept")
    assert rejected.code == 0
    assert (decisions(), decisions("kept")) == ([], ["0001-which-cache-should-we-use.md"])
    text = Path("kept/0001-which-cache-should-we-use.md").read_text()
    assert "\nstatus: rejected\n" in text
    assert "\n**Rejected:** –\n" in text


def test_a_decision_that_nobody_was_asked_about_is_written_only_where_the_user_says(
    server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("here", "here", "there"):
        ran = moot(capsys, *PANEL, "--no-checkpoints", "--model", server.model, "--output", folder)
        assert (ran.code, ran.err.splitlines()[-1][:11]) == (0, "Written to ")
    assert (decisions(), decisions("here"), decisions("there")) == (
        [],
        ["0001-which-cache-should-we-use.md", "0002-which-cache-should-we-use.md"],
        ["0001-which-cache-should-we-use.md"],
    )


# Exports


def test_a_debate_is_exported_as_markdown_as_its_trace_and_as_a_page(
    decided: str, capsys: pytest.CaptureFixture[str]
) -> None:
    markdown, whole, page = (moot(capsys, "export", decided, "--as", style) for style in ("md", "json", "html"))
    assert [(ran.code, ran.err) for ran in (markdown, whole, page)] == [(0, "")] * 3
    assert markdown.out.startswith(f"---\ndebate: {decided}\ntitle: {QUESTION}\n")
    assert json.loads(whole.out) == json.loads(moot(capsys, "show", decided, "--json").out)
    assert page.out.startswith("<!DOCTYPE html>\n")
    assert re.findall(r"<(?:title|h1)[^>]*>(.*?)</", page.out) == [QUESTION, "Use Redis."]
    assert "<script" not in page.out


def test_an_export_into_a_file_is_the_same_and_never_overwrites_one(decided: str) -> None:
    first = run("export", decided, "--output", "record.md")
    assert (first.code, first.out, first.err) == (0, "", "Written to record.md\n")
    text = Path("record.md").read_text()
    assert text == run("export", decided, "--as", "md").out
    again = run("export", decided, "--as", "html", "--output", "record.md")
    assert (again.code, again.out) == (2, "")
    assert again.err == "moot: record.md exists already; choose another name or remove it\n"
    assert Path("record.md").read_text() == text


def test_a_debate_that_still_waits_is_exported_as_the_transcript_so_far(server: ModelServer) -> None:
    text = run("export", waiting(server)).out
    assert re.findall(r"^#+ .*", text, re.MULTILINE) == [
        f"# {QUESTION}",
        "## Outcome",
        "## Opening",
        "### Moderator · analysis",
        "## Round 1",
        "### Moderator · summary",
        "### Performance Advocate · opening",
        "### Operational Simplicity · opening",
        "### Performance Advocate · rebuttal",
        "### Operational Simplicity · rebuttal",
        "### Moderator · evaluation",
        "## Closing",
        "### Moderator · synthesis",
    ]
    assert "There is none: the debate is waiting." in text


def test_an_export_cannot_steer_the_terminal_it_is_printed_to(server: ModelServer) -> None:
    evil = "one \x1b[2J\x1b]0;owned\x07 two \u202e\x9b31m three \x08\x7f end"
    server.replies = lambda request: evil
    ran = run("debate", f"Is {evil} so?", "--format", "duel", "--max-rounds", "1", "--model", server.model, "--json")
    text = "".join(run("export", ran.events[0]["debate"], "--as", style).out for style in ("md", "html"))
    assert re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text) == []


# Ratings


def test_a_rating_is_shown_and_replaced_by_a_later_one(decided: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("rate", decided, "4", "--comment", "Clear.") == Ran(0, f"{decided}: ★★★★☆\n", "")
    assert moot(capsys, "rate", decided, "1") == Ran(0, f"{decided}: ★☆☆☆☆\n", "")
    assert json.loads(moot(capsys, "show", decided, "--json").out)["user_rating"] == 1


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["rate", "ID", "0"], 2, "0 stars cannot be given: give 1 to 5"),
        (["rate", "ID", "6"], 2, "6 stars cannot be given: give 1 to 5"),
        (["rate", "ID", "3", "--comment", "x" * 2001], 2, "that text has 2001 characters; at most 2000 are allowed"),
        (["rate", "DEB-none", "3"], 1, "no debate 'DEB-none'; moot debate --list shows the latest"),
        (["export", "ID", "--as", "pdf"], 2, "cannot export as 'pdf'; choose md, json, html, argdown or aif"),
        (["export", "ID", "--output", "no/such/place.md"], 2, "no/such/place.md cannot be written: No such file .*"),
        (["export", "DEB-none"], 1, "no debate 'DEB-none'; moot debate --list shows the latest"),
        (["workflow", "DEB-none"], 1, "no debate 'DEB-none'; moot debate --list shows the latest"),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, list) else "",
)
def test_every_error_is_one_line(
    decided: str, capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str
) -> None:
    ran = moot(capsys, *(decided if word == "ID" else word for word in words))
    assert (ran.code, ran.out) == (code, "")
    assert re.fullmatch(f"moot: {said}\n", ran.err), ran.err


# Workflows


class Webhook:
    """Remembers what it is sent, and answers with `status`."""

    def __init__(self) -> None:
        self.status = 200
        self.sent: list[dict[str, Any]] = []

    def handler(self) -> type[BaseHTTPRequestHandler]:
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                webhook.sent.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(webhook.status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        return Handler


@pytest.fixture
def webhook() -> Iterator[tuple[Webhook, str]]:
    webhook = Webhook()
    with HTTPServer(("127.0.0.1", 0), webhook.handler()) as http:
        thread = Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        yield webhook, f"http://127.0.0.1:{http.server_port}/issues"
        http.shutdown()
        thread.join()


def configured(**workflow: object) -> None:
    file = settings.config_folder() / settings.FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"workflow": {"attempts": 1, **workflow}}))


def result(ran: Ran) -> tuple[int, str]:
    """The exit code and what became of the issue."""
    assert ran.err == ""
    return ran.code, ran.out.splitlines()[-1]


def test_without_a_place_to_go_the_issue_is_kept_and_can_be_delivered_later(decided: str) -> None:
    kept = run("workflow", decided)
    assert result(kept) == (0, "kept in moot; name a file, command or webhook under `workflow` in moot.yaml")
    title = kept.out.splitlines()[0]
    assert re.fullmatch(rf"WFL-\w{{8}} of {decided}: Act on the decision: Which cache should we use\?", title)
    assert re.findall(r"^(?:##|- \[ \]) .*", kept.out, re.MULTILINE) == [
        "## Context",
        "## Decision",
        "## Tasks",
        "- [ ] set up Redis",
        "## Acceptance criteria",
        "- [ ] reads take under a millisecond",
    ]
    configured(file="issues")
    later = run("workflow", decided)
    assert result(later) == (0, "issues/act-on-the-decision-which-cache-should-we-use.md")
    assert later.out.splitlines()[0] == title


def test_an_issue_becomes_one_file_however_often_it_is_asked_for(decided: str) -> None:
    configured(file="issues")
    first, second = run("workflow", decided), run("workflow", decided)
    assert first == second
    (file,) = Path("issues").iterdir()
    assert result(second) == (0, str(file))
    head = f"---\ntitle: 'Act on the decision: {QUESTION}'\ndebate: {decided}\n---\n\n"
    body = first.out.split("\n", 2)[2].rpartition("\n\n")[0]
    assert file.read_text() == f"{head}{body}\n"


def test_a_command_gets_the_issue_once_and_after_a_failure_again(decided: str) -> None:
    script = Path("tracker")
    script.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, sys\n"
        "if not pathlib.Path('open').exists(): sys.exit('closed for today')\n"
        "with open('taken', 'a') as taken: print(sys.argv[1:], len(sys.stdin.read()) > 100, file=taken)\n"
        "print('https://tracker.example/7')\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    configured(command="./tracker --title {title} {debate}")
    assert result(run("workflow", decided)) == (1, "./tracker ended with 1: closed for today")
    Path("open").touch()
    assert result(run("workflow", decided)) == (0, "https://tracker.example/7")
    assert result(run("workflow", decided)) == (0, "https://tracker.example/7")
    title = f"Act on the decision: {QUESTION}"
    assert Path("taken").read_text() == f"{['--title', title, decided]} True\n"


def test_a_webhook_gets_the_issue_once_and_after_a_failure_again(decided: str, webhook: tuple[Webhook, str]) -> None:
    receiver, address = webhook
    configured(webhook=address)
    receiver.status = 503
    assert result(run("workflow", decided)) == (1, "the webhook: it answered 503 Service Unavailable")
    receiver.status = 200
    assert result(run("workflow", decided)) == (0, "the webhook: it answered 200 OK")
    assert result(run("workflow", decided)) == (0, "the webhook: it answered 200 OK")
    assert [(sent["title"], sent["debate"], sent["event"]) for sent in receiver.sent] == [
        (f"Act on the decision: {QUESTION}", decided, "workflow")
    ] * 2
    assert receiver.sent[0] == receiver.sent[1]


def test_there_is_no_workflow_without_a_decision_or_of_one_that_was_rejected(
    server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    open_debate = waiting(server)
    refused = Ran(2, "", f"moot: {open_debate} has no decision to make a workflow of\n")
    assert moot(capsys, "workflow", open_debate) == refused
    assert run("reply", open_debate, "--reject", "").code == 0
    assert moot(capsys, "workflow", open_debate) == refused

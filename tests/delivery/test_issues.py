"""Handing an issue over: to a real folder, real commands and a real server that fails now and then."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from model_server import PATIENCE
from moot.core.debate import Issue
from moot.core.workflows import WorkflowSettings
from moot.delivery.issues import Delivery, deliver
from moot.delivery.webhooks import signature
from moot.errors import faults

ISSUE = Issue("Use REST", "## Context\n\nWe chose REST.\n\n- [ ] Write it — soon\n")
PYTHON = sys.executable


class Pauses(list[float]):
    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


def script(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "script.py"
    path.write_text(text)
    return path


async def run(
    tmp_path: Path, text: str, *arguments: str, issue: Issue = ISSUE, environ: dict[str, str] | None = None, **more: Any
) -> Delivery:
    """Deliver to a command that is this Python script."""
    command = " ".join([PYTHON, str(script(tmp_path, text)), *arguments])
    settings = WorkflowSettings(command=command, attempts=more.pop("attempts", 3))
    return await deliver(
        issue, "DEB-1", settings, {**os.environ, **(environ or {})}, more.pop("sleep", Pauses()), **more
    )


# Settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "write exactly one of file, command and webhook, not none"),
        (
            {"file": "x", "webhook": "http://a.example"},
            "write exactly one of file, command and webhook, not file and webhook",
        ),
        (
            {"command": "  "},
            "command: names no program; write one with its arguments: gh issue create --title {title} --body-file -",
        ),
        *(
            (
                {"command": command},
                f"command: has {found!r} where it could be run; write {{title}} after --title or "
                "--subject or --summary or --name, or let a script read MOOT_TITLE and MOOT_DEBATE: "
                "gh issue create --title {title} --body-file -",
            )
            for command, found in [
                ("sh -c 'echo {title}'", "echo {title}"),
                ("sh -c 'echo {debate} {title}'", "echo {debate} {title}"),
                ("gh issue create --title={title}", "--title={title}"),
                ("{debate} x", "{debate}"),
                *(
                    (f"{runner} {{title}}", "{title}")
                    for runner in (
                        *("", "sh -c", "bash -lc", "bash -ec", "sh -xc", "sh -c --", "sh -s", "python3 -Ic", "perl -e"),
                        *("node --eval", "env -S", "su --command", "ssh host", "timeout 5", "xargs", "sudo", "eval"),
                        *("ssh host tracker --title", "/usr/bin/ssh host tracker --title", "watch tracker --title"),
                    )
                ),
            ]
        ),
        (
            {"command": "gh 'issue"},
            "command: has a quote that is not closed; write it as for a shell: "
            "gh issue create --title {title} --body-file -",
        ),
        *(
            (
                {"webhook": address},
                "webhook: is not an address; write one that begins with https:// or http:// and names a host",
            )
            for address in ("ftp://a.example", "a.example/hook", "http://", "http://[::1", "http://a.example:99999", "")
        ),
        (
            {"file": "x", "secret_env": "KEY"},
            "secret_env signs webhooks only; leave it out, or write webhook",
        ),
        ({"file": "x", "attempts": 0}, "attempts: at least 1, not 0"),
        ({"file": "x", "folder": "y"}, "folder: not known"),
    ],
)
def test_settings_that_cannot_be_used_say_what_to_write(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        WorkflowSettings.model_validate(settings)
    assert faults(caught.value.errors()) == message


def test_a_webhooks_address_is_in_no_error() -> None:
    with pytest.raises(ValidationError) as caught:
        WorkflowSettings(webhook="ftp://a.example/sentinel-4711")
    assert "sentinel" not in str(caught.value)


# Files


async def test_an_issue_becomes_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "issues"
    delivery = await deliver(ISSUE, "DEB-1", WorkflowSettings(file=folder), {})
    assert delivery == Delivery(True, 1, str(folder / "use-rest.md"))
    assert (folder / "use-rest.md").read_text() == f"---\ntitle: Use REST\ndebate: DEB-1\n---\n\n{ISSUE.body}"


async def test_a_file_is_never_overwritten_and_the_same_issue_written_once(tmp_path: Path) -> None:
    settings = WorkflowSettings(file=tmp_path)
    (tmp_path / "use-rest.md").write_text("mine")
    results = [
        (await deliver(Issue("Use REST", body), "DEB-1", settings, {})).result for body in ("one", "two", "one", "two")
    ]
    assert results == [str(tmp_path / f"use-rest-{number}.md") for number in (2, 3, 2, 3)]
    assert sorted(os.listdir(tmp_path)) == ["use-rest-2.md", "use-rest-3.md", "use-rest.md"]
    assert (tmp_path / "use-rest.md").read_text() == "mine"


async def test_a_folder_that_cannot_be_written_to_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    delivery = await deliver(ISSUE, "DEB-1", WorkflowSettings(file=tmp_path / "file"), {}, Pauses())
    assert delivery == Delivery(False, 1, f"cannot write to '{tmp_path}/file': File exists")


def test_a_folder_may_begin_at_home() -> None:
    assert WorkflowSettings.model_validate({"file": "~/issues"}).file == Path.home() / "issues"


# Commands


ECHO = "import sys, json; json.dump([sys.argv[2:], sys.stdin.read()], open(sys.argv[1], 'w')); print('https://x.example/12')"


async def test_a_command_gets_the_body_on_standard_input_and_its_first_line_is_the_result(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    delivery = await run(tmp_path, ECHO, str(out), "--title", "{title}", "{debate}", "{body}")
    assert delivery == Delivery(True, 1, "https://x.example/12")
    assert json.loads(out.read_text()) == [["--title", "Use REST", "DEB-1", "{body}"], ISSUE.body]


async def test_a_command_finds_title_and_debate_in_its_environment_too(tmp_path: Path) -> None:
    told = "import os; print(os.environ['MOOT_TITLE'], os.environ['MOOT_DEBATE'])"
    assert await run(tmp_path, told) == Delivery(True, 1, "Use REST DEB-1")


@pytest.mark.parametrize(
    ("title", "argument"),
    [
        ("$(touch pwned); `touch pwned` && 'x\" | y", "$(touch pwned); `touch pwned` && 'x\" | y"),
        ("--web", "web"),
        ("- -rf /", "rf /"),
        ("{debate} {title}", "{debate} {title}"),
        ("a\0b\nc\x1b[31m", "a b c [31m"),
        ("---", "Decision"),
        ("x" * 1_000_000, "x" * 250),
    ],
)
async def test_nothing_in_a_title_reaches_beyond_its_argument(tmp_path: Path, title: str, argument: str) -> None:
    out = tmp_path / "out.json"
    delivery = await run(tmp_path, ECHO, str(out), "--title", "{title}", "end", issue=Issue(title, "Body."))
    assert delivery.delivered
    assert json.loads(out.read_text()) == [["--title", argument, "end"], "Body."]
    assert sorted(os.listdir(tmp_path)) == ["out.json", "script.py"]


async def test_a_command_that_fails_is_tried_again(tmp_path: Path) -> None:
    text = (
        "import sys, pathlib; log = pathlib.Path(sys.argv[1]); log.open('a').write('x')\n"
        "sys.exit(0 if log.read_text() == 'xxx' else 'no network')"
    )
    pauses = Pauses()
    delivery = await run(tmp_path, text, str(tmp_path / "log"), sleep=pauses, attempts=5)
    assert (delivery, pauses) == (Delivery(True, 3, f"{PYTHON} took it"), [1.0, 2.0])


async def test_a_command_that_goes_on_failing_says_why(tmp_path: Path) -> None:
    pauses = Pauses()
    delivery = await run(
        tmp_path, "import sys; print('half'); sys.exit('\\n\\x1b[31mnot logged in\\nmore')", sleep=pauses
    )
    assert (delivery, pauses) == (Delivery(False, 3, f"{PYTHON} ended with 1: [31mnot logged in"), [1.0, 2.0])


async def test_a_missing_program_is_not_tried_again() -> None:
    pauses = Pauses()
    delivery = await deliver(ISSUE, "DEB-1", WorkflowSettings(command="no-such-program x"), {}, pauses)
    result = "cannot run 'no-such-program': No such file or directory; check the workflow's command"
    assert (delivery, pauses) == (Delivery(False, 1, result), [])


async def test_a_command_that_hangs_is_given_up_and_tried_again(tmp_path: Path) -> None:
    pauses = Pauses()
    delivery = await run(tmp_path, "import signal; signal.pause()", timeout=0.05, attempts=2, sleep=pauses)
    assert (delivery, pauses) == (Delivery(False, 2, f"{PYTHON} did not end within 0.05 s"), [1.0])


HANG = """
import os, socket, subprocess, sys
line = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
os.set_inheritable(line.fileno(), True)
child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], close_fds=False)
line.send(b"x")
child.wait()
"""


async def test_a_command_is_killed_with_its_children(tmp_path: Path) -> None:
    """The connection ends only when nobody holds it any more, no child of the command either."""
    calls: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    async with await asyncio.start_server(lambda *call: calls.put_nowait(call), "127.0.0.1", 0) as server:
        delivering = asyncio.create_task(run(tmp_path, HANG, str(server.sockets[0].getsockname()[1])))
        reader, writer = await calls.get()
        assert await reader.readexactly(1) == b"x"
        delivering.cancel()
        assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
        with pytest.raises(asyncio.CancelledError):
            await delivering
        writer.close()


async def test_a_child_that_lives_on_does_not_hold_up_a_command_that_ended(tmp_path: Path) -> None:
    text = (
        "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n"
        "print(child.pid, flush=True); child.returncode = 0"
    )
    delivery = await run(tmp_path, text, timeout=PATIENCE)
    os.kill(int(delivery.result), 9)
    assert (delivery.delivered, delivery.attempts) == (True, 1)


async def test_what_a_command_says_is_cut_and_holds_no_key(tmp_path: Path) -> None:
    text = "import os, sys; print('\\x1b]0;x\\x07', os.environ['GH_TOKEN'], os.environ['HOOK_KEY'], 'y' * 200000)"
    keys = {"GH_TOKEN": "sentinel-4711", "HOOK_KEY": "sentinel-4711-longer"}
    delivery = await run(tmp_path, text, environ=keys)
    assert delivery == Delivery(True, 1, "]0;x [secret] [secret] " + "y" * 477)


# Webhooks


class Receiver:
    """A server that gives these answers one after the other, and keeps what it got."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)
        self.got: list[tuple[bytes, Mapping[str, str]]] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.got.append((await request.read(), request.headers.copy()))
        status = self.answers.pop(0)
        if not status:
            assert request.transport
            request.transport.abort()
        return web.Response(status=status or 200, headers={"Location": "/elsewhere"} if 300 <= status < 400 else None)


async def post(receiver: Receiver, environ: dict[str, str] | None = None, **settings: Any) -> tuple[Delivery, Pauses]:
    application = web.Application()
    application.router.add_post("/hook", receiver.answer)
    pauses = Pauses()
    async with TestServer(application) as server:
        hook = WorkflowSettings(webhook=str(server.make_url("/hook")), **settings)
        return await deliver(ISSUE, "DEB-1", hook, environ or {}, pauses), pauses


async def test_a_webhook_that_fails_twice_gets_it_the_third_time() -> None:
    receiver = Receiver(503, 429, 201)
    assert await post(receiver) == (Delivery(True, 3, "the webhook: it answered 201 Created"), [1.0, 2.0])
    sent = {"title": "Use REST", "body": ISSUE.body, "debate": "DEB-1", "event": "workflow"}
    assert [json.loads(body) for body, _ in receiver.got] == [sent] * 3
    assert len({headers["webhook-id"] for _, headers in receiver.got}) == 1
    assert not any("webhook-signature" in headers for _, headers in receiver.got)


async def test_a_webhook_that_closes_the_connection_is_tried_again() -> None:
    delivery = Delivery(True, 2, "the webhook: it answered 200 OK")
    assert await post(Receiver(0, 200)) == (delivery, [1.0])


async def test_a_webhook_that_goes_on_failing_is_given_up() -> None:
    delivery = Delivery(False, 4, "the webhook: it answered 500 Internal Server Error")
    assert await post(Receiver(500, 500, 500, 500), attempts=4) == (delivery, [1.0, 2.0, 4.0])


@pytest.mark.parametrize(
    ("status", "result"),
    [
        (404, "the webhook: it answered 404 Not Found"),
        (400, "the webhook: it answered 400 Bad Request"),
        (302, "the webhook: it answered 302 Found: redirects are not followed; give its real address"),
        (308, "the webhook: it answered 308 Permanent Redirect: redirects are not followed; give its real address"),
    ],
)
async def test_a_refusal_or_a_redirect_is_not_tried_again(status: int, result: str) -> None:
    receiver = Receiver(status, 200)
    assert await post(receiver) == (Delivery(False, 1, result), [])
    assert len(receiver.got) == 1


@pytest.mark.parametrize("key", ["sentinel-4711", "whsec_" + base64.b64encode(b"sentinel-4711").decode()])
async def test_a_webhook_is_signed_like_every_other(key: str) -> None:
    receiver = Receiver(200)
    await post(receiver, {"HOOK": key}, secret_env="HOOK")
    ((body, headers),) = receiver.got
    at = int(headers["webhook-timestamp"])
    assert headers["webhook-signature"] == signature(headers["webhook-id"], at, body, b"sentinel-4711")


async def test_without_its_key_a_webhook_is_not_sent() -> None:
    receiver = Receiver(200)
    result = "the webhook: HOOK is not set; it should hold the key that signs the webhook"
    assert await post(receiver, {"HOOK": ""}, secret_env="HOOK") == (Delivery(False, 1, result), [])
    assert receiver.got == []


async def test_a_server_that_does_not_run_is_tried_again() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        hook = WorkflowSettings(webhook=f"http://127.0.0.1:{free.getsockname()[1]}/sentinel-4711")
        pauses = Pauses()
        delivery = await deliver(ISSUE, "DEB-1", hook, {}, pauses)
    result = "the webhook: it cannot be reached: is its server running?"
    assert (delivery, pauses) == (Delivery(False, 3, result), [1.0, 2.0])


async def test_a_server_that_does_not_answer_is_a_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hook = WorkflowSettings(webhook=f"http://127.0.0.1:{silent.getsockname()[1]}/", attempts=2)
        delivery = await deliver(ISSUE, "DEB-1", hook, {}, Pauses(), timeout=0.05)
    assert delivery == Delivery(False, 2, "the webhook: it did not answer within 0.05 s")


async def test_a_reason_that_the_server_made_up_is_not_shown() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 \xe2\x80\xae" + b"a" * 2000 + b"\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        hook = WorkflowSettings(webhook=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        delivery = await deliver(ISSUE, "DEB-1", hook, {}, Pauses())
    assert delivery == Delivery(True, 1, "the webhook: it answered 200 OK")


@given(st.text(), st.text())
@example("\ud800", "\ud800")
def test_any_text_can_be_delivered(title: str, body: str) -> None:
    command = WorkflowSettings(command="true --title {title}")
    assert asyncio.run(deliver(Issue(title, body), "DEB-1", command, os.environ)) == Delivery(True, 1, "true took it")

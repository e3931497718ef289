"""From a decision to work: an issue is handed to what the user named, a folder, a command or a webhook.

Knows no database and no format. What comes back is untrusted, and shown to the user without control characters or keys.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import IO, Protocol

import orjson

from moot.core.debate import Issue, Workflow
from moot.core.webhooks import Webhook
from moot.core.workflows import WorkflowSettings
from moot.delivery.webhooks import SECONDS, Attempt, attempt, opened
from moot.text.commands import words
from moot.text.files import publish
from moot.text.markdown import front_matter
from moot.text.plain import hiding, one_line, secrets_of, slug

log = logging.getLogger(__name__)

COMMAND_SECONDS = 60.0
MARGIN = 15.0
MAX_RESULT = 500
MAX_TITLE = 250


@dataclass(frozen=True, slots=True)
class Delivery:
    """How handing it over went; `result` is what the user sees."""

    delivered: bool
    attempts: int
    result: str


class Workflows(Protocol):
    """Where issues are kept until they are handed over; all by the database's clock."""

    async def take_workflow(self, lease: float, debate_id: str | None = None) -> tuple[str, Workflow] | None: ...
    async def note_delivery(self, debate_id: str, workflow: Workflow) -> Workflow: ...


async def hand_over_due(
    kept: Workflows, settings: WorkflowSettings, environ: Mapping[str, str], debate_id: str | None = None
) -> Workflow | None:
    """Hand over an issue that is due, or this debate's; None when there is none, or somebody else is at it."""
    taken = await kept.take_workflow(longest_seconds(settings), debate_id)
    return await hand_over(kept, *taken, settings, environ) if taken else None


async def hand_over(
    kept: Workflows, debate_id: str, made: Workflow, settings: WorkflowSettings, environ: Mapping[str, str]
) -> Workflow:
    """Hand over what nobody else may now, and note how that went."""
    sent = await deliver(Issue(made.title, made.body), debate_id, settings, environ)
    log.info("workflow delivered" if sent.delivered else "workflow not delivered", extra={"debate": debate_id})
    tried = replace(made, delivered=sent.delivered, attempts=sent.attempts, result=sent.result)
    return await kept.note_delivery(debate_id, tried)


def longest_seconds(settings: WorkflowSettings) -> float:
    """What all attempts together can take, and a little more: so long nobody else may hand the issue over."""
    return settings.attempts * (COMMAND_SECONDS if settings.command else SECONDS) + 2.0**settings.attempts + MARGIN


async def deliver(
    issue: Issue,
    debate_id: str,
    settings: WorkflowSettings,
    environ: Mapping[str, str],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    timeout: float | None = None,
) -> Delivery:
    """Hand the issue over; what may pass is tried again after 1, 2, 4 … seconds, and a failure is told, not raised."""
    for number in count(1):
        tried = await _attempt(issue, debate_id, settings, environ, timeout)
        if tried.delivered or not tried.may_pass or number == settings.attempts:
            break
        await sleep(2.0 ** (number - 1))
    return Delivery(tried.delivered, number, _shown(tried.result, settings, environ))


async def _attempt(
    issue: Issue, debate_id: str, settings: WorkflowSettings, environ: Mapping[str, str], timeout: float | None
) -> Attempt:
    if settings.file is not None:
        return await asyncio.to_thread(_write, issue, debate_id, settings.file)
    if settings.command is not None:
        values = _values(issue, debate_id)
        told = {**environ, "MOOT_TITLE": values["{title}"], "MOOT_DEBATE": debate_id}
        return await _run(_arguments(settings.command, values), issue.body, told, timeout or COMMAND_SECONDS)
    hook = Webhook(url=str(settings.webhook), secret_env=settings.secret_env)
    return await _post(issue, debate_id, hook, environ, timeout or SECONDS)


# A file


def _write(issue: Issue, debate_id: str, folder: Path) -> Attempt:
    head = front_matter({"title": one_line(issue.title), "debate": debate_id})
    content = f"{head}\n{issue.body.rstrip()}\n".encode(errors="replace")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return Attempt(True, str(_publish_named(folder, slug(issue.title), content)))
    except OSError as error:
        return Attempt(False, f"cannot write to {str(folder)!r}: {error.strerror}")


def _publish_named(folder: Path, name: str, content: bytes) -> Path:
    """A file that says exactly this, or a new one: name.md, name-2.md, …"""
    for number in count(1):
        path = folder / (f"{name}.md" if number == 1 else f"{name}-{number}.md")
        if path.is_file() and not path.is_symlink() and path.read_bytes() == content:
            break
        if publish(path, content, folder / f".{path.name}.tmp", path.exists):
            break
    return path


# A command


def _arguments(command: str, values: Mapping[str, str]) -> list[str]:
    """The command's words, each of which stays one whatever the title holds."""
    return [values.get(word, word) for word in words(command)]


def _values(issue: Issue, debate_id: str) -> dict[str, str]:
    # What begins with a dash would be an option where the title is a whole argument.
    return {"{title}": one_line(issue.title)[:MAX_TITLE].lstrip("- ") or "Decision", "{debate}": debate_id}


async def _run(arguments: list[str], body: str, environ: Mapping[str, str], timeout: float) -> Attempt:
    # Files instead of pipes: nothing blocks on them, and a child that lives on does not keep us waiting.
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        stdin.write(body.encode(errors="replace"))
        stdin.seek(0)
        try:
            process = await asyncio.create_subprocess_exec(
                *arguments, stdin=stdin, stdout=stdout, stderr=stderr, env=dict(environ), start_new_session=True
            )
        except OSError as error:
            return Attempt(False, f"cannot run {arguments[0]!r}: {error.strerror}; check the workflow's command")
        code = await _ended(process, timeout)
        if code is None:
            return Attempt(False, f"{arguments[0]} did not end within {timeout:g} s", may_pass=True)
        if code != 0:
            said = _first_line(stderr) or _first_line(stdout)
            return Attempt(False, f"{arguments[0]} ended with {code}: {said or 'no message'}", may_pass=True)
        return Attempt(True, _first_line(stdout) or f"{arguments[0]} took it")


async def _ended(process: asyncio.subprocess.Process, timeout: float) -> int | None:
    """Its exit code; None when it took too long, and then neither it nor what it started is left."""
    try:
        async with asyncio.timeout(timeout):
            return await process.wait()
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            _kill(process)
            await process.wait()


def _kill(process: asyncio.subprocess.Process) -> None:
    if sys.platform == "win32":
        process.kill()
    else:
        with suppress(ProcessLookupError):  # it ended just now
            os.killpg(process.pid, signal.SIGKILL)


def _first_line(output: IO[bytes]) -> str:
    output.seek(0)
    lines = output.read(64_000).decode(errors="replace").splitlines()
    return next((line.strip() for line in lines if line.strip()), "")


# A webhook


async def _post(issue: Issue, debate_id: str, hook: Webhook, environ: Mapping[str, str], timeout: float) -> Attempt:
    id = "msg_" + hashlib.sha256(f"{debate_id} workflow".encode()).hexdigest()[:24]
    async with opened() as session:
        tried = await attempt(session, id, _payload(issue, debate_id), hook, environ, now=time.time(), seconds=timeout)
    return tried._replace(result=f"the webhook: {tried.result}")


def _payload(issue: Issue, debate_id: str) -> bytes:
    texts = {"title": one_line(issue.title), "body": issue.body, "debate": debate_id, "event": "workflow"}
    return orjson.dumps({name: text.encode(errors="replace").decode() for name, text in texts.items()})


# What is shown


def _shown(result: str, settings: WorkflowSettings, environ: Mapping[str, str]) -> str:
    key = environ.get(settings.secret_env, "") if settings.secret_env else ""
    return one_line(hiding([key, *secrets_of(environ)], "[secret]")(result))[:MAX_RESULT]

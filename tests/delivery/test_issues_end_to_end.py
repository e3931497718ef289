"""Issues from end to end: what was to be handed over when a process died is handed over by the next one."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from model_server import PATIENCE
from moot.app import build
from moot.core.workflows import WorkflowSettings
from moot.settings import AppSettings
from moot.testing import ScriptedModel
from stage import Panelists

MAKE = """
import asyncio, sys
from moot.app import build
from moot.settings import AppSettings

async def main():
    async with build(AppSettings.model_validate_json(sys.argv[1]), {}, {}) as app:
        print((await app.make_workflow(sys.argv[2])).result)

asyncio.run(main())
"""


class Receiver:
    """Answers with these statuses one after the other; None is no answer at all."""

    def __init__(self) -> None:
        self.url = ""
        self.answers: list[int | None] = []
        self.ids: list[str] = []
        self.asked = asyncio.Event()

    async def answer(self, request: web.Request) -> web.Response:
        self.ids.append(request.headers["webhook-id"])
        self.asked.set()
        status = self.answers.pop(0) if self.answers else 200
        if status is None:
            await asyncio.Event().wait()
        return web.Response(status=status or 200)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    application = web.Application()
    application.router.add_post("/issues", receiver.answer)
    async with TestServer(application, shutdown_timeout=0) as server:
        receiver.url = str(server.make_url("/issues"))
        yield receiver


def settings(folder: Path, **workflow: Any) -> AppSettings:
    url = f"sqlite:///{folder / 'moot.db'}"
    return AppSettings(database_url=url, model="scripted:model", workflow=WorkflowSettings(**workflow))


async def decided(chosen: AppSettings) -> str:
    async with build(chosen, {}, {"scripted": ScriptedModel(Panelists())}) as app:
        record = await app.create("panel", "Redis?", {"max_rounds": 1, "checkpoints": False})
        await app.run(record.id, lambda event: None)
    return record.id


def end_lease(folder: Path) -> None:
    """As if the time had passed in which only the dead process might hand it over."""
    database = sqlite3.connect(folder / "moot.db")
    with database:
        database.execute("UPDATE workflows SET next_at = 1 WHERE next_at IS NOT NULL")
    database.close()


async def killed_while_handing_over(chosen: AppSettings, debate_id: str, begun: asyncio.Event) -> None:
    arguments = ["-c", MAKE, chosen.model_dump_json(), debate_id]
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments)
    try:
        async with asyncio.timeout(PATIENCE):
            await begun.wait()
    finally:
        process.kill()
        await process.wait()


async def test_what_a_killed_process_was_handing_over_is_handed_over_by_the_next(
    receiver: Receiver, tmp_path: Path
) -> None:
    chosen = settings(tmp_path, webhook=receiver.url)
    debate_id = await decided(chosen)
    receiver.answers = [None]
    await killed_while_handing_over(chosen, debate_id, receiver.asked)
    async with build(chosen, {}, {}) as app:
        made = await app.make_workflow(debate_id)  # it cannot know that nobody is at it any more
    assert (made.delivered, made.result) == (False, "it is being handed over already; look again in a while")
    end_lease(tmp_path)
    async with build(chosen, {}, {}):
        pass
    async with build(chosen, {}, {}) as app:
        made = await app.make_workflow(debate_id)
    assert (made.delivered, made.attempts) == (True, 1)
    assert len(receiver.ids) == 2
    assert len(set(receiver.ids)) == 1


async def test_two_who_hand_it_over_at_once_run_the_command_once(tmp_path: Path) -> None:
    log, go, script = tmp_path / "log", tmp_path / "go", tmp_path / "command.py"
    script.write_text(
        "import os, sys, time\nopen(sys.argv[1], 'a').write('ran ')\n"
        "while not os.path.exists(sys.argv[2]):\n    time.sleep(0.01)\n"
    )
    chosen = settings(tmp_path, command=f"{sys.executable} {script} {log} {go}")
    debate_id = await decided(chosen)
    async with build(chosen, {}, {}) as one, build(chosen, {}, {}) as other:
        both = [asyncio.create_task(app.make_workflow(debate_id)) for app in (one, other)]
        (late,), (first,) = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        assert not late.result().delivered
        go.touch()
        assert (await first).delivered
        assert (await other.make_workflow(debate_id)).delivered
    assert log.read_text() == "ran "


async def test_what_a_server_has_refused_is_handed_over_again_when_a_person_asks(
    receiver: Receiver, tmp_path: Path
) -> None:
    chosen = settings(tmp_path, webhook=receiver.url, attempts=1)
    debate_id = await decided(chosen)
    receiver.answers = [503]
    async with build(chosen, {}, {}) as app:
        made = await app.make_workflow(debate_id)
        assert (made.delivered, made.result) == (False, "the webhook: it answered 503 Service Unavailable")
    async with build(chosen, {}, {}) as app:
        assert len(receiver.ids) == 1
        assert ((await app.make_workflow(debate_id)).delivered, len(set(receiver.ids))) == (True, 1)


async def test_what_was_made_before_there_was_anywhere_to_hand_it_is_left_alone(tmp_path: Path) -> None:
    chosen = settings(tmp_path, file=tmp_path / "issues")
    debate_id = await decided(chosen)
    async with build(chosen.model_copy(update={"workflow": None}), {}, {}) as app:
        assert (await app.make_workflow(debate_id)).result.startswith("kept in moot")
    async with build(chosen, {}, {}):
        pass
    assert not (tmp_path / "issues").exists()

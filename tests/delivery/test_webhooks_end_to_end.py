"""Webhooks from end to end: what is configured is told when a debate ends, also by the next process."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from moot.app import App, build, wiring
from moot.core.debate import Status
from moot.reading.words import notice_text
from moot.settings import AppSettings
from moot.testing import ScriptedModel
from stage import sensible


class Receiver:
    """Keeps what it was told, and answers with a status of the test's choice."""

    def __init__(self) -> None:
        self.url = ""
        self.status = 200
        self.free = asyncio.Event()
        self.free.set()
        self.got: list[tuple[str, dict[str, Any]]] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.got.append((request.headers["webhook-id"], json.loads(await request.read())))
        await self.free.wait()
        return web.Response(status=self.status)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    application = web.Application()
    application.router.add_post("/hook", receiver.answer)
    async with TestServer(application) as server:
        receiver.url = str(server.make_url("/hook"))
        yield receiver


def settings(receiver: Receiver, folder: Path, **hook: Any) -> AppSettings:
    return AppSettings(
        database_url=f"sqlite:///{folder / 'moot.db'}",
        model="scripted:model",
        webhooks=[{"url": receiver.url, **hook}],  # type: ignore[list-item]
    )


async def played(app: App, format: str = "duel", **more: Any) -> str:
    record = await app.create(format, "Cats or dogs?", {"max_rounds": 1, **more})
    await app.run(record.id, lambda event: None)
    return record.id


async def test_an_outcome_is_told_before_the_process_ends(receiver: Receiver, tmp_path: Path) -> None:
    async with build(settings(receiver, tmp_path), {}, {"scripted": ScriptedModel(sensible)}) as app:
        debate_id = await played(app)
        outcome = (await app.load(debate_id)).record.outcome
    ((webhook_id, payload),) = receiver.got
    assert (payload["type"], payload["data"]["debate"], payload["data"]["outcome"]) == (
        "debate.outcome",
        debate_id,
        outcome,
    )
    async with build(settings(receiver, tmp_path), {}, {}) as app:
        (notice,) = (await app.load(debate_id)).notices
    assert (notice.id, notice.attempts, notice.result) == (webhook_id, 1, "it answered 200 OK")
    assert len(receiver.got) == 1


KILLED = """
import asyncio, os, sys
from moot.app import build
from moot.settings import AppSettings
from moot.testing import ScriptedModel

async def main(database_url, url):
    settings = AppSettings(database_url=database_url, model="scripted:model", webhooks=[{"url": url}])
    model = ScriptedModel(lambda request: '{"summary": "A.", "score_a": 7, "score_b": 4}')
    async with build(settings, {}, {"scripted": model}) as app:
        record = await app.create("duel", "Cats or dogs?", {"max_rounds": 1})
        await app.run(record.id, lambda event: None)
        print(record.id, flush=True)
        os.kill(os.getpid(), 9)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_what_a_killed_process_has_left_is_told_by_the_next(receiver: Receiver, tmp_path: Path) -> None:
    chosen = settings(receiver, tmp_path)
    command = [sys.executable, "-c", KILLED, chosen.database_url, receiver.url]
    killed = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)
    assert (killed.returncode, receiver.got) == (-9, []), killed.stderr
    async with build(chosen, {}, {}):
        pass
    assert [payload["data"]["debate"] for _, payload in receiver.got] == [killed.stdout.strip()]


async def test_a_slow_receiver_holds_up_no_end_and_is_told_by_the_next_process(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert wiring.DELIVERY_SECONDS == 2
    monkeypatch.setattr(wiring, "DELIVERY_SECONDS", 0.2)
    receiver.free.clear()
    async with asyncio.timeout(14):  # less than a receiver has for its answer
        async with build(settings(receiver, tmp_path), {}, {"scripted": ScriptedModel(sensible)}) as app:
            debate_id = await played(app)
        receiver.free.set()
        async with build(settings(receiver, tmp_path), {}, {}) as app:
            pass
    async with build(settings(receiver, tmp_path), {}, {}) as app:
        (notice,) = (await app.load(debate_id)).notices
    assert (notice.attempts, notice.result) == (2, "it answered 200 OK")


async def test_a_question_is_told_with_its_words(receiver: Receiver, tmp_path: Path) -> None:
    async with build(settings(receiver, tmp_path), {}, {"scripted": ScriptedModel(sensible)}) as app:
        debate_id = await played(app, "panel", max_rounds=2)
        assert (await app.load(debate_id)).record.status is Status.WAITING
        asked = app.reading(await app.load(debate_id)).question
    ((_, payload),) = receiver.got
    assert asked
    assert (payload["type"], payload["data"]["question"]) == ("debate.waiting", asked.question)


async def test_what_could_not_be_told_says_so_and_is_told_later(receiver: Receiver, tmp_path: Path) -> None:
    receiver.status = 500
    async with build(settings(receiver, tmp_path), {}, {"scripted": ScriptedModel(sensible)}) as app:
        debate_id = await played(app)
    async with build(settings(receiver, tmp_path, events=["failed"]), {}, {}) as app:
        (notice,) = (await app.load(debate_id)).notices
    assert notice_text(notice) == (
        f"Webhook {notice.hook}, outcome of run 1: will be told (1 attempt): it answered 500 Internal Server Error"
    )
    assert len(receiver.got) == 1


async def test_without_webhooks_nothing_is_kept(tmp_path: Path) -> None:
    chosen = AppSettings(database_url=f"sqlite:///{tmp_path / 'moot.db'}", model="scripted:model")
    async with build(chosen, {}, {"scripted": ScriptedModel(sensible)}) as app:
        assert (await app.load(await played(app))).notices == ()

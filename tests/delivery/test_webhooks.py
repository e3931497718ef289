"""Webhooks: a real server that gets them, fails now and then, and checks what is signed."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import re
import socket
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from model_server import PATIENCE
from moot.core.debate import Record, Status
from moot.core.notices import MAX_OUTCOME, Notice, notices
from moot.core.webhooks import Webhook, Webhooks
from moot.delivery.webhooks import (
    AT_ONCE,
    ATTEMPTS,
    DELAYS,
    LEASE_SECONDS,
    Attempt,
    WebhookSender,
    hooks_by_status,
    next_delay,
    signature,
    signing_key,
)
from moot.errors import StoreError, faults
from moot.reading.words import notice_text

SECRET = "whsec_" + base64.b64encode(b"sentinel-key-of-24-bytes").decode()
AT = 1_700_000_000.0
RECORD = Record(
    id="DEB-hook2345",
    format="duel",
    format_version=1,
    topic="Cats or dogs?",
    settings={},
    seats={},
    created_at=AT,
    status=Status.FINISHED,
    stop_reason="max_rounds",
    outcome={"summary": "Cats.", "winner": "a"},
    run=2,
)


class Clock:
    def __init__(self) -> None:
        self.at = AT

    def __call__(self) -> float:
        return self.at


class MemoryDeliveries:
    """Notices as a database keeps them."""

    def __init__(self, clock: Clock, *kept: Notice) -> None:
        self._clock = clock
        self.kept = {notice.id: notice for notice in kept}
        self.taken = 0

    async def due(self, hooks: Sequence[str], limit: int, lease_seconds: float) -> tuple[Notice, ...]:
        now = self._clock()
        found = [each for each in self.kept.values() if each.next_at is not None and each.next_at <= now]
        taken = [each for each in found if each.hook in hooks][:limit]
        self.taken += len(taken)
        self.kept |= {each.id: replace(each, attempts=each.attempts + 1, next_at=now + lease_seconds) for each in taken}
        return tuple(self.kept[each.id] for each in taken)

    async def note(self, notice: Notice, delivered: bool, result: str, again_in: float | None) -> None:
        now = self._clock()
        if self.kept[notice.id].attempts == notice.attempts:
            self.kept[notice.id] = replace(
                self.kept[notice.id],
                delivered_at=now if delivered else None,
                next_at=None if again_in is None else now + again_in,
                result=result,
            )

    @property
    def only(self) -> Notice:
        (notice,) = self.kept.values()
        return notice


class Got(NamedTuple):
    id: str
    timestamp: int
    signature: str | None
    body: bytes


class Receiver:
    """A server that gives these answers one after the other, the last one for ever, and keeps what it got."""

    def __init__(self, *answers: int, **headers: str) -> None:
        self.answers = list(answers) or [204]
        self.headers = headers
        self.got: list[Got] = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        named = request.headers
        body = await request.read()
        self.got.append(Got(named["webhook-id"], int(named["webhook-timestamp"]), named.get("webhook-signature"), body))
        assert (request.method, named["Content-Type"]) == ("POST", "application/json")
        return web.Response(
            status=self.answers.pop(0) if len(self.answers) > 1 else self.answers[0], headers=self.headers
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Webhook]:
        application = web.Application()
        application.router.add_post("/sentinel-4711", self.answer)
        async with TestServer(application) as server:
            yield Webhook(url=str(server.make_url("/sentinel-4711")), secret_env="HOOK")


def due_now(hook: Webhook, record: Record = RECORD) -> Notice:
    (notice,) = notices(record, AT, [hook.name])
    return notice


def sender(deliveries: MemoryDeliveries, clock: Clock, *hooks: Webhook, **more: Any) -> WebhookSender:
    more = {"environ": {"HOOK": SECRET}, "now": clock, "spread": lambda: 0.0, **more}
    return WebhookSender(deliveries, hooks, more.pop("environ"), **more)


async def deliver(deliveries: MemoryDeliveries, clock: Clock, *hooks: Webhook, **more: Any) -> int:
    """Try everything that is due now, once; how much that was."""
    before, made = deliveries.taken, sender(deliveries, clock, *hooks, **more)
    made.finish()
    await made.run()
    return deliveries.taken - before


# Settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ([{}], "0.url: is missing"),
        *(
            (
                [{"url": address}],
                "0.url: is not an address; write one that begins with https:// or http:// and names a host",
            )
            for address in ("ftp://a.example", "a.example/hook", "http://", "http://[::1", "http://a.example:99999", "")
        ),
        (
            [{"url": "http://a.example", "events": []}],
            "0.events: give at least 1",
        ),
        (
            [{"url": "http://a.example", "events": ["end"]}],
            "0.events.0: one of outcome, waiting, failed, not 'end'",
        ),
        ([{"url": "http://a.example", "key": "x"}], "0.key: not known"),
        (
            [{"url": "http://a.example"}, {"url": "http://a.example", "events": ["failed"]}],
            "two webhooks have the same url; write one with the events of both",
        ),
    ],
)
def test_settings_that_cannot_be_used_say_what_to_write(settings: list[Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Webhooks).validate_python(settings)
    assert faults(caught.value.errors()) == message


def test_an_address_is_in_no_error_and_in_no_name() -> None:
    with pytest.raises(ValidationError) as caught:
        Webhook(url="ftp://a.example/sentinel-4711")
    assert "sentinel" not in str(caught.value)
    hook = Webhook(url="https://user:sentinel@a.example/sentinel-4711?key=sentinel")
    assert hook.name == f"a.example {hashlib.sha256(hook.url.encode()).hexdigest()[:6]}"


def test_each_status_tells_those_who_asked_for_its_event() -> None:
    every, ended = Webhook(url="http://a.example"), Webhook(url="http://b.example", events=["outcome", "failed"])
    assert hooks_by_status([every, ended]) == {
        Status.FINISHED: (every.name, ended.name),
        Status.WAITING: (every.name,),
        Status.FAILED: (every.name, ended.name),
    }


# What is told


@pytest.mark.parametrize(
    ("record", "question", "kind", "more"),
    [
        (
            RECORD,
            None,
            "outcome",
            {"stop_reason": "max_rounds", "summary": "Cats.", "outcome": {"summary": "Cats.", "winner": "a"}},
        ),
        (
            replace(RECORD, outcome={"summary": "x" * MAX_OUTCOME}),
            None,
            "outcome",
            {"stop_reason": "max_rounds", "summary": "x" * 2000, "outcome": None},
        ),
        (replace(RECORD, status=Status.WAITING, outcome=None), "Go on?", "waiting", {"question": "Go on?"}),
        (replace(RECORD, status=Status.FAILED, error="No model."), None, "failed", {"error": "No model."}),
    ],
)
def test_a_notice_says_what_has_happened(record: Record, question: str | None, kind: str, more: Any) -> None:
    (notice,) = notices(record, AT, ["a.example 123456"], question)
    about = {"debate": "DEB-hook2345", "run": 2, "format": "duel", "topic": "Cats or dogs?", "status": record.status}
    assert json.loads(notice.payload) == {
        "type": f"debate.{kind}",
        "timestamp": "2023-11-14T22:13:20.000+00:00",
        "data": {**about, **more},
    }
    assert replace(notice, id="", payload="") == Notice(
        id="", debate_id="DEB-hook2345", run=2, event=kind, hook="a.example 123456", payload="", next_at=AT
    )  # type: ignore[arg-type]


def test_a_notice_has_one_id_for_each_webhook_event_and_run() -> None:
    cases = [(RECORD, "a"), (RECORD, "b"), (replace(RECORD, run=3), "a"), (replace(RECORD, status=Status.FAILED), "a")]
    ids = [notices(record, AT, [hook])[0].id for record, hook in cases]
    again = [notices(record, AT + 1, [hook])[0].id for record, hook in cases]
    assert (len(set(ids)), again) == (4, ids)
    assert all(len(each) == 28 and "." not in each for each in ids)


@pytest.mark.parametrize("status", [Status.STOPPED, Status.QUEUED, Status.RUNNING])
def test_nothing_is_told_of_a_debate_that_goes_on_or_was_stopped(status: Status) -> None:
    assert notices(replace(RECORD, status=status), AT, ["a"]) == ()


@pytest.mark.parametrize(
    ("notice", "text"),
    [
        ({}, "will be told"),
        ({"attempts": 2, "result": "it answered 500"}, "will be told (2 attempts): it answered 500"),
        (
            {"attempts": 1, "next_at": None, "delivered_at": AT, "result": "it answered 200 OK"},
            "told (1 attempt): it answered 200 OK",
        ),
        ({"attempts": 10, "next_at": None, "result": "given up"}, "not told (10 attempts): given up"),
    ],
)
def test_what_became_of_a_notice_fits_a_line(notice: dict[str, Any], text: str) -> None:
    (made,) = notices(RECORD, AT, ["a.example 123456"])
    assert notice_text(replace(made, **notice)) == f"Webhook a.example 123456, outcome of run 2: {text}"


# Signing


def test_a_signature_is_what_the_specifications_own_libraries_make() -> None:
    key = signing_key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    made = signature("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}', key)
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_key_may_be_any_text() -> None:
    assert signing_key("just words é") == "just words é".encode()


async def test_what_arrives_is_signed_with_the_key_of_the_environment() -> None:
    receiver, clock = Receiver(), Clock()
    async with receiver.running() as hook:
        deliveries = MemoryDeliveries(clock, due_now(hook))
        assert await deliver(deliveries, clock, hook) == 1
    (got,) = receiver.got
    notice = due_now(hook)
    signed = f"{notice.id}.1700000000.{notice.payload}".encode()
    digest = hmac.new(b"sentinel-key-of-24-bytes", signed, hashlib.sha256).digest()
    assert got == Got(notice.id, 1_700_000_000, f"v1,{base64.b64encode(digest).decode()}", notice.payload.encode())
    assert deliveries.only == replace(
        notice, attempts=1, next_at=None, delivered_at=AT, result="it answered 204 No Content"
    )


async def test_the_receiver_in_the_docs_takes_what_is_sent_and_nothing_else() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "hooks.md").read_text()
    documented: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], documented)
    receiver, clock = Receiver(), Clock()
    clock.at = time.time()
    async with receiver.running() as hook:
        await deliver(MemoryDeliveries(clock, due_now(hook)), clock, hook)
    (got,) = receiver.got
    headers = {
        "webhook-id": got.id,
        "webhook-timestamp": str(got.timestamp),
        "webhook-signature": f"v1a,x {got.signature}",
    }
    later = {**headers, "webhook-timestamp": str(got.timestamp + 1)}
    old = {**headers, "webhook-timestamp": str(got.timestamp - 600)}
    is_genuine = documented["is_genuine"]
    assert [
        is_genuine(headers, got.body, SECRET),
        is_genuine(headers, got.body + b" ", SECRET),
        is_genuine(later, got.body, SECRET),
        is_genuine(old, got.body, SECRET),
        is_genuine(headers, got.body, "whsec_" + base64.b64encode(b"another").decode()),
    ] == [True, False, False, False, False]


@pytest.mark.parametrize(
    ("environ", "result"),
    [
        ({}, "HOOK is not set; it should hold the key that signs the webhook"),
        *(
            ({"HOOK": f"whsec_{wrong}"}, "HOOK holds no key: what follows whsec_ is not base64")
            for wrong in ("sentinel!", "séntinel", "")
        ),
    ],
)
async def test_without_its_key_nothing_is_sent(environ: dict[str, str], result: str) -> None:
    receiver, clock = Receiver(), Clock()
    async with receiver.running() as hook:
        deliveries = MemoryDeliveries(clock, due_now(hook))
        await deliver(deliveries, clock, hook, environ=environ)
    assert (receiver.got, deliveries.only.result, deliveries.only.next_at) == ([], result, AT + DELAYS[0])


async def test_a_webhook_without_a_key_is_sent_unsigned() -> None:
    receiver, clock = Receiver(), Clock()
    async with receiver.running() as hook:
        open_hook = hook.model_copy(update={"secret_env": None})
        await deliver(MemoryDeliveries(clock, due_now(hook)), clock, open_hook)
    assert [got.signature for got in receiver.got] == [None]


# Failing, and trying again


async def test_what_fails_is_sent_again_later_under_the_same_id() -> None:
    receiver, clock = Receiver(500, 404, 200), Clock()
    seen = []
    async with receiver.running() as hook:
        deliveries = MemoryDeliveries(clock, due_now(hook))
        for delay in (DELAYS[0], DELAYS[1], 0.0):
            assert await deliver(deliveries, clock, hook) == 1
            assert await deliver(deliveries, clock, hook) == 0
            seen.append((deliveries.only.attempts, deliveries.only.result, deliveries.only.delivered_at))
            clock.at += delay
    assert seen == [
        (1, "it answered 500 Internal Server Error", None),
        (2, "it answered 404 Not Found", None),
        (3, "it answered 200 OK", AT + DELAYS[0] + DELAYS[1]),
    ]
    assert [(got.id, got.timestamp) for got in receiver.got] == [
        (deliveries.only.id, AT),
        (deliveries.only.id, AT + DELAYS[0]),
        (deliveries.only.id, AT + DELAYS[0] + DELAYS[1]),
    ]


async def test_what_goes_on_failing_is_given_up() -> None:
    receiver, clock = Receiver(503), Clock()
    async with receiver.running() as hook:
        deliveries = MemoryDeliveries(clock, due_now(hook))
        while deliveries.only.next_at is not None:
            clock.at = deliveries.only.next_at
            await deliver(deliveries, clock, hook)
    result = "given up after 10 attempts: it answered 503 Service Unavailable"
    assert (len(receiver.got), deliveries.only.result, clock.at) == (ATTEMPTS, result, AT + sum(DELAYS))


async def test_a_receiver_that_is_gone_is_not_asked_again() -> None:
    receiver, clock = Receiver(410), Clock()
    async with receiver.running() as hook:
        deliveries = MemoryDeliveries(clock, due_now(hook))
        await deliver(deliveries, clock, hook)
    assert (deliveries.only.next_at, deliveries.only.result) == (None, "given up after 1 attempt: it answered 410 Gone")


@pytest.mark.parametrize(
    ("asked", "seconds"), [("120", 120.0), ("1", DELAYS[0]), ("999999999", 86_400.0), ("Wed, 21 Oct 2026", DELAYS[0])]
)
async def test_a_receiver_may_ask_for_more_time(asked: str, seconds: float) -> None:
    receiver, clock = Receiver(429, **{"Retry-After": asked}), Clock()
    async with receiver.running() as hook:
        deliveries = MemoryDeliveries(clock, due_now(hook))
        await deliver(deliveries, clock, hook)
    assert deliveries.only.next_at == AT + seconds


@given(st.integers(1, ATTEMPTS - 1), st.floats(0, 0.2))
def test_a_delay_is_never_shorter_than_planned(attempts: int, spread: float) -> None:
    delay = next_delay(attempts, Attempt(False, ""), spread)
    assert delay is not None
    assert DELAYS[attempts - 1] <= delay <= DELAYS[attempts - 1] * 1.2


async def test_a_redirect_is_not_followed() -> None:
    receiver, clock = Receiver(307, Location="/sentinel-4711"), Clock()
    async with receiver.running() as hook:
        deliveries = MemoryDeliveries(clock, due_now(hook))
        await deliver(deliveries, clock, hook)
    assert len(receiver.got) == 1
    assert deliveries.only.result == (
        "it answered 307 Temporary Redirect: redirects are not followed; give its real address"
    )


async def test_a_server_that_does_not_run_is_told() -> None:
    clock = Clock()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        hook = Webhook(url=f"http://127.0.0.1:{free.getsockname()[1]}/sentinel-4711")
        deliveries = MemoryDeliveries(clock, due_now(hook))
        await deliver(deliveries, clock, hook)
    assert deliveries.only.result == "it cannot be reached: is its server running?"


async def test_a_server_that_does_not_answer_is_a_timeout() -> None:
    clock = Clock()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hook = Webhook(url=f"http://127.0.0.1:{silent.getsockname()[1]}/")
        deliveries = MemoryDeliveries(clock, due_now(hook))
        await deliver(deliveries, clock, hook, seconds=0.05)
    assert deliveries.only.result == "it did not answer within 0.05 s"


@asynccontextmanager
async def raw(answer: bytes, *, endless: bool = False) -> AsyncIterator[Webhook]:
    """A server that says this to everybody, and then goes on and on."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        with suppress(ConnectionError):
            await writer.drain()
            while endless:
                writer.write(b"x" * 65536)
                await writer.drain()
        writer.close()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        yield Webhook(url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/sentinel-4711")


async def test_an_endless_answer_is_not_read() -> None:
    clock = Clock()
    async with raw(b"HTTP/1.1 200 OK\r\n\r\n", endless=True) as hook:
        deliveries = MemoryDeliveries(clock, due_now(hook))
        await deliver(deliveries, clock, hook)
    assert deliveries.only.result == "it answered 200 OK"


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (b"HTTP/1.1 599 /sentinel-4711 \x1b[31m\r\nContent-Length: 0\r\n\r\n", "it answered 599"),
        (b"HTTP/1.1 404 /sentinel-4711\r\nContent-Length: 0\r\n\r\n", "it answered 404 Not Found"),
        (b"hello\r\n\r\n", "its server closed the connection, or speaks no HTTP"),
        (b"", "its server closed the connection, or speaks no HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, "its server closed the connection, or speaks no HTTP"),
    ],
)
async def test_what_a_server_says_is_in_no_result_and_in_no_log(
    answer: bytes, result: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    with caplog.at_level(logging.DEBUG, "moot"):
        async with raw(answer) as hook:
            deliveries = MemoryDeliveries(clock, due_now(hook))
            await deliver(deliveries, clock, hook)
    assert deliveries.only.result == result
    assert caplog.messages == [f"DEB-hook2345: the webhook {hook.name} was not told: {result}"]


# Crashes, and several at once


class Forgetful(MemoryDeliveries):
    """A database that is gone whenever an attempt is noted."""

    async def note(self, notice: Notice, delivered: bool, result: str, again_in: float | None) -> None:
        raise StoreError("the database is gone")


async def test_what_was_sent_but_not_noted_is_sent_again_under_the_same_id(caplog: pytest.LogCaptureFixture) -> None:
    receiver, clock = Receiver(), Clock()
    async with receiver.running() as hook:
        forgetful = Forgetful(clock, due_now(hook))
        await deliver(forgetful, clock, hook)
        deliveries = MemoryDeliveries(clock, forgetful.only)
        assert await deliver(deliveries, clock, hook) == 0
        clock.at += LEASE_SECONDS
        assert await deliver(deliveries, clock, hook) == 1
    assert [got.id for got in receiver.got] == [deliveries.only.id] * 2
    assert (deliveries.only.attempts, deliveries.only.delivered_at) == (2, clock.at)
    assert caplog.messages == [f"DEB-hook2345: the webhook {hook.name} will be told again: the database is gone"]


async def test_what_kills_every_courier_is_given_up_in_the_end() -> None:
    receiver, clock = Receiver(), Clock()
    async with receiver.running() as hook:
        fatal = replace(due_now(hook), attempts=ATTEMPTS, result="it answered 500 Internal Server Error")
        deliveries = MemoryDeliveries(clock, fatal)
        await deliver(deliveries, clock, hook)
    assert receiver.got == []
    assert (deliveries.only.next_at, deliveries.only.result) == (
        None,
        "given up after 10 attempts: it answered 500 Internal Server Error",
    )


async def test_two_couriers_send_everything_once() -> None:
    receiver, clock = Receiver(), Clock()
    async with receiver.running() as hook:
        many = [due_now(hook, replace(RECORD, run=run)) for run in range(3 * AT_ONCE)]
        deliveries = MemoryDeliveries(clock, *many)
        await asyncio.gather(*(deliver(deliveries, clock, hook) for _ in range(2)))
    assert deliveries.taken == len(many)
    assert sorted(got.id for got in receiver.got) == sorted(notice.id for notice in many)


async def test_what_is_due_for_a_webhook_of_somebody_elses_settings_is_left_alone() -> None:
    receiver, clock = Receiver(), Clock()
    async with receiver.running() as hook:
        theirs = due_now(Webhook(url="http://b.example"))
        deliveries = MemoryDeliveries(clock, theirs)
        assert await deliver(deliveries, clock, hook) == 0
    assert deliveries.only == theirs


class Noting(MemoryDeliveries):
    """A database that says when something is noted."""

    def __init__(self, clock: Clock, *kept: Notice) -> None:
        super().__init__(clock, *kept)
        self.noted = asyncio.Event()

    async def note(self, notice: Notice, delivered: bool, result: str, again_in: float | None) -> None:
        await super().note(notice, delivered, result, again_in)
        self.noted.set()


class Flaky(Noting):
    """A database that is gone when it is first asked."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.gone = asyncio.Event()

    async def due(self, hooks: Sequence[str], limit: int, lease_seconds: float) -> tuple[Notice, ...]:
        if not self.gone.is_set():
            self.gone.set()
            raise StoreError("the database is gone")
        return await super().due(hooks, limit, lease_seconds)


async def test_a_running_courier_outlives_its_database_and_finds_what_is_due_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    receiver, clock = Receiver(), Clock()
    async with receiver.running() as hook, asyncio.timeout(PATIENCE):
        deliveries = Flaky(clock)
        tireless = sender(deliveries, clock, hook, poll_seconds=0.01)
        running = asyncio.create_task(tireless.run())
        await deliveries.gone.wait()
        deliveries.kept = {due_now(hook).id: due_now(hook)}
        await deliveries.noted.wait()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    assert (len(receiver.got), deliveries.only.delivered_at) == (1, AT)
    assert caplog.messages == ["webhooks wait until the database is back: the database is gone"]


async def test_a_courier_that_is_to_finish_delivers_first_what_is_due() -> None:
    receiver, clock = Receiver(), Clock()
    async with receiver.running() as hook, asyncio.timeout(PATIENCE):
        deliveries = Flaky(clock)
        tireless = sender(deliveries, clock, hook, poll_seconds=3600)
        running = asyncio.create_task(tireless.run())
        await deliveries.gone.wait()
        deliveries.kept = {due_now(hook).id: due_now(hook)}
        tireless.finish()
        await running
    assert (len(receiver.got), deliveries.only.delivered_at) == (1, AT)


async def test_a_receiver_that_does_not_answer_keeps_no_other_waiting() -> None:
    receiver, clock = Receiver(), Clock()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        slow = Webhook(url=f"http://127.0.0.1:{silent.getsockname()[1]}/")
        async with receiver.running() as hook, asyncio.timeout(PATIENCE):
            deliveries = Noting(clock, *(due_now(slow, replace(RECORD, run=run)) for run in range(2 * AT_ONCE)))
            tireless = sender(deliveries, clock, slow, hook, poll_seconds=0.01)
            running = asyncio.create_task(tireless.run())
            for run in range(3):
                deliveries.noted.clear()
                deliveries.kept[str(run)] = replace(due_now(hook, replace(RECORD, run=run)), id=str(run))
                await deliveries.noted.wait()
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
    assert [got.id for got in receiver.got] == ["0", "1", "2"]
    left = [notice for notice in deliveries.kept.values() if notice.hook == slow.name]
    assert [(notice.attempts, notice.next_at) for notice in left] == [(1, AT)] * AT_ONCE + [(0, AT)] * AT_ONCE


async def test_a_running_courier_looks_again_by_itself() -> None:
    receiver, clock = Receiver(), Clock()
    async with receiver.running() as hook, asyncio.timeout(PATIENCE):
        deliveries = Flaky(clock)
        running = asyncio.create_task(sender(deliveries, clock, hook, poll_seconds=0.01).run())
        await deliveries.gone.wait()
        deliveries.kept = {due_now(hook).id: due_now(hook)}
        await deliveries.noted.wait()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    assert [got.id for got in receiver.got] == [due_now(hook).id]

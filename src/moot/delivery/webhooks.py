"""Webhooks: other programs are told when a debate has an outcome, waits for a person, or has failed.

As the Standard Webhooks specification has it (https://www.standardwebhooks.com). What is due is kept with the debate,
so that it survives a crash: it is delivered at least once, and always under the same id. Knows no database and no
format. Neither an address nor a key, nor anything a receiver says, is in any result, error or log.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import logging
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple, Protocol

from moot.core.notices import EVENTS, Notice
from moot.core.record import Status
from moot.errors import StoreError

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

    from moot.core.webhooks import Webhook

log = logging.getLogger(__name__)

DELAYS = (5.0, 300.0, 1800.0, 7200.0, 18_000.0, 36_000.0, 50_400.0, 72_000.0, 86_400.0)
"""Seconds after each attempt that failed; the one after the last is not repeated."""
ATTEMPTS = len(DELAYS) + 1
MAX_DELAY = 86_400.0
SPREAD = 0.2
"""By how much a delay is prolonged at most, so that not everything is repeated at the same moment."""
SECONDS = 15.0
LEASE_SECONDS = 60.0
AT_ONCE = 10
"""Notices that one receiver is told at the same time."""
POLL_SECONDS = 1.0


def hooks_by_status(hooks: Sequence[Webhook]) -> dict[Status, tuple[str, ...]]:
    """Status → the names of the webhooks that are told when a run ends in it."""
    return {status: tuple(hook.name for hook in hooks if event in hook.events) for status, event in EVENTS.items()}


# One attempt


class Attempt(NamedTuple):
    delivered: bool
    result: str
    retry_after: float | None = None
    """Seconds the receiver asked for."""
    final: bool = False
    """Whether the receiver wants to hear no more."""
    may_pass: bool = False
    """Whether it may go otherwise in a moment."""


def signature(notice_id: str, timestamp: int, body: bytes, key: bytes) -> str:
    """What `webhook-signature` says; a receiver with the key computes the same."""
    signed = b".".join([notice_id.encode(), str(timestamp).encode(), body])
    return f"v1,{base64.b64encode(hmac.digest(key, signed, 'sha256')).decode()}"


def key_of(hook: Webhook, environ: Mapping[str, str]) -> bytes | None:
    """What signs it, if anything does. Raises ValueError where the variable that should hold the key does not."""
    if hook.secret_env is None:
        return None
    secret = environ.get(hook.secret_env)
    if not secret:
        raise ValueError(f"{hook.secret_env} is not set; it should hold the key that signs the webhook")
    try:
        return signing_key(secret)
    except ValueError as error:
        raise ValueError(f"{hook.secret_env} holds no key: {error}") from None


def signing_key(secret: str) -> bytes:
    """The key's bytes. Raises ValueError when what should be base64 is none."""
    if not secret.startswith("whsec_"):
        return secret.encode()
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        key = b""
    if not key:
        raise ValueError("what follows whsec_ is not base64")
    return key


async def attempt(
    session: ClientSession,
    id: str,
    body: bytes,
    hook: Webhook,
    environ: Mapping[str, str],
    *,
    now: float,
    seconds: float = SECONDS,
) -> Attempt:
    """Send a body once, under an id that stays the same; what goes wrong is told, not raised."""
    import aiohttp  # slow to import, and seldom needed

    try:
        headers = _headers(id, body, hook, environ, int(now))
    except ValueError as error:
        return Attempt(False, str(error))
    timeout = aiohttp.ClientTimeout(total=seconds)
    try:
        async with session.post(
            hook.url, data=body, headers=headers, allow_redirects=False, timeout=timeout
        ) as response:
            return _answered(response)  # whose body is not read, however long it is
    except TimeoutError:
        return Attempt(False, f"it did not answer within {seconds:g} s", may_pass=True)
    except aiohttp.InvalidURL:
        return Attempt(False, "its address cannot be used; check it")
    except aiohttp.ClientSSLError:
        return Attempt(False, "no secure connection to it; check its https and its certificate")
    except aiohttp.ClientConnectorError:
        return Attempt(False, "it cannot be reached: is its server running?", may_pass=True)
    except aiohttp.ClientError:
        return Attempt(False, "its server closed the connection, or speaks no HTTP", may_pass=True)


def opened() -> ClientSession:
    import aiohttp

    return aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())


def _headers(id: str, body: bytes, hook: Webhook, environ: Mapping[str, str], timestamp: int) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "webhook-id": id, "webhook-timestamp": str(timestamp)}
    key = key_of(hook, environ)
    return headers if key is None else {**headers, "webhook-signature": signature(id, timestamp, body, key)}


def _answered(response: ClientResponse) -> Attempt:
    status = response.status
    known = status in set(HTTPStatus)
    said = f"it answered {status} {HTTPStatus(status).phrase}" if known else f"it answered {status}"
    if 200 <= status < 300:
        return Attempt(True, said)
    if 300 <= status < 400:
        return Attempt(False, f"{said}: redirects are not followed; give its real address")
    may_pass = status in (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS) or status >= 500
    return Attempt(False, said, _retry_after(response.headers), status == HTTPStatus.GONE, may_pass)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    value = headers.get("Retry-After", "")
    return min(float(value), MAX_DELAY) if re.fullmatch(r"[0-9]{1,9}", value) else None


def next_delay(attempts: int, tried: Attempt, spread: float = 0.0) -> float | None:
    """Seconds until a notice that failed so many times is tried again; None when it is given up."""
    if tried.delivered or tried.final or attempts >= ATTEMPTS:
        return None
    return max(DELAYS[attempts - 1], tried.retry_after or 0.0) * (1 + spread)


# The sender


class Deliveries(Protocol):
    """Where notices are kept; all by the database's clock."""

    async def due(self, hooks: Sequence[str], limit: int, lease_seconds: float) -> tuple[Notice, ...]: ...
    async def note(self, notice: Notice, delivered: bool, result: str, again_in: float | None) -> None: ...


@dataclass(eq=False)
class WebhookSender:
    """Delivers what is due, over and over; several may run on one database."""

    deliveries: Deliveries
    hooks: Sequence[Webhook]
    environ: Mapping[str, str]
    _: KW_ONLY
    now: Callable[[], float] = time.time
    spread: Callable[[], float] = lambda: random.uniform(0, SPREAD)  # noqa: S311 - no secret
    seconds: float = SECONDS
    poll_seconds: float = POLL_SECONDS
    _finishing: bool = False

    def __post_init__(self) -> None:
        self._hooks = {hook.name: hook for hook in self.hooks}
        self._woken = {name: asyncio.Event() for name in self._hooks}

    def finish(self) -> None:
        """Let `run` deliver what is due now, and end."""
        self._finishing = True
        for woken in self._woken.values():
            woken.set()

    async def run(self) -> None:
        """Deliver until told to finish; what a cancelled one was sending is due at once for whoever comes next."""
        async with opened() as session:
            await asyncio.gather(*(self._serve(session, name) for name in self._hooks))

    async def _serve(self, session: ClientSession, name: str) -> None:
        """Tell one receiver what is due, a few notices at a time; one that is slow keeps no other waiting."""
        sending, woken = set[asyncio.Task[None]](), self._woken[name]

        def sent(task: asyncio.Task[None]) -> None:
            sending.discard(task)
            woken.set()

        try:
            while True:
                woken.clear()
                last = self._finishing
                for notice in await self._taken(name, AT_ONCE - len(sending)):
                    task = asyncio.create_task(self._deliver(session, notice))
                    task.add_done_callback(sent)
                    sending.add(task)
                if last and not sending:
                    return
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.poll_seconds):
                        await woken.wait()
        finally:
            for task in sending:
                task.cancel()
            await asyncio.gather(*sending, return_exceptions=True)

    async def _taken(self, name: str, limit: int) -> tuple[Notice, ...]:
        try:
            return await self.deliveries.due((name,), limit, LEASE_SECONDS) if limit else ()
        except StoreError as error:
            log.warning("webhooks wait until the database is back: %s", error)
            return ()

    async def _deliver(self, session: ClientSession, notice: Notice) -> None:
        if notice.attempts > ATTEMPTS:  # whoever made the last one has died of it
            await self._note(notice, Attempt(False, notice.result), None)
            return
        hook, body = self._hooks[notice.hook], notice.payload.encode()
        try:
            tried = await attempt(session, notice.id, body, hook, self.environ, now=self.now(), seconds=self.seconds)
        except asyncio.CancelledError:
            left = Attempt(False, "it had not answered when the process ended")
            await asyncio.shield(self._note(notice, left, 0.0))
            raise
        except Exception:  # one receiver must not keep the others from being told
            log.exception("%s: the webhook %s was not told", notice.debate_id, notice.hook)
            tried = Attempt(False, "it could not be sent; moot's log says why")
        await self._note(notice, tried, next_delay(notice.attempts, tried, self.spread()))

    async def _note(self, notice: Notice, tried: Attempt, again_in: float | None) -> None:
        result = tried.result if tried.delivered or again_in is not None else _given_up(notice, tried)
        if not tried.delivered:
            log.warning("%s: the webhook %s was not told: %s", notice.debate_id, notice.hook, result)
        try:
            await self.deliveries.note(notice, tried.delivered, result, again_in)
        except StoreError as error:
            log.warning("%s: the webhook %s will be told again: %s", notice.debate_id, notice.hook, error)


def _given_up(notice: Notice, tried: Attempt) -> str:
    made = min(notice.attempts, ATTEMPTS)
    last = f": {tried.result}" if tried.result else ""
    return f"given up after {made} attempt{'s' if made > 1 else ''}{last}"

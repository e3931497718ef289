"""Builds an App from settings: the only place that knows every adapter."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from moot import formats as known_formats
from moot.app.app import App
from moot.delivery.webhooks import WebhookSender, hooks_by_status
from moot.errors import StoreError
from moot.settings import AppSettings
from moot.store.opening import open_store
from moot.store.retrying import until_back
from moot.telemetry.spans import open_spans
from moot.telemetry.telemetry import Telemetry

if TYPE_CHECKING:
    from moot.core.prompts import Prompts
    from moot.llm.client import Client
    from moot.llm.models import Models
    from moot.llm.recording import Recorder, Recording
    from moot.telemetry.metrics import Metrics

log = logging.getLogger(__name__)

ISSUE_SECONDS = 30.0
"""How often issues are looked for that nobody has handed over."""
START_SECONDS = 60.0
"""So long those who serve and work wait for a database that is away when they start."""
DELIVERY_SECONDS = 2.0
"""What webhooks get when a process ends; what is due then still is told by the next one."""
HAND_OVER_SECONDS = 20.0
"""What an issue gets that is being handed over then: to begin again might make it twice."""


@asynccontextmanager
async def build(
    settings: AppSettings,
    environ: Mapping[str, str] = os.environ,
    clients: Mapping[str, Client] | None = None,
    tape: Recorder | Recording | None = None,
    metrics: Metrics | None = None,
    patience: float = 0.0,
) -> AsyncIterator[App]:
    """Everything wired together; `clients` are model clients of the caller's own, by provider name.

    A database that is away is waited for as many seconds as there is `patience`.
    """
    telemetry = Telemetry(metrics, open_spans(environ))

    def models() -> Models:
        from moot.llm.models import Models

        return Models(environ, settings.providers, clients, settings.prices, tape, telemetry)

    def prompts() -> Prompts:
        from moot.core.prompts import Prompts
        from moot.llm.weights import SMALL_MODELS

        return Prompts(settings.prompts, SMALL_MODELS)

    hooks = hooks_by_status(settings.webhooks)
    store = await until_back(lambda: open_store(settings.database_url, hooks), patience)
    app = App(settings, store, models, known_formats.load(), prompts, environ, telemetry)
    try:
        async with _delivering(app):
            yield app
    finally:
        await app.close()


@asynccontextmanager
async def _delivering(app: App) -> AsyncIterator[None]:
    """Webhooks are told and issues handed over for as long as the app is used, and what is due at its end then."""
    sender = WebhookSender(app.store, app.settings.webhooks, app.environ)
    ending = asyncio.Event()
    telling = asyncio.create_task(sender.run()) if app.settings.webhooks else None
    handing_over = asyncio.create_task(_hand_over(app, ending)) if app.settings.workflow else None
    try:
        yield
    finally:
        sender.finish()
        ending.set()
        await asyncio.gather(_ended(telling, DELIVERY_SECONDS), _ended(handing_over, HAND_OVER_SECONDS))


async def _ended(task: asyncio.Task[None] | None, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            if task:
                await task


async def _hand_over(app: App, ending: asyncio.Event) -> None:
    """Hand over the issues that a process has left behind when it died."""
    from moot.delivery.issues import hand_over_due

    while workflow := app.settings.workflow:
        handed_over = None
        try:
            handed_over = await hand_over_due(app.store, workflow, app.environ)
        except StoreError as error:
            log.warning("issues wait until the database is back: %s", error)
        if ending.is_set():
            return
        if handed_over:
            continue
        with suppress(TimeoutError):
            async with asyncio.timeout(ISSUE_SECONDS):
                await ending.wait()

"""Whether moot can work here: one check after the other, each with what to do about its problem."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import NamedTuple

from moot import settings
from moot.app import App, build
from moot.errors import MootError, StoreError


class Check(NamedTuple):
    ok: bool
    what: str
    advice: str = ""


async def checks() -> AsyncIterator[Check]:
    yield Check(sys.version_info >= (3, 11), f"Python {sys.version.split()[0]}")
    try:
        chosen = settings.load()
    except MootError as error:
        yield Check(False, "settings", str(error))
        return
    files = ", ".join(str(path) for path in settings.config_files()) or "no moot.yaml: defaults and MOOT_* apply"
    yield Check(True, f"settings ({files})")
    try:
        async with build(chosen) as app:
            await app.list(limit=1)
            yield Check(True, f"database {chosen.database_name}")
            if app.is_shared:
                async with app.working(0, grace_seconds=0.0) as queue:
                    alive = (await queue.load()).workers
                yield _worker_check(alive)
            async for check in _model_checks(app):
                yield check
    except StoreError as error:
        yield Check(False, f"database {chosen.database_name}", str(error))
    except MootError as error:
        yield Check(False, "settings", str(error))


def _worker_check(alive: int) -> Check:
    if alive:
        return Check(True, f"{alive} worker{'s' if alive > 1 else ''} alive on it")
    return Check(True, "no worker alive on it: moot debate and moot serve work themselves, moot worker starts one")


async def _model_checks(app: App) -> AsyncIterator[Check]:
    for name, provider in app.models.providers.items():
        if provider.key_env and app.models.configured(provider):
            what = f"{name} at {app.models.address(provider)}"
            try:
                await app.models.list_models(provider)
            except MootError as error:
                yield Check(False, what, str(error))
            else:
                yield Check(True, what)
    seats = {seat for format in app.formats.values() for seat in format.seats if seat.player == "model"}
    for name, why in sorted({await app.drafts.choose_model(seat) for seat in seats}):
        try:
            await app.models.connect(name)
        except MootError as error:
            yield Check(False, f"model {name} ({why})", str(error))
        else:
            yield Check(True, f"model {name} ({why})")

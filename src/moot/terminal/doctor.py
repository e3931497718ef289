"""Whether moot can work here: the models there are, and checks, each with what to do about its problem."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from moot import settings
from moot.app import App, build
from moot.app.drafts import CHOSEN
from moot.core.own_prompts import OwnPrompts
from moot.core.webhooks import Webhook
from moot.delivery.webhooks import key_of
from moot.errors import BrokenPrompt, InvalidInput, MootError, StoreError, ToolFailed, meant
from moot.llm.addresses import public_name
from moot.llm.client import Timeouts
from moot.llm.models import NOTHING_ELSE, TRIAL_SECONDS, ModelChoice
from moot.llm.providers import Provider
from moot.llm.variables import unread
from moot.llm.weights import names
from moot.records.documents import Place
from moot.retrieval.tools import ToolServer
from moot.terminal.exits import Exit
from moot.terminal.tables import print_table, say
from moot.text.commands import words
from moot.text.files import is_writable
from moot.text.plain import printable
from moot.web.guard import access

MIN_ROOM = 200
"""Megabytes of free disk that a day's debates may need."""
MAX_SECONDS = 30.0
"""What a check has; models have less."""
PATIENT = Timeouts(connect=TRIAL_SECONDS)
"""A slow provider is none that is not there."""


async def models() -> None:
    console = Console()
    async with build(settings.load()) as app:
        rows = await asyncio.gather(*(_provider_row(app, each) for each in app.models.shown))
        built_in = ("local", "in this process", app.models.local_state(), ", ".join(names()))
        print_table(console, ("provider", "address", "state", "models"), [*rows, built_in], wide=("address",))
        for format in app.formats.values():
            choices = [(seat.title, await app.drafts.choose_model(seat)) for seat in format.usual_seats]
            console.print()
            chosen = [(title, public_name(name), why) for title, (name, why) in choices]
            print_table(console, (format.name, "model", "because"), chosen)


async def doctor() -> Exit:
    console, healthy = Console(), True
    async for check in _checks():
        healthy = healthy and check.ok
        say(console, f"{'✓' if check.ok else '✗'} {check.what}", "green" if check.ok else "red")
        if check.advice:
            say(console, f"    {check.advice}")
    return Exit.DONE if healthy else Exit.FAILED


async def _provider_row(app: App, provider: Provider) -> tuple[str, str, str, str]:
    name, look = provider.name, await app.models.look(provider)
    if look.fault:
        return (name, "", look.fault, "")
    if not look.configured:
        return (name, look.address, f"set {provider.key_env}", "")
    if look.models is None:
        return (name, look.address, "not running" if provider.local else "not reachable, or the key is wrong", "")
    more = " …" if len(look.models) > 8 else ""
    return (name, look.address, "ready", printable(", ".join(look.models[:8])) + more)


class _Check(NamedTuple):
    ok: bool
    what: str
    advice: str = ""


async def _checks() -> AsyncIterator[_Check]:
    yield _Check(sys.version_info >= (3, 11), f"Python {sys.version.split()[0]}")
    try:
        chosen = settings.load()
    except MootError as error:
        yield _Check(False, "settings", str(error))
        return
    files = settings.config_files()
    named = ", ".join(str(file.path) for file in files) or "no moot.yaml: defaults and MOOT_* apply"
    yield _Check(True, f"settings ({named})")
    for file in files:
        if file.ignored:
            yield _Check(False, "settings of this folder", file.warning)
    if (beat := chosen.heartbeat_seconds) >= (lease := chosen.lease_seconds):
        advice = "others take over runs that live: set heartbeat_seconds to a third of lease_seconds"
        yield _Check(False, f"a lease of {lease:g} s, a heartbeat each {beat:g} s", advice)
    try:
        async with build(chosen) as app:
            await app.list(limit=1)
            yield _Check(True, f"database {chosen.database_name}")
            if app.is_shared:
                async with app.working(0, grace_seconds=0.0) as queue:
                    alive = (await queue.load()).workers
                yield _worker_check(alive)
            yield await _check(f"decisions go to {chosen.decisions}", asyncio.to_thread(Place(chosen.decisions).check))
            yield _room_check(settings.data_folder())
            yield await _page_check(chosen)
            for each in (
                *_certificate_checks(app.environ),
                *_name_checks(app),
                *_address_checks(app),
                *_variable_checks(app),
                *_told_checks(app),
            ):
                yield each
            async for check in _prompt_checks(app):
                yield check
            for each in await asyncio.gather(*[check async for check in _calls(app)]):
                yield each
    except StoreError as error:
        yield _Check(False, f"database {chosen.database_name}", str(error))
    except MootError as error:
        yield _Check(False, "settings", str(error))


def _worker_check(alive: int) -> _Check:
    if alive:
        return _Check(True, f"{alive} worker{'s' if alive > 1 else ''} alive on it")
    return _Check(True, "no worker alive on it: moot debate and moot serve work themselves, moot worker starts one")


async def _prompt_checks(app: App) -> AsyncIterator[_Check]:
    """Prompt files of the user's own: each can be read, is somebody's, and finds its variables."""
    own = app.prompts.own
    if own is None:
        return
    known = [f"{name}/{each.name}" for name, format in app.formats.items() for each in format.folder.glob("*.md")]
    for file in own.files():
        format = app.formats.get(file.parent.name)
        if format is None or not (format.folder / file.name).is_file():
            near = meant(f"{file.parent.name}/{file.name}", known)
            yield _Check(False, f"prompt file {file}", f"no format has such a prompt{near or ', so it is never used'}")
        else:
            yield await _check(f"prompt file {file}", _rendered(app, own, file))


async def _rendered(app: App, own: OwnPrompts, file: Path) -> None:
    """Render a file as a debate of its format would; what else keeps one from being estimated is told elsewhere."""
    own.check(file)
    try:
        await app.estimate(file.parent.name, "Is this prompt sound?")
    except BrokenPrompt as error:
        if str(file) in str(error):
            raise
    except MootError:
        return


def _certificate_checks(environ: Mapping[str, str]) -> Iterator[_Check]:
    """Python passes over certificates that are not there."""
    if named := environ.get("SSL_CERT_FILE"):
        yield _check_certificates(named)
    for folder in filter(None, environ.get("SSL_CERT_DIR", "").split(os.pathsep)):
        if not Path(folder).is_dir():
            yield _Check(False, f"certificates {folder}", "SSL_CERT_DIR names no folder; name one, or unset it")


def _check_certificates(file: str) -> _Check:
    what = f"certificates {file}"
    if not Path(file).is_file():
        return _Check(False, what, "SSL_CERT_FILE names no file; name one, or unset it")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(file)
    except OSError:
        return _Check(
            False, what, "SSL_CERT_FILE names a file that holds no certificates in PEM; name one, or unset it"
        )
    return _Check(True, what)


def _name_checks(app: App) -> Iterator[_Check]:
    """Formats, their default settings and seats that the settings name."""
    try:
        app.drafts.check_names()
    except InvalidInput as error:
        yield _Check(False, "formats and seats of the settings", str(error))
    for name in app.formats.keys() & app.settings.formats.keys():
        try:
            app.drafts.defaults(app.formats[name])
        except InvalidInput as error:
            yield _Check(False, f"settings of {name}", str(error))
        else:
            yield _Check(True, f"settings of {name}")


def _variable_checks(app: App) -> Iterator[_Check]:
    seats = (seat for format in app.formats.values() for seat in format.seats if seat.player == "model")
    named = set(_named_variables(app.settings))
    for each in unread(app.environ, app.models.shown, {seat.group for seat in seats if not seat.like}):
        if each.variable not in named:
            yield _Check(not each.is_mistake, f"variable {each.variable}", each.why)


def _named_variables(chosen: settings.AppSettings) -> Iterator[str | None]:
    """Those that are for others than the providers of models."""
    for server in chosen.research.values():
        yield from (server.key_env, *server.env)
    for hook in (*chosen.webhooks, chosen.workflow):
        yield hook.secret_env if hook else None


def _told_checks(app: App) -> Iterator[_Check]:
    """Who is told of debates, and what decisions are handed to; nothing is sent."""
    for hook in app.settings.webhooks:
        yield _key_check(f"webhook {hook.name}", hook, app.environ)
    if (workflow := app.settings.workflow) is None:
        return
    if workflow.webhook:
        hook = Webhook(url=workflow.webhook, secret_env=workflow.secret_env)
        yield _key_check(f"workflow {hook.name}", hook, app.environ)
    if workflow.command:
        program = words(workflow.command)[0]
        there = shutil.which(program, path=app.environ.get("PATH")) is not None
        yield _Check(
            there, f"workflow {program}", "" if there else "there is no such program: install it, or name another"
        )
    if workflow.file:
        there = is_writable(workflow.file)
        yield _Check(
            there, f"issues go to {workflow.file}", "" if there else "it cannot be written to: name another folder"
        )


def _key_check(what: str, hook: Webhook, environ: Mapping[str, str]) -> _Check:
    try:
        key_of(hook, environ)
    except ValueError as error:
        return _Check(False, what, str(error))
    return _Check(True, what)


def _room_check(folder: Path) -> _Check:
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free // 1_000_000
    return _Check(
        free >= MIN_ROOM, f"{free:,} MB free for debates in {folder}", "" if free >= MIN_ROOM else "make room"
    )


async def _page_check(chosen: settings.AppSettings) -> _Check:
    """Whether `moot serve` would listen, or somebody does already."""
    host, port = chosen.host, chosen.port
    what = f"pages at http://{host}:{port}"
    try:
        access(host, chosen.token.get_secret_value() if chosen.token else None, ())
        server = await asyncio.start_server(lambda reader, writer: None, host, port)
    except InvalidInput as error:
        return _Check(False, what, str(error))
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        why = "in use, perhaps by moot serve already; --port takes another" if taken else error.strerror or str(error)
        return _Check(taken, f"{what}: {why}" if taken else what, "" if taken else why)
    server.close()
    return _Check(True, f"{what}, once moot serve runs")


def _address_checks(app: App) -> Iterator[_Check]:
    """Addresses that are none, which keep every debate from beginning, and keys that settings name and nobody set."""
    for provider in app.models.shown:
        what = f"providers.{provider.name}"
        try:
            app.models.address(provider)
        except InvalidInput as error:
            yield _Check(False, f"variable {provider.url_env}" if provider.url_env else what, str(error))
        if provider.name in app.settings.providers and not app.models.configured(provider):
            yield _Check(True, what, f"{provider.key_env} is not set, so no debate can use it")


async def _calls(app: App) -> AsyncIterator[Awaitable[_Check]]:
    """What is asked of servers, all at once: each may take as long as a silent one is waited for."""
    choices = {choice async for choice in _choices(app)}
    for provider in app.models.shown:
        if _is_counted_on(app, provider, choices):
            with suppress(InvalidInput):  # which is told among the addresses
                what = f"{provider.name} at {public_name(app.models.address(provider))}"
                unchosen = NOTHING_ELSE in choices and not (provider.default_model or provider.local)
                note = f"used once it is chosen: MOOT_MODEL={provider.name}:MODEL" if unchosen else ""
                yield _check(what, app.models.list_models(provider, PATIENT), note)
    for name, why in sorted(choices):
        yield _check(f"model {public_name(name)} ({why})", app.models.try_out(name))
    for name, server in app.settings.research.items():
        what = f"research server {name} with {', '.join(server.tools)}"
        yield _check(what, _tools(ToolServer(server, app.environ), server.tools))
    yield _check(f"embedder {app.settings.retrieval.embedder}", app.library.find("a question", 1))


def _is_counted_on(app: App, provider: Provider, choices: Collection[ModelChoice]) -> bool:
    """Whether the user has its key or named its address; other programs' variables count when nothing else is there."""
    if not app.models.configured(provider):
        return False
    own = app.settings.providers.get(provider.name)
    named = bool(provider.url_env and app.environ.get(provider.url_env)) and NOTHING_ELSE in choices
    return bool(provider.key_env or named or (own and own.base_url))


async def _choices(app: App) -> AsyncIterator[ModelChoice]:
    """What a debate of each format would use, by all that is configured."""
    for format in app.formats.values():
        with suppress(InvalidInput):  # which is told among the names
            configured = app.drafts.defaults(format)
            for seat in format.seats:
                if seat.player == "model" and configured.seated(seat):
                    choice = await app.drafts.choose_model(seat, configured)
                    named = (
                        "MOOT_JUDGES or moot.yaml" if choice.name in app.settings.judges else f"formats.{format.name}"
                    )
                    yield choice._replace(why=named) if choice.why == CHOSEN else choice


async def _tools(server: ToolServer, named: Sequence[str]) -> None:
    there = {tool.name for tool in await server.tools()}
    if missing := [name for name in named if name not in there]:
        raise ToolFailed(f"it has no tool {' or '.join(map(repr, missing))}; name others under `tools`")


async def _check(what: str, trying: Awaitable[object], note: str = "") -> _Check:
    """Whether it can be done; a note, of the caller's or that it returns, is told beside it."""
    try:
        async with asyncio.timeout(MAX_SECONDS):
            said = await trying
    except MootError as error:
        return _Check(False, what, str(error))
    except TimeoutError:
        return _Check(False, what, f"does not answer within {MAX_SECONDS:g} s")
    note = note or (said if isinstance(said, str) else "")
    return _Check(True, f"{what}: {note}" if note else what)

"""A debate whose process dies at one place, goes on in the next, and is compared with the undisturbed one."""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from failpoints import Failpoint
from scenes import SCENES, Blow, Model, Scene, create, finished, model, open_app, told, undisturbed
from troupe import NOTHING, Process, Troupe, until

from moot.app import App
from moot.core.debate import Turn
from moot.runs.retries import TAKEN_OVER

SHORT = {"MOOT_LEASE_SECONDS": "0.05", "MOOT_HEARTBEAT_SECONDS": "0.1"}
"""Enough where no two processes are alive at once: there is nobody to take a debate from one that lives."""
SILENT = {"MOOT_HEARTBEAT_SECONDS": "1000"}
"""For a process whose writes are counted: all of them belong to its debate."""


EXPECTED: dict[str, list[Turn]] = {}
"""The undisturbed transcripts: the same for all tests of a process, so each debate is played once."""


class MidCall(NamedTuple):
    """A process dies in its nth call, after so many words of the reply."""

    call: int
    words: int


Fault: TypeAlias = Failpoint | MidCall


class Survival(NamedTuple):
    """What a death has done to a debate."""

    lost: int
    """Turns that were stored at its time, or belong to the undisturbed debate, and are not there in the end."""
    doubled: int
    repeated: int
    """Calls that were made more than once."""
    takeover: float | None
    """Seconds from the death to the next run; None when no run was in progress."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where debates are run: by workers on a Postgres, or by a server on an SQLite file."""

    app: App
    server: Model
    troupe: Troupe
    arguments: tuple[str, ...]
    machines: bool
    """Each process has one of its own."""
    expected: Mapping[str, list[Turn]]

    def start(self, name: str, environ: Mapping[str, str] = NOTHING, failpoint: Failpoint | None = None) -> Process:
        machine = name if self.machines else None
        return self.troupe.start(name, *self.arguments, machine=machine, failpoint=failpoint, environ=environ)


@asynccontextmanager
async def place(url: str, folder: Path, environ: Mapping[str, str] = SHORT) -> AsyncIterator[Place]:
    shared = url.startswith("postgres")
    folders = {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CACHE", "DATA", "CONFIG")}
    with ExitStack() as opened:
        server = opened.enter_context(model())
        for name in SCENES.keys() - EXPECTED.keys():
            EXPECTED[name] = await undisturbed(f"sqlite:///{folder}/undisturbed.db", server, SCENES[name])
        server.forget()
        everyone = {**server.environ, **folders, "MOOT_DATABASE_URL": url, **environ}
        troupe = opened.enter_context(Troupe(folder, everyone).on_stage())
        async with open_app(url, server) as app:
            arguments = ("worker",) if shared else ("serve", "--port", "0")
            yield Place(app, server, troupe, arguments, shared, EXPECTED)


async def sweep(place: Place, scene: Scene, faults: Iterator[Fault]) -> AsyncIterator[Survival]:
    """Each fault in turn, a new debate for each, until one gets through undisturbed."""
    for fault in faults:
        survival = await survive(place, scene, fault)
        if survival is None:
            return
        yield survival


async def survive(place: Place, scene: Scene, fault: Fault) -> Survival | None:
    """What is left of a debate; None when it was through before the fault came."""
    place.server.forget()
    debate_id = await create(place.app, scene)
    first = _begin(place, fault)
    await until(lambda: _over(place.app, debate_id, first))
    if first.alive:
        first.signal(signal.SIGTERM)
        await first.ended()
    died, at = first.exit_code == -signal.SIGKILL, time.time()
    place.troupe.dismiss(first)
    place.server.strike = lambda key, word: None
    if not died:
        return None
    before = (await place.app.load(debate_id)).turns
    second = place.start("second")
    await until(lambda: finished(place.app, debate_id))
    second.signal(signal.SIGTERM)
    await second.ended()
    place.troupe.dismiss(second)
    stored = await place.app.load(debate_id)
    taken = [failure.at - at for failure in stored.failures if failure.code == TAKEN_OVER]
    return Survival(
        lost(stored.turns, before, place.expected[scene.format]),
        len(stored.turns) - len(place.expected[scene.format]),
        place.server.repeated(),
        taken[0] if taken else None,
    )


def lost(turns: tuple[Turn, ...], before: tuple[Turn, ...], expected: list[Turn]) -> int:
    missing = [turn for turn in before if turn not in turns]
    return len(missing) + len([turn for turn in expected if turn not in told(turns)])


def _begin(place: Place, fault: Fault) -> Process:
    if isinstance(fault, Failpoint):
        return place.start("first", SILENT, fault)
    process = place.start("first", SILENT)
    place.server.strike = Blow(fault.call, fault.words, lambda key: os.kill(process.pid, signal.SIGKILL))
    return process


async def _over(app: App, debate_id: str, process: Process) -> bool:
    return not process.alive or await finished(app, debate_id)


def each_write() -> Iterator[Fault]:
    return (Failpoint("write", number) for number in itertools.count(1))


def each_notify() -> Iterator[Fault]:
    return (Failpoint("notify", number) for number in itertools.count(1))


def each_call(words: int) -> Callable[[], Iterator[Fault]]:
    """In every call: before the first word of its reply, or in the middle of it."""
    return lambda: (MidCall(number, words) for number in itertools.count(1))

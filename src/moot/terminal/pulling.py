"""Files of models on their way, with a bar where there is a terminal to draw one."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console

from moot.app import App
from moot.errors import InvalidInput
from moot.llm import weights
from moot.llm.addresses import public_name
from moot.llm.download import Progress
from moot.terminal.command import refuse_unused
from moot.terminal.exits import Exit, print_error
from moot.terminal.tables import say
from moot.text.plain import printable


def pull(source: str, name: str | None, hub: str, sha256: str | None) -> Coroutine[None, None, None]:
    if source == weights.BUILT_IN_NAME or "://" in source:
        refuse_unused("beside an address or the built-in model", unused=("hub",))
    return _telling_when_stopped(_pull(source, name, hub, sha256))


async def _telling_when_stopped(pulling: Coroutine[None, None, None]) -> None:
    try:
        await pulling
    except asyncio.CancelledError as stopped:  # by Ctrl-C
        print_error(str(stopped) or "stopped; nothing of it is kept", Exit.INTERRUPTED)
        raise


async def _pull(source: str, name: str | None, hub: str, sha256: str | None) -> None:
    if sha256 is not None and not re.fullmatch("[0-9a-fA-F]{64}", sha256):
        raise InvalidInput(f"{sha256!r} is no SHA-256: it has 64 digits from 0 to f")
    if source == weights.BUILT_IN_NAME:
        await _pull_built_in(name, sha256)
        return
    with drawn(Console(stderr=True), f"Fetching {printable(public_name(source))}") as progress:
        name, fetched = await weights.pull(source, name, hub, sha256, progress)
    checked = "as expected" if fetched.checked else "which nobody named before: compare it, or give --sha256"
    console = Console()
    say(console, f"SHA-256 {fetched.sha256}, {checked}")
    if not fetched.whole:
        say(
            console,
            "The server did not say how large the file is: should the end be missing, nobody has noticed.",
            "yellow",
        )
    say(console, f'Use it: moot debate "…" --model local:{name}')


async def _pull_built_in(name: str | None, sha256: str | None) -> None:
    if name or sha256:
        raise InvalidInput(f"{weights.BUILT_IN_NAME} has its name and its checksum: leave out --name and --sha256")
    if path := weights.built_in_weights():
        say(Console(), f"{weights.BUILT_IN_MODEL} is there already: {path}")
        return
    with drawn(Console(stderr=True), "Fetching the built-in model") as progress:
        path = await weights.fetch_built_in(progress)
    say(Console(), f"{weights.BUILT_IN_MODEL} is at {path}")


async def fetch_missing(app: App, names: Iterable[str]) -> None:
    """Get the built-in model before a debate that needs it, and let it be seen."""
    if weights.built_in_weights():
        return
    with drawn(Console(stderr=True), "Fetching the built-in model, once") as progress:
        await app.models.fetch_missing(names, progress)


@contextmanager
def drawn(console: Console, what: str) -> Iterator[Progress]:
    """A bar from the first byte on; where there is no terminal, a line when it begins."""
    from rich import progress as rich  # slow to import

    columns = (
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.DownloadColumn(),
        rich.TimeRemainingColumn(),
    )
    with rich.Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task: rich.TaskID | None = None

        def show(have: int, whole: int | None) -> None:
            nonlocal task
            if task is None:
                task = bar.add_task(what)
                if bar.disable:
                    console.file.write(f"{what}: {f'{whole / 1e6:.0f} MB' if whole else 'of unknown size'} …\n")
            bar.update(task, completed=have, total=whole)

        yield show

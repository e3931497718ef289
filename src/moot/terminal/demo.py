"""The first debate: one that a large model had, shown as fast as it is read, then one of your own.

Nothing of the user's is read or kept for the recording: it plays with nothing configured and no network.
"""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from moot.app import build
from moot.core.events import Event, TurnChunk, TurnFinished, TurnStarted, place_of
from moot.core.format import AnyFormat
from moot.examples.catalog import Example, examples, find
from moot.llm.recording import Recording
from moot.reading.debate import Reading
from moot.reading.words import is_speech
from moot.settings import AppSettings
from moot.terminal.ask import line
from moot.terminal.asked import Asked
from moot.terminal.commands import Tape, begin
from moot.terminal.exits import Exit
from moot.terminal.lines import next_line
from moot.terminal.signals import on_signals
from moot.terminal.views import View
from moot.terminal.watch import Watching, print_note, print_outcome, view_of

LETTERS_PER_SECOND = 45.0
"""As fast as a page is read that one does not study."""
SUGGESTED = "Cats are better than dogs"
LABEL = "A recording: a large model argued this once, and nothing is computed now."
KEYS = "Enter: next speech · Ctrl-C: outcome"
WAYS = (
    f'Live, with your own question: moot debate "{SUGGESTED}" --format duel\n'
    "It takes the model whose key is set, a running Ollama, or the tiny built-in one; moot models tells which."
)


async def demo(name: str | None, speed: float) -> Exit:
    example = find(name) if name else examples()[-1]
    console, how = Console(), Watching()
    print_note(console, LABEL, "yellow")
    played = await _played(example)
    about = Text.assemble("\n", (example.topic, "bold"), "\n", (f"{example.format}: {played.format.summary}", "dim"))
    console.print(about, soft_wrap=not console.is_terminal)
    with closing(view_of(played.reading)) as view:
        if how.talks and speed:
            view.note(KEYS)
        pace = speed if console.is_terminal else 0
        await _until_interrupted(_show(played, view, pace, how.talks, console.is_dumb_terminal))
    print_outcome(console, played.reading, kept=False)
    if not how.talks:
        print_note(console, WAYS)
        return Exit.DONE
    return await _offer(how)


async def _offer(how: Watching) -> Exit:
    question = await line(f"\nNow live: your question (Enter for “{SUGGESTED}”, q to leave): ")
    if question is None:
        Console().print()  # the shell's own line begins below it
    if question is None or question.lower() in ("q", "quit"):
        return Exit.DONE
    asked = Asked(question or SUGGESTED, examples()[-1].format, {"max_rounds": 2}, [], [])
    return await begin(asked, Tape(), how)


class _Played(NamedTuple):
    """A debate that is over, and what was told of it on the way."""

    reading: Reading
    events: tuple[Event, ...]

    @property
    def format(self) -> AnyFormat:
        return self.reading.format


async def _played(example: Example) -> _Played:
    """The recording, played at once in a store of its own, without anything that the user has configured."""
    told: list[Event] = []
    with TemporaryDirectory(prefix="moot-demo-", ignore_cleanup_errors=True) as folder:
        database = f"sqlite:///{(Path(folder) / 'demo.db').as_posix()}"
        chosen = AppSettings.model_construct(database_url=database, decisions=Path(folder))
        async with build(chosen, {}, tape=Recording.load(example.recording)) as app:
            record = await app.create(example.format, example.topic, example.settings())
            await app.run(record.id, told.append)
            return _Played(await app.read(record.id), tuple(told))


async def _show(played: _Played, view: View, speed: float, listens: bool, whole: bool) -> None:
    async for event in _paced(played, speed, listens, whole):
        view.show(event)


async def _paced(played: _Played, speed: float, listens: bool = False, whole: bool = False) -> AsyncIterator[Event]:
    """Its events turn by turn; what is read comes word by word until Enter is pressed, what only examines at once.

    `whole` is for a view without live text: a speech is there at once, and the time to read it comes after it.
    """
    started: dict[int, TurnStarted] = {}
    for event in played.events:
        if isinstance(event, TurnStarted):
            started[event.position] = event
        elif isinstance(event, TurnFinished) and speed and _is_read(played.format, event):
            yield started[event.position]
            if whole:
                yield event
            with _pressed(listens) as enter:
                for chunk in _words(started[event.position], event):
                    yield chunk
                    await asyncio.wait([enter], timeout=len(chunk.text) / (LETTERS_PER_SECOND * speed))
                    if enter.done():
                        break
            if not whole:
                yield event
        elif not isinstance(event, TurnChunk):
            yield event


@contextmanager
def _pressed(listens: bool) -> Iterator[asyncio.Future[None]]:
    """Done when somebody presses Enter."""
    loop = asyncio.get_running_loop()
    enter: asyncio.Future[None] = loop.create_future()
    leave = next_line(loop, lambda _: enter.cancel()) if listens else enter.cancel
    try:
        yield enter
    finally:
        leave()


def _is_read(format: AnyFormat, event: TurnFinished) -> bool:
    return is_speech(format, event) and event.kind not in format.folded


def _words(started: TurnStarted, finished: TurnFinished) -> Iterator[TurnChunk]:
    for word in re.finditer(r"\S+\s*|\s+", finished.content):
        yield TurnChunk(
            debate=started.debate,
            **place_of(started, started.position),
            offset=word.start(),
            text=word[0],
        )


async def _until_interrupted(showing: Coroutine[None, None, None]) -> None:
    """Ctrl-C leaves the recording, not the program, where signals can be heard."""
    task = asyncio.create_task(showing)
    with on_signals(lambda _: task.cancel(), signal.SIGINT), suppress(asyncio.CancelledError):
        await task

"""The composition root: puts store, models, formats and engine together, and is all that surfaces call."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from moot.app.beginning import begin
from moot.app.words import check_text
from moot.core.debate import Action, HumanReply, Origin, Rating, Record, Status, Workflow
from moot.core.stored import StoredDebate
from moot.errors import InvalidInput, MootError, NotFound, WrongStatus
from moot.runs.choice import open_queue, shared_server
from moot.runs.queue import Backlog, Load, Queue
from moot.settings import AppSettings, data_folder
from moot.store.listing import Listing
from moot.store.store import Cursor, Store
from moot.telemetry.telemetry import Telemetry
from moot.text.plain import clean

if TYPE_CHECKING:
    from pydantic import JsonValue

    from moot.app.drafts import Drafts
    from moot.app.estimates import Expected
    from moot.app.noise import JudgesBefore
    from moot.app.replies import Replied
    from moot.core.emitter import Sink
    from moot.core.engine import RunResult, Until
    from moot.core.events import Event
    from moot.core.format import AnyFormat
    from moot.core.prompts import Prompts
    from moot.core.trace import Trace
    from moot.export.bundle import Chosen, Manifest
    from moot.export.stats import Stats
    from moot.llm.models import Models
    from moot.players.researcher import Toolbox
    from moot.reading.debate import Reading
    from moot.records.documents import Documents, Place
    from moot.retrieval.library import Library
    from moot.runs.runner import Runner


class App:
    """Everything a user can do with debates. Make one with `build`; what plays them is imported where it is used."""

    def __init__(
        self,
        settings: AppSettings,
        store: Store,
        models: Callable[[], Models],
        formats: Mapping[str, AnyFormat],
        prompts: Callable[[], Prompts],
        environ: Mapping[str, str] = os.environ,
        telemetry: Telemetry | None = None,
    ) -> None:
        self.settings = settings
        self.store = store
        self.listing = Listing(store.database)
        self._open_models = models
        self._open_prompts = prompts
        self.formats = formats
        self.environ = environ
        self.telemetry = telemetry or Telemetry()
        self.queue: Queue | None = None
        """What runs debates in the background; without one a debate runs only while `run` does."""

    @cached_property
    def models(self) -> Models:
        return self._open_models()

    @cached_property
    def prompts(self) -> Prompts:
        return self._open_prompts()

    @cached_property
    def library(self) -> Library:
        from moot.app.players import open_library

        return open_library(self.settings.retrieval, self.models)

    @cached_property
    def _toolbox(self) -> Toolbox:
        from moot.players.researcher import Toolbox

        return Toolbox(self.settings.research, self.environ, self.models.tape)

    @cached_property
    def documents(self) -> Documents:
        from moot.records.documents import Documents

        return Documents(self.settings.decisions, data_folder() / "documents")

    @cached_property
    def runner(self) -> Runner:
        from moot.app.players import Players
        from moot.runs.runner import Runner

        players = Players(self.prompts, self.models, self.library, self._toolbox, self.telemetry)
        return Runner(self.settings, self.store, self.formats, players, self.telemetry, self.documents)

    @cached_property
    def drafts(self) -> Drafts:
        from moot.app.drafts import Drafts

        return Drafts(self.settings, self.models, self.formats, self.library, self._toolbox)

    @cached_property
    def judges_before(self) -> JudgesBefore:
        from moot.app.noise import JudgesBefore

        return JudgesBefore(self.store)

    @property
    def is_shared(self) -> bool:
        """Whether other processes work on the same database: it is a Postgres."""
        return shared_server(self.settings, self.store) is not None

    @asynccontextmanager
    async def working(self, concurrency: int | None = None, grace_seconds: float | None = None) -> AsyncIterator[Queue]:
        """Run debates in the background for as long as the block lasts, first those left unfinished.

        With a concurrency of 0 they are left to the workers on the Postgres. A queue set before is used as it is.
        """
        most = self.settings.max_running if concurrency is None else concurrency
        self.queue = self.queue or open_queue(self.runner, most)
        await self.queue.start()
        try:
            yield self.queue
        finally:
            queue, self.queue = self.queue, None
            await queue.drain(self.settings.grace_seconds if grace_seconds is None else grace_seconds)

    async def create(
        self,
        format: str,
        topic: str,
        settings: Mapping[str, JsonValue] | None = None,
        *,
        background: str = "",
        again: str = "",
        start: bool = False,
        key: str | None = None,
        watched: bool = False,
    ) -> Record:
        """Store a new debate with an empty transcript; its seats keep the models chosen now.

        `background` stands below the topic for everybody to read; `again` is the debate that it repeats. Made twice
        under the same `key` it is the first one, as it is by now. With `start` it runs at once; what somebody watches
        goes first.
        """
        draft = await self.drafts.new(format, topic, settings or {}, background)
        if key and draft.settings["precedents"] and (made := await self.store.find(key)):  # there may be others by now
            draft = replace(draft, settings={**draft.settings, "sources": made.settings["sources"]})
        if again:
            draft = replace(draft, origin=Origin((await self.load(again)).record.id, 0))
        return await begin(self, draft, (), start, key, watched)

    async def fork(
        self,
        debate_id: str,
        position: int | None = None,
        settings: Mapping[str, JsonValue] | None = None,
        *,
        start: bool = False,
        key: str | None = None,
        watched: bool = False,
    ) -> Record:
        """Store a new debate that begins with copies of the first turns of another, by default of as many as can be.

        It goes on with other models or settings, and has those of its origin where none are given.
        """
        made = await self.store.find(key) if key else None
        try:
            stored = await self.load(debate_id)
        except NotFound:
            if made is None:
                raise
            stored = StoredDebate(made)  # its origin was deleted since
        if made:
            again = await self.drafts.fork_again(made, debate_id, stored.record, position, settings or {})
            return await begin(self, again, (), start, key, watched)
        stored = self.drafts.chosen_anew(stored, settings or {})
        record = await self.drafts.fork(stored, position, settings or {})
        return await begin(self, record, stored.turns[: record.copied], start, key, watched)

    async def estimate(self, format: str, topic: str, settings: Mapping[str, JsonValue] | None = None) -> Expected:
        """What such a debate would cost, at most and typically, and how long it may take; calls no model."""
        from moot.app.estimates import expected

        return await expected(self, await self.drafts.new(format, topic, settings or {}))

    async def run(self, debate_id: str, sink: Sink, until: Until | None = None) -> RunResult:
        """Run a debate in this process until it is finished, waiting, stopped or failed.

        Before steps for which `until` holds it is handed back: stopped, for anyone to go on with.
        """
        return await self.runner.run(debate_id, sink, until)

    async def stream(self, debate_id: str) -> AsyncGenerator[Event, None]:
        """Run a debate and yield its events as they happen; closing the generator interrupts the run."""
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        running = asyncio.create_task(self.run(debate_id, events.put_nowait))
        running.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            await running
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError, MootError):
                await running

    async def load(self, debate_id: str) -> StoredDebate:
        return await self.store.load(debate_id)

    def reading(self, stored: StoredDebate) -> Reading:
        """A stored debate as any reader sees it, be its format installed or not."""
        from moot.reading.debate import Reading
        from moot.reading.unreadable import format_of

        return Reading(stored, format_of(self.formats, stored.record))

    async def read(self, debate_id: str) -> Reading:
        return self.reading(await self.load(debate_id))

    async def list(
        self,
        limit: int = 20,
        status: Status | None = None,
        format: str | None = None,
        words: str = "",
        after: Cursor | None = None,
        about: Sequence[str] = (),
    ) -> tuple[Record, ...]:
        words = str(clean(words)).strip()
        return await self.store.list(limit=limit, status=status, format=format, words=words, after=after, about=about)

    async def delete(self, debate_id: str) -> None:
        """Hide a debate from everyone; `restore` undoes it."""
        await self.store.delete(debate_id)
        self._look(debate_id)

    async def restore(self, debate_id: str) -> Record:
        record = await self.store.restore(debate_id)
        if self.queue:
            await self.queue.look_after(debate_id)
        return record

    async def resume(self, debate_id: str, settings: Mapping[str, JsonValue] | None = None) -> Record:
        """Run a debate in the background, a new one or one that has stopped or failed, with settings as in `change`."""
        if self.queue is None:
            raise InvalidInput("nothing runs debates in the background here: use `app.working()`, or `app.run(ID)`")
        ran = settings and (await self.change(debate_id, settings)).status is Status.RUNNING
        with suppress(*[WrongStatus] if ran else []):  # the run that took other models may have ended with them
            return await self.queue.enqueue(debate_id)
        return (await self.load(debate_id)).record

    async def change(self, debate_id: str, settings: Mapping[str, JsonValue]) -> Record:
        """Give a debate that does not run other models, other checkpoints or higher limits; it is stopped then.

        Kept as a turn, from which on they hold; one that runs takes other models over, at once where a call waits to be
        made again. Raises InvalidInput for what cannot be changed any more.
        """
        from moot.app.changes import change

        return await change(self, debate_id, settings)

    async def try_now(self, debate_id: str) -> Record:
        """Have the calls of a debate that wait to be made again made now. Raises WrongStatus when it does not run."""
        record = (await self.load(debate_id)).record
        if record.status not in (Status.RUNNING, Status.QUEUED):
            raise WrongStatus(f"{debate_id} is {record.status}, so no call of it waits; resume it")
        await self.hurry(debate_id)
        return record

    async def hurry(self, debate_id: str, give_up: Collection[str] = ()) -> None:
        if self.queue:
            await self.queue.hurry(debate_id, give_up)
        else:
            self.runner.hurry(debate_id, give_up)

    def follow(self, debate_id: str, after: int = 0, through_waits: bool = False) -> AsyncGenerator[Event, None]:
        """See `Queue.follow`."""
        from moot.runs.follow import follow
        from moot.runs.live import Listeners

        if self.queue:
            return self.queue.follow(debate_id, after, through_waits)
        return follow(self.store, self.formats, debate_id, Listeners().listening(debate_id), after, through_waits)

    async def stop(self, debate_id: str, reason: str = "stopped") -> Record:
        """Let the step in progress end, then nothing more."""
        record = await self.store.ask_to_stop(debate_id, reason)
        if record.status in (Status.FINISHED, Status.FAILED):
            raise WrongStatus(f"{debate_id} is {record.status}; there is nothing to stop")
        self._look(debate_id)
        return record

    def _look(self, debate_id: str) -> None:
        """Let those who follow a debate know at once that it has changed."""
        if self.queue:
            self.queue.look(debate_id)

    async def conclude(self, debate_id: str) -> Record:
        """Let the step in progress end, then the closing steps; a debate that takes `end` for an answer gets that."""
        reading = await self.read(debate_id)
        if (status := reading.record.status) in (Status.FINISHED, Status.CREATED):
            raise WrongStatus(f"{debate_id} is {status}; there is nothing to conclude")
        if reading.question and "end" in reading.question.actions:
            return (await self.reply(debate_id, "end")).record
        return await self.go_on(await self.store.ask_to_conclude(debate_id))

    async def reply(
        self, debate_id: str, action: Action, text: str = "", position: int | None = None, who: str = ""
    ) -> Replied:
        """A person's words: the answer to what a debate asks, which then goes on, or guidance at any time.

        `end` concludes. With a `position` they answer the question asked there and are heard as nothing else.
        """
        from moot.app.replies import reply

        return await reply(self, debate_id, HumanReply(action, text, position, who=who))

    async def said(self, debate_id: str) -> tuple[HumanReply, ...]:
        """All that people have said to a debate, heard or not yet, in the order in which it came."""
        return await self.store.said(debate_id)

    async def load_of_queue(self) -> Load:
        """How much there is to do in the background, and how many processes are there to do it."""
        return await self.queue.load() if self.queue else Load(0, 0, 0)

    async def backlog(self) -> Backlog:
        return await self.queue.backlog() if self.queue else Backlog(0)

    async def go_on(self, record: Record) -> Record:
        """Run a debate that nothing holds up any more; one that runs, or still waits, is left as it is."""
        if self.queue and record.status in (Status.QUEUED, Status.WAITING, Status.STOPPED, Status.FAILED):
            with suppress(WrongStatus):
                return await self.queue.enqueue(record.id)
        return record

    async def pause(self, debate_id: str) -> Record:
        """Stop a debate whose person has not answered in time; it can be resumed whenever they do."""
        record = await self.store.pause(debate_id)
        self._look(debate_id)
        return record

    async def rate(self, debate_id: str, stars: int, comment: str = "") -> Rating:
        if not 1 <= stars <= 5:
            raise InvalidInput(f"{stars} stars cannot be given: give 1 to 5")
        if (await self.load(debate_id)).record.outcome is None:
            raise WrongStatus(f"{debate_id} has no outcome to rate yet")
        return await self.store.rate(debate_id, Rating(stars, check_text(comment)))

    async def export(self, debate_id: str, style: str) -> str:
        """A debate as a document: `md`, `html`, an `argdown` map, or `json`, which is its trace."""
        from moot.export.documents import export

        return await asyncio.to_thread(export, await self.read(debate_id), style)

    async def export_all(self, folder: Path, chosen: Chosen) -> Manifest:
        """Write the traces of many debates to a new folder, the newest first."""
        from moot.export.bundle import write_bundle

        return await write_bundle(folder, self.traces(chosen), chosen)

    def traces(self, chosen: Chosen) -> AsyncGenerator[Trace, None]:
        """The traces of many debates, the newest first, a page of records at a time."""
        from moot.app.traces import traces

        return traces(self, chosen)

    async def write_document(self, debate_id: str, place: Place | None = None) -> Path | None:
        """Where the document of an outcome is, written unless it is there; None when it goes nowhere."""
        return await asyncio.to_thread((place or self.documents).write, await self.read(debate_id))

    async def make_workflow(self, debate_id: str) -> Workflow:
        """Make an issue of an outcome, once, and hand it to what is configured until that has succeeded."""
        from moot.app.workflows import make

        return await make(self, debate_id)

    async def stats(self) -> tuple[Stats, ...]:
        """What all finished debates together tell."""
        from moot.app.traces import stats

        return await stats(self)

    async def close(self) -> None:
        if "models" in vars(self):
            await self.models.close()
        await self.store.close()
        await self.telemetry.close()

"""Replay the stored turns into a script, play what is missing, store each turn, tell the readers.

Knows no format, no database and no vendor by name: it is handed a script, a store, players and a sink. What a format
computes from much text runs in a thread, so that other debates go on meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass, field, replace
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar

from moot.core.changes import SETTINGS, Wish, heard_wishes
from moot.core.control import Control as Control
from moot.core.debate import NO_USAGE, Failure, HumanReply, JsonObject, Limits, Record, Status, Step, Turn, Usage
from moot.core.emitter import Emitter, Sink
from moot.core.events import (
    DebateFailed,
    DebateFinished,
    DebateStarted,
    DebateStopped,
    LimitReached,
    RoundStarted,
    Terminal,
    place_of,
    waiting_for,
)
from moot.core.format import AnyFormat
from moot.core.pauses import Pauses
from moot.core.replay import REMARK, ScriptRun
from moot.core.script import Debate
from moot.core.trace import trace
from moot.core.turn_writer import Again, TurnWriter
from moot.errors import Fenced, ModelError, ModelTimeout, MootError, StoreError

log = logging.getLogger(__name__)
T = TypeVar("T")

LITTLE = 10_000
"""Characters of a debate; whatever they are, a format has read them in a few milliseconds."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended."""

    status: Status
    stop_reason: str | None = None
    _: KW_ONLY
    outcome: JsonObject | None = None
    error: str | None = None
    question: str | None = field(default=None, compare=False)
    """What a person is asked, for those who are told that one is."""
    due_in: float | None = None
    """After so many seconds a queue looks at the debate again: its person is late, or the next attempt is due."""


@dataclass(frozen=True, slots=True)
class PlayerReply:
    """What a player made of a step."""

    content: str
    data: JsonObject | None = None
    _: KW_ONLY
    usage: Usage = NO_USAGE
    model: str | None = None
    marks: tuple[str, ...] = ()


class HumanNeeded(Exception):
    """Raised by a player whose person has not answered yet."""


class _Wait(Exception):
    def __init__(self, step: Step, position: int) -> None:
        self.step = step
        self.position = position


Until: TypeAlias = Callable[[Sequence[Step]], bool]
RetryIn: TypeAlias = Callable[[MootError, bool], Again | None]
OnOutcome: TypeAlias = Callable[[Record, Sequence[Turn]], Awaitable[None]]


async def _nothing(record: Record, turns: Sequence[Turn]) -> None:
    pass


class TurnStore(Protocol):
    """What the engine needs of a store. Every write is durable when it returns; `turn.run` fences it."""

    async def append(self, debate_id: str, turn: Turn) -> Control: ...
    async def said(self, debate_id: str) -> tuple[HumanReply, ...]: ...
    async def wishes(self, debate_id: str) -> tuple[Wish, ...]: ...
    async def add_failure(self, debate_id: str, failure: Failure) -> None: ...
    async def end(self, debate_id: str, run: int, ending: RunResult) -> None: ...


class Player(Protocol):
    async def play(self, debate: Debate[Any], step: Step, voice: TurnWriter) -> PlayerReply: ...


@dataclass(kw_only=True, slots=True, eq=False)
class Run:
    """A run of a debate until it is finished, waiting, stopped or failed; `record.run` is its number."""

    record: Record
    turns: Sequence[Turn]
    format: AnyFormat
    store: TurnStore
    player_for: Callable[[str], Player]
    sink: InitVar[Sink]
    now: Callable[[], float]
    control: Control
    """What people ask of the debate."""
    until: Until | None = None
    """May hand the debate back before some steps."""
    retry_in: RetryIn = lambda error, advanced: None
    """When a run that failed is to be tried again, if at all; told whether it had stored a turn."""
    pauses: Pauses = field(default_factory=Pauses)
    on_stored: Callable[[Turn], None] = lambda turn: None
    """Gets each turn once readers do."""
    on_outcome: OnOutcome = _nothing
    """Gets the finished debate just before it is stored as such: if the process dies then, it gets it again."""
    debate: Debate[Any] = field(init=False)
    emitter: Emitter = field(init=False)
    advanced: bool = field(default=False, init=False)
    characters: int = field(init=False)
    round: int | None = field(default=None, init=False)
    failed: TurnWriter | None = field(default=None, init=False)
    """Whose model could not be used."""
    heard: set[float] = field(default_factory=set, init=False)
    """When those changes were wanted that are turns by now."""
    rounds: set[int] = field(default_factory=set, init=False)

    def __post_init__(self, sink: Sink) -> None:
        self.emitter = Emitter(self.record.id, self.record.run, sink, self.now)
        self.characters = sum(len(turn.content) for turn in self.turns)

    async def to_its_end(self) -> RunResult:
        """Run; whatever goes wrong in one debate is stored as its failure and told to its readers.

        Raises Fenced when the run was taken over, StoreError when not even its failure could be stored.
        """
        try:
            return await self._play_or_wait()
        except Fenced:
            raise
        except MootError as error:
            if again := self.retry_in(error, self.advanced):
                return await self._try_again(error, again)
            return await self._failed(error.code, str(error))
        except Exception as error:
            log.exception("%s failed", self.record.id)
            return await self._failed("internal_error", f"{type(error).__name__}: {error}")

    async def _play_or_wait(self) -> RunResult:
        try:
            return await self._play()
        except _Wait as wait:
            event = waiting_for(wait.step, wait.position)
            ending = RunResult(Status.WAITING, due_in=event.timeout_seconds, question=event.question)
            return await self._end(ending, event)

    async def _play(self) -> RunResult:
        record = self.record
        self.emitter.emit(DebateStarted(format=record.format, topic=record.topic, run=record.run))
        self.debate = self.format.open(self.record)
        cast = ScriptRun(self.format, self.debate, self.turns)
        await self._computed(cast.catch_up)
        if self.control.wishes:
            self.heard = {wish.at for wish in await self.store.wishes(self.record.id)} & heard_wishes(self.turns)
        while cast.batch:
            if self.control.stopping:
                return await self._stopped(self.control.stopping)
            if self.until and self.until(cast.missing()):
                return await self._stopped("handed_back")
            await self._hear(cast)
            if not await self._interrupt(cast):
                await self._play_missing(cast)
            limit = self.debate.stop_reason
            await self._computed(cast.catch_up)
            if self.debate.stop_reason != limit and self.debate.stop_reason in Limits.model_fields:
                self.emitter.emit(LimitReached(reason=self.debate.stop_reason))
        outcome = (await self._computed(cast.ended)).model_dump(mode="json")
        reason = self.debate.stop_reason or "completed"
        ending = RunResult(Status.FINISHED, reason, outcome=outcome)
        ended = self._ended(ending)
        await self.on_outcome(ended, self.debate.transcript)
        whole = trace(ended, self.debate.transcript)
        return await self._end(ending, DebateFinished(stop_reason=reason, outcome=outcome, trace=whole))

    async def _stopped(self, reason: str) -> RunResult:
        return await self._end(RunResult(Status.STOPPED, reason), DebateStopped(stop_reason=reason))

    async def _remarks(self) -> list[HumanReply]:
        return [said for said in await self.store.said(self.record.id) if said.position is None]

    async def _hear(self, cast: ScriptRun) -> None:
        """Before an untouched batch of models: store what a person has said meanwhile, for all to read from here on."""
        asks_person = any(step.question for step in cast.batch)  # the place of a question must not move
        if asks_person or len(cast.missing()) < len(cast.batch):
            return
        if self.control.wishes > len(self.heard):
            await self._change(cast)
        heard = sum((turn.seat, turn.kind) == REMARK for turn in self.debate.transcript)
        for said in (await self._remarks())[heard:] if self.control.remarks > heard else ():
            await self._interject(cast, *REMARK, said.text, {"who": said.who} if said.who else None)
            cast.hear()

    async def _change(self, cast: ScriptRun) -> bool:
        """Give seats the other models that a person has chosen meanwhile; False when there are none."""
        new = [wish for wish in await self.store.wishes(self.record.id) if wish.at not in self.heard]
        for wish in new:
            await self._interject(cast, *SETTINGS, wish.content, wish.turn_data)
            self.heard.add(wish.at)
            cast.hear()
        self.pauses.begin_anew()
        return bool(new)

    async def _interrupt(self, cast: ScriptRun) -> bool:
        """Before an untouched batch: record that a person, or the clock, has ended the rounds."""
        if not self.debate.debating or len(cast.missing()) < len(cast.batch):
            return False
        if self.control.concluding:
            seat, kind, reason = "human", "conclude", "concluded"
        elif self.debate.is_out_of_time():
            seat, kind, reason = "clock", "limit", "max_runtime_seconds"
        else:
            return False
        await self._interject(cast, seat, kind, reason)
        return True

    async def _interject(
        self, cast: ScriptRun, seat: str, kind: str, content: str, data: JsonObject | None = None
    ) -> None:
        """Store a turn that answers no step."""
        at = self.now()
        turn = Turn(
            position=cast.free,
            seat=seat,
            kind=kind,
            round=None,
            content=content,
            data=data,
            started_at=at,
            finished_at=at,
            run=self.record.run,
        )
        cast.stored[turn.position] = await self._store(turn)

    async def _play_missing(self, cast: ScriptRun) -> None:
        """Play the steps of a batch side by side; each turn is stored as it finishes, whatever befalls the others."""
        plays = [self._play_step(step, at) for at, step in enumerate(cast.batch, cast.base) if at not in cast.stored]
        results = await asyncio.gather(*plays, return_exceptions=True)
        cast.stored.update((turn.position, turn) for turn in results if isinstance(turn, Turn))
        faults = [result for result in results if isinstance(result, BaseException)]
        for fault in sorted(faults, key=lambda fault: isinstance(fault, _Wait)):
            if not isinstance(fault, ModelError) or not await self._change(cast):
                raise fault
            break  # what is missing is asked for again, with another model

    async def _play_step(self, step: Step, position: int) -> Turn:
        if step.round is not None and step.round not in self.rounds:
            self.rounds.add(step.round)
            self.emitter.emit(RoundStarted(round=step.round))
        self.round = step.round
        seat = self.debate.seats.get(step.seat)
        voice = TurnWriter(
            step,
            position,
            emitter=self.emitter,
            keep=self._keep,
            pauses=self.pauses,
            model=self.debate.model_of(step) if seat else None,
            title=self.format.title(step.seat, self.debate),
        )
        started_at = self.now()
        try:
            reply = await self._played(step, voice)
        except HumanNeeded:
            raise _Wait(step, position) from None
        except ModelError as error:
            self.failed = voice
            await self._keep(step, position, error)
            raise
        turn = Turn(
            **place_of(step, position),
            content=reply.content,
            data=reply.data,
            usage=reply.usage,
            model=reply.model,
            marks=reply.marks,
            started_at=started_at,
            finished_at=self.now(),
            run=self.record.run,
        )
        return await self._store(turn)

    async def _played(self, step: Step, voice: TurnWriter) -> PlayerReply:
        """What the seat's player makes of a step; one who takes longer than the step allows misses it."""
        player, had = self.player_for(step.seat), step.timeout
        if had is None:
            return await player.play(self.debate, step, voice)
        try:
            async with asyncio.timeout(had) as time:
                if step.pause is not None:
                    voice.on_sign = partial(_prolong, time, step.pause)
                if had > 0:
                    return await player.play(self.debate, step, voice)
        except TimeoutError:
            if not time.expired():
                raise
        why = f"not done after the {had:.0f} s it had" if had > 0 else "no time was left for it"
        await self._keep(step, voice.position, ModelTimeout(why, partial=voice.said()))
        return PlayerReply("", marks=("late",))

    async def _keep(self, step: Step, position: int, error: ModelError) -> None:
        """Keep a failed attempt, with the text that had arrived."""
        failure = Failure(
            **place_of(step, position),
            partial=error.partial,
            code=error.code,
            message=str(error),
            at=self.now(),
            run=self.record.run,
        )
        await self.store.add_failure(self.record.id, failure)

    async def _store(self, turn: Turn) -> Turn:
        """Make a turn durable, then show it."""
        title = self.format.title(turn.seat, self.debate)
        async with self.emitter.turn_id() as event_id:
            turn = replace(turn, event_id=event_id)
            self.characters += len(turn.content)
            notes = await self._computed(partial(self.format.notes_on, self.debate, turn))
            self.control = await self.store.append(self.record.id, turn)
            self.advanced = True
            self.emitter.show(turn, title, notes)
        self.on_stored(turn)
        return turn

    async def _computed(self, work: Callable[[], T]) -> T:
        """What a format makes of the turns; it may take long where there is much to read."""
        return work() if self.characters < LITTLE else await asyncio.to_thread(work)

    async def _end(self, ending: RunResult, event: Terminal) -> RunResult:
        await self.store.end(self.record.id, self.record.run, ending)
        self.emitter.end(event)
        return ending

    async def _try_again(self, error: MootError, again: Again) -> RunResult:
        """Back to the queue; the debate goes on later."""
        ending = RunResult(Status.QUEUED, error=str(error), due_in=again.seconds)
        await self.store.end(self.record.id, self.record.run, ending)
        if self.failed:
            self.failed.tell_retry(error, again)
        return ending

    async def _failed(self, code: str, message: str) -> RunResult:
        ending = RunResult(Status.FAILED, "failed", error=message)
        event = DebateFailed(code=code, error=message, round=self.round)
        try:
            return await self._end(ending, event)
        except StoreError:
            log.warning("%s: its failure could not be stored: %s", self.record.id, message)
            self.emitter.end(event)
            raise

    def _ended(self, ending: RunResult) -> Record:
        return replace(
            self.record,
            status=ending.status,
            stop_reason=ending.stop_reason,
            outcome=ending.outcome,
            finished_at=self.now(),
        )


def _prolong(time: asyncio.Timeout, seconds: float) -> None:
    """Whoever is speaking has so much longer from now on, if that is later than its time."""
    until = asyncio.get_running_loop().time() + seconds
    if (when := time.when()) is not None and when < until:
        time.reschedule(until)

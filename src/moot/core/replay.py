"""Stored turns fed into a script: what was asked, what comes next, and how it looked to its readers. Pure."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import count, takewhile
from typing import Any

from pydantic import ValidationError

from moot.core.changes import apply, is_change
from moot.core.coverage import with_sources
from moot.core.debate import Outcome, Record, Step, Turn
from moot.core.events import TurnFinished, turn_finished
from moot.core.format import USE_ITS_VERSION, AnyFormat
from moot.core.script import Concluded, Debate, Lazy
from moot.errors import ScriptChanged

log = logging.getLogger(__name__)

CHANGED = (ScriptChanged, ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
"""What is raised where a format cannot read the turns or settings that another version of it stored."""
INTERRUPTIONS = {("clock", "limit"), ("human", "conclude")}
"""Turns that answer no step: from there the script goes on with its closing steps."""
REMARK = ("human", "remark")
"""A person's words between two steps: a turn that answers no step and changes nothing but what is read from then on."""


def log_fault(debate_id: str, error: Exception) -> None:
    """In the log, for it may be a fault of the format's own; not where it is plainly another version's."""
    if not isinstance(error, ScriptChanged | ValidationError):
        log.warning("a part of %s is not shown: its format raised %r", debate_id, error)


def next_steps(record: Record, turns: Sequence[Turn], format: AnyFormat) -> tuple[Step, ...]:
    """The steps a debate would play next; empty when its script is through. Pure: plays nothing."""
    return replayed(record, turns, format).missing()


def replayed_steps(record: Record, turns: Sequence[Turn], format: AnyFormat) -> Sequence[Step]:
    """The steps that stored turns answer, as a debate with this record asks them. Raises ScriptChanged."""
    run = replayed(record, turns, format)
    return [*run.debate.steps, *run.batch][: len(turns)]


def replayed(record: Record, turns: Sequence[Turn], format: AnyFormat) -> ScriptRun:
    """A script that was fed the stored turns, as far as they reach."""
    run = ScriptRun(format, format.open(record), turns)
    run.catch_up()
    return run


def turn_events(record: Record, turns: Sequence[Turn], format: AnyFormat) -> Iterator[TurnFinished]:
    """The stored turns as the events that showed them when they were new."""
    try:
        debate = format.open(record)
    except ScriptChanged:  # what was said can be read for ever
        yield from (turn_finished(record.id, turn, format.title(turn.seat)) for turn in turns)
        return
    for turn in turns:
        try:
            title, notes = format.title(turn.seat, debate), format.notes_on(debate, turn)
        except CHANGED as error:
            log_fault(record.id, error)
            title, notes = format.title(turn.seat), ()
        yield turn_finished(record.id, turn, title, notes)
        with suppress(*CHANGED):
            debate.add(turn)


def rehearse(debate: Debate[Any], format: AnyFormat, improvise: Callable[[Debate[Any], Step, int], Turn]) -> None:
    """Run a script to its end on made-up turns. Pure: calls nobody, stores nothing."""
    cast = ScriptRun(format, debate, ())
    while cast.batch:
        turns = (improvise(cast.debate, step, at) for at, step in enumerate(cast.batch, cast.base))
        cast.stored.update({turn.position: turn for turn in turns})
        cast.advance()
    del debate.following, debate.played_to  # which know the debate: all that was made up would wait to be collected


class ScriptRun:
    """A script and the stored turns it is fed with."""

    def __init__(self, format: AnyFormat, debate: Debate[Any], turns: Sequence[Turn]) -> None:
        self.format = format
        self.debate = debate
        self.stored = {turn.position: turn for turn in turns}
        debate.following = self._following
        self.script = format.script(debate)
        self.batch: tuple[Step, ...] = ()
        self._ended: Lazy[Outcome] | None = None
        self._take_changes()
        self._step(lambda: next(self.script))

    @cached_property
    def outcome(self) -> Outcome | None:
        """What the script has come to, once it is through."""
        return self._ended() if callable(self._ended) else self._ended

    @property
    def base(self) -> int:
        return len(self.debate.transcript)

    def interruption(self) -> Turn | None:
        turn = self.stored.get(self.base)
        return turn if turn and (turn.seat, turn.kind) in INTERRUPTIONS else None

    @property
    def free(self) -> int:
        """Where a turn that answers no step can stand: before the batch, or behind one that was begun."""
        if len(self.missing()) == len(self.batch):
            return self.base
        behind = self.base + len(self.batch)
        return next(at for at in count(behind) if at not in self.stored)

    def missing(self) -> tuple[Step, ...]:
        if self.interruption():
            return ()
        return tuple(step for at, step in enumerate(self.batch, self.base) if at not in self.stored)

    def catch_up(self) -> None:
        """Hand over what is stored, until the script is through or asks for something new."""
        while self.batch and not self.missing():
            self.advance()

    def ended(self) -> Outcome:
        """What a script that is through has come to, with the claims that were made on the way."""
        if self.outcome is None:
            raise TypeError(f"the script of {self.format.name} returned no outcome")
        outcome = with_sources(self.debate, self.outcome, lambda seat: self.format.title(seat, self.debate))
        return outcome.model_copy(update={"ledger": self.format.claims(self.debate)})

    def _following(self) -> Turn | None:
        """The next stored turn that is not just a person's words or wishes."""
        base = self.base
        ahead = (self.stored[at] for at in sorted(at for at in self.stored if at >= base))
        return next((turn for turn in ahead if not _is_aside(turn)), None)

    def _check(self) -> None:
        """What is stored of the batch must be what the script asks for."""
        for at, step in enumerate(self.batch, self.base):
            turn = self.stored.get(at)
            if turn and (turn.seat, turn.kind, turn.round) != (step.seat, step.kind, step.round):
                raise ScriptChanged(
                    f"turn {turn.position} of {self.debate.id} is {turn.seat}/{turn.kind} in round {turn.round}, but "
                    f"{self.format.name} version {self.format.version} asks for {step.seat}/{step.kind} in round "
                    f"{step.round}; {USE_ITS_VERSION}"
                )

    def advance(self) -> None:
        """Hand the stored turns of the batch to the script, which answers with its next batch or its outcome."""
        if interruption := self.interruption():
            self._take(interruption)
            self._take_changes()
            self._step(lambda: self.script.throw(Concluded(interruption.content)))
            return
        turns = tuple(self.stored[at] for at in range(self.base, self.base + len(self.batch)))
        for each in zip(turns, self.batch, strict=True):
            self.debate.add(*each)
        self._take_changes()
        self._step(lambda: self.script.send(turns))

    def _step(self, move: Callable[[], tuple[Step, ...]]) -> None:
        try:
            self.batch = move()
        except StopIteration as end:
            self.batch, self._ended = (), end.value
            if any(position >= self.base for position in self.stored):
                raise ScriptChanged(
                    f"{self.debate.id} has turns after the end of {self.format.name} version {self.format.version}; "
                    f"{USE_ITS_VERSION}"
                ) from None
        self.hear()

    def hear(self) -> None:
        """Take a person's words that were stored before the batch into the transcript."""
        while (turn := self.stored.get(self.base)) and _is_aside(turn):
            self._take(turn)
        if not self.interruption():
            self._check()
        if 0 < len(self.missing()) < len(self.batch):  # what was begun goes on under what was changed since
            for turn in self._changes(self.base + len(self.batch)):
                apply(turn, self.debate)

    def _take_changes(self) -> None:
        """Settings that were changed here hold before the script goes on: it may go another way with them."""
        for turn in self._changes(self.base):
            self._take(turn)

    def _changes(self, since: int) -> Iterator[Turn]:
        return takewhile(is_change, (self.stored[at] for at in takewhile(self.stored.__contains__, count(since))))

    def _take(self, turn: Turn) -> None:
        self.debate.add(turn, Step(turn.seat, turn.kind))
        if is_change(turn):
            apply(turn, self.debate)


def _is_aside(turn: Turn) -> bool:
    return is_change(turn) or (turn.seat, turn.kind) == REMARK

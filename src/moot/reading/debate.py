"""A debate as any reader sees it, from what is stored and its format: each part is computed here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from moot.core.changes import current
from moot.core.charts import ChartData
from moot.core.claims import Ledger
from moot.core.coverage import coverage
from moot.core.debate import Outcome, Record, Step, Turn, Usage
from moot.core.events import TurnFinished, Waiting
from moot.core.format import AnyFormat, Side
from moot.core.page import OutcomePage
from moot.core.points import Point
from moot.core.record import LIVE, usage_of
from moot.core.replay import CHANGED, log_fault, next_steps, turn_events
from moot.core.research import Finding
from moot.core.script import Debate
from moot.core.stored import StoredDebate
from moot.core.trace import Trace, trace
from moot.core.trust import Basis, Coverage, Trust
from moot.reading.history import open_question
from moot.reading.page import usual_page
from moot.reading.sources import sources_view
from moot.reading.unreadable import read_outcome
from moot.reading.words import STATUS_TEXTS, short_model
from moot.sources.references import Index, SourceReport, index
from moot.sources.source import Source
from moot.text.language import Language
from moot.text.markdown import unmarked

T = TypeVar("T")


class Section(NamedTuple):
    """Turns that belong together: a round, or what comes before and after the rounds."""

    title: str
    turns: tuple[TurnFinished, ...]


@dataclass(frozen=True)  # no slots: what is costly is computed once, when it is first asked for
class Reading:
    """A stored debate read through its format."""

    stored: StoredDebate
    format: AnyFormat

    @cached_property
    def record(self) -> Record:
        """With the settings and the title it has by now; what replays turns needs the stored one."""
        found = current(self.stored.record, self.turns)
        if not any(turn.seat == "human" for turn in self.turns):  # who alone can have clarified it
            return found
        try:
            return replace(found, restated=self.format.restated(self._debate(self.turns, found)))
        except CHANGED:
            return found

    @property
    def turns(self) -> tuple[Turn, ...]:
        return self.stored.turns

    @cached_property
    def events(self) -> tuple[TurnFinished, ...]:
        """The turns with their titles and notes, one for each."""
        return tuple(turn_events(self.record, self.turns, self.format))

    @cached_property
    def participants(self) -> Mapping[str, str]:
        """Seat → title, of those that take part as far as that is known."""
        titles = self.format.titles
        models = {seat.name: seat.title for seat in self.format.seats if seat.name in self.record.seats}
        spoken = {event.seat: event.title for event in self.events}
        if "human" in spoken:  # who may be several
            spoken["human"] = self.format.title("human")
        return {**self._read(titles, {}, ()), **(self._read(titles, {}) or models), **spoken}

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Seat → how readers call it, of every seat there is."""
        names = (*self.record.seats, *(seat.name for seat in self.format.seats if not seat.optional))
        return {**{name: self.format.title(name) for name in names}, **self.participants}

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Round by round; a turn of no round belongs to the one before it, unless no round comes after."""
        models = {seat.name for seat in self.format.seats if seat.player == "model"}
        last = max((at for at, turn in enumerate(self.turns) if turn.round is not None), default=-1)
        found: dict[str, list[TurnFinished]] = {}
        current = "Opening"
        for at, event in enumerate(self.events):
            if event.round is not None:
                current = f"Round {event.round}"
            elif at > last >= 0 and event.seat in models:  # what a person or the clock says stays where it was said
                current = "Closing"
            found.setdefault(current, []).append(event)
        return tuple(Section(title, tuple(own)) for title, own in found.items())

    @cached_property
    def outcome(self) -> Outcome | None:
        """What it came to; an UnreadableOutcome where its format cannot read that."""
        found = read_outcome(self.record, self.format)
        return found and found.model_copy(update={"ticks": self.stored.ticks})

    @property
    def trust(self) -> Trust | None:
        """How far its outcome can be relied on, where that was examined."""
        return self.outcome.trust if self.outcome else None

    @property
    def say(self) -> Language:
        """The fixed words of its outcome; while there is none, those of its question."""
        return self.outcome.say if self.outcome else self.record.language

    @property
    def next_steps(self) -> Sequence[str]:
        return self.outcome.todo() if self.outcome else ()

    @property
    def headline(self) -> str | None:
        return self.outcome.headline() if self.outcome else None

    @cached_property
    def document(self) -> str | None:
        """The outcome as a document of the format's own."""
        try:
            text = self.outcome.document(self.record, self.turns) if self.outcome else None
        except CHANGED as error:
            log_fault(self.record.id, error)
            return None
        if text is None or self.record.origin is None:
            return text
        return f"{text.rstrip()}\n\n*This debate was {self.record.origin}.*\n"

    @cached_property
    def source_index(self) -> Index:
        """Where the citations of its texts lead."""
        return index(self._known[0], self.record.topic)

    @cached_property
    def _known(self) -> tuple[tuple[Source, ...], tuple[Finding, ...]]:
        """Its sources, and where the last of them were found."""
        found = self._read(lambda debate: (debate.sources, tuple(debate.findings.values())), None)
        return found or (tuple(_stored_sources(self.record)), ())

    @cached_property
    def sources(self) -> SourceReport:
        """What it has made of its sources."""
        said = {turn.position: turn.content for turn in self.turns if turn.seat in {*self.record.seats, "human"}}
        basis = self.outcome.rests_on() if self.outcome else Basis(())
        linked = {*basis.turns, *(turn.position for turn in self.turns if turn.seat in basis.seats)}
        return self.source_index.report(said, basis.texts, linked, [each.position for each in self._known[1]])

    @cached_property
    def coverage(self) -> Coverage | None:
        """How much of long sources was read so far; None where all were read whole."""
        if self.outcome:
            return self.outcome.coverage
        return self._read(coverage, None) if self.sources.sources else None

    @cached_property
    def points(self) -> Sequence[Point]:
        """What an argument map shows; the speeches where the format cannot read its turns."""
        found = self._read(lambda debate: list(self.format.points(debate)), None)
        if found is None:
            return [Point.spoken(turn) for turn in self.turns if turn.seat in self.record.seats]
        return found

    @cached_property
    def ledger(self) -> Ledger | None:
        """The claims of the debate so far; None where nobody notes them, or its format cannot read its turns."""
        found = self.outcome.ledger if self.outcome else None
        found = found or self._read(self.format.claims, None)
        return found and found.model_copy(
            update={"claims": [claim.model_copy(update={"text": unmarked(claim.text)}) for claim in found.claims]}
        )

    @cached_property
    def charts(self) -> Sequence[ChartData]:
        """The format's own, of a debate with an outcome that it can read."""
        outcome = self.outcome
        if not isinstance(outcome, self.format.outcome):
            return ()
        return self._read(lambda debate: list(self.format.charts(debate, outcome)), [])

    @cached_property
    def sides(self) -> Mapping[str, Side]:
        """The two seats that face each other, if its format has such, the one on the left first."""
        return self._read(self.format.sides, {}, ())

    @cached_property
    def stands(self) -> Mapping[str, str]:
        """Seat → what it holds so far, where seats declare that."""
        return self._read(self.format.stands, {})

    def round_title(self, round: int) -> str:
        """What readers call a round; by its number where its format cannot tell."""
        return self._read(lambda debate: self.format.round_title(debate, round), f"Round {round}")

    @cached_property
    def closing(self) -> tuple[str, ...]:
        """What comes after its rounds."""
        return self._read(self.format.closing, (), ())

    @cached_property
    def upcoming(self) -> tuple[Step, ...]:
        """What it would play now; nothing where that cannot be known."""
        try:
            return next_steps(self.stored.record, self.turns, self.format)
        except CHANGED:
            return ()

    @cached_property
    def page(self) -> OutcomePage | None:
        """What is shown of its outcome, and in which order: the usual where its format does not say."""
        outcome, own = self.outcome, self.format.page
        if outcome is None:
            return None
        readable = own is not None and isinstance(outcome, self.format.outcome)
        found = self._read(lambda debate: own(debate, outcome), None) if own and readable else None
        return found or usual_page(self, outcome)

    @cached_property
    def debate(self) -> Debate[Any]:
        """As its script left it. Raises ScriptChanged."""
        return self._debate(self.turns)

    @cached_property
    def question(self) -> Waiting | None:
        """What it asks a person, also after it was stopped for want of an answer."""
        return open_question(self.stored, self.format)

    @property
    def models_text(self) -> str:
        """The model of every seat, or each seat's."""
        models = {seat: short_model(chosen.model) for seat, chosen in self.record.seats.items()}
        if len(set(models.values())) <= 1:
            return f"{next(iter(models.values()), '–')} in every seat"
        return ", ".join(f"{self.titles[seat]}: {model}" for seat, model in models.items())

    @property
    def status_text(self) -> str:
        return STATUS_TEXTS[self.record.status]

    @property
    def held_up(self) -> str | None:
        """Why it is queued and nobody runs it, where that is known."""
        return self.stored.held_up

    @property
    def live(self) -> bool:
        """Whether somebody speaks now, or will without anybody's doing."""
        return self.record.status in LIVE

    @property
    def reason(self) -> str:
        """Why it has ended, failed or is held up, if it has; in the language of its outcome where there is one."""
        stop_reason, language = self.record.stop_reason, self.outcome.say if self.outcome else None
        return self.record.error or self.held_up or (self.format.reason(stop_reason, language) if stop_reason else "")

    @cached_property
    def usage(self) -> Usage:
        return usage_of(self.turns[self.record.copied :])

    @property
    def rounds(self) -> int:
        """How many have begun."""
        return max((turn.round or 0 for turn in self.turns), default=0)

    @property
    def trace(self) -> Trace:
        whole = trace(self.record, self.turns, self.stored.rating, self.stored.ticks)
        return {**whole, "sources": sources_view(self).model_dump(mode="json")} if self.sources.sources else whole

    def _read(self, part: Callable[[Debate[Any]], T], otherwise: T, turns: Iterable[Turn] | None = None) -> T:
        """What its format makes of these turns, or of all; something else where it cannot read them any more."""
        try:
            return part(self.debate if turns is None else self._debate(turns))
        except CHANGED as error:
            log_fault(self.record.id, error)
            return otherwise

    def _debate(self, turns: Iterable[Turn], record: Record | None = None) -> Debate[Any]:
        record = record or self.record
        debate = self.format.open(record)
        for turn in turns:
            debate.add(turn)
        debate.stop_reason = record.stop_reason
        return debate


def _stored_sources(record: Record) -> Iterator[Source]:
    """The documents it was given; what another version stored may be anything."""
    stored = record.settings.get("sources")
    for each in stored if isinstance(stored, list) else ():
        with suppress(ValidationError):
            yield Source.model_validate(each)

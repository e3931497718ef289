"""A debate as its script sees it, and the moves a script can make: ask, ask_all, rounds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from itertools import islice
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from moot.core.debate import (
    NO_USAGE,
    Answer,
    Evidence,
    HumanReply,
    Outcome,
    Question,
    SeatSettings,
    Settings,
    Step,
    Turn,
    Usage,
)
from moot.core.duration import LATELY, SLACK, pace_of_all, span_seconds
from moot.core.evidence import resolved, searches
from moot.core.record import usage_of
from moot.core.research import MAX_FOUND, Call, Finding, calls, is_research, researching
from moot.core.value import changed
from moot.sources.source import Source
from moot.text.language import Language, language_of

S = TypeVar("S", bound=Settings)
T = TypeVar("T")
O_co = TypeVar("O_co", bound=Outcome, covariant=True)
Script: TypeAlias = Generator[tuple[Step, ...], tuple[Turn, ...], T]
"""A script, or a part of one that comes to something."""
Lazy: TypeAlias = T | Callable[[], T]
"""An outcome, or what makes it: one that reads much is made when it is asked for, and never in a rehearsal."""
NOT_KEPT: Any = object()


class Concluded(Exception):
    """Thrown into a script at a step that will not be played: go on to the closing steps."""


class _Round(int):
    """The number of a round that is rehearsed: all are as long, so that rounds that are alike are alike in length."""

    def __str__(self) -> str:
        return f"{int(self):<2}"


@dataclass(slots=True)
class Debate(Generic[S]):
    """A debate as its script sees it: the transcript grows while the engine replays and plays."""

    id: str
    topic: str
    settings: S
    seats: Mapping[str, SeatSettings]
    transcript: list[Turn] = field(default_factory=list)
    _: KW_ONLY
    steps: list[Step] = field(default_factory=list)
    """The step each turn of the transcript answered, in the same order."""
    stop_reason: str | None = None
    debating: bool = False
    """Inside `until_closing`: a person or a limit may still end the rounds."""
    checks: frozenset[str] = frozenset()
    """The kinds of turns that only examine the debate: they are none of what its limits on speaking are about."""
    rehearsed: Literal["", "typical", "most"] = ""
    """Nobody plays it: an estimate wants what is usual, or every step that may be asked for."""
    own_sources: bool = False
    """Its format deals with sources by itself."""
    following: Callable[[], Turn | None] = lambda: None
    """The next stored turn, in a replay: what code found in texts back then holds, whatever it finds now."""
    played_to: Callable[[int], int] = lambda played: played
    """The round after which the next is to be played, told when one is over: an estimate passes over those it knows."""
    _speaking: int = 0
    _reserve: int = 0
    _debaters: frozenset[str] | None = None
    """Those who speak in rounds and do not close; None in a format without rounds."""
    _researched: set[tuple[str, int | None]] = field(default_factory=set)
    findings: dict[Source, Finding] = field(default_factory=dict)
    """The sources that were found: the tag of each, and where it was found first."""
    _round_start: int = 0
    _spoken_before: int = 0
    _usage: Usage = NO_USAGE
    _checked: int = 0
    """Output tokens of turns that only examine."""
    _spoken: int = 0
    _rounds: dict[int | None, list[Turn]] = field(default_factory=dict)
    _of_seat: dict[str, list[Turn]] = field(default_factory=dict)
    _kept: dict[Hashable, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        turns, self.transcript = self.transcript, []
        for turn in turns:
            self.add(turn)

    # The moves of a script

    def ask(
        self,
        seat: str,
        kind: str,
        round: int | None = None,
        *,
        answer: type[Answer] | None = None,
        aliases: Mapping[str, str] | None = None,
        visible: frozenset[int] | range | None = None,
        timeout: float | None = None,
        max_tokens: int | None = None,
        evidence: Evidence | None = None,
        looks_for: tuple[str, ...] = (),
        **variables: object,
    ) -> Script[Turn]:
        step = Step(
            seat,
            kind,
            round,
            answer=answer,
            aliases=aliases,
            variables=variables,
            max_tokens=max_tokens,
            visible=visible,
            timeout=timeout,
            evidence=evidence,
            looks_for=looks_for,
        )
        (turn,) = yield from self.ask_all([step])
        return turn

    def ask_person(self, kind: str, question: Question, round: int | None = None) -> Script[HumanReply]:
        """Ask the person in the `human` seat; the debate waits, holding nothing, until there is an answer."""
        (turn,) = yield from self.ask_all([Step("human", kind, round, question=question)])
        action: Any = (turn.data or {}).get("action", question.actions[0])
        return HumanReply(action, turn.content, turn.position, who=turn.who)

    def ask_all(self, steps: Sequence[Step]) -> Script[tuple[Turn, ...]]:
        """Several steps that play in parallel, none seeing another's turn; what they need of sources is found first."""
        if not steps:
            return ()
        if searched := searches(self, steps):
            yield searched
        capped = [self._capped(step) for step in steps]
        if looked_up := [researching(step) for step in capped if self._looks_things_up(step)]:
            self._researched |= {(step.seat, step.round) for step in capped}
            yield tuple(looked_up)
        return (yield tuple(capped))

    @contextmanager
    def until_closing(self) -> Iterator[None]:
        """The part of a script that a person's "conclude" or a limit may leave at any step."""
        self.debating = True
        try:
            yield
        except Concluded as concluded:
            self.stop_reason = str(concluded)
        finally:
            self.debating = False

    def rounds(self, speaking: Sequence[str], closing: Sequence[str], usual: int | None = None) -> Iterator[int]:
        """Number the rounds until a limit is reached, keeping the output of the closing seats in reserve.

        `speaking` names a seat once for each step it has in a round. Another round begins only while at least a
        quarter of its `usual` output, the seats' caps unless given, is left; its steps share what is left evenly, so
        that the last round treats all sides alike.
        """
        limit = self.settings.max_total_output_tokens
        usual = usual or sum(self.seats[seat].max_tokens for seat in speaking)
        self._speaking, self._debaters = len(speaking), frozenset(speaking) - frozenset(closing)
        self._reserve = min(sum(self.seats[seat].max_tokens for seat in closing), limit // 2)
        number = 0
        while number < self.settings.max_rounds:  # which a person may raise meanwhile
            number += 1
            if number > 1 and self.output_left() < usual / 4:
                self.stop_reason = "max_total_output_tokens"
                return
            if number > 1 and self._costs_too_much():
                self.stop_reason = "max_cost"
                return
            if number > 1 and self._closed(closing):
                return
            self._round_start, self._spoken_before = len(self.transcript), self._spoken
            round = _Round(number) if self.rehearsed and self.settings.max_rounds > 9 else number
            yield round
            if self.stop_reason and not self._went_on(round):
                return
            self.stop_reason = None
            number = self.played_to(round)
        self.stop_reason = "max_rounds"

    def end_rounds(self, reason: str) -> None:
        """Let the round in progress be the last."""
        self.stop_reason = reason

    def asks(self, seat: str, kind: str, round: int | None, found: bool) -> bool:
        """Whether a step is asked for that depends on what code finds in texts: as stored, or else as `found`."""
        following = self.following()
        return found if following is None else (following.seat, following.kind, following.round) == (seat, kind, round)

    # What it and others read

    @property
    def language(self) -> Language:
        return language_of(self.settings.own_words(self.topic), self.settings.language)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The documents that can be quoted; the first is S1. Those that were found come last."""
        return (*self.settings.sources, *self.findings)

    @property
    def has_sources(self) -> bool:
        return bool(self.settings.sources or self.findings)

    def sources_before(self, position: int) -> tuple[Source, ...]:
        """Those that whoever speaks at a position could know."""
        known = bisect_left(tuple(self.findings.values()), position, key=lambda finding: finding.position)
        return (*self.settings.sources, *islice(self.findings, known))

    def in_round(self, round: int | None) -> Sequence[Turn]:
        """The turns of a round, or those outside of all."""
        return self._rounds.get(round, ())

    def of_seat(self, seat: str) -> Sequence[Turn]:
        return self._of_seat.get(seat, ())

    def calls(self, turn: Turn) -> Sequence[Call]:
        """What was looked up in a turn; what it found are sources."""
        return self.once(("calls", turn.position), lambda: calls(turn)) if is_research(turn) else ()

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What a format derives from turns, made the first time it is asked for; the key says which turns."""
        kept = self._kept.get(key, NOT_KEPT)
        if kept is NOT_KEPT:
            kept = self._kept[key] = make()
        found: T = kept
        return found

    def model_of(self, step: Step) -> str:
        return step.model or self.seats[step.seat].model

    # What was used, and what is left

    def usage(self) -> Usage:
        return self._usage

    def debate_output(self) -> int:
        """Tokens written by now, but for those of turns that only examine."""
        return self.usage().output_tokens - self._checked

    def check_output(self) -> int:
        """Tokens written by turns that only examine."""
        return self._checked

    def output_left(self) -> int:
        """Tokens the rounds may still write, when the closing seats' are kept in reserve."""
        return self.settings.max_total_output_tokens - self.debate_output() - self._reserve

    def output_cap(self, seat: str) -> int:
        """The most tokens this seat's next step may write."""
        cap = self.seats[seat].max_tokens
        if not self.debating:
            return cap
        steps_left = self._speaking - (self._spoken - self._spoken_before)
        return max(1, min(cap, self.output_left() // max(1, steps_left)))

    def runtime(self) -> float:
        """Seconds in which turns were being played; waiting, stopped and crashed time is none."""
        return span_seconds(self.transcript)

    def is_out_of_time(self) -> bool:
        """Whether the time limit is reached, raised if it may be to what slow models need to write all they may."""
        if self.rehearsed:
            return False
        s, spent = self.settings, self.runtime()
        if spent < s.max_runtime_seconds:
            return False
        speed = pace_of_all(self.transcript[-LATELY:]) if s.extend_runtime else None
        return speed is None or spent >= SLACK * s.max_total_output_tokens / speed

    # How it grows

    def add(self, turn: Turn, step: Step | None = None) -> None:
        """Another turn of the transcript, and the step that it answers where that is known.

        It is counted at once: what is asked at every step must not read all turns every time.
        """
        self.transcript.append(turn)
        if step:
            self.steps.append(step)
        checks = turn.kind in self.checks
        self._spoken += turn.seat in self.seats and not checks
        self._checked += turn.usage.output_tokens if checks else 0
        self._usage += turn.usage
        self._rounds.setdefault(turn.round, []).append(turn)
        self._of_seat.setdefault(turn.seat, []).append(turn)
        for call in self.calls(turn):
            number = len(self.settings.sources) + len(self.findings) + 1
            tag = f"S{number:03}" if self.rehearsed else f"S{number}"  # rounds that are alike are alike in length
            if source := call.source:
                self.findings.setdefault(source, Finding(tag, turn.position))

    def pass_over(self, turns: Sequence[Turn], steps: Sequence[Step]) -> None:
        """Take a round as played that the script was not asked for."""
        self._round_start = len(self.transcript)
        for each in zip(turns, steps, strict=True):
            self.add(*each)

    def _capped(self, step: Step) -> Step:
        if step.seat not in self.seats:
            return step
        checks = step.kind in self.checks
        cap = self.seats[step.seat].max_tokens if checks else self.output_cap(step.seat)
        most = cap if step.max_tokens is None else max(1, min(cap, step.max_tokens))
        return changed(step, max_tokens=most, evidence=resolved(self, step))

    def _looks_things_up(self, step: Step) -> bool:
        """Whether a debater speaks for the first time in a round; those who lead, note or judge argue nothing."""
        debaters = self.seats if self._debaters is None else self._debaters
        argues = step.seat in debaters and step.kind not in self.checks
        if not (self.settings.research and self.debating and argues):
            return False
        return (step.seat, step.round) not in self._researched and len(self.findings) < MAX_FOUND

    def _costs_too_much(self) -> bool:
        """Whether another round like the last would exceed the limit."""
        limit, spent = self.settings.max_cost, self.usage().cost
        if limit is None or spent is None:
            return False
        last_round = usage_of(turn for turn in self.transcript[self._round_start :] if turn.kind not in self.checks)
        return spent + (last_round.cost or 0.0) > limit

    def _went_on(self, round: int) -> bool:
        following = self.following()
        return following is not None and (following.round or 0) > round

    def _closed(self, closing: Sequence[str]) -> bool:
        """Whether no other round was played, for a reason that is no longer found."""
        following = self.following()
        return following is not None and following.round is None and following.seat in closing

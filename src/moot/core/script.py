"""A debate as its script sees it, and the moves it can make: ask, ask_all, rounds."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeAlias, TypeVar, cast

from moot.core.debate import (
    NO_USAGE,
    Answer,
    HumanReply,
    Outcome,
    Question,
    SeatSettings,
    Settings,
    Step,
    Turn,
    Usage,
)
from moot.core.duration import span_seconds
from moot.text.language import Language, language_of

S = TypeVar("S", bound=Settings)
T = TypeVar("T")


O_co = TypeVar("O_co", bound=Outcome, covariant=True)


Script: TypeAlias = Generator[tuple[Step, ...], tuple[Turn, ...], T]
"""A script, or a part of one that comes to something."""


class Concluded(Exception):
    """Thrown into a script at a step that will not be played: go on to the closing steps."""


@dataclass(slots=True)
class Debate(Generic[S]):
    """A debate as its script sees it: the transcript grows while the engine replays and plays."""

    id: str
    topic: str
    settings: S
    seats: Mapping[str, SeatSettings]
    transcript: list[Turn] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    """The step each turn of the transcript answered, in the same order."""
    stop_reason: str | None = None
    debating: bool = False
    """Inside `until_closing`: a person or a limit may still end the rounds."""
    played_to: Callable[[int], int] = lambda played: played
    """The round after which the next is to be played, told when one is over: an estimate passes over those it knows."""
    _speaking: int = 0
    _reserve: int = 0
    _round_start: int = 0
    _spoken_before: int = 0
    _counted: int = 0
    """So many turns are in the fields below; what is asked at every step must not read all turns every time."""
    _usage: Usage = NO_USAGE
    _spoken: int = 0
    _rounds: dict[int | None, list[Turn]] = field(default_factory=dict)
    _of_seat: dict[str, list[Turn]] = field(default_factory=dict)
    _kept: dict[Hashable, Any] = field(default_factory=dict)

    @property
    def language(self) -> Language:
        return language_of(self.settings.own_words(self.topic), self.settings.language)

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
        )
        (turn,) = yield from self.ask_all([step])
        return turn

    def ask_person(self, kind: str, question: Question, round: int | None = None) -> Script[HumanReply]:
        """Ask the person in the `human` seat; the debate waits, holding nothing, until there is an answer."""
        (turn,) = yield from self.ask_all([Step("human", kind, round, question=question)])
        return HumanReply((turn.data or {}).get("action", question.actions[0]), turn.content, turn.position)  # type: ignore[arg-type]

    def ask_all(self, steps: Sequence[Step]) -> Script[tuple[Turn, ...]]:
        """Several steps that play in parallel, none seeing another's turn."""
        return (yield tuple(self._capped(step) for step in steps)) if steps else ()

    def _capped(self, step: Step) -> Step:
        if step.seat not in self.seats:
            return step
        cap = self.output_cap(step.seat)
        return replace(step, max_tokens=cap if step.max_tokens is None else max(1, min(cap, step.max_tokens)))

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
        self._speaking = len(speaking)
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
            self._count()
            self._round_start, self._spoken_before = len(self.transcript), self._spoken
            yield number
            if self.stop_reason:
                return
            number = self.played_to(number)
        self.stop_reason = "max_rounds"

    def pass_over(self, turns: Sequence[Turn], steps: Sequence[Step]) -> None:
        """Take a round as played that the script was not asked for."""
        self._round_start = len(self.transcript)
        self.transcript.extend(turns)
        self.steps.extend(steps)

    def end_rounds(self, reason: str) -> None:
        """Let the round in progress be the last."""
        self.stop_reason = reason

    def output_cap(self, seat: str) -> int:
        """The most tokens this seat's next step may write."""
        cap = self.seats[seat].max_tokens
        if not self.debating:
            return cap
        self._count()
        steps_left = self._speaking - (self._spoken - self._spoken_before)
        return max(1, min(cap, self.output_left() // max(1, steps_left)))

    def runtime(self) -> float:
        """Seconds in which turns were being played; waiting, stopped and crashed time is none."""
        return span_seconds(self.transcript)

    def usage(self) -> Usage:
        self._count()
        return self._usage

    def in_round(self, round: int | None) -> Sequence[Turn]:
        """The turns of a round, or those outside of all."""
        self._count()
        return self._rounds.get(round, ())

    def of_seat(self, seat: str) -> Sequence[Turn]:
        self._count()
        return self._of_seat.get(seat, ())

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What a format derives from turns, made the first time it is asked for; the key says which turns."""
        if key not in self._kept:
            self._kept[key] = make()
        return cast(T, self._kept[key])

    def _count(self) -> None:
        if self._counted == len(self.transcript):  # as nearly always
            return
        for turn in self.transcript[self._counted :]:
            self._spoken += turn.seat in self.seats
            self._usage += turn.usage
            self._rounds.setdefault(turn.round, []).append(turn)
            self._of_seat.setdefault(turn.seat, []).append(turn)
        self._counted = len(self.transcript)

    def _costs_too_much(self) -> bool:
        """Whether another round like the last would exceed the limit."""
        limit, spent = self.settings.max_cost, self.usage().cost
        last_round = sum((turn.usage for turn in self.transcript[self._round_start :]), NO_USAGE).cost
        return limit is not None and spent is not None and spent + (last_round or 0.0) > limit

    def output_left(self) -> int:
        """Tokens the rounds may still write, when the closing seats' are kept in reserve."""
        return self.settings.max_total_output_tokens - self.usage().output_tokens - self._reserve

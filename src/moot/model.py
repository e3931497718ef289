"""What a debate is: plain data, and the three moves a script can make (ask, ask_all, rounds).

Knows no format, no database, no model vendor and no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from moot.errors import ScriptChanged

JsonObject: TypeAlias = dict[str, JsonValue]


class Status(StrEnum):
    CREATED = "created"
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FINISHED = "finished"
    FAILED = "failed"


class Limits(BaseModel):
    """What ends a debate at the latest; a limit reached leads to the closing steps."""

    model_config = ConfigDict(extra="forbid")

    max_rounds: int = Field(5, ge=1, le=100)
    max_runtime_seconds: float = Field(600, gt=0, allow_inf_nan=False)
    max_total_output_tokens: int = Field(8000, ge=1, le=1_000_000_000)
    max_cost: float | None = Field(None, gt=0, allow_inf_nan=False, description="US dollars")


Temperature: TypeAlias = Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)]
Cap: TypeAlias = Annotated[int, Field(ge=1, le=1_000_000)]


class Settings(Limits):
    """What every format lets its user choose; a format adds its own fields."""

    model: str | None = Field(None, description="the model of every seat that has none of its own")
    models: dict[str, str] = Field(default_factory=dict, description="seat → model")
    temperatures: dict[str, Temperature] = Field(default_factory=dict, description="seat → temperature")
    max_tokens: dict[str, Cap] = Field(default_factory=dict, description="seat → output cap of one step")

    think: bool = Field(False, description="let models think before they answer; give them more max_tokens then")

    def model_for(self, seat: Seat) -> str | None:
        group: str | None = getattr(self, f"model_{seat.group}", None)
        return self.models.get(seat.name) or group or self.model


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one turn and what they cost; `estimated` when the server reported none."""

    input_tokens: int = 0
    cached_tokens: int = 0
    cache_written_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    calls: int = 0
    estimated: bool = False
    cost: float | None = None
    """US dollars; None when a price is unknown."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_written_tokens + other.cache_written_tokens,
            self.output_tokens + other.output_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.calls + other.calls,
            self.estimated or other.estimated,
            _add_costs(self, other),
        )


NO_USAGE = Usage()
USE_ITS_VERSION = "run it with the version of the format that began it"


def _add_costs(one: Usage, other: Usage) -> float | None:
    """What is unknown stays unknown in the sum; what made no call cost nothing."""
    costs = [usage.cost for usage in (one, other) if usage.calls]
    return None if not costs or None in costs else sum(cost or 0.0 for cost in costs)


@dataclass(frozen=True, slots=True)
class Turn:
    """The stored answer to one step; written once, never changed."""

    position: int
    seat: str
    kind: str
    round: int | None
    content: str
    data: JsonObject | None = None
    usage: Usage = NO_USAGE
    model: str | None = None
    marks: tuple[str, ...] = ()
    started_at: float = 0.0
    finished_at: float = 0.0
    run: int = 0
    event_id: int = 0

    @property
    def duration_ms(self) -> int:
        return round((self.finished_at - self.started_at) * 1000)


def span_seconds(turns: Iterable[Turn]) -> float:
    """The time in which at least one of these turns was being played."""
    total = end = 0.0
    for turn in sorted(turns, key=lambda turn: turn.started_at):
        total += max(0.0, turn.finished_at - max(end, turn.started_at))
        end = max(end, turn.finished_at)
    return total


class Answer(BaseModel):
    """A structured reply. Its `shown` field is what readers see while it streams and afterwards."""

    model_config = ConfigDict(extra="ignore")
    shown: ClassVar[str]

    @classmethod
    def from_prose(cls, text: str) -> Self | None:
        """The answer in a reply without JSON, for answers that need none; None for all others."""
        return None

    @classmethod
    def fallback(cls) -> Self:
        """The safe answer that is stored, marked, when the model's cannot be read."""
        raise NotImplementedError


Action: TypeAlias = Literal["continue", "guide", "end", "answer", "approve", "reject"]


@dataclass(frozen=True, slots=True)
class Said:
    """What a person said: the answer to the step at `position`, or words spoken at any time when that is None."""

    action: Action
    text: str = ""
    position: int | None = None
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Question:
    """What a step asks a person: a text, the answers it takes, the first being the usual one, and the time for it."""

    text: str
    actions: tuple[Action, ...]
    timeout_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """The script's request: this seat, this kind, this round, now."""

    seat: str
    kind: str
    round: int | None = None
    answer: type[Answer] | None = None
    names: Mapping[str, str] | None = None
    """Seat → the neutral name under which this step's seat knows it; whoever has none is not read."""
    variables: Mapping[str, object] = field(default_factory=dict)
    max_tokens: int | None = None
    """What the seat may write, known when the step is asked for; its prompt says so then and ever after."""
    reads: frozenset[int] | None = None
    """The positions of the turns that the seat reads; None when it reads all. A person's words are read by everyone."""
    seconds: float | None = None
    """The time it has; a seat that takes longer misses the step, and its empty turn is marked `late`."""
    question: Question | None = None
    """What a person is asked."""


@dataclass(frozen=True, slots=True)
class Seat:
    """A place in a debate, as its format declares it."""

    name: str
    title: str
    group: str
    max_tokens: int
    temperature: float = 0.7
    player: Literal["model", "human", "library"] = "model"
    prefers: str | None = None
    """The model it is meant for, taken when it can be reached and nothing else is configured."""


@dataclass(frozen=True, slots=True)
class SeatSettings:
    """What one debate chose for a seat."""

    model: str
    temperature: float
    max_tokens: int


class Outcome(BaseModel):
    """What a script returns. Every surface can show it without knowing the format."""

    shows_document: ClassVar[bool] = False
    """Whether its document is what a reader wants to see at the end."""

    summary: str
    caveats: list[str] = Field(default_factory=list)
    """What a reader should know before trusting it."""

    def headline(self) -> str:
        """The outcome in a line."""
        raise NotImplementedError

    def table(self) -> tuple[tuple[str, ...], ...]:
        """The numbers behind it; the first row is the header."""
        raise NotImplementedError

    def document(self, record: Record, turns: Sequence[Turn]) -> str | None:
        """It as a markdown document of the format's own, or None for the usual one."""
        return None

    def is_approved(self) -> bool:
        """Whether a person has approved it, so that its document may be written to where decisions are kept."""
        return False

    def issue(self, record: Record) -> Issue | None:
        """The work that follows from it, for an issue tracker; None when nothing does."""
        return None


class Issue(NamedTuple):
    """The text of an issue: what is to be done, and why."""

    title: str
    body: str


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a debate's argument map: what is held, in which turns, and what it speaks for and against."""

    key: str
    """What other points call it in `supports` and `attacks`."""
    text: str
    turns: tuple[int, ...] = ()
    """The positions of the turns in which it was made."""
    title: str = ""
    """How readers call it; after its turn when it has none."""
    supports: tuple[str, ...] = ()
    attacks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    claim: bool = False
    """Whether it is argued about, and no argument itself."""

    @classmethod
    def spoken(cls, turn: Turn, supports: Iterable[str] = (), attacks: Iterable[str] = ()) -> Point:
        """A whole turn as one argument."""
        return cls(speech_key(turn), turn.content, (turn.position,), supports=tuple(supports), attacks=tuple(attacks))


def speech_key(turn: Turn) -> str:
    """The key of the point that is a whole turn."""
    return f"turn-{turn.position}"


S = TypeVar("S", bound=Settings)
O_co = TypeVar("O_co", bound=Outcome, covariant=True)
Script: TypeAlias = Generator[tuple[Step, ...], tuple[Turn, ...], O_co]


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
    _speaking: int = 0
    _reserve: int = 0
    _round_start: int = 0

    def ask(
        self,
        seat: str,
        kind: str,
        round: int | None = None,
        *,
        answer: type[Answer] | None = None,
        names: Mapping[str, str] | None = None,
        reads: frozenset[int] | None = None,
        seconds: float | None = None,
        max_tokens: int | None = None,
        **variables: object,
    ) -> Generator[tuple[Step, ...], tuple[Turn, ...], Turn]:
        step = Step(seat, kind, round, answer, names, variables, max_tokens, reads, seconds)
        (turn,) = yield from self.ask_all([step])
        return turn

    def ask_person(
        self, kind: str, question: Question, round: int | None = None
    ) -> Generator[tuple[Step, ...], tuple[Turn, ...], Said]:
        """Ask the person in the `human` seat; the debate waits, holding nothing, until there is an answer."""
        (turn,) = yield from self.ask_all([Step("human", kind, round, question=question)])
        return Said((turn.data or {}).get("action", question.actions[0]), turn.content, turn.position)  # type: ignore[arg-type]

    def ask_all(self, steps: Sequence[Step]) -> Generator[tuple[Step, ...], tuple[Turn, ...], tuple[Turn, ...]]:
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

    def rounds(self, speaking: Sequence[str], closing: Sequence[str]) -> Iterator[int]:
        """Number the rounds until a limit is reached, keeping the output of the closing seats in reserve.

        `speaking` names a seat once for each step it has in a round. Another round begins only while at
        least a quarter of its usual output is left; its steps share what is left evenly, so that the
        last round treats all sides alike.
        """
        limit = self.settings.max_total_output_tokens
        usual = sum(self.seats[seat].max_tokens for seat in speaking)
        self._speaking = len(speaking)
        self._reserve = min(sum(self.seats[seat].max_tokens for seat in closing), limit // 2)
        for number in range(1, self.settings.max_rounds + 1):
            if number > 1 and self._output_left() < usual / 4:
                self.stop_reason = "max_total_output_tokens"
                return
            if number > 1 and self._costs_too_much():
                self.stop_reason = "max_cost"
                return
            self._round_start = len(self.transcript)
            yield number
            if self.stop_reason:
                return
        self.stop_reason = "max_rounds"

    def end_rounds(self, reason: str) -> None:
        """Let the round in progress be the last."""
        self.stop_reason = reason

    def output_cap(self, seat: str) -> int:
        """The most tokens this seat's next step may write."""
        cap = self.seats[seat].max_tokens
        if not self.debating:
            return cap
        steps_left = self._speaking - sum(turn.seat in self.seats for turn in self.transcript[self._round_start :])
        return max(1, min(cap, self._output_left() // max(1, steps_left)))

    def runtime(self) -> float:
        """Seconds in which turns were being played; waiting, stopped and crashed time is none."""
        return span_seconds(self.transcript)

    def usage(self) -> Usage:
        return sum((turn.usage for turn in self.transcript), NO_USAGE)

    def _costs_too_much(self) -> bool:
        """Whether another round like the last would exceed the limit."""
        limit, spent = self.settings.max_cost, self.usage().cost
        last_round = sum((turn.usage for turn in self.transcript[self._round_start :]), NO_USAGE).cost
        return limit is not None and spent is not None and spent + (last_round or 0.0) > limit

    def _output_left(self) -> int:
        written = sum(turn.usage.output_tokens for turn in self.transcript)
        return self.settings.max_total_output_tokens - written - self._reserve


def _no_titles(debate: Debate[Any]) -> Mapping[str, str]:
    return {}


def _no_notes(debate: Debate[Any], turn: Turn) -> tuple[str, ...]:
    return ()


def _speeches(debate: Debate[Any]) -> Iterable[Point]:
    """Everything the models said, for and against nothing in particular."""
    return (Point.spoken(turn) for turn in debate.transcript if turn.seat in debate.seats)


@dataclass(frozen=True, slots=True)
class Format(Generic[S, O_co]):
    """The rules of one kind of debate, and all that the rest of moot needs to know about it."""

    name: str
    version: int
    summary: str
    settings: type[S]
    seats: tuple[Seat, ...]
    outcome: type[O_co]
    script: Callable[[Debate[S]], Script[O_co]]
    folder: Path
    """Where its prompt files are, `rules.md` and one `<kind>.md` for each kind."""
    titles: Callable[[Debate[S]], Mapping[str, str]] = _no_titles
    """How readers call the seats that are cast while the debate runs; those it leaves out keep their own title."""
    notes: Callable[[Debate[S], Turn], tuple[str, ...]] = _no_notes
    """What code has to say about a turn, from the turns before it; readers see it below the turn."""
    points: Callable[[Debate[S]], Iterable[Point]] = _speeches
    """What an argument map of a debate shows."""

    def seat(self, name: str) -> Seat:
        return next(seat for seat in self.seats if seat.name == name)

    def title(self, seat: str, debate: Debate[S] | None = None) -> str:
        """How readers call a seat, those outside the format (clock, human) included."""
        if debate and (given := self.titles(debate).get(seat)):
            return given
        return next((declared.title for declared in self.seats if declared.name == seat), seat.capitalize())

    def open(self, record: Record) -> Debate[S]:
        """The debate as its script sees it before the first step."""
        try:
            settings = self.settings.model_validate(record.settings)
        except ValidationError as error:
            fields = ", ".join(".".join(map(str, fault["loc"])) for fault in error.errors())
            raise ScriptChanged(
                f"{self.name} version {self.version} cannot take the {fields} of {record.id}; {USE_ITS_VERSION}"
            ) from None
        return Debate(record.id, record.topic, settings, record.seats)


AnyFormat: TypeAlias = Format[Any, Outcome]


@dataclass(frozen=True, slots=True)
class Record:
    """A debate as the store keeps it, without its turns."""

    id: str
    format: str
    format_version: int
    topic: str
    settings: JsonObject
    seats: Mapping[str, SeatSettings]
    created_at: float
    status: Status = Status.CREATED
    stop_reason: str | None = None
    error: str | None = None
    outcome: JsonObject | None = None
    finished_at: float | None = None
    run: int = 0
    owner: str | None = None
    lease_until: float | None = None
    concluding: bool = False
    tries_from: int = 0
    """Only attempts of later runs count against what may fail."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An attempt at a step that failed, with the text that had arrived; kept beside the turns."""

    position: int
    seat: str
    kind: str
    round: int | None
    partial: str
    code: str
    message: str
    at: float
    run: int = 0


@dataclass(frozen=True, slots=True)
class Rating:
    """How a person found the outcome."""

    stars: int
    comment: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Workflow:
    """The issue made of a debate's outcome, and how handing it over went."""

    id: str
    title: str
    body: str
    created_at: float = 0.0
    delivered: bool = False
    attempts: int = 0
    result: str = ""

"""The contract of a format: its rules, and all that the rest of moot needs to know about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeAlias

from pydantic import JsonValue, ValidationError

from moot.core.charts import ChartData
from moot.core.claims import Ledger
from moot.core.coverage import handed_out
from moot.core.debate import (
    Action,
    JsonObject,
    Outcome,
    Record,
    Seat,
    Turn,
)
from moot.core.page import OutcomePage
from moot.core.points import Point
from moot.core.quoting import remarks
from moot.core.record import Seats
from moot.core.research import RESEARCHER
from moot.core.script import Debate, Lazy, O_co, S, Script
from moot.core.table import Rows
from moot.errors import NotFound, ScriptChanged
from moot.text.language import Language

USE_ITS_VERSION = "run it with the version of the format that began it"
REASONS: Mapping[str, str] = {
    "max_rounds": "all rounds were played",
    "max_runtime_seconds": "the time limit was reached",
    "max_total_output_tokens": "the limit of output tokens was reached",
    "max_cost": "the limit of cost was reached",
    "concluded": "a person asked for the conclusion",
    "stopped": "a person stopped it",
    "sigint": "it was interrupted (Ctrl-C)",
    "sigterm": "its process was told to stop (SIGTERM)",
    "checkpoint_timeout": "nobody answered in time",
    "interrupted": "the run was interrupted",
    "settings_changed": "its settings were changed",
    "handed_back": "it was handed back to the program that runs it",
    "completed": "everything was said",
}
"""Why a debate of any format may have ended, as it follows "because"."""
NEW = {"debate": "new"}
"""The context in which the settings of a new debate are validated; those of stored ones are taken as they are."""
HUMAN = Seat("human", "You", "human", max_tokens=0, player="human")
"""Every format has it, whether it says so or not."""
LIBRARY = Seat("library", "Library", "library", max_tokens=0, player="library")
"""Every format has it, for what its seats need of long sources."""


class Choice(NamedTuple):
    """Something that can be picked for a setting."""

    name: str
    hint: str
    data: JsonObject
    """All of it."""


@dataclass(frozen=True, slots=True)
class Starter:
    """A debate to begin with: it fills the form."""

    topic: str
    hint: str
    """What it is good for, in a line."""
    settings: JsonObject = field(default_factory=dict)


Picture: TypeAlias = Literal["", "table", "sides", "scores", "document", "ballots"]
"""A drawing of how a format goes; without one it is drawn from its seats."""


class Side(NamedTuple):
    """Where a seat stands."""

    word: str = ""
    """On which side; empty where its title says so."""
    claim: str = ""
    """What it holds, in a sentence."""


class FileDebate(NamedTuple):
    """A debate as a file describes it."""

    name: str
    topic: str
    settings: JsonObject
    key: str
    """The same whenever the same file is read."""
    report: Path
    """Where its report goes unless the user says otherwise."""
    folder: Path
    """Which the report must not leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """How debates are made of files, reported beside them, and compared."""

    read: Callable[[Path, Path | None, bool], FileDebate]
    """The debate in a file, with the topics in another; the last says whether they are to be debated."""
    is_report: Callable[[Path], bool]
    """Whether a path is where reports were written, and no debate."""
    last: Callable[[Iterable[Record], str], Any]
    """The outcome of the latest of these debates with this key."""
    compare: Callable[[Any, Any], Rows]
    compared: Callable[[Any, Any], Sequence[str]] = lambda before, after: ()
    """What a reader should know of a comparison."""
    ranking: Callable[[Iterable[tuple[str, Any]]], Rows]


Choices: TypeAlias = Mapping[str, tuple[Choice, ...]]


def _speeches(debate: Debate[Any]) -> Iterable[Point]:
    """Everything the models said, for and against nothing in particular."""
    return (Point.spoken(turn) for turn in debate.transcript if turn.seat in debate.seats)


@dataclass(frozen=True, slots=True, eq=False)
class Format(Generic[S, O_co]):
    """The rules of one kind of debate, and all that the rest of moot needs to know about it."""

    name: str
    version: int
    summary: str
    settings: type[S]
    seats: tuple[Seat, ...]
    outcome: type[O_co]
    script: Callable[[Debate[S]], Script[Lazy[O_co]]]
    folder: Path
    """Where its prompt files are, `rules.md` and one `<kind>.md` for each kind."""
    _: KW_ONLY
    titles: Callable[[Debate[S]], Mapping[str, str]] = lambda debate: {}
    """How readers call the seats that are cast while the debate runs; those it leaves out keep their own title."""
    restated: Callable[[Debate[S]], str] = lambda debate: ""
    """The question as somebody restated it who had it clarified; its title from there on."""
    notes: Callable[[Debate[S], Turn], tuple[str, ...]] = lambda debate, turn: ()
    """What code has to say about a turn, from the turns before it; readers see it below the turn."""
    points: Callable[[Debate[S]], Iterable[Point]] = _speeches
    """What an argument map of a debate shows."""
    claims: Callable[[Debate[S]], Ledger | None] = lambda debate: None
    """What was claimed so far, what was said to it, and how it ended; None where nobody notes claims."""
    charts: Callable[[Debate[S], Any], Iterable[ChartData]] = lambda debate, outcome: ()
    """What is drawn of a finished debate and its outcome, besides who spoke when and what it cost."""
    page: Callable[[Debate[S], Any], OutcomePage] | None = None
    """What readers see of an outcome, in which order; the usual where it is not said."""
    swapped: Callable[[Mapping[str, JsonValue]], Mapping[str, JsonValue]] | None = None
    """The settings with which those who face each other exchange their sides; None where nobody does."""
    folded: frozenset[str] = frozenset()
    """Kinds of turns that examine the turn before them: readers see them folded under it, and no seat reads them."""
    judge: str = ""
    """The seat whose judging of a finished debate can be given again."""
    judged_from: Callable[[Sequence[Turn]], int] | None = None
    """How many turns of a finished debate stand before that judging; InvalidInput where it cannot be repeated."""
    sides: Callable[[Debate[S]], Mapping[str, Side]] = lambda debate: {}
    """The two seats that face each other, the one on the left first: who watches sees them in two columns. Without
    them those who speak at once stand side by side."""
    round_title: Callable[[Debate[S], int], str] = lambda debate, number: f"Round {number}"
    """What readers call a round."""
    closing: Callable[[Debate[S]], tuple[str, ...]] = lambda debate: ("Closing",)
    """What comes after the rounds, as a line that shows the way names it."""
    stands: Callable[[Debate[S]], Mapping[str, str]] = lambda debate: {}
    """Seat → what it holds so far, as it declared it: who is asked to decide sees what divides them."""
    example: str = ""
    """A topic for it, as a form suggests one."""
    starters: tuple[Starter, ...] = ()
    """Debates that a first page offers."""
    picture: Picture = ""
    """How its flow is drawn where it is chosen."""
    files: Files | None = None
    """How `moot evaluate` makes debates of files."""
    first: tuple[str, ...] = ()
    """The settings that most people want to choose, in this order: a form begins with them."""
    hidden: frozenset[str] = frozenset()
    """The settings that a form leaves out: another one covers them, or only programs need them."""
    choices: Callable[[Mapping[str, JsonValue]], Choices] = lambda configured: {}
    """Setting → what can be picked for it, under what is configured."""
    compared: tuple[str, Callable[[S], Sequence[tuple[str, str]]]] | None = None
    """A setting that keeps how near the nearest of these texts are in meaning, found when a debate is made."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Its own reasons to end the rounds, in words that follow "because"."""
    asker: str = ""
    """The seat on whose behalf a person is asked."""
    actions: Mapping[Action, str] = field(default_factory=dict)
    """What the answers of a person are called, where the usual words do not fit."""
    unattended: Mapping[str, JsonValue] = field(default_factory=dict)
    """The settings under which no person is asked."""
    bare_models: bool = False
    """Whether `model_<group>` may name a model without its provider: it is the usual one's then."""
    own_sources: bool = False
    """Whether its own prompts and notes deal with sources, as the first panel's do; else they are the same for all."""
    earlier: tuple[Format[Any, Any], ...] = ()
    """Its versions before this one: debates that began under them go on, and are read, by their rules."""

    def as_of(self, version: int) -> AnyFormat:
        """The format as a debate of this version knows it; where that is not kept any more, as it is now."""
        return next((each for each in self.earlier if each.version == version), self)

    def seat(self, name: str) -> Seat:
        for seat in (*self.seats, HUMAN, LIBRARY, RESEARCHER):
            if seat.name == name:
                return seat
        raise NotFound(f"{self.name} has no seat {name!r}; its seats: {', '.join(seat.name for seat in self.seats)}")

    @property
    def usual_seats(self) -> tuple[Seat, ...]:
        """Those that models fill in every debate."""
        return tuple(seat for seat in self.seats if seat.player == "model" and not seat.optional)

    def title(self, seat: str, debate: Debate[S] | None = None) -> str:
        """How readers call a seat, those outside the format (clock, human) included."""
        if debate and (given := self.titles(debate).get(seat)):
            return given
        for declared in self.seats:  # for each seat and turn of each prompt
            if declared.name == seat:
                return declared.title
        return seat.capitalize()

    def notes_on(self, debate: Debate[S], turn: Turn) -> tuple[str, ...]:
        """All that readers see below a turn: what the format says of it, and what is to be said of sources."""
        if self.own_sources:
            return self.notes(debate, turn)
        handed = handed_out(debate, turn, lambda seat: self.title(seat, debate))
        return (*self.notes(debate, turn), *remarks(debate, turn), *handed)

    def reason(self, stop_reason: str | None, language: Language | None = None) -> str:
        """Why a debate ended, in words; English ones unless a language is given."""
        known = {**REASONS, **self.reasons}
        english = known.get(stop_reason or "", (stop_reason or "–").replace("_", " "))
        return language(english) if language else english

    def stored(self, record: Record) -> S:
        """The settings of a stored debate."""
        try:
            return self.settings.stored(record.settings)
        except ValidationError as error:
            fields = ", ".join(".".join(map(str, fault["loc"])) for fault in error.errors())
            raise ScriptChanged(
                f"{self.name} version {self.version} cannot take the {fields} of {record.id}; {USE_ITS_VERSION}"
            ) from None

    def open(self, record: Record) -> Debate[S]:
        """The debate as its script sees it before the first step."""
        settings, folded = self.stored(record), self.folded
        seats = Seats(record.seats)
        return Debate(record.id, record.topic, settings, seats, checks=folded, own_sources=self.own_sources)


AnyFormat: TypeAlias = Format[Any, Outcome]

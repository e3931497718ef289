"""The contract of a format: its rules, and all that the rest of moot needs to know about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeAlias

from pydantic import JsonValue, ValidationError

from moot.core.charts import ChartData
from moot.core.debate import (
    Action,
    JsonObject,
    Outcome,
    Record,
    Rows,
    Seat,
    Turn,
)
from moot.core.points import Point
from moot.core.script import Debate, O_co, S, Script
from moot.errors import NotFound, ScriptChanged

USE_ITS_VERSION = "run it with the version of the format that began it"
REASONS: Mapping[str, str] = {
    "max_rounds": "all rounds were played",
    "max_runtime_seconds": "the time limit was reached",
    "max_total_output_tokens": "the limit of output tokens was reached",
    "max_cost": "the limit of cost was reached",
    "concluded": "a person asked for the conclusion",
    "stopped": "a person stopped it",
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


class Choice(NamedTuple):
    """Something that can be picked for a setting."""

    name: str
    hint: str
    data: JsonObject
    """All of it."""


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
    script: Callable[[Debate[S]], Script[O_co]]
    folder: Path
    """Where its prompt files are, `rules.md` and one `<kind>.md` for each kind."""
    titles: Callable[[Debate[S]], Mapping[str, str]] = lambda debate: {}
    """How readers call the seats that are cast while the debate runs; those it leaves out keep their own title."""
    notes: Callable[[Debate[S], Turn], tuple[str, ...]] = lambda debate, turn: ()
    """What code has to say about a turn, from the turns before it; readers see it below the turn."""
    points: Callable[[Debate[S]], Iterable[Point]] = _speeches
    """What an argument map of a debate shows."""
    charts: Callable[[Debate[S], Any], Iterable[ChartData]] = lambda debate, outcome: ()
    """What is drawn of a finished debate and its outcome, besides who spoke when and what it cost."""
    folded: frozenset[str] = frozenset()
    """Kinds of turns that examine the turn before them: readers see them folded under it."""
    example: str = ""
    """A topic for it, as a form suggests one."""
    files: Files | None = None
    """How `moot evaluate` makes debates of files."""
    first: tuple[str, ...] = ()
    """The settings that most people want to choose, in this order: a form begins with them."""
    hidden: frozenset[str] = frozenset()
    """The settings that a form leaves out: another one covers them, or only programs need them."""
    choices: Callable[[Mapping[str, JsonValue]], Choices] = lambda configured: {}
    """Setting → what can be picked for it, under what is configured."""
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
    earlier: tuple[Format[Any, Any], ...] = ()
    """Its versions before this one: debates that began under them go on, and are read, by their rules."""

    def as_of(self, version: int) -> AnyFormat:
        """The format as a debate of this version knows it; where that is not kept any more, as it is now."""
        return next((each for each in self.earlier if each.version == version), self)

    def seat(self, name: str) -> Seat:
        for seat in (*self.seats, HUMAN):
            if seat.name == name:
                return seat
        raise NotFound(f"{self.name} has no seat {name!r}; its seats: {', '.join(seat.name for seat in self.seats)}")

    def title(self, seat: str, debate: Debate[S] | None = None) -> str:
        """How readers call a seat, those outside the format (clock, human) included."""
        if debate and (given := self.titles(debate).get(seat)):
            return given
        for declared in self.seats:  # for each seat and turn of each prompt
            if declared.name == seat:
                return declared.title
        return seat.capitalize()

    def reason(self, stop_reason: str | None) -> str:
        """Why a debate ended, in words."""
        known = {**REASONS, **self.reasons}
        return known.get(stop_reason or "", (stop_reason or "–").replace("_", " "))

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

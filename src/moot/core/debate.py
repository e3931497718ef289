"""What a debate is made of: settings, seats, steps, answers, outcomes. Knows no format, database, vendor or clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, ClassVar, Literal, NamedTuple, Self, TypeAlias

from pydantic import BaseModel, Field, JsonValue

from moot.core.claims import Ledger
from moot.core.people import Action as Action
from moot.core.people import HumanReply as HumanReply
from moot.core.people import Question as Question
from moot.core.people import Rating as Rating
from moot.core.people import Tick as Tick
from moot.core.people import Workflow as Workflow
from moot.core.record import Failure as Failure
from moot.core.record import Origin as Origin
from moot.core.record import Record as Record
from moot.core.record import SeatSettings as SeatSettings
from moot.core.record import Status as Status
from moot.core.record import Turn as Turn
from moot.core.table import Rows
from moot.core.trust import Basis, Coverage, Trust
from moot.core.usage import NO_USAGE as NO_USAGE
from moot.core.usage import Usage as Usage
from moot.core.value import value
from moot.sources.source import WHOLE, Source
from moot.text.language import Language, language_of

JsonObject: TypeAlias = dict[str, JsonValue]


class Limits(BaseModel, extra="forbid"):
    """What ends a debate at the latest; a limit reached leads to the closing steps."""

    max_rounds: int = Field(5, ge=1, le=100, title="Rounds")
    max_runtime_seconds: float = Field(600, gt=0, allow_inf_nan=False, title="Seconds of speaking")
    max_total_output_tokens: int = Field(8000, ge=1, le=1_000_000_000, title="Output tokens")
    max_cost: float | None = Field(None, gt=0, allow_inf_nan=False, title="Cost", description="US dollars")


Temperature: TypeAlias = Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)]
Cap: TypeAlias = Annotated[int, Field(ge=1, le=1_000_000)]


class Was(NamedTuple):
    """Marks a setting that came later: what a debate did that was stored without it, where that is not its default."""

    value: JsonValue


class Settings(Limits):
    """What every format lets its user choose; a format adds its own fields."""

    model: str | None = Field(
        None, title="Model of every seat", description="the model of every seat that has none of its own"
    )
    models: dict[str, str] = Field(default_factory=dict, title="Model by seat", description="seat → model")
    temperatures: dict[str, Temperature] = Field(
        default_factory=dict, title="Temperature by seat", description="seat → temperature"
    )
    max_tokens: dict[str, Cap] = Field(
        default_factory=dict, title="Tokens of one turn, by seat", description="seat → output cap of one step"
    )
    extend_runtime: bool = Field(
        False, title="Longer with slow models", description="raise max_runtime_seconds to fit them; on unless it is set"
    )
    think: bool = Field(
        False,
        title="Let models think first",
        description="let models think before they answer; give them more max_tokens then",
    )
    language: str = Field(
        "", max_length=40, title="Language", description="of speeches and outcome; the question's own when empty"
    )
    sources: list[Source] = Field(
        default_factory=list, max_length=200, title="Sources", description="documents to argue from"
    )
    whole_sources: int = Field(
        WHOLE, ge=0, title="Sources shown whole", description="characters; longer ones are handed out in passages"
    )

    research: bool = Field(
        False, title="Research", description="debaters look things up before they speak, with what is configured"
    )

    precedents: bool = Field(
        False, title="Precedents", description="approved decisions of this folder that fit the question are sources too"
    )

    @classmethod
    def stored(cls, values: Mapping[str, JsonValue]) -> Self:
        """The settings of a stored debate."""
        marks = ((name, mark) for name, field in cls.model_fields.items() for mark in field.metadata)
        return cls.model_validate({name: mark.value for name, mark in marks if isinstance(mark, Was)} | {**values})

    def own_words(self, topic: str) -> str:
        """What the person wrote, by which the debate's language is told."""
        return topic

    def model_for(self, seat: Seat) -> str | None:
        group: str | None = getattr(self, f"model_{seat.group}", None)
        return self.models.get(seat.name) or group or (self.model_for(seat.like) if seat.like else self.model)

    def seated(self, seat: Seat) -> bool:
        """Whether a seat takes part under these settings."""
        return True


BY_SEAT = ("models", "temperatures", "max_tokens")
"""The settings that have a value for each seat."""
PASSED_OVER = "passed_over"
"""The mark of a made-up turn that a script was never given; a format need not examine it."""


MAX_FAULT = 1000
"""Characters that a model is told of what is wrong with an answer."""


class Answer(BaseModel):
    """A structured reply. Its `shown` field is what readers see while it streams and afterwards."""

    shown: ClassVar[str]
    unread: ClassVar[str]
    """What that field says in the safe answer, of those that need say no more."""
    may_be_prose: ClassVar[bool] = False
    """Whether a reply without JSON is that field."""

    @classmethod
    def from_prose(cls, text: str) -> Self | None:
        """The answer in a reply without JSON, for answers that need none; None for all others."""
        return cls.model_validate({cls.shown: text}) if cls.may_be_prose and text.strip() else None

    @classmethod
    def fallback(cls) -> Self:
        """The safe answer that is stored, marked, when the model's cannot be read."""
        return cls.model_validate({cls.shown: cls.unread})

    @classmethod
    def made_up(cls) -> Self:
        """An answer after which as much as may be is asked for: an estimate takes it for the most."""
        return cls.fallback()


Evidence: TypeAlias = Literal["search", "cited", "none"]


@value(frozen=True)
class Step:
    """The script's request: this seat, this kind, this round, now."""

    seat: str
    kind: str
    round: int | None = None
    _: KW_ONLY
    answer: type[Answer] | None = None
    aliases: Mapping[str, str] | None = None
    """Seat → the neutral name under which this step's seat knows it; whoever has none is not read."""
    variables: Mapping[str, object] = field(default_factory=dict)
    max_tokens: int | None = None
    """What the seat may write, known when the step is asked for; its prompt says so then and ever after."""
    visible: frozenset[int] | range | None = None
    """The positions of the turns that the seat reads; None when it reads all. A person's words are read by everyone."""
    order: tuple[int, ...] | None = None
    """The positions of all turns as the seat reads them; None when it reads them in the order in which they stand."""
    prompt: str = ""
    """The name of its prompt's file where that is not its kind."""
    rules: str = "rules"
    """The name of the file that its prompt begins with."""
    model: str = ""
    """The model that answers it, where that is not its seat's."""
    timeout: float | None = None
    """The seconds it has; a seat that takes longer misses the step, and its empty turn is marked `late`."""
    pause: float | None = None
    """With it, a seat that is speaking when its time is over may go on until it is silent for so many seconds."""
    question: Question | None = None
    """What a person is asked."""
    evidence: Evidence | None = None
    """What it is shown of long sources; None: what is found for whoever argues, what was cited for all others."""
    looks_for: tuple[str, ...] = ()
    """What its seat wants to find in long sources, such as its priorities; the topic when empty."""


ModelKind: TypeAlias = Literal["large", "large_of_another_family"]
"""The second is for a seat that examines what the first has written."""


@dataclass(frozen=True, slots=True)
class Seat:
    """A place in a debate, as its format declares it."""

    name: str
    title: str
    group: str
    _: KW_ONLY
    max_tokens: int
    temperature: float = 0.7
    player: Literal["model", "human", "library", "researcher"] = "model"
    prefers: ModelKind | None = None
    """What it is meant for: such a model is taken when this machine has it and nothing else is configured."""
    optional: bool = False
    """Whether it is empty unless the settings fill it: forms and lists of seats leave it out."""
    like: Seat | None = None
    """The seat whose model it has, unless one is chosen for it."""


class Outcome(BaseModel, allow_inf_nan=False):
    """What a script returns. Every surface can show it without knowing the format."""

    shows_document: ClassVar[bool] = False
    """Whether its document is what a reader wants to see at the end."""

    summary: str
    caveats: list[str] = Field(default_factory=list)
    """What a reader should know before trusting it."""
    lead: str = ""
    """Why it came out so, in two or three sentences of whoever closed the debate."""
    figures: list[str] = Field(default_factory=list)
    """Where each figure of its words comes from, a line each."""
    language: str = "en"
    """The code of the language of its fixed words."""
    trust: Trust | None = None
    """How far it can be relied on, where that was examined."""
    coverage: Coverage | None = None
    """What was read of its sources, where they are too long to be read whole."""
    ledger: Ledger | None = None
    """What was claimed and how it ended, where that was noted."""

    ticks: tuple[Tick, ...] = Field((), exclude=True)
    """Which of its next steps are done; filled in where it is read, as it is told later than all else."""

    @property
    def say(self) -> Language:
        return language_of("", self.language)

    @property
    def done(self) -> Mapping[int, Tick]:
        """The next steps that are ticked, by their places."""
        return {tick.step: tick for tick in self.ticks if tick.done}

    def trust_text(self) -> str:
        """How far it can be relied on, in a line; empty where that was not examined."""
        return self.trust.text(self.say) if self.trust else ""

    def headline(self) -> str:
        """The outcome in a line."""
        raise NotImplementedError

    def listed(self) -> str:
        """What was decided, as a list of debates shows it: how far to trust it stands beside it there."""
        return self.headline()

    def table(self) -> Rows:
        """The numbers behind it; the first row is the header."""
        raise NotImplementedError

    def document(self, record: Record, turns: Sequence[Turn]) -> str | None:
        """It as a markdown document of the format's own, or None for the usual one."""
        return None

    def rests_on(self) -> Basis:
        """What says why it came out so: the sources that are cited there carried it."""
        return Basis((self.summary, self.lead, *self.figures))

    def todo(self) -> Sequence[str]:
        """The next steps it asks for, which people can tick."""
        return ()

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

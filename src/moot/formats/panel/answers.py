"""What the seats of a panel hand in, read leniently: a form that is merely sloppy is no reason to ask again."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, Field, create_model

from moot.core.debate import Answer
from moot.core.fields import Flag, Text, Texts, Words, at_most, objects
from moot.core.script import Debate
from moot.core.sources import read_whole

MAX_SEATS = 4
UNREAD = (
    "The moderator's synthesis could not be read, so nothing is recommended. What each perspective argued stands below."
)


def _cards(value: Any) -> Any:
    """A perspective may be named alone: it is the catalog's then."""
    parts = value if isinstance(value, list) else [value]
    return objects([{"name": part} if isinstance(part, str) else part for part in parts])


class Framing(Answer):
    """How the moderator understands the question."""

    shown = "framing"
    unread = "The moderator's analysis could not be read."

    framing: Annotated[Words, at_most(500)]
    constraints: Texts = Field(default_factory=list)
    too_vague: Flag = False
    question: Annotated[Text, at_most(300)] = ""


class Card(BaseModel):
    """A perspective as the moderator writes it for the question."""

    name: Annotated[Text, at_most(60)] = ""
    wants: Texts = Field(default_factory=list)
    gives_up: Annotated[Text, at_most(160)] = ""


class Opposed(BaseModel):
    """One perspective gives up what another wants."""

    one: Annotated[Text, at_most(60)] = ""
    other: Annotated[Text, at_most(60)] = ""
    over: Annotated[Text, at_most(160)] = ""


class Titled(Framing):
    """With the question as a reader would understand it, and what could be decided."""

    title: Annotated[Text, at_most(160)] = ""
    options: Texts = Field(default_factory=list, description="what could be decided")


Pairs = Annotated[list[Opposed], at_most(MAX_SEATS, "maxItems"), BeforeValidator(objects)]


class Analysis(Titled):
    """With the perspectives that should debate it, and who of them is against whom."""

    perspectives: Annotated[list[Card], at_most(MAX_SEATS, "maxItems"), BeforeValidator(_cards)] = Field(
        default_factory=list
    )
    opposed: Pairs = Field(default_factory=list)


AnalysisOfChosen = create_model("Analysis", __base__=Titled, opposed=(Pairs, Field(default_factory=list)))
"""For perspectives that a person has chosen: they are not asked for again."""


class Reply(Answer):
    """An answer to the others, and to which of their points."""

    shown = "content"
    unread = "(This rebuttal could not be read.)"
    may_be_prose = True

    content: Words
    responding_to: Texts = Field(default_factory=list)


class Rebuttal(Reply):
    """With the debater's position after it: agreement is computed from these and from nothing else."""

    concedes: Texts = Field(default_factory=list)
    recommendation: Annotated[Text, at_most(300)] = ""
    agrees_with: Texts = Field(default_factory=list)
    would_change: Annotated[Text, at_most(300)] = ""


Lookup = create_model("Rebuttal", __base__=Rebuttal, looking_for=(Texts, Field(default_factory=list)))
"""With what the debater wants to find in long sources for the next round."""


def rebuttal(debate: Debate[Any]) -> type[Rebuttal]:
    return Rebuttal if read_whole(debate) else Lookup


Verdict = Literal["continue", "clarify", "conclude"]


class Evaluation(Answer):
    """Where the debate stands after a round, in the moderator's opinion."""

    shown = "summary"

    summary: Annotated[Words, at_most(800)]
    state: Literal["converging", "stagnating", "new_ground", "clear_winner"]
    decision: Verdict
    differ: Texts = Field(default_factory=list)
    clarification: Annotated[Text, at_most(300)] = ""
    strayed: Texts = Field(default_factory=list)
    mute: Texts = Field(default_factory=list)

    @classmethod
    def fallback(cls) -> Self:
        return cls(
            summary="The moderator's evaluation could not be read; the debate goes on.",
            state="new_ground",
            decision="continue",
        )

    @classmethod
    def made_up(cls) -> Self:
        return cls(summary="It is open.", state="new_ground", decision="clarify", clarification="What is wanted?")


class View(BaseModel):
    """A perspective in the synthesis."""

    perspective: Annotated[Text, at_most(60)] = ""
    key_arguments: Texts = Field(default_factory=list)
    trade_offs_accepted: Annotated[Text, at_most(240)] = ""


class Considered(View):
    """With the option that it argues for."""

    option: Annotated[Text, at_most(120)] = ""


class ConsideredOption(BaseModel):
    """Something that could be done, and why it is or is not recommended."""

    option: Annotated[Text, at_most(120)] = ""
    recommended: Flag = False
    why: Annotated[Text, at_most(300)] = ""


Considerations = Annotated[list[Considered], at_most(MAX_SEATS, "maxItems"), BeforeValidator(objects)]


class Synthesis(Answer):
    """The decision in a sentence, what tipped the balance, and all that a decision maker wants to see beside it."""

    shown = "recommendation"
    unread = UNREAD

    recommendation: Annotated[Words, at_most(400)]
    because: Texts = Field(default_factory=list)
    chosen: Annotated[Text, at_most(120)] = ""
    lead: Annotated[Text, at_most(600)] = ""
    options: Annotated[list[ConsideredOption], at_most(6, "maxItems"), BeforeValidator(objects)] = Field(
        default_factory=list
    )
    perspectives: Considerations = Field(default_factory=list)
    agreement: Texts = Field(default_factory=list)
    tensions: Texts = Field(default_factory=list)
    changes_if: Texts = Field(default_factory=list)
    open_questions: Texts = Field(default_factory=list)
    tasks: Texts = Field(default_factory=list)
    acceptance: Texts = Field(default_factory=list)

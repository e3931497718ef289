"""What the seats of a panel hand in, read leniently: a form that is merely sloppy is no reason to ask again."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema, create_model

from moot.core.debate import Answer
from moot.core.fields import MAX_ITEMS, Flag, Text, Texts, Words, at_most


def _objects(value: Any) -> Any:
    parts = [value] if isinstance(value, dict) else value
    return [part for part in parts if isinstance(part, dict)][:MAX_ITEMS] if isinstance(parts, list) else []


class Analysis(Answer):
    """How the moderator understands the question, and who should debate it."""

    shown = "framing"

    framing: Annotated[Words, at_most(500)]
    domain: Annotated[Text, at_most(60)] = ""
    constraints: Texts = Field(default_factory=list)
    too_vague: Flag = False
    question: Annotated[Text, at_most(300)] = ""
    debaters: int = 0
    perspectives: Texts = Field(default_factory=list)

    @classmethod
    def fallback(cls) -> Self:
        return cls(framing="The moderator's analysis could not be read.")


@cache
def analysis_of(names: tuple[str, ...]) -> type[Analysis]:
    """The analysis as the moderator sees it: perspectives by the names of the catalog."""
    schema = {"type": "array", "items": {"type": "string", "enum": list(names)}, "minItems": 2, "maxItems": 4}
    number = {"type": "integer", "minimum": 2, "maximum": 4}
    return create_model(
        "Analysis",
        __base__=Analysis,
        debaters=(Annotated[int, BeforeValidator(_number), WithJsonSchema(number)], 0),
        perspectives=(Annotated[Texts, WithJsonSchema(schema)], Field(default_factory=list)),
    )


def _number(value: Any) -> Any:
    try:
        return max(0, min(9, int(float(value))))
    except (TypeError, ValueError, OverflowError):
        return 0


class Rebuttal(Answer):
    """An answer to the others, and to which of their points."""

    shown = "content"

    content: Words
    responding_to: Texts = Field(default_factory=list)

    @classmethod
    def from_prose(cls, text: str) -> Self | None:
        return cls(content=text) if text.strip() else None

    @classmethod
    def fallback(cls) -> Self:
        return cls(content="(This rebuttal could not be read.)")


class Evidence(BaseModel):
    """The very words in which a debater agrees with another or gives in."""

    perspective: Annotated[Text, at_most(60)] = ""
    quote: Annotated[Text, at_most(300)] = ""


State = Literal["converging", "stagnating", "new_ground", "clear_winner"]
Decision = Literal["continue", "clarify", "conclude"]


class Evaluation(Answer):
    """Where the debate stands after a round, in the moderator's opinion."""

    shown = "summary"

    summary: Annotated[Words, at_most(800)]
    state: State
    evidence: Annotated[list[Evidence], at_most(4, "maxItems"), BeforeValidator(_objects)] = Field(default_factory=list)
    winner: Annotated[Text, at_most(60)] = ""
    decision: Decision
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


class Considered(BaseModel):
    """A perspective in the synthesis."""

    perspective: Annotated[Text, at_most(60)] = ""
    key_arguments: Texts = Field(default_factory=list)
    trade_offs_accepted: Annotated[Text, at_most(240)] = ""


class Synthesis(Answer):
    """The decision as the moderator writes it."""

    shown = "recommendation"

    recommendation: Annotated[Words, at_most(2000)]
    perspectives: Annotated[list[Considered], at_most(4, "maxItems"), BeforeValidator(_objects)] = Field(
        default_factory=list
    )
    agreement: Texts = Field(default_factory=list)
    tensions: Texts = Field(default_factory=list)
    caveats: Texts = Field(default_factory=list)
    dissent: Annotated[Text, at_most(600)] = ""
    tasks: Texts = Field(default_factory=list)
    acceptance: Texts = Field(default_factory=list)

    @classmethod
    def fallback(cls) -> Self:
        return cls(
            recommendation="The moderator's synthesis could not be read, so nothing is recommended. "
            "What each perspective argued stands below."
        )

"""What the seats of a panel hand in, read leniently: a form that is merely sloppy is no reason to ask again."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, WithJsonSchema, create_model

from moot.model import Answer

LONGEST_LIST = 12


def _items(value: Any) -> Any:
    """A list, whatever the model made of it: one text, lines, nothing."""
    if value is None:
        return []
    if isinstance(value, str):
        value = [line.lstrip("-*• \t") for line in value.splitlines()]
    if isinstance(value, list):
        texts = [", ".join(map(str, item.values())) if isinstance(item, dict) else item for item in value]
        return [text for text in texts if not isinstance(text, str) or text.strip()][:LONGEST_LIST]
    return value


def _text(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list) else "" if value is None else value


def _objects(value: Any) -> Any:
    if isinstance(value, dict):
        value = [value]
    return [item for item in value if isinstance(item, dict)][:LONGEST_LIST] if isinstance(value, list) else []


def _flag(value: Any) -> Any:
    return False if value is None else value


Required = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), BeforeValidator(_text)]
Text = Annotated[str, StringConstraints(strip_whitespace=True), BeforeValidator(_text)]
Texts = Annotated[list[Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]], BeforeValidator(_items)]
Flag = Annotated[bool, BeforeValidator(_flag)]


class Analysis(Answer):
    """How the moderator understands the question, and who should debate it."""

    shown = "framing"

    framing: Required
    domain: Text = ""
    constraints: Texts = Field(default_factory=list)
    too_vague: Flag = False
    question: Text = ""
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

    content: Required
    responding_to: Texts = Field(default_factory=list)

    @classmethod
    def from_prose(cls, text: str) -> Self | None:
        return cls(content=text) if text.strip() else None

    @classmethod
    def fallback(cls) -> Self:
        return cls(content="(This rebuttal could not be read.)")


class Evidence(BaseModel):
    """The very words in which a debater agrees with another or gives in."""

    model_config = ConfigDict(extra="ignore")

    perspective: Text = ""
    quote: Text = ""


State = Literal["converging", "stagnating", "new_ground", "clear_winner"]
Decision = Literal["continue", "clarify", "conclude"]


class Evaluation(Answer):
    """Where the debate stands after a round, in the moderator's opinion."""

    shown = "summary"

    summary: Required
    state: State
    evidence: Annotated[list[Evidence], BeforeValidator(_objects)] = Field(default_factory=list)
    winner: Text = ""
    decision: Decision
    clarification: Text = ""
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

    model_config = ConfigDict(extra="ignore")

    perspective: Text = ""
    key_arguments: Texts = Field(default_factory=list)
    trade_offs_accepted: Text = ""


class Synthesis(Answer):
    """The decision as the moderator writes it."""

    shown = "recommendation"

    recommendation: Required
    perspectives: Annotated[list[Considered], BeforeValidator(_objects)] = Field(default_factory=list)
    agreement: Texts = Field(default_factory=list)
    tensions: Texts = Field(default_factory=list)
    caveats: Texts = Field(default_factory=list)
    dissent: Text = ""
    tasks: Texts = Field(default_factory=list)
    acceptance: Texts = Field(default_factory=list)

    @classmethod
    def fallback(cls) -> Self:
        return cls(
            recommendation="The moderator's synthesis could not be read, so nothing is recommended. "
            "What each perspective argued stands below."
        )

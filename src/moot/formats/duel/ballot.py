"""What a judge of a duel hands in: a score for each side, under the neutral names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Self

from pydantic import Field, StringConstraints, WithJsonSchema, computed_field

from moot.core.debate import Answer
from moot.core.fields import Text, Texts, at_most
from moot.trust.judging import Call, call
from moot.trust.mirrored import form_shown

# The schema says integer because grammars can bound integers; a judge that halves points is welcome all the same.
Score = Annotated[
    float, Field(ge=0, le=10, allow_inf_nan=False), WithJsonSchema({"type": "integer", "minimum": 0, "maximum": 10})
]


class Scores(Answer):
    """What the judge has handed in from version 1 on."""

    shown = "summary"

    summary: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    score_a: Score
    score_b: Score
    no_new_substantive_arguments: bool = False

    @computed_field  # type: ignore[prop-decorator]
    @property
    def winner(self) -> Call:
        return call(self.score_a - self.score_b)

    @classmethod
    def fallback(cls) -> Self:
        summary = "The judge's answer could not be read, so neither side is declared the winner."
        return cls.model_validate({"summary": summary, "score_a": 5, "score_b": 5})


class Ballot(Scores):
    """What the judge hands in."""

    lead: Annotated[Text, at_most(500)] = ""


class ReasonedBallot(Ballot):
    """With the claims that decided it, by their ids."""

    because: Texts = Field(default_factory=list)


def ballot_for(base: type[Scores], names: Iterable[str], mirrored: bool = False) -> type[Scores]:
    """The ballot as the judge sees it: a score under each neutral name, the side shown first before the other."""
    first, second = names
    return form_shown("Ballot", base, ("score",), ("a", "b"), (first, second), mirrored)

"""How carefully an outcome is examined, as a person chooses it: how often it is judged, and by whom."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, field_validator, model_validator

from moot.core.debate import Seat, Settings, Was
from moot.core.trust import JudgeNoise
from moot.text.plain import comma_separated

Depth: TypeAlias = Literal["quick", "normal", "careful"]

MOST: dict[Depth, int] = {"quick": 1, "normal": 4, "careful": 8}
"""How often a debate is judged at most."""
CAREFUL_TOKENS = 20_000
"""What may be written to examine a debate carefully: notes after each round, 8 judgings, 25 ballots."""
RESCORINGS = 2
"""How often a score is given again where it is examined."""
MORE_JUDGES = 2
JURY = "jury"
"""The group of further judges: none of them reads what another, or the judge, has said."""


class JudgedSettings(Settings):
    """What is chosen where an outcome is judged several times."""

    depth: Annotated[Depth, Was("quick")] = Field(
        "normal",
        title="How carefully it is judged",
        description="quick: once; normal: twice, four times when it is close; careful: up to eight times",
    )
    judgings: int | None = Field(
        None, ge=1, le=12, title="Judgings", description="how many at most, 1 or an even number; by depth when empty"
    )
    max_check_output_tokens: int = Field(
        6000,
        ge=0,
        le=1_000_000_000,
        title="Output tokens of further judgings",
        description="and of notes, ballots and votes, beside max_total_output_tokens, which bounds the debate and its "
        f"first judging; {CAREFUL_TOKENS} at depth careful, unless you say so",
    )

    @field_validator("judgings")
    @classmethod
    def _are_pairs(cls, judgings: int | None) -> int | None:
        if judgings is not None and judgings > 1 and judgings % 2:
            raise ValueError(f"is 1 or even, as every judging has a mirrored one: {judgings - 1} or {judgings + 1}")
        return judgings

    @model_validator(mode="after")
    def _checks_fit(self) -> Self:
        if self.depth == "careful" and "max_check_output_tokens" not in self.model_fields_set:
            self.max_check_output_tokens = CAREFUL_TOKENS
        return self

    @property
    def most_judgings(self) -> int:
        return self.judgings or MOST[self.depth]

    @property
    def rescorings(self) -> int:
        return 0 if self.depth == "quick" else RESCORINGS


class JurySettings(JudgedSettings):
    """What is chosen where judges of other models can be asked too."""

    judges: Annotated[list[str], BeforeValidator(comma_separated)] = Field(
        default_factory=list,
        max_length=MORE_JUDGES,
        title="Further judges",
        description="PROVIDER:MODEL, two at most: pairs of judgings go to the judge and to these in turn",
    )
    noise: JudgeNoise | None = Field(
        None,
        title="Noise of a judging",
        description="in points, and from how many debates it is known; found in the judge's earlier debates when a "
        "debate is made",
    )

    def model_for(self, seat: Seat) -> str | None:
        if seat.group != JURY:
            return super().model_for(seat)
        number = int(seat.name[-1]) - 2
        return self.models.get(seat.name) or next(iter(self.judges[number : number + 1]), None)

    def seated(self, seat: Seat) -> bool:
        return self.model_for(seat) is not None if seat.group == JURY else super().seated(seat)


def jury(judge: Seat) -> tuple[Seat, ...]:
    """The seats of further judges, which `judges` fills."""
    return tuple(
        replace(judge, name=f"{judge.name}_{number}", title=f"{judge.title} {number}", group=JURY, optional=True)
        for number in range(2, 2 + MORE_JUDGES)
    )

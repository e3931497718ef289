"""What was claimed in a debate, what was said to it, and how it ended, as data: one ledger that every surface shows."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, Field

How: TypeAlias = Literal["attacks", "supports", "concedes", "withdraws"]
Status: TypeAlias = Literal[
    "standing",
    "answered",
    "contested",
    "dropped",
    "conceded",
    "withdrawn",
    "unanswered",
    "untested",
    "gives way",
]


class ClaimLink(BaseModel):
    """What a claim does to an earlier one."""

    how: How
    to: str = Field(description="the id of the earlier claim")


class Claim(BaseModel):
    """Something a seat held, in its own words and in a sentence."""

    id: str = Field(description="C1, C2, … in the order in which they were made")
    turn: int = Field(description="the position of the turn in which it was made")
    seat: str
    text: str
    quote: str = Field("", description="words of that turn, checked")
    links: list[ClaimLink] = Field(default_factory=list)
    status: Status | None = Field(None, description="how it ended; null where that could not be followed")


class Ledger(BaseModel):
    """All claims of a debate, and how much of what was noted could not be kept."""

    claims: list[Claim] = Field(default_factory=list)
    quotes_left_out: int = Field(0, description="noted claims whose words stand in no speech")
    links_left_out: int = Field(0, description="noted answers to a claim that there is not, or that cannot be so")
    claims_left_out: int = Field(0, description="claims beyond the most that a ledger holds")
    by_code: bool = Field(False, description="the first sentence of each speech: nobody could follow the claims")

    @property
    def left_out(self) -> str:
        """What of the notes could not be kept, for a person; nothing where all was."""
        quotes = f"{self.quotes_left_out} whose words nobody said" if self.quotes_left_out else ""
        links = f"{self.links_left_out} answers that fit no earlier claim" if self.links_left_out else ""
        both = ", ".join(filter(None, (quotes, links)))
        return f"Left out of what the scribe noted: {both}." if both else ""

    def __getitem__(self, id: str) -> Claim | None:
        return next((claim for claim in self.claims if claim.id == id), None)

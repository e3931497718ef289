"""How far an outcome can be relied on, as data: one block that every surface shows."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, Field

from moot.text.language import Language

Level: TypeAlias = Literal["High", "Medium", "Low"]


class Judging(BaseModel):
    """One reading of the finished debate by a judge, and the scores it gave."""

    position: int = Field(description="of its turn")
    mirrored: bool = Field(description="whether the second side was shown first")
    wording: int = Field(description="which of the ways to ask it was")
    score_a: float
    score_b: float
    counted: bool = Field(True, description="false when it, or its mirrored twin, could not be read")

    @property
    def margin(self) -> float:
        return self.score_a - self.score_b


class Stability(BaseModel):
    """What several judgings say together; scores and margins are means over those that count."""

    judgings: list[Judging]
    score_a: float
    score_b: float
    margin: float = Field(description="of the first side over the second")
    low: float = Field(description="where the 95% interval of the margin begins")
    high: float
    order_effect: float = Field(description="how many points more the side got that was shown first")
    flips: float = Field(description="the share of pairs of judgings that call another winner")
    holds: int = Field(description="how many judgings alone come to the published result")

    @property
    def counted(self) -> list[Judging]:
        return [judging for judging in self.judgings if judging.counted]


class Trust(BaseModel):
    """How far an outcome can be relied on, and why not further."""

    level: Level
    summary: str = Field("", description="what several judgings came to, in a sentence; empty when there was one")
    reasons: list[str] = Field(default_factory=list, description="why the level is no other, worst first")
    stability: Stability | None = None

    def text(self, say: Language) -> str:
        """The level and what it rests on, in a line."""
        levels = {"High": say("High"), "Medium": say("Medium"), "Low": say("Low")}
        level = f"{say('Trust')}: {levels[self.level]}"
        return f"{level}; {self.summary}" if self.summary else level

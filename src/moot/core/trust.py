"""How far an outcome can be relied on, as data: one block that every surface shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, Field

from moot.text.language import Language

Level: TypeAlias = Literal["High", "Medium", "Low"]
REJUDGING, RESCORING, COMPARISON = "rejudging", "rescoring", "comparison"
CHECKS = frozenset({REJUDGING, RESCORING, COMPARISON})
"""The kinds of turns in which what was judged is examined."""


def level_word(level: Level, say: Language) -> str:
    return {"High": say("High"), "Medium": say("Medium"), "Low": say("Low")}[level]


class Basis(NamedTuple):
    """What an outcome rests on: words, the positions of turns they are linked to, and the seats whose side it takes."""

    texts: tuple[str, ...]
    turns: frozenset[int] = frozenset()
    seats: frozenset[str] = frozenset()


class Judging(BaseModel, allow_inf_nan=False):
    """One reading of the finished debate by a judge, and the scores it gave."""

    position: int = Field(description="of its turn")
    mirrored: bool = Field(description="whether the second side was shown first")
    wording: int = Field(description="which of the ways to ask it was")
    score_a: float
    score_b: float
    model: str = Field("", description="of the judge")
    counted: bool = Field(True, description="false when it, or its mirrored twin, could not be read")

    @property
    def margin(self) -> float:
        return self.score_a - self.score_b


class JudgeNoise(BaseModel):
    """By how many points a judge's judgings of the same debate differ, and how many debates tell."""

    points: float = Field(gt=0, le=10)
    debates: int = Field(0, ge=0)
    models: list[str] = Field(default_factory=list, description="of which judges it is known")


CLEAR_MARGIN = 1.0
"""Scores closer than this decide nothing."""


class Stability(BaseModel, allow_inf_nan=False):
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
    clear: float = Field(CLEAR_MARGIN, description="a smaller margin decides nothing")
    noise: JudgeNoise | None = Field(None, description="the judge's, by its earlier debates, where there were any")

    @property
    def counted(self) -> list[Judging]:
        return [judging for judging in self.judgings if judging.counted]


BALLOT = "ballot"
"""The kind of an independent answer."""
CLAIMS = "claims"
"""The kind of a scribe's notes."""
VOTE = "vote"
"""The kind of a vote of somebody who has debated."""
Relation: TypeAlias = Literal["confirmed", "overturned", "decided a split", "undecided"]


class PollResult(BaseModel, allow_inf_nan=False):
    """What independent answers without a debate said, and what a debate made of them."""

    counts: dict[str, int] = Field(description="answer → how many gave it")
    mirrored: dict[str, int] = Field(description="the same, of those that were asked in mirrored words")
    unreadable: int = 0
    top: str = Field("", description="what most said; empty when several were level")
    low: float = Field(description="where the 95% interval of the share of those begins")
    high: float
    relation: Relation | None = Field(None, description="what the debate made of them; none when there was no debate")
    calls: int = 0
    tokens: int = 0
    cost: float | None = None
    summary: str = ""
    price: str = Field("", description="what they cost, beside what the debate did")

    @property
    def number(self) -> int:
        return sum(self.counts.values())

    @property
    def by_wording(self) -> bool:
        """Whether more than two thirds said one thing when asked plainly, and another thing in mirrored words."""
        plain = {answer: number - self.mirrored.get(answer, 0) for answer, number in self.counts.items()}
        tops = [
            [answer for answer, number in said.items() if 3 * number > 2 * sum(said.values())]
            for said in (plain, self.mirrored)
        ]
        return all(tops) and tops[0] != tops[1]


class VoteResult(BaseModel, allow_inf_nan=False):
    """How those who debated voted at the end."""

    rule: str
    tally: dict[str, float] = Field(description="option → what it got by the rule")
    winner: str | None = None
    summary: str
    overturned: bool = Field(False, description="whether another option is recommended than the one that won")


class DecisiveClaim(BaseModel):
    """A claim that judgings name as what decided for them."""

    id: str
    judgings: int = Field(description="how many of them name it")


class ClaimSummary(BaseModel):
    """How the claims of a debate ended, and which of them its judgings rest on."""

    counts: dict[str, int] = Field(description="status → how many claims ended so")
    decided_by: list[DecisiveClaim] = Field(default_factory=list)
    judgings: int = 0
    unknown: int = Field(0, description="how often judgings named a claim that there is not")
    text: str = ""


class Coverage(BaseModel):
    """How much was read of sources that are too long to be read whole."""

    read: int = Field(description="passages that were handed to somebody")
    total: int = Field(description="passages that the sources have; 0 when they could not be searched")
    passages: list[str] = Field(default_factory=list, description="those that were read, as they are cited")

    @property
    def mostly_unread(self) -> bool:
        return not self.read or 2 * self.read < self.total


class Trust(BaseModel):
    """How far an outcome can be relied on, and why not further."""

    level: Level
    summary: str = Field("", description="what several judgings came to, in a sentence; empty when there was one")
    reasons: list[str] = Field(default_factory=list, description="why the level is no other, worst first")
    stability: Stability | None = None
    poll: PollResult | None = None
    vote: VoteResult | None = None
    claims: ClaimSummary | None = None
    parts: dict[str, Stability] = Field(default_factory=dict, description="of each, where several things were judged")

    def text(self, say: Language) -> str:
        """The level and what it rests on, in a line."""
        claims = self.claims.text if self.claims else ""
        examined = (each.summary for each in (self.vote, self.poll) if each)
        line = "; ".join(
            filter(None, [f"{say('Trust')}: {level_word(self.level, say)}", self.summary, claims, *examined])
        )
        return f"{line}. {self.poll.price}" if self.poll and self.poll.price else line

    def with_reasons(self, reasons: Iterable[str]) -> Trust:
        """The same, for these reasons too."""
        return self.model_copy(update={"reasons": [*self.reasons, *reasons]})

    def lowered(self, reason: str) -> Trust:
        """A level down, for this reason."""
        level: Level = "Medium" if self.level == "High" else "Low"
        return self.model_copy(update={"level": level, "reasons": [reason, *self.reasons]})

"""A comparison of two debates as JSON."""

from __future__ import annotations

from pydantic import BaseModel, Field

from moot.core.trust import Trust
from moot.reading.comparison import ComparedClaims, Comparison, PairView
from moot.reading.debate import Reading
from moot.reading.views import DebateView, debate_view


class SideView(BaseModel):
    """What one of the two came to."""

    debate: DebateView
    summary: str | None
    lead: str
    trust: Trust | None
    next_steps: list[str]


class ComparisonView(BaseModel):
    relation: str = Field(description="how one came of the other, if it did")
    same_question: bool
    same_outcome: bool = Field(description="whether both headlines are the same, word for word")
    a: SideView
    b: SideView
    setup: list[PairView] = Field(description="what was chosen for each")
    taken: list[PairView] = Field(description="what each took")
    claims: ComparedClaims


def comparison_view(both: Comparison) -> ComparisonView:
    return ComparisonView(
        relation=both.relation,
        same_question=both.same_question,
        same_outcome=both.same_outcome,
        a=_side(both.a),
        b=_side(both.b),
        setup=list(both.setup),
        taken=list(both.taken),
        claims=both.claims,
    )


def _side(reading: Reading) -> SideView:
    outcome = reading.outcome
    return SideView(
        debate=debate_view(reading),
        summary=outcome.summary if outcome else None,
        lead=outcome.lead if outcome else "",
        trust=outcome.trust if outcome else None,
        next_steps=list(reading.next_steps),
    )

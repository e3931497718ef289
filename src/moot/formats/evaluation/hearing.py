"""One topic as it is argued: in which order the sides speak, under which names, and what each seat is asked.

The sides take turns at the last word: the advocate begins on odd topics, the challenger on even ones. They and the
arbiter know the sides by neutral names, of which whoever begins has the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from moot.core.debate import Step, Turn
from moot.core.script import Debate
from moot.formats.evaluation.answers import Arguments, Reply, judgment_for
from moot.formats.evaluation.concessions import concessions, other
from moot.formats.evaluation.evidence import MIN_WORDS, all_quoted, misquoted
from moot.formats.evaluation.scorecard import TopicVerdict
from moot.formats.evaluation.scores import MAX_CHANGE
from moot.formats.evaluation.settings import SIDES, TITLES, CategoryRating, Challenge, EvaluationSettings, Topic
from moot.trust.neutral_names import neutral_names

Evaluating: TypeAlias = Debate[EvaluationSettings]


@dataclass(slots=True)
class TopicDebate:
    number: int
    topic: Topic
    rating: CategoryRating
    raised: Sequence[Challenge]
    turns: list[Turn] = field(default_factory=list)
    verdict: Turn | None = None

    @property
    def both_heard(self) -> bool:
        return {turn.seat for turn in self.turns} == set(SIDES)

    @property
    def visible(self) -> frozenset[int]:
        return frozenset(turn.position for turn in self.turns)

    def position(self, side: str) -> str:
        return self.topic.advocate if side == SIDES[0] else self.topic.challenger


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the versions of the evaluation do differently."""

    order: Callable[[int], Sequence[str]]
    """Number of a topic → the sides as they speak on it."""
    speech: Callable[[Evaluating, TopicDebate, str, str, bool], Step]
    """What a side is asked for: of this seat, of this kind, as its last word or not."""
    judging: Callable[[Evaluating, TopicDebate], Step]
    judged: Callable[[Evaluating, TopicDebate, Turn], TopicVerdict]


def order(number: int) -> Sequence[str]:
    return SIDES if number % 2 else SIDES[::-1]


def names_of(debate: Evaluating, number: int) -> dict[str, str]:
    """Side → its name on a topic; their titles where the idea itself speaks of an Advocate, whose name must stay."""
    idea = debate.settings.quotable(debate.topic)
    if any(TITLES[side] in idea for side in SIDES):
        return {side: TITLES[side] for side in SIDES}
    return dict(zip(order(number), debate.once("names", lambda: neutral_names(idea)), strict=True))


def speech(debate: Evaluating, hearing: TopicDebate, seat: str, kind: str, last: bool) -> Step:
    names = names_of(debate, hearing.number)
    return Step(
        seat,
        kind,
        hearing.number,
        answer=Arguments if kind == "argument" else Reply,
        aliases=names,
        variables={
            "about": hearing.topic,
            "position": hearing.position(seat),
            "against": hearing.position(other(seat)),
            "opponent": names[other(seat)],
            "rating": hearing.rating,
            "raised": hearing.raised,
            "last": last,
        },
        visible=hearing.visible,
    )


def judging(debate: Evaluating, hearing: TopicDebate) -> Step:
    names = names_of(debate, hearing.number)
    answered = len(hearing.turns) > len(SIDES)
    return Step(
        "arbiter",
        "verdict",
        hearing.number,
        answer=judgment_for(names["advocate"], names["challenger"]),
        aliases=names,
        variables={
            "about": hearing.topic,
            "sides": [(names[side], hearing.position(side)) for side in order(hearing.number)],
            "score": hearing.rating.score,
            "most": MAX_CHANGE,
            "last_speaker": names[hearing.turns[-1].seat] if answered else "",
            "conceded": concessions(hearing.turns),
            "quotes": sum(len(all_quoted(debate, turn)) for turn in hearing.turns),
            "misquoted": misquoted(debate, hearing.number),
            "shortest": MIN_WORDS,
        },
        visible=hearing.visible,
    )

"""One topic as it is argued: in which order the sides speak, under which names, and what each seat is asked.

The sides take turns at the last word: the advocate begins on odd topics, the challenger on even ones. They and the
arbiter know the sides by neutral names, of which whoever begins has the first. A mirrored judging shows the arbiter
the other side first, under the first name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from moot.core.debate import Step, Turn
from moot.core.script import Debate
from moot.core.value import changed
from moot.formats.evaluation.answers import Arguments, FullJudgment, Reply
from moot.formats.evaluation.concessions import concessions, other
from moot.formats.evaluation.evidence import MIN_WORDS, all_quoted, misquoted
from moot.formats.evaluation.scorecard import TopicVerdict
from moot.formats.evaluation.scores import MAX_CHANGE
from moot.formats.evaluation.settings import (
    SIDES,
    TITLES,
    CategoryRating,
    Challenge,
    EvaluationSettings,
    FirstSettings,
    Topic,
)
from moot.trust.judging import Judged, JudgeView
from moot.trust.mirrored import form_shown, judged_again
from moot.trust.neutral_names import neutral_names

Evaluating: TypeAlias = Debate[FirstSettings] | Debate[EvaluationSettings]


@dataclass(slots=True)
class TopicDebate:
    number: int
    topic: Topic
    rating: CategoryRating
    raised: Sequence[Challenge]
    turns: list[Turn] = field(default_factory=list)
    judged: Judged | None = None

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
    speech: Callable[[Evaluating, TopicDebate, str, str, bool, int], Step]
    """What a side is asked for: of this seat, of this kind, as its last word or not, in so many tokens at most."""
    judging: Callable[[Evaluating, TopicDebate, JudgeView], Step]
    judged: Callable[[Evaluating, TopicDebate, Judged], TopicVerdict]


def order(number: int) -> Sequence[str]:
    return SIDES if number % 2 else SIDES[::-1]


def names_of(debate: Evaluating, number: int) -> dict[str, str]:
    """Side → its name on a topic; their titles where the idea itself speaks of an Advocate, whose name must stay."""
    neutral = debate.once("names", lambda: _neutral_names(debate.settings.quotable(debate.topic)))
    return dict(zip(order(number), neutral, strict=True)) if neutral else {side: TITLES[side] for side in order(number)}


def _neutral_names(idea: str) -> Sequence[str]:
    return () if any(TITLES[side] in idea for side in SIDES) else neutral_names(idea)


def speech(debate: Evaluating, hearing: TopicDebate, seat: str, kind: str, last: bool, most: int) -> Step:
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
        max_tokens=most,
        visible=hearing.visible,
        looks_for=(hearing.topic.name, hearing.position(seat)),
    )


def shown_names(debate: Evaluating, number: int, mirrored: bool) -> dict[str, str]:
    """Side → its name, in the order in which the arbiter is shown them; neutral names change sides with the order."""
    names = names_of(debate, number)
    if not mirrored:
        return names
    sides = [*reversed(names)]
    titled = names["advocate"] == TITLES["advocate"]
    return {side: names[side] for side in sides} if titled else dict(zip(sides, names.values(), strict=True))


def _examined(debate: Evaluating, hearing: TopicDebate) -> dict[str, object]:
    """What code tells the arbiter of the speeches."""
    return {
        "conceded": concessions(debate, hearing.turns),
        "quotes": sum(len(all_quoted(debate, turn)) for turn in hearing.turns),
        "misquoted": misquoted(debate, hearing.number),
    }


def judging(debate: Evaluating, hearing: TopicDebate, view: JudgeView) -> Step:
    """All judgings of one order are the same step but for its wording."""
    visible, mirrored = hearing.visible, view.mirrored
    step = debate.once(("judging", visible, mirrored), lambda: _judging(debate, hearing, visible, mirrored))
    worded = changed(step, variables={**step.variables, "wording": view.wording})
    return judged_again(debate, worded, view, SIDES, hearing.turns)


def _judging(debate: Evaluating, hearing: TopicDebate, visible: frozenset[int], mirrored: bool) -> Step:
    names = shown_names(debate, hearing.number, mirrored)
    answered = len(hearing.turns) > len(SIDES)
    return Step(
        "arbiter",
        "verdict",
        hearing.number,
        answer=_judgment_for(names),
        aliases=names,
        variables={
            "about": hearing.topic,
            "positions": {side: hearing.position(side) for side in names},
            "rating": hearing.rating,
            "score": hearing.rating.score,
            "most": MAX_CHANGE,
            "last_speaker": names[hearing.turns[-1].seat] if answered else "",
            **debate.once(("examined", visible), partial(_examined, debate, hearing)),
            "shortest": MIN_WORDS,
        },
        visible=visible,
    )


def _judgment_for(names: Mapping[str, str]) -> type[FullJudgment]:
    """The judgment as the arbiter sees it: each side under its neutral name, the one shown first before the other."""
    first, second = names.values()
    fields, mirrored = ("strongest", "score"), next(iter(names)) != SIDES[0]
    return form_shown("Judgment", FullJudgment, fields, SIDES, (first, second), mirrored)

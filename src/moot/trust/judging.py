"""A verdict judged several times, with the sides mirrored in every other judging, and what those say together.

In a mirrored judging everything flips at once: which speech of a round stands first, who has which neutral name, who
is mentioned first, whose score comes first. So whatever a judge gives to the place and not to the argument cancels in
the mean, and shows as the order effect. Knows no format: who asks says what a judging is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from math import sqrt
from statistics import fmean
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic import Field, field_validator

from moot.core.debate import Settings, Step, Turn
from moot.core.script import Debate, Script
from moot.core.trust import Judging, Level, Stability, Trust
from moot.text.language import Language

Depth: TypeAlias = Literal["quick", "normal", "careful"]
Call: TypeAlias = Literal["a", "b", "undecided"]

MOST: dict[Depth, int] = {"quick": 1, "normal": 4, "careful": 8}
"""How often a debate is judged at most."""
CLEAR_AFTER_TWO = 2.5
"""Two judgings that agree by so many points need no others."""
PRIOR_NOISE, PRIOR_WEIGHT = 1.2, 4
"""The noise of one judging, in points, that is taken for granted, and how many judgings' worth of evidence that is."""
T_975 = (2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145)
"""Student's t at .975 for 4, 5, 6 … degrees of freedom."""
FEW_FLIPS = 0.1
REJUDGING = "rejudging"
"""The kind of every judging but the first."""


class JudgedSettings(Settings):
    """What is chosen where an outcome is judged several times."""

    depth: Depth = Field(
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
        description="beside max_total_output_tokens, which bounds the debate and its first judging",
    )

    @field_validator("judgings")
    @classmethod
    def _are_pairs(cls, judgings: int | None) -> int | None:
        if judgings is not None and judgings > 1 and judgings % 2:
            raise ValueError(f"is 1 or even, as every judging has a mirrored one: {judgings - 1} or {judgings + 1}")
        return judgings

    @property
    def most_judgings(self) -> int:
        return self.judgings or MOST[self.depth]


class JudgeView(NamedTuple):
    """How a judging is shown the debate."""

    mirrored: bool = False
    wording: int = 0


class Judged(NamedTuple):
    """The turns of all judgings, and the limit for which others were left out."""

    turns: tuple[Turn, ...]
    limit: str = ""


def views(number: int) -> tuple[JudgeView, ...]:
    """Pairs of the same wording, one as it was and one mirrored."""
    return tuple(JudgeView(bool(at % 2), at // 2) for at in range(number))


def mirrored_order(turns: Sequence[Turn], sides: Sequence[str]) -> tuple[int, ...]:
    """All turns with the speeches of each round in reverse; whatever else was said stays where it stands."""
    order = list(range(len(turns)))
    rounds: dict[int | None, list[int]] = {}
    for at, turn in enumerate(turns):
        if turn.seat in sides:
            rounds.setdefault(turn.round, []).append(at)
    for places in rounds.values():
        for place, at in zip(places, reversed(places), strict=True):
            order[place] = at
    return tuple(order)


def judge_in_pairs(
    debate: Debate[Any],
    ask: Callable[[JudgeView], Step],
    read: Callable[[Turn, JudgeView], Judging],
    clear: float,
    first: Turn | None = None,
) -> Script[Judged]:
    """Judge twice, side by side, and more often if that is close; `first` is the first judging where there is one."""
    turns: tuple[Turn, ...] = (first,) if first else ()
    limit = ""
    for number in dict.fromkeys((min(2, debate.settings.most_judgings), debate.settings.most_judgings)):
        if len(turns) > 1 and _is_clear([read(*each) for each in zip(turns, views(2), strict=True)], clear):
            break
        wanted, limit = _affordable(debate, ask(JudgeView()).seat, len(turns), number)
        turns += yield from debate.ask_all([ask(view) for view in views(wanted)[len(turns) :]])
        if limit:
            break
    return Judged(turns, limit)


def _is_clear(two: Sequence[Judging], clear: float) -> bool:
    calls = {call(judging.margin, clear) for judging in two}
    far = abs(fmean(judging.margin for judging in two)) >= CLEAR_AFTER_TWO
    return far and len(calls) == 1 and all(judging.counted for judging in two)


def _affordable(debate: Debate[Any], seat: str, had: int, wanted: int) -> tuple[int, str]:
    """How many judgings there are tokens, money and time for, in pairs, and the limit that allows no more."""
    limit = ""
    while wanted > max(1, had) and (reached := _limit(debate, seat, wanted - max(1, had), wanted - had)):
        limit, wanted = reached, max(wanted - 2, had, 1)
    return wanted, limit


def _limit(debate: Debate[Any], seat: str, more: int, calls: int) -> str:
    """What `more` judgings would exceed, `calls` of them and the first one being still to be paid for.

    Each is taken to cost as much as the dearest turn so far.
    """
    s, spent = debate.settings, debate.usage().cost
    written = sum(turn.usage.output_tokens for turn in debate.transcript if turn.kind == REJUDGING)
    dearest = max((turn.usage.cost or 0.0 for turn in debate.transcript), default=0.0)
    if debate.runtime() >= s.max_runtime_seconds:
        return "max_runtime_seconds"
    if written + more * debate.seats[seat].max_tokens > s.max_check_output_tokens:
        return "max_check_output_tokens"
    return "max_cost" if s.max_cost is not None and (spent or 0.0) + calls * dearest > s.max_cost else ""


def balanced(judgings: Sequence[Judging]) -> list[Judging]:
    """In a pair of which one could not be read neither counts: one alone would bring its bias back."""
    pairs = zip(judgings[::2], judgings[1::2], strict=False)
    return [
        judging.model_copy(update={"counted": one.counted and other.counted})
        for one, other in pairs
        for judging in (one, other)
    ]


def call(margin: float, clear: float) -> Call:
    """Who has won by this margin; scores closer than `clear` decide nothing."""
    if round(abs(margin), 6) < clear:  # 8.2 - 7.2 is a little less than 1 to a computer
        return "undecided"
    return "a" if margin > 0 else "b"


def weigh(judgings: Sequence[Judging], clear: float) -> Stability | None:
    """What judgings say together; None when no pair of them can be read."""
    whole = balanced(judgings)
    counted = [judging for judging in whole if judging.counted]
    if not counted:
        return None
    signs = [-1 if judging.mirrored else 1 for judging in counted]
    margin = fmean(judging.margin for judging in counted)
    effect = fmean(sign * judging.margin for sign, judging in zip(signs, counted, strict=True))
    rests = [judging.margin - margin - sign * effect for sign, judging in zip(signs, counted, strict=True)]
    half = _half_width(rests)
    calls = [call(judging.margin, clear) for judging in counted]
    return Stability(
        judgings=whole,
        score_a=fmean(judging.score_a for judging in counted),
        score_b=fmean(judging.score_b for judging in counted),
        margin=margin,
        low=margin - half,
        high=margin + half,
        order_effect=effect,
        flips=fmean(one != other for one, other in permutations(calls, 2)),
        holds=calls.count(call(margin, clear)),
    )


def _half_width(rests: Sequence[float]) -> float:
    """Of the interval: four judgings alone tell little of their noise, so it is moderated by what is usual."""
    freedom = PRIOR_WEIGHT + len(rests) - 2
    noise = sqrt((PRIOR_WEIGHT * PRIOR_NOISE**2 + sum(rest**2 for rest in rests)) / freedom)
    return T_975[min(freedom, PRIOR_WEIGHT + len(T_975) - 1) - PRIOR_WEIGHT] * noise / sqrt(len(rests))


def trust(debate: Debate[Any], judged: Judged, stability: Stability | None, clear: float) -> Trust:
    """What the judgings found, in the debate's language."""
    say = debate.language
    if stability is None:
        return Trust(level="Low", reasons=[*_about_one(judged, say), *_left_out(judged, say)])
    undecided = call(stability.margin, clear) == "undecided"
    reasons = list(_against_high(debate, judged, stability, say))
    level: Level = "Low" if undecided else "Medium" if reasons else "High"
    if undecided:
        reasons.insert(0, say("the judgings decide nothing: a margin below {clear:g} is none", clear=clear))
    if level == "High":
        reasons.append(say("the judgings agree, and the interval of their margin is clear of 0"))
    reasons += _left_out(judged, say)
    return Trust(level=level, summary=_summary(stability, undecided, say), reasons=reasons, stability=stability)


def _summary(stability: Stability, undecided: bool, say: Language) -> str:
    side = -1 if stability.margin < 0 else 1
    low, high = sorted((side * stability.low, side * stability.high))
    values = {
        "holds": stability.holds,
        "all": len(stability.counted),
        "margin": _points(side * stability.margin),
        "low": _points(low),
        "high": _points(high),
        "order": _order_text(stability.order_effect, say),
    }
    if undecided:
        return say("undecided in {holds} of {all} judgings, margin {margin} ({low} to {high}); {order}", **values)
    return say("holds in {holds} of {all} judgings, margin {margin} ({low} to {high}); {order}", **values)


def _order_text(effect: float, say: Language) -> str:
    points = _points(abs(effect))
    if points == "0.0":
        return say("it made no difference which side was shown first")
    if effect > 0:
        return say("the side shown first got {points} more", points=points)
    return say("the side shown second got {points} more", points=points)


def _points(value: float) -> str:
    return f"{round(value, 1) + 0.0:.1f}".replace("-", "−")


def _about_one(judged: Judged, say: Language) -> Iterator[str]:
    unreadable = sum("fallback" in turn.marks for turn in judged.turns)
    if unreadable:
        values = {"n": unreadable, "all": len(judged.turns)}
        yield say("{n} of {all} judgings could not be read, and no mirrored pair is left", **values)
    elif len(judged.turns) == 1:
        yield say("judged once: whether another judging would say the same is not known")


def _left_out(judged: Judged, say: Language) -> Iterator[str]:
    if judged.limit:
        yield say("further judgings were left out: {limit} leaves no room for them", limit=judged.limit)


def _against_high(debate: Debate[Any], judged: Judged, stability: Stability, say: Language) -> Iterator[str]:
    counted = stability.counted
    if abs(stability.order_effect) >= abs(stability.margin):
        yield say("which side was shown first mattered more than what was argued")
    if stability.flips > FEW_FLIPS:
        values = {"n": len(counted) - stability.holds, "all": len(counted)}
        yield say("the judgings differ: {n} of {all} alone would have come to another result", **values)
    if stability.low <= 0 <= stability.high:
        yield say("the interval of the margin contains 0")
    if len(counted) < len(stability.judgings):
        unreadable = sum("fallback" in turn.marks for turn in judged.turns)
        values = {"n": unreadable, "all": len(stability.judgings)}
        yield say("{n} of {all} judgings could not be read, and left with their mirrored twins", **values)
    if any("without:early_turns" in turn.marks for turn in judged.turns):
        yield say("a judge could not read the early turns, so that the judgings are not quite comparable")
    if len({turn.model for turn in debate.transcript if turn.model}) == 1:
        yield say("one model in every seat is trusted no further than Medium: a judge of another model would lift it")

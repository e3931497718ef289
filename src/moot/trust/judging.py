"""A verdict judged several times, with the sides mirrored in every other judging, and what those say together.

In a mirrored judging everything flips at once: which speech of a round stands first, who has which neutral name, who
is mentioned first, whose score comes first. So whatever a judge gives to the place and not to the argument cancels in
the mean, and shows as the order effect. Knows no format: who asks says what a judging is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import permutations
from math import sqrt
from statistics import fmean
from typing import Any, Literal, NamedTuple, TypeAlias

from moot.core.debate import Step, Turn
from moot.core.script import Debate, Script
from moot.core.trust import CLEAR_MARGIN, JudgeNoise, Judging, Level, Stability, Trust
from moot.text.language import Language
from moot.trust.caveats import only_model
from moot.trust.depth import MORE_JUDGES

Call: TypeAlias = Literal["a", "b", "undecided"]

CLEAR_AFTER_TWO = 2.5
"""Two judgings that agree by so many points need no others."""
USUAL_NOISE = JudgeNoise(points=1.2)
"""Of one judging, where nothing is known of its judge."""
USUAL_WEIGHT, WEIGHT_OF_EACH, MOST_WEIGHT = 4, 2, 10
"""How many judgings' worth of evidence that is, with each earlier debate of the judge, and at most: what is learned is
a little too small, as four judgings are made where the first two were close."""
T_975 = (
    *(2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110),
    *(2.101, 2.093, 2.086),
)
"""Student's t at .975 for 4, 5, 6 … degrees of freedom."""
FEW_FLIPS = 0.1
LITTLE = 0.1
"""Points of which fewer are shown as none."""
ENDS = ("limit", "conclude")
"""The kinds of turns by which a limit or a person ends the rounds."""
LEVELS: tuple[Level, ...] = ("Low", "Medium", "High")


def judge_of(debate: Debate[Any], seat: str, view: JudgeView) -> str:
    """Who gives a judging: each pair of them another one of the judges there are."""
    judges = [name for name in (seat, *(f"{seat}_{more + 2}" for more in range(MORE_JUDGES))) if name in debate.seats]
    return judges[view.wording % len(judges)]


class JudgeView(NamedTuple):
    """How a judging is shown the debate."""

    mirrored: bool = False
    wording: int = 0


class Case(NamedTuple):
    """Something that is judged, how a judging is asked for and read, and the first judging where there is one."""

    ask: Callable[[JudgeView], Step]
    read: Callable[[Turn, JudgeView], Judging]
    first: Turn | None = None


class Judged(NamedTuple):
    """The turns of all judgings, and the limit for which others were left out."""

    turns: tuple[Turn, ...]
    limit: str = ""


class Weighed(NamedTuple):
    """What judgings come to, and the one in whose words that is told."""

    turn: Turn
    stability: Stability | None


def judged_from(turns: Sequence[Turn], judge: str, sides: Collection[str]) -> int:
    """How many turns stand before the first judging of all speeches; what ended the rounds stands there too."""
    ended = max((turn.position for turn in turns if turn.seat in sides or turn.kind in ENDS), default=-1)
    return next((turn.position for turn in turns if turn.position > ended and turn.seat == judge), len(turns))


def views(number: int) -> tuple[JudgeView, ...]:
    """Pairs of the same wording, one as it was and one mirrored."""
    return tuple(JudgeView(bool(at % 2), at // 2) for at in range(number))


def mirrored_order(turns: Sequence[Turn], sides: Sequence[str], among: Sequence[Turn] | None = None) -> tuple[int, ...]:
    """All turns with the speeches that belong together in reverse; whatever else was said stays where it stands.

    Those of a round and a kind belong together; where a side has several, its first with the others' first. Where a
    step is shown nothing but those `among` all turns, no others need to be looked at.
    """
    order = [*_in_order(len(turns))]
    looked_at = enumerate(turns) if among is None else ((turn.position, turn) for turn in among)
    together: dict[tuple[int | None, str, int], list[int]] = {}
    spoken: dict[tuple[int | None, str, str], int] = {}
    for at, turn in looked_at:
        if turn.seat in sides:
            whose = (turn.round, turn.kind, turn.seat)
            number = spoken[whose] = spoken.get(whose, 0) + 1
            together.setdefault((turn.round, turn.kind, number), []).append(at)
    for places in together.values():
        for place, at in zip(places, reversed(places), strict=True):
            order[place] = at
    return tuple(order)


@lru_cache(maxsize=8)  # for all cases that are judged side by side: there may be many, and many turns
def _in_order(number: int) -> tuple[int, ...]:
    return tuple(range(number))


def judge_in_pairs(debate: Debate[Any], cases: Sequence[Case]) -> Script[list[Judged]]:
    """Judge every case twice, all side by side, and more often those that are close."""
    found = [Judged((case.first,) if case.first else ()) for case in cases]
    most = debate.settings.most_judgings
    for number in dict.fromkeys((min(2, most), most)):
        left = [
            at
            for at, (case, judged) in enumerate(zip(cases, found, strict=True))
            if not judged.limit and not _is_settled(case, judged.turns)
        ]
        if not left:
            break
        had = len(found[left[0]].turns)
        wanted, limit = _affordable(debate, cases[left[0]].ask(JudgeView()).seat, had, number, len(left))
        shown = views(wanted)[had:]
        turns = yield from debate.ask_all([cases[at].ask(view) for at in left for view in shown])
        for place, at in enumerate(left):
            new = turns[place * len(shown) : (place + 1) * len(shown)]
            found[at] = Judged(found[at].turns + new, limit)
    return found


def _is_settled(case: Case, turns: Sequence[Turn]) -> bool:
    """Whether two judgings say enough."""
    if len(turns) < 2:
        return False
    return _is_clear([case.read(*each) for each in zip(turns, views(len(turns)), strict=True)])


def _is_clear(two: Sequence[Judging]) -> bool:
    calls = {call(judging.margin) for judging in two}
    far = abs(fmean(judging.margin for judging in two)) >= CLEAR_AFTER_TWO
    return far and len(calls) == 1 and all(judging.counted for judging in two)


def _affordable(debate: Debate[Any], seat: str, had: int, wanted: int, cases: int) -> tuple[int, str]:
    """How many judgings of each case there are tokens, money and time for, in pairs, and the limit on more."""
    limit = ""
    while wanted > max(1, had) and (
        reached := limit_of(debate, seat, cases * (wanted - max(1, had)), cases * (wanted - had))
    ):
        limit, wanted = reached, max(wanted - 2, had, 1)
    return wanted, limit


def limit_of(debate: Debate[Any], seat: str, more: int, calls: int, kind: str = "") -> str:
    """What `more` turns that examine would exceed, when so many calls are still to be paid for.

    Each is taken to cost as much as the dearest turn so far, or the dearest of its kind.
    """
    s, spent = debate.settings, debate.usage().cost
    if debate.is_out_of_time():
        return "max_runtime_seconds"
    if debate.check_output() + more * debate.seats[seat].max_tokens > s.max_check_output_tokens:
        return "max_check_output_tokens"
    if s.max_cost is None:
        return ""
    dearest = max((turn.usage.cost or 0.0 for turn in debate.transcript if kind in ("", turn.kind)), default=0.0)
    return "max_cost" if (spent or 0.0) + calls * dearest > s.max_cost else ""


def balanced(judgings: Sequence[Judging]) -> list[Judging]:
    """In a pair of which one could not be read neither counts: one alone would bring its bias back."""
    pairs = zip(judgings[::2], judgings[1::2], strict=False)
    return [
        judging.model_copy(update={"counted": one.counted and other.counted})
        for one, other in pairs
        for judging in (one, other)
    ]


def call(margin: float, clear: float = CLEAR_MARGIN) -> Call:
    """Who has won by this margin; scores closer than `clear` decide nothing."""
    if round(abs(margin), 6) < clear:  # 8.2 - 7.2 is a little less than 1 to a computer
        return "undecided"
    return "a" if margin > 0 else "b"


def weighed(judged: Judged, read: Callable[[Turn, JudgeView], Judging], noise: JudgeNoise | None = None) -> Weighed:
    """What the judgings of a case come to, told in the words of the one that is nearest to their mean."""
    judgings = [read(*each) for each in zip(judged.turns, views(len(judged.turns)), strict=True)]
    stability = weigh(judgings, noise)
    if stability is None:
        readable = (turn for turn in judged.turns if "fallback" not in turn.marks)
        return Weighed(next(readable, judged.turns[0]), None)
    told = nearest(stability).position
    return Weighed(next(turn for turn in judged.turns if turn.position == told), stability)


def nearest(stability: Stability) -> Judging:
    """The judging in whose words they are told: no outlier's."""
    return min(stability.counted, key=lambda judging: abs(judging.margin - stability.margin))


def weigh(judgings: Sequence[Judging], noise: JudgeNoise | None = None) -> Stability | None:
    """What judgings say together, by a judge of this noise; None when no pair of them can be read.

    A judge that took another's place on the way is not known by that.
    """
    whole = balanced(judgings)
    counted = [judging for judging in whole if judging.counted]
    if not counted:
        return None
    noise = noise if noise and all(judging.model in noise.models for judging in counted) else None
    margin, effect, rests = _parts(counted)
    half = _half_width(rests, noise or USUAL_NOISE)
    calls = [call(judging.margin) for judging in counted]
    return Stability(
        judgings=whole,
        score_a=fmean(judging.score_a for judging in counted),
        score_b=fmean(judging.score_b for judging in counted),
        margin=margin,
        low=margin - half,
        high=margin + half,
        order_effect=effect,
        flips=fmean(one != other for one, other in permutations(calls, 2)),
        clear=CLEAR_MARGIN,
        holds=calls.count(call(margin)),
        noise=noise,
    )


class _Parts(NamedTuple):
    """What margins are made of: the mean, what the side shown first got more, and what is left of each."""

    margin: float
    effect: float
    rests: Sequence[float]


def _parts(counted: Sequence[Judging]) -> _Parts:
    signs = [-1 if judging.mirrored else 1 for judging in counted]
    margin = fmean(judging.margin for judging in counted)
    effect = fmean(sign * judging.margin for sign, judging in zip(signs, counted, strict=True))
    rests = [judging.margin - margin - sign * effect for sign, judging in zip(signs, counted, strict=True)]
    return _Parts(margin, effect, rests)


class JudgeFaults(NamedTuple):
    """What one judge model gives to the side it reads first, and how often its judgings disagree."""

    order_effect: float
    flips: float


def faults_by_judge(stability: Stability) -> dict[str, JudgeFaults]:
    """Model → what its own judgings say of it."""
    found = {}
    for model in dict.fromkeys(judging.model for judging in stability.counted if judging.model):
        own = weigh([judging for judging in stability.judgings if judging.model == model])
        if own:
            found[model] = JudgeFaults(own.order_effect, own.flips)
    return found


def _half_width(rests: Sequence[float], known: JudgeNoise) -> float:
    """Of the interval: four judgings alone tell little of their noise, so it is moderated by what is known of it."""
    weight = min(USUAL_WEIGHT + WEIGHT_OF_EACH * known.debates, MOST_WEIGHT)
    freedom = weight + len(rests) - 2
    noise = sqrt((weight * known.points**2 + sum(rest**2 for rest in rests)) / freedom)
    return T_975[freedom - USUAL_WEIGHT] * noise / sqrt(len(rests))


def spreads(trust: Trust) -> list[tuple[str, float, int]]:
    """How far judgings lie from what they come to: the model, the sum of squares, and of how many that tells.

    For every judged part, once mean and order effect are taken out; two judgings tell nothing.
    """
    found = []
    for part in filter(None, (trust.stability, *trust.parts.values())):
        for model in {judging.model for judging in part.counted}:
            rests = _parts([judging for judging in part.counted if judging.model == model]).rests
            found.append((model, sum(rest**2 for rest in rests), len(rests) - 2))
    return [each for each in found if each[2] > 0]


def learned_noise(earlier: Iterable[Iterable[tuple[str, float, int]]], models: Collection[str]) -> JudgeNoise | None:
    """How far judgings by these models differed, by the spreads of earlier debates.

    What is usual keeps its weight beside what was found, so that a few judgings that happened to agree do not make a
    judge look exact.
    """
    told = [own for each in earlier if (own := [spread for spread in each if spread[0] in models])]
    squares = USUAL_WEIGHT * USUAL_NOISE.points**2 + sum(spread[1] for own in told for spread in own)
    noise = round(sqrt(squares / (USUAL_WEIGHT + sum(spread[2] for own in told for spread in own))), 3)
    return JudgeNoise(points=noise, debates=len(told), models=sorted(models)) if told else None


def trust(debate: Debate[Any], judged: Judged, stability: Stability | None) -> Trust:
    """What the judgings found, in the debate's language."""
    say = debate.language
    if stability is None:
        return Trust(level="Low", reasons=[*_about_one(judged, say), *_left_out(judged, say)])
    undecided = call(stability.margin) == "undecided"
    reasons = list(_against_high(debate, judged, stability, say))
    level: Level = "Low" if undecided else "Medium" if reasons else "High"
    if undecided:
        reasons.insert(0, say("the judgings decide nothing: a margin below {clear:g} is none", clear=CLEAR_MARGIN))
    if level == "High":
        reasons.append(say("the judgings agree, and the interval of their margin is clear of 0"))
    reasons += _left_out(judged, say)
    return Trust(level=level, summary=summary(stability, say), reasons=reasons, stability=stability)


def together(debate: Debate[Any], found: Mapping[str, Trust], decided: Collection[str]) -> Trust:
    """The trust in several outcomes: that of the least sure one of those that decided something."""
    say = debate.language
    shared = set.intersection(*(set(each.reasons) for each in found.values()))
    reasons = list(dict.fromkeys(reason for each in found.values() for reason in each.reasons if reason in shared))
    for name, each in found.items():
        own = [each.summary, *(reason for reason in each.reasons if reason not in shared)]
        reasons += [f"{name}: {'; '.join(filter(None, own))}"] if any(own) else []
    levels = [each.level for name, each in found.items() if name in decided]
    return Trust(
        level=min(levels, key=LEVELS.index, default="Low"),
        summary=say("{n} of {all} topics are decided", n=len(decided), all=len(found)),
        reasons=reasons,
        parts={name: each.stability for name, each in found.items() if each.stability},
    )


def summary(stability: Stability, say: Language) -> str:
    """What judgings came to, in a sentence."""
    undecided = call(stability.margin, stability.clear) == "undecided"
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
    if abs(stability.order_effect) >= max(abs(stability.margin), LITTLE):  # an effect of nothing is none
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
    if model := only_model(debate):
        yield say("one model, {model}, spoke in every seat: at most Medium; another judge would lift it", model=model)

"""Decision rules: who has won when several vote, and why nobody has. Pure: knows no debate and no model.

A tie, too few votes or too small a majority give no winner and the reason; nothing is ever decided by chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from itertools import combinations
from math import sqrt
from typing import Literal, NamedTuple, TypeAlias, get_args

from moot.text.language import Language

Rule: TypeAlias = Literal["plurality", "supermajority", "unanimity", "approval", "borda", "copeland", "instant_runoff"]
RULES: tuple[Rule, ...] = get_args(Rule)
RANKED: frozenset[Rule] = frozenset({"borda", "copeland", "instant_runoff"})
"""The rules that need to know of each voter which option it puts before which."""
Why: TypeAlias = Literal["", "no_votes", "quorum", "tie", "threshold"]
Ranking: TypeAlias = Sequence[frozenset[str]]
"""Best first, those that are as good as each other together; whatever is left out comes last, together."""
Z_975 = 1.959964
TWO_THIRDS = Fraction(2, 3)


class Result(NamedTuple):
    """Who has won; when nobody has, why, and who was level at the top."""

    winner: str | None
    tally: Mapping[str, float]
    tied: frozenset[str] = frozenset()
    why: Why = ""


class Interval(NamedTuple):
    low: float
    high: float


def plurality(
    votes: Sequence[str],
    options: Sequence[str] = (),
    *,
    quorum: int = 0,
    over: Fraction | float = 0,
    at_least: Fraction | float = 0,
) -> Result:
    """Most votes win; with a threshold, only if their share is over it, or at least as high."""
    counts = {**dict.fromkeys(options, 0), **Counter(votes)}
    result = _highest(counts, len(votes), quorum)
    if result.winner is None:
        return result
    share = Fraction(counts[result.winner], len(votes))
    return result if share > over and share >= at_least else result._replace(winner=None, why="threshold")


def supermajority(votes: Sequence[str], options: Sequence[str] = (), *, quorum: int = 0) -> Result:
    return plurality(votes, options, quorum=quorum, at_least=TWO_THIRDS)


def unanimity(votes: Sequence[str], options: Sequence[str] = (), *, quorum: int = 0) -> Result:
    return plurality(votes, options, quorum=quorum, at_least=1)


def approval(votes: Sequence[Collection[str]], options: Sequence[str] = (), *, quorum: int = 0) -> Result:
    """Everybody may approve of several; who has most approvals wins."""
    counts = {**dict.fromkeys(options, 0), **Counter(option for vote in votes for option in {*vote})}
    return _highest(counts, len(votes), quorum)


def weighted(votes: Mapping[str, str], weights: Mapping[str, float], *, quorum: int = 0) -> Result:
    """Voter → vote; whoever has no weight counts once."""
    tally: dict[str, Fraction] = {}
    for voter, vote in votes.items():
        tally[vote] = tally.get(vote, Fraction(0)) + Fraction(weights.get(voter, 1.0))
    return _highest(tally, len(votes), quorum)


def borda(rankings: Mapping[str, Ranking], *, own: Mapping[str, str] | None = None, quorum: int = 0) -> Result:
    """Voter → ranking; an option gets a point for each that it is put before, and half of one for each it is tied with.

    Under `own`, voter → its own option, nobody ranks their own: points are then the mean share of the others that an
    option was put before, over the ballots it stands on, so that it costs nobody points to be left out of a ballot.
    """
    received: dict[str, list[Fraction]] = {option: [] for option in _options(rankings.values())}
    for voter, ranking in rankings.items():
        mine = (own or {}).get(voter)
        for option, points in _points(_whole(ranking, received.keys() - {mine}), share=own is not None).items():
            received[option].append(points)
    means = own is not None
    tally = {option: sum(got, Fraction(0)) / (len(got) or 1 if means else 1) for option, got in received.items()}
    return _highest(tally, len(rankings), quorum)


def copeland(rankings: Iterable[Ranking], *, quorum: int = 0) -> Result:
    """A point for each other option that more put it before than behind, half of one when they are as many."""
    whole = _all_whole(rankings)
    tally = dict.fromkeys(_options(whole), Fraction(0))
    places = [{option: at for at, group in enumerate(ranking) for option in group} for ranking in whole]
    for one, other in combinations(tally, 2):
        lead = sum((place[one] < place[other]) - (place[one] > place[other]) for place in places)
        tally[one] += Fraction(1 + (lead > 0) - (lead < 0), 2)
        tally[other] += Fraction(1 + (lead < 0) - (lead > 0), 2)
    return _highest(tally, len(whole), quorum)


def instant_runoff(rankings: Iterable[Ranking], *, quorum: int = 0) -> Result:
    """Who has fewest first places leaves, until somebody has more than half of them.

    When several have fewest, each of them is tried: who wins whichever leaves has won, and otherwise it is a tie.
    """
    whole = _all_whole(rankings)
    options = _options(whole)
    tally = _first_places(whole, options)
    return _highest(tally, len(whole), quorum, _survivors(whole, options, {}) if options else None)


def majority_judgment(grades: Mapping[str, Mapping[str, float]], *, quorum: int = 0) -> Result:
    """Voter → option → grade; the highest median wins, and between equal ones the next grades beside it decide.

    An option that a voter left out has its lowest grade, 0.
    """
    options = dict.fromkeys(option for given in grades.values() for option in given)
    values = {option: _by_median([given.get(option, 0.0) for given in grades.values()]) for option in options}
    tally = {option: value[0] for option, value in values.items()}
    best = max(values.values(), default=())
    return _highest(tally, len(grades), quorum, frozenset(each for each, value in values.items() if value == best))


def decide(rule: Rule, votes: Mapping[str, Sequence[str]], options: Sequence[str], quorum: int = 0) -> Result:
    """Voter → its options, best first; by the rule, the first one counts, or all that were named, or their order."""
    if rule == "approval":
        return approval(list(votes.values()), options, quorum=quorum)
    if rule not in RANKED:
        choose = {"plurality": plurality, "supermajority": supermajority, "unanimity": unanimity}[rule]
        return choose([named[0] for named in votes.values() if named], options, quorum=quorum)
    every = frozenset(options)
    rankings = {voter: _whole([frozenset({each}) for each in named], every) for voter, named in votes.items()}
    if rule == "borda":
        return borda(rankings, quorum=quorum)
    return (copeland if rule == "copeland" else instant_runoff)(rankings.values(), quorum=quorum)


def shuffled(options: Sequence[str], seed: str) -> tuple[str, ...]:
    """In an order that the seed alone decides; who reads them in another has another seed."""
    return tuple(sorted(options, key=lambda option: sha256(f"{seed}\0{option}".encode()).digest()))


def wilson(number: int, of: int) -> Interval:
    """The 95% interval of a share."""
    if not of:
        return Interval(0.0, 1.0)
    share, z2 = number / of, Z_975**2
    middle, half = share + z2 / (2 * of), Z_975 * sqrt(share * (1 - share) / of + z2 / (4 * of * of))
    return Interval(max(0.0, (middle - half) / (1 + z2 / of)), min(1.0, (middle + half) / (1 + z2 / of)))


def _highest(
    tally: Mapping[str, Fraction | float], votes: int, quorum: int, best: frozenset[str] | None = None
) -> Result:
    """Who has most, or is the `best` by another rule."""
    shown = {option: float(points) for option, points in tally.items()}
    if not votes or not tally:
        return Result(None, shown, why="no_votes")
    if votes < quorum:
        return Result(None, shown, why="quorum")
    top = max(tally.values())
    best = best or frozenset(option for option, points in tally.items() if points == top)
    return Result(next(iter(best)), shown) if len(best) == 1 else Result(None, shown, best, "tie")


def _options(rankings: Iterable[Ranking]) -> frozenset[str]:
    return frozenset(option for ranking in rankings for group in ranking for option in group)


def _all_whole(rankings: Iterable[Ranking]) -> list[list[frozenset[str]]]:
    listed = list(rankings)
    options = _options(listed)
    return [_whole(ranking, options) for ranking in listed]


def _whole(ranking: Ranking, options: Collection[str]) -> list[frozenset[str]]:
    """A ranking of these options, each once, with those it leaves out in the last place."""
    left = {*options}
    whole = []
    for group in ranking:
        whole.append(frozenset(group & left))
        left -= group
    return [group for group in (*whole, frozenset(left)) if group]


def _points(ranking: Ranking, share: bool) -> dict[str, Fraction]:
    others = sum(map(len, ranking)) - 1
    points: dict[str, Fraction] = {}
    behind = others + 1
    for group in ranking:
        behind -= len(group)
        got = behind + Fraction(len(group) - 1, 2)
        points |= dict.fromkeys(group, got / (others or 1) if share else got)
    return points


def _first_places(rankings: Iterable[Ranking], left: Collection[str]) -> dict[str, Fraction]:
    tally = dict.fromkeys(left, Fraction(0))
    for ranking in rankings:
        first = next((group & frozenset(left) for group in ranking if group & frozenset(left)), frozenset())
        for option in first:
            tally[option] += Fraction(1, len(first))
    return tally


def _survivors(
    rankings: Sequence[Ranking], left: frozenset[str], known: dict[frozenset[str], frozenset[str]]
) -> frozenset[str]:
    """All who may win, whichever of those with fewest first places leaves."""
    if left in known:
        return known[left]
    tally = _first_places(rankings, left)
    top, fewest = max(tally.values()), min(tally.values())
    if 2 * top > sum(tally.values()) or len(left) == 1:
        known[left] = frozenset(option for option, first in tally.items() if first == top)
    else:
        leaving = [option for option, first in tally.items() if first == fewest]
        known[left] = frozenset[str]().union(*(_survivors(rankings, left - {each}, known) for each in leaving))
    return known[left]


def _by_median(grades: Sequence[float]) -> tuple[float, ...]:
    """The lower median, then that of the others, and so on."""
    left, values = sorted(grades), []
    while left:
        values.append(left.pop((len(left) - 1) // 2))
    return tuple(values)


def rule_name(rule: str, say: Language) -> str:
    names = {
        "plurality": say("plurality"),
        "supermajority": say("supermajority"),
        "unanimity": say("unanimity"),
        "approval": say("approval"),
        "borda": say("Borda count"),
        "copeland": say("Copeland"),
        "instant_runoff": say("instant run-off"),
    }
    return names.get(rule, rule)

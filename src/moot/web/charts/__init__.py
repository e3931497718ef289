"""The charts of a debate: whatever its turns and its outcome have numbers for. Knows no format."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, TypeVar

from pydantic import BaseModel, Field, JsonValue, ValidationError

from moot.core.debate import NO_USAGE, Outcome, Record, Turn, Usage
from moot.trust.novelty import REPEATS, STALE
from moot.web.charts.bars import Amount, Measure, bars
from moot.web.charts.drawing import Chart, plain
from moot.web.charts.lines import Axis, Series, Threshold, lines
from moot.web.charts.scores import HIGHEST, Score, scores
from moot.web.charts.timeline import called, timeline

__all__ = ["Chart", "charts_for"]

Points = Annotated[float, Field(ge=0, le=HIGHEST, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
SCORES = Axis(HIGHEST, plain)
SHARES = Axis(1, lambda share: f"{share:.0%}")
TOKENS = Measure("output tokens", lambda tokens: f"{tokens:,.0f}")
COST = Measure("US dollars", lambda dollars: f"${dollars:,.4f}" if dollars < 1 else f"${dollars:,.2f}")


class _Category(BaseModel):
    category: str
    before: Points
    after: Points


class _Scored(BaseModel):
    """An outcome that scores categories; without topics nothing came between before and after."""

    categories: list[_Category] = Field(min_length=1)
    overall_before: Points
    overall_after: Points
    topics: list[JsonValue]


class _Round(BaseModel):
    round: int
    novelty: dict[str, Share]
    repetition: dict[str, Share]


class _Measured(BaseModel):
    """An outcome that tells how much each round brought."""

    rounds: list[_Round]


T = TypeVar("T", bound=BaseModel)


def charts_for(
    record: Record, turns: Sequence[Turn], titles: Mapping[str, str], outcome: Outcome | None
) -> tuple[Chart, ...]:
    """Those for which there is data, the outcome's first; `titles` says how readers call a seat."""
    found = (
        _before_and_after(outcome),
        _judged(turns, titles),
        *_novelty(outcome, titles),
        *_used(record, turns, titles),
        timeline("timeline", "Who spoke when", turns, titles),
    )
    return tuple(chart for chart in found if chart)


def _read(shape: type[T], outcome: Outcome | None) -> T | None:
    """The outcome as this shape, if it has it."""
    try:
        return shape.model_validate(outcome.model_dump(mode="json")) if outcome else None
    except ValidationError:
        return None


def _before_and_after(outcome: Outcome | None) -> Chart | None:
    card = _read(_Scored, outcome)
    if card is None:
        return None
    debated = bool(card.topics)
    given = [Score(one.category, one.before if debated else None, one.after) for one in card.categories]
    overall = Score("overall", card.overall_before if debated else None, card.overall_after)
    return scores("scores", "Scores before and after" if debated else "Scores", given, overall)


def _judged(turns: Sequence[Turn], titles: Mapping[str, str]) -> Chart | None:
    """Scores given round after round; a single round has no course, and neither have rounds played side by side."""
    numbers = [turn.round for turn in turns if turn.round is not None]
    found: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for turn in turns:
        if turn.round is not None and "fallback" not in turn.marks:
            for field, score in _points(turn):
                found[turn.seat, field][turn.round] = score
    judged = {round for values in found.values() for round in values}
    if numbers != sorted(numbers) or len(judged) < 2:
        return None
    series = [Series(_scored(seat, field, titles), values) for (seat, field), values in found.items()]
    return lines("judged", "Scores by round", series, SCORES)


def _points(turn: Turn) -> Iterator[tuple[str, float]]:
    for field, value in (turn.data or {}).items():
        named = field == "score" or field.startswith("score_")
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if named and number and 0 <= value <= HIGHEST:  # type: ignore[operator]
            yield field, float(value)  # type: ignore[arg-type]


def _scored(seat: str, field: str, titles: Mapping[str, str]) -> str:
    """Who got a score: `score_a` is that of the seat called so at its end, `score` the one its giver gives."""
    side = field.removeprefix("score").removeprefix("_")
    if not side:
        return f"{called(seat, titles)}’s score"
    whose = next((name for name in titles if name == side or name.endswith(f"_{side}")), side)
    return called(whose, titles)


def _novelty(outcome: Outcome | None, titles: Mapping[str, str]) -> Iterator[Chart | None]:
    measured = _read(_Measured, outcome)
    if measured is None:
        return
    new = {each.round: each.novelty for each in measured.rounds}
    repeated = {each.round: each.repetition for each in measured.rounds}
    stale = Threshold(STALE, f"stale below {STALE:.0%}")
    repeats = Threshold(REPEATS, f"repetitive above {REPEATS:.0%}")
    yield lines("novelty", "What was new, by round", _by_seat(new, titles), SHARES, stale)
    yield lines("repetition", "What was repeated, by round", _by_seat(repeated, titles), SHARES, repeats)


def _by_seat(by_round: Mapping[int, Mapping[str, float]], titles: Mapping[str, str]) -> list[Series]:
    seats = dict.fromkeys(seat for shares in by_round.values() for seat in shares)
    return [
        Series(called(seat, titles), {round: shares[seat] for round, shares in by_round.items() if seat in shares})
        for seat in seats
    ]


def _used(record: Record, turns: Sequence[Turn], titles: Mapping[str, str]) -> Iterator[Chart]:
    """Tokens, and cost where every price is known and something was paid or might be."""
    usage: dict[str, Usage] = defaultdict(lambda: NO_USAGE)
    for turn in turns:
        if turn.usage.calls:
            usage[turn.seat] += turn.usage
    if not usage:
        return
    tokens = [Amount(called(seat, titles), used.output_tokens) for seat, used in usage.items()]
    yield bars("tokens", "Output tokens", tokens, TOKENS, _limit(record, "max_total_output_tokens"))
    costs = [Amount(called(seat, titles), used.cost) for seat, used in usage.items() if used.cost is not None]
    limit = _limit(record, "max_cost")
    if len(costs) == len(usage) and (limit or any(cost.value for cost in costs)):
        yield bars("cost", "Cost", costs, COST, limit)


def _limit(record: Record, name: str) -> float | None:
    value = record.settings.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

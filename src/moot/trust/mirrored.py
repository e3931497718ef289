"""One step, one form and one reading for judgings of every format, as they are shown the debate or mirrored."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cache
from typing import Any, TypeVar

from pydantic import AliasChoices, create_model, model_validator

from moot.core.debate import Answer, Step, Turn
from moot.core.script import Debate
from moot.core.trust import REJUDGING, Judging
from moot.core.value import changed
from moot.trust.judging import JudgeView, judge_of, mirrored_order

A = TypeVar("A", bound=Answer)
Pair = tuple[str, str]


@cache
def form_shown(name: str, base: type[A], fields: tuple[str, ...], sides: Pair, shown: Pair, mirrored: bool) -> type[A]:
    """A form that a judge fills in for both sides: `score_a` and `score_b` under the names that are shown, the side
    shown first before the other.

    Mirrored, the side shown first is the second one. The form has the same name in a request, which must not tell
    which of them this is.
    """
    made: dict[str, Any] = {}
    for field in fields:
        for side, stored, told in zip(sides, sides[::-1] if mirrored else sides, shown, strict=True):
            declared = copy(base.model_fields[f"{field}_{side}"])
            declared.validation_alias = AliasChoices(f"{field}_{told.lower()}", f"{field}_{stored}")
            made[f"{field}_{side}"] = (declared.annotation, declared)

    def exchanged(said: A) -> A:
        for one, other in ((f"{field}_{sides[0]}", f"{field}_{sides[1]}") for field in fields):
            first, second = getattr(said, one), getattr(said, other)
            setattr(said, one, second)
            setattr(said, other, first)
        return said

    validators: dict[str, Any] = {"exchanged": model_validator(mode="after")(exchanged)} if mirrored else {}
    return create_model(name, __base__=base, __validators__=validators, **made)


def judged_again(
    debate: Debate[Any], step: Step, view: JudgeView, sides: Sequence[str] = (), among: Sequence[Turn] | None = None
) -> Step:
    """The step of the first judging, or of another one; mirrored, the speeches of these sides are read in reverse."""
    if view == JudgeView():
        return step
    order = _mirrored(debate, sides, among) if view.mirrored and sides else None
    return changed(step, seat=judge_of(debate, step.seat, view), kind=REJUDGING, prompt=step.kind, order=order)


def _mirrored(debate: Debate[Any], sides: Sequence[str], among: Sequence[Turn] | None) -> tuple[int, ...]:
    """The same for all that judge side by side."""
    shown = None if among is None else tuple(turn.position for turn in among)
    key = ("mirrored", len(debate.transcript), tuple(sides), shown)
    return debate.once(key, lambda: mirrored_order(debate.transcript, sides, among))


def judging(turn: Turn, view: JudgeView, score_a: float, score_b: float) -> Judging:
    return Judging(
        position=turn.position,
        mirrored=view.mirrored,
        wording=view.wording,
        score_a=score_a,
        score_b=score_b,
        model=turn.model or "",
        counted="fallback" not in turn.marks,
    )

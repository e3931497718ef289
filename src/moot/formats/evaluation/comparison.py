"""How outcomes compare: one with an earlier one of the same idea, several ideas with each other."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from pydantic import ValidationError

from moot.core.charts import moved
from moot.core.debate import Bar, Cell, Record, Rows, Status
from moot.formats.evaluation.scorecard import Scorecard
from moot.formats.evaluation.settings import OVERALL


def compare(before: Scorecard, after: Scorecard) -> Rows:
    """How the final scores of an idea moved from one evaluation to another."""
    then, now = _finals(before), _finals(after)
    names = sorted({**now, **then}, key=lambda name: name == OVERALL)  # it comes last
    return (
        ("", "last time", "now", "difference"),
        *((name, _cell(then, name), _cell(now, name), _moved(then, now, name)) for name in names),
    )


def ranking(ideas: Iterable[tuple[str, Scorecard]]) -> Rows:
    """Several ideas by name, the best first; those with the same score share their rank."""
    ranked = sorted(ideas, key=lambda idea: (-idea[1].overall_after, idea[0]))
    scores = [card.overall_after for _, card in ranked]
    return (
        ("rank", "idea", "before", "after", "difference"),
        *(
            (
                str(scores.index(card.overall_after) + 1),
                name,
                f"{card.overall_before:.1f}",
                Bar(card.overall_after),
                moved(card.overall_before, card.overall_after),
            )
            for name, card in ranked
        ),
    )


def last_of(records: Iterable[Record], idea_key: str) -> Scorecard | None:
    """The outcome of the latest finished evaluation of an idea; the records come newest first."""
    for record in records:
        same = record.format == "evaluation" and record.settings.get("idea_key") == idea_key
        if same and record.status is Status.FINISHED:
            with suppress(ValidationError):  # of another version of the format, which there is nothing to compare with
                return Scorecard.model_validate(record.outcome)
    return None


def _finals(card: Scorecard) -> dict[str, float]:
    return {name: after for name, _, after in card.rows()}


def _cell(scores: dict[str, float], name: str) -> Cell:
    return Bar(scores[name]) if name in scores else "–"


def _moved(then: dict[str, float], now: dict[str, float], name: str) -> str:
    return moved(then[name], now[name]) if name in then and name in now else "–"

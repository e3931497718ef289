"""Whether what the seats quote stands in the idea."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from moot.core.debate import Turn
from moot.formats.evaluation.answers import arguments, ratings
from moot.trust import quotes


@dataclass(frozen=True, slots=True)
class Quote:
    """Words that a seat says the idea contains, and what was found there."""

    seat: str
    text: str
    verdict: quotes.Verdict
    passage: str | None = None
    """What the idea says instead, of a quote that is near."""


def quoted(turn: Turn, idea: str) -> tuple[Quote, ...]:
    """Every quote of a turn, checked."""
    return tuple(Quote(turn.seat, text, *quotes.check(text, idea)) for text in _texts(turn))


def misquoted(turns: Iterable[Turn], idea: str) -> tuple[Quote, ...]:
    return tuple(quote for turn in turns for quote in quoted(turn, idea) if quote.verdict != "verified")


def remarks(checked: Iterable[Quote]) -> Iterator[str]:
    """What readers should know of the quotes of a turn."""
    checked = tuple(checked)
    if checked:
        found = Counter(quote.verdict for quote in checked)
        yield ", ".join(f"{found[verdict]} {name}" for verdict, name in _NAMES.items() if found[verdict])
    for quote in checked:
        if quote.verdict == "near":
            yield f'quoted "{quote.text}", but the idea says "{quote.passage}"'
        elif quote.verdict == "missing":
            yield f'not in the idea: "{quote.text}"'


_NAMES: Mapping[quotes.Verdict, str] = {"verified": "verified", "near": "nearly quoted", "missing": "not found"}


def _texts(turn: Turn) -> Iterator[str]:
    if turn.kind == "argument":
        yield from (argument.evidence for argument in arguments(turn) if argument.evidence)
    elif turn.kind == "scores":
        for rating in ratings(turn).values():
            yield from rating.evidence

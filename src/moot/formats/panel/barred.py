"""Quotes that do not stand in their source: told to everybody, and kept out of what a decision may rest on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from moot.core.quoting import FalseQuote, false_quotes, mention
from moot.core.script import Debate
from moot.formats.panel.casting import SEATS, names, spoken
from moot.sources.quotes import words
from moot.text.language import Language, language_of
from moot.trust.figures import all_said, figures

RUN = 4
"""So many words in a row that only the false quote has are taken from it."""


def barred(debate: Debate[Any]) -> tuple[FalseQuote, ...]:
    """What the debaters brought."""
    return tuple(each for each in false_quotes(debate) if each.seat in SEATS)


def told(debate: Debate[Any]) -> list[str]:
    """As a person who steers the panel is told of them."""
    known = names(debate)
    return [mention(debate, known[each.seat], each.quote) for each in barred(debate)]


def rests_on(debate: Debate[Any], text: str) -> FalseQuote | None:
    """The false quote whose words or figures a text repeats, if it does."""
    if not (found := barred(debate)):
        return None
    true_runs = debate.once(
        ("true runs", len(debate.sources)), lambda: _runs("\n".join(source.text for source in debate.sources))
    )
    runs, numbers = _runs(text) - true_runs, _values(text, debate.language) - _true_values(debate)
    taken = (
        each for each in found if runs & _runs(each.quote.quote) or numbers & _values(each.quote.quote, debate.language)
    )
    return next(taken, None)


def unsupported_figures(debate: Debate[Any], text: str) -> list[str]:
    """The figures of a text, from ten on and fractions, that nobody said and no source has."""
    found = [each for each in figures(text, debate.language) if each.value >= 10 or each.value % 1]
    if not found:
        return []
    said = [all_said(turn) for turn in debate.transcript if spoken(turn) or turn.seat == "human"]
    known = _true_values(debate).union(*(_values(each, debate.language) for each in (debate.topic, *said)))
    return [each.text for each in found if known.isdisjoint((each.value, -each.value))]


def _true_values(debate: Debate[Any]) -> frozenset[float]:
    """What the figures of the sources are worth."""
    texts = [source.text for source in debate.sources]
    empty: frozenset[float] = frozenset()
    return debate.once(
        ("true values", len(texts)), lambda: empty.union(*(_values(text, language_of(text)) for text in texts))
    )


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    said = words(text).split()
    size = min(RUN, max(1, len(said)))
    return frozenset(tuple(said[at : at + size]) for at in range(len(said) - size + 1))


def _values(text: str, language: Language) -> frozenset[float]:
    return frozenset(figure.value for figure in figures(text, language))


def marked(debate: Debate[Any], texts: Sequence[str]) -> list[str]:
    """The points of a record, with a word to each that repeats what its source does not say."""
    mark = debate.language("rests on a quote that does not stand in its source")
    return [f"{text} ({mark})" if rests_on(debate, text) else text for text in texts]

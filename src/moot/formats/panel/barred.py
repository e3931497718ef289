"""Quotes that do not stand in their source: told to everybody, and kept out of what a decision may rest on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from moot.core.debate import Turn
from moot.core.script import Debate
from moot.formats.panel.assessment import quotes_of
from moot.formats.panel.casting import names, spoken
from moot.formats.panel.positions import last_round
from moot.text.language import Language, language_of
from moot.text.plain import shortened
from moot.trust.figures import figures
from moot.trust.quotes import Checked, words

MAX_MENTION = 160
"""Characters; a false quote is told to everybody, who should not get a speech in its place."""
RUN = 4
"""So many words in a row that only the false quote has are taken from it."""


class Barred(NamedTuple):
    """A quote that its source does not have, and who brought it."""

    seat: str
    round: int
    quote: Checked


def barred(debate: Debate[Any]) -> tuple[Barred, ...]:
    """All so far, each once for each who brought it."""
    if not debate.settings.sources:
        return ()
    found = _up_to(debate, last_round(debate))
    return tuple({(each.seat, each.quote.quote): each for each in found}.values())


def _up_to(debate: Debate[Any], round: int) -> tuple[Barred, ...]:
    """Asked for at every step, so the rounds before this one, which are over, are put together once."""
    if round < 1:
        return ()
    before = debate.once(("barred before", round), lambda: _up_to(debate, round - 1))
    return (*before, *_in_round(debate, round))


def _in_round(debate: Debate[Any], round: int) -> tuple[Barred, ...]:
    said = debate.in_round(round)
    return debate.once(("barred", round, len(said)), lambda: tuple(_barred(debate, said)))


def _barred(debate: Debate[Any], said: Sequence[Turn]) -> Iterator[Barred]:
    for turn in filter(spoken, said):
        for quote in quotes_of(debate, turn):
            if quote.false and quote.tag:  # without a tag it may be a figure of speech: only its readers are told
                yield Barred(turn.seat, turn.round or 0, quote)


def told(debate: Debate[Any]) -> list[str]:
    """As everybody on the panel, and a reader of the record, is told of them."""
    known = names(debate)
    return [mention(debate, known[each.seat], each.quote) for each in barred(debate)]


def mention(debate: Debate[Any], name: str, quote: Checked) -> str:
    say = debate.language
    what = {"name": name, "quote": shortened(quote.quote, MAX_MENTION), "tag": quote.tag}
    if quote.verdict == "no_source":
        return say("{name} quotes “{quote}” from {tag}, and there is no such source.", **what)
    if quote.passage is None:
        return say("{name} quotes “{quote}” from {tag}, which does not say so.", **what)
    passage = shortened(quote.passage, MAX_MENTION)
    return say("{name} quotes “{quote}” from {tag}, which says “{passage}”.", **what, passage=passage)


def rests_on(debate: Debate[Any], text: str) -> Barred | None:
    """The false quote whose words or figures a text repeats, if it does."""
    if not (found := barred(debate)):
        return None
    true_runs = debate.once("true runs", lambda: _runs("\n".join(source.text for source in debate.settings.sources)))
    runs, numbers = _runs(text) - true_runs, _values(text, debate.language) - _true_values(debate)
    taken = (
        each for each in found if runs & _runs(each.quote.quote) or numbers & _values(each.quote.quote, debate.language)
    )
    return next(taken, None)


def unsupported_figures(debate: Debate[Any], text: str) -> list[str]:
    """The figures of a text, from ten on and fractions, that nobody said and no source has."""
    said = [turn.content for turn in debate.transcript if spoken(turn) or turn.seat == "human"]
    known = _true_values(debate).union(*(_values(each, debate.language) for each in (debate.topic, *said)))
    found = (each for each in figures(text, debate.language) if each.value >= 10 or each.value % 1)
    return [each.text for each in found if each.value not in known]


def _true_values(debate: Debate[Any]) -> frozenset[float]:
    """What the figures of the sources are worth."""
    texts = [source.text for source in debate.settings.sources]
    empty: frozenset[float] = frozenset()
    return debate.once("true values", lambda: empty.union(*(_values(text, language_of(text)) for text in texts)))


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

"""Whether what the seats quote stands in the idea: in the forms they hand in, and anywhere in their prose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from moot.core.debate import Turn
from moot.core.script import Debate
from moot.formats.evaluation.answers import arguments, ratings
from moot.formats.evaluation.concessions import concessions
from moot.formats.evaluation.settings import SIDES
from moot.sources import quotes
from moot.sources.citations import citations
from moot.sources.source import Source
from moot.text.language import Language

MIN_WORDS = 4
"""Anything shorter that stands between quotation marks in prose is a name or a term."""


@dataclass(frozen=True, slots=True)
class Quote:
    """Words that a seat says the idea contains, and what was found there."""

    seat: str
    text: str
    verdict: quotes.Verdict
    passage: str | None = None
    """What the idea says instead, of a quote that is near."""
    argument: int = 0
    """The number of the argument that rests on it; 0 of a quote in prose."""

    @property
    def false(self) -> bool:
        """Whether it says what the idea does not say; of one that leaves words out, code cannot always tell."""
        return self.verdict not in ("verified", "unclear")


def quoted(turn: Turn, idea: str) -> tuple[Quote, ...]:
    """Every quote in the form of a turn, checked."""
    return tuple(Quote(turn.seat, text, *quotes.check(text, idea), at) for at, text in _handed_in(turn))


def all_quoted(debate: Debate[Any], turn: Turn) -> tuple[Quote, ...]:
    """Every quote of a turn, checked, those in its prose too."""
    return debate.once(("quotes", turn.position), lambda: tuple(_all_quoted(debate, turn)))


def misquoted(debate: Debate[Any], number: int) -> tuple[Quote, ...]:
    """What the sides quoted on a topic and the idea does not say, but for arguments that were given up since."""
    turns = [turn for turn in debate.in_round(number) if turn.seat in SIDES]
    gone = concessions(debate, turns).given_up
    false = (quote for turn in turns for quote in all_quoted(debate, turn) if quote.false)
    return tuple(quote for quote in false if quote.argument not in gone[quote.seat])


def remarks(checked: Iterable[Quote], say: Language) -> Iterator[str]:
    """What readers should know of the quotes of a turn."""
    checked = tuple(checked)
    if checked:
        found = Counter(quote.verdict for quote in checked)
        names: Mapping[quotes.Verdict, str] = {
            "verified": say("verified"),
            "near": say("nearly quoted"),
            "missing": say("not found"),
            "unclear": say("with words left out that may matter"),
        }
        yield ", ".join(f"{found[verdict]} {name}" for verdict, name in names.items() if found[verdict])
    for quote in checked:
        if quote.verdict == "near":
            says = " ".join((quote.passage or "").split())
            yield say('quoted "{quote}", but the idea says "{passage}"', quote=quote.text, passage=says)
        elif quote.verdict == "missing":
            yield say('not in the idea: "{quote}"', quote=quote.text)


def _handed_in(turn: Turn) -> Iterator[tuple[int, str]]:
    if turn.kind == "argument":
        yield from ((at, argument.evidence) for at, argument in enumerate(arguments(turn), 1) if argument.evidence)
    elif turn.kind == "scores":
        for rating in ratings(turn).values():
            yield from ((0, quote) for quote in rating.evidence)


def _all_quoted(debate: Debate[Any], turn: Turn) -> Iterator[Quote]:
    idea = debate.once("quotable", lambda: debate.settings.quotable(debate.topic))
    sources = debate.sources_before(turn.position)
    handed_in = [each for each in quoted(turn, idea) if not (each.false and _stands_in(each.text, sources))]
    yield from handed_in
    if not (in_prose := tuple(_in_prose(turn.content, bool(sources)))):
        return
    given = "\n\n".join([*(quote.text for quote in handed_in), *_quotable_besides(debate, turn)])
    unverified = 0
    for text in in_prose:
        if not quotes.contains(text, given) and not _stands_in(text, sources):
            found = quotes.check(text, idea, look_near=unverified < quotes.MAX_NEAR)
            unverified += found.verdict != "verified"
            yield Quote(turn.seat, text, *found)


def _stands_in(quote: str, sources: Iterable[Source]) -> bool:
    """Whether it is a source's, and not the idea's to have."""
    return any(quotes.contains(quote, source.text) for source in sources)


def _in_prose(text: str, with_sources: bool) -> Iterator[str]:
    if text.isalpha():  # a word, as a rehearsal has in place of each speech
        return iter(())
    found = (citation.quote for citation in citations(text) if not (citation.tag and with_sources))
    return (quote for quote in found if len(quotes.words(quote).split()) >= MIN_WORDS)


def _quotable_besides(debate: Debate[Any], turn: Turn) -> Iterator[str]:
    """What a speaker may quote that is not the idea: what it was asked, and what others have said."""
    s = debate.settings
    yield from (challenge.challenge for challenge in s.challenges or ())
    if turn.round:
        topic = s.topics[turn.round - 1]
        yield from (topic.name, topic.advocate, topic.challenger)
        said = (*debate.in_round(None), *debate.in_round(turn.round))
        others = (each for each in said if each.seat not in (turn.seat, "evaluator"))
        yield from (each.content for each in others if each.position < turn.position)

"""What the turns of a debate quote from its sources, checked; of false quotes readers and all seats are told. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from moot.core.debate import Step, Turn
from moot.sources.phrases import Phrases
from moot.sources.quotes import Checked, check_all, cited
from moot.sources.references import Unresolved, index
from moot.sources.source import Source, tags
from moot.text.language import Language
from moot.text.plain import shortened

if TYPE_CHECKING:
    from moot.core.script import Debate

MAX_MENTION = 160
"""Characters; a false quote is told to everybody, who should not get a speech in its place."""


class FalseQuote(NamedTuple):
    """A quote that its source does not have, and who brought it."""

    position: int
    seat: str
    round: int | None
    quote: Checked


def quotes_of(debate: Debate[Any], turn: Turn) -> tuple[Checked, ...]:
    """What a turn quotes from sources that were known by then, checked; without a tag too, unless somebody said so."""
    if _has_no_marks(turn.content) or not (sources := debate.sources_before(turn.position)):
        return ()
    untagged = () if debate.own_sources else _untagged(turn.content, sources)
    if not untagged:
        return _checked(turn.content, sources)
    said = debate.once("phrases", lambda: Phrases([debate.settings.own_words(debate.topic)]))
    said.texts += [each.content for each in debate.transcript[len(said.texts) - 1 :]]
    places = {at for quote in untagged for at in said.places(quote) if at <= turn.position}
    return _checked(turn.content, sources, tuple(said.texts[at] for at in sorted(places)))


@lru_cache(maxsize=256)
def _untagged(text: str, sources: tuple[Source, ...]) -> tuple[str, ...]:
    """What it quotes without a source, to which it matters what was said before."""
    return tuple(found.quote for found in cited(text, tags(sources)) if not found.tag)


def _has_no_marks(text: str) -> bool:
    """Whether it is nothing but words, so that it quotes nobody; to compare all sources with a cache's takes longer."""
    return all(word.isalnum() for word in text.split())


def quotes(text: str, sources: tuple[Source, ...]) -> tuple[Checked, ...]:
    return _checked(text, sources) if sources and not _has_no_marks(text) else ()


@lru_cache(maxsize=256)
def _checked(text: str, sources: tuple[Source, ...], said: tuple[str, ...] | None = None) -> tuple[Checked, ...]:
    return check_all(text, sources, said)


@dataclass(slots=True)
class _FalseQuotes:
    """Those of the turns that were looked at by now."""

    looked_at: int = 0
    found: dict[tuple[str, str], FalseQuote] = field(default_factory=dict)


def false_quotes(debate: Debate[Any]) -> tuple[FalseQuote, ...]:
    """All so far, each once for each who brought it; whoever only examines a turn brings none."""
    if not debate.has_sources:
        return ()
    known = debate.once("false quotes", _FalseQuotes)
    for turn in debate.transcript[known.looked_at :]:
        speaks = turn.seat in debate.seats and turn.kind not in debate.checks
        for quote in quotes_of(debate, turn) if speaks else ():
            if quote.false and quote.tag:  # without a tag it may be a figure of speech: only its readers are told
                found = FalseQuote(turn.position, turn.seat, turn.round, quote)
                known.found.setdefault((turn.seat, quote.quote), found)
    known.looked_at = len(debate.transcript)
    return tuple(known.found.values())


def told_to(debate: Debate[Any], step: Step, before: int, names: Callable[[], Mapping[str, str]]) -> list[str]:
    """The false quotes of turns that a step reads, under the names by which its seat knows the speakers."""
    found = false_quotes(debate)
    name = names() if found else {}
    return [
        mention(debate, name[each.seat], each.quote)
        for each in found
        if each.position < before and each.seat in name and (step.visible is None or each.position in step.visible)
    ]


def mention(debate: Debate[Any], name: str, quote: Checked) -> str:
    say = debate.language
    what = {"name": name, "quote": shortened(quote.quote, MAX_MENTION), "tag": quote.tag}
    if quote.verdict == "no_source":
        return say("{name} quotes “{quote}” from {tag}, and there is no such source.", **what)
    if quote.passage is None:
        return say("{name} quotes “{quote}” from {tag}, which does not say so.", **what)
    passage = shortened(quote.passage, MAX_MENTION)
    return say("{name} quotes “{quote}” from {tag}, which says “{passage}”.", **what, passage=passage)


def remarks(debate: Debate[Any], turn: Turn) -> Iterator[str]:
    """What readers are told of the quotes of a turn, below it."""
    if not debate.has_sources or turn.seat not in debate.seats:
        return
    say, found, known = debate.language, quotes_of(debate, turn), debate.sources_before(turn.position)
    if found:
        verified = sum(quote.verdict == "verified" for quote in found)
        yield say("{verified} of {all} quotes stand in their source word for word", verified=verified, all=len(found))
    for quote in found:
        what = {"quote": quote.quote, "tag": quote.tag, "passage": quote.passage}
        match quote.verdict:
            case "near":
                yield say("not quite: “{quote}” [{tag}]; the source says “{passage}”", **what)
            case "unclear":
                yield say("whether “{quote}” [{tag}] leaves out a “not” cannot be told: “{passage}”", **what)
            case "no_source":
                yield say("no such source: “{quote}” [{tag}]", **what)
            case "missing" if not quote.tag:
                yield say("in no source, and said by nobody before: “{quote}”", **what)
            case "missing":
                yield say("not found: “{quote}” [{tag}]", **what)
    if known and not _has_no_marks(turn.content):
        told = {each.quote for each in found if each.false}
        faults = (each for each in index(known, debate.topic).faults(turn.content) if each.quote not in told)
        yield from dict.fromkeys(f"{as_cited(each)}: {why(say, each)}" for each in faults)


def as_cited(found: Unresolved) -> str:
    quote = f"“{shortened(found.quote, MAX_MENTION)}” " if found.quote else ""
    return f"{quote}[{found.cited}]"


def why(say: Language, found: Unresolved) -> str:
    """Why a citation leads nowhere."""
    match found.fault:
        case "no_source":
            return say("there is no such source")
        case "not_yet":
            return say("that was found only later")
        case "no_page":
            return say("there is no such page")
        case "other_page":
            return say("that stands on {page}", page=found.says)
        case "no_section":
            return say("there is no such section")
        case "not_found":
            return say("the source does not say so")
        case "misquoted":
            return say("the source says “{passage}”", passage=shortened(found.says, MAX_MENTION))

"""What the page of a debate with an outcome shows: what its format declares, rendered and drawn, and what is common.

Knows no HTTP and no templates. Texts of models and people are raw here, or have been through `markdown`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

from markupsafe import Markup, escape

from moot.core.claims import Claim, Ledger
from moot.core.duration import span_seconds
from moot.core.page import Beside, Decisive, Figure, OutcomePage, Part, Prose, Section, Steps, charts_in, parts_in
from moot.core.record import iso
from moot.core.trust import CHECKS
from moot.errors import InvalidInput
from moot.export.charts import Chart, Drawn, drawn, taken
from moot.reading import words
from moot.reading.debate import Reading
from moot.reading.seats import colours_of
from moot.reading.sources import fault_text, use_text
from moot.sources.references import Use
from moot.text.language import Language
from moot.web.pages.markdown import Citing, cited_speech, document
from moot.web.pages.running_on import thousands
from moot.web.pages.views import Cards, cards, cost_text, duration_text, seat_rows

FIRST_PAGE = ("change", "steps", "options", "scores", "tests", "stable", "open", "answer", "ballots")
"""Sections that stand on the first page when it is printed."""
MAX_OPEN = 24
"""So many turns of two who face each other are shown unfolded."""
MAX_CLAIMS = 12
"""Claims that the page of an outcome lists; all stand on a page of their own."""
TELLING = ("contested", "conceded", "withdrawn", "dropped", "answered", "standing", "unanswered", "untested")
"""How claims ended, those first that say most of the debate."""


class PartView(NamedTuple):
    """A part with what is rendered of it, under the name of the macro that lays it out."""

    kind: str
    value: Any


class BlockView(NamedTuple):
    title: str
    parts: tuple[PartView, ...]


class SectionView(NamedTuple):
    id: str
    title: str
    parts: tuple[PartView, ...]
    facts: tuple[str, ...]
    seat: str


class ProseView(NamedTuple):
    html: Markup
    fold: str
    words: int
    is_document: bool


class DecisiveView(NamedTuple):
    claim: Claim
    times: int
    of: int


class ClaimRow(NamedTuple):
    claim: Claim
    who: str
    colour: int | str
    decisive: str
    answers: tuple[tuple[str, tuple[str, ...]], ...]
    """How it was answered, and by which claims."""


@dataclass(frozen=True, slots=True)
class SeatLook:
    """How a seat is written: its title, and the number of its colour and shape."""

    title: str
    colour: int | str


def outcome_page(reading: Reading) -> dict[str, Any]:
    """Raises InvalidInput while there is no outcome."""
    outcome, page = reading.outcome, reading.page
    if outcome is None or page is None:
        raise InvalidInput(f"{reading.record.id} has no outcome yet; its page tells how it stands")
    report = reading.sources  # first of all: where false quotes should lead is known from it
    making = _Making(reading)
    ledger = reading.ledger
    sections = tuple(making.section(each) for each in page.sections)
    transcript = tuple(cards(reading))
    has_document = any(isinstance(part, Prose) and part.is_document for part in parts_in(page))
    is_full = has_document or any(each.id == "scores" for each in page.sections)
    return {
        "page": page,
        **_fixed_words(outcome.say),
        "inline": making.inline,
        "use_texts": {use: use_text(reading.record.language, use) for use in get_args(Use)},
        "whole": making.prose(page.whole) if page.whole else None,
        "sections": sections,
        "seats": making.looks,
        "claims": tuple(_claims(reading, ledger, making.looks)) if ledger else (),
        "claim_count": len(ledger.claims) if ledger else 0,
        "claim_counts": _counts(ledger) if ledger else (),
        "transcript": transcript,
        "sides": _sides(reading),
        "is_short": len(reading.turns) <= MAX_OPEN,
        "chips": tuple((each.title, each.turns[0].event.position) for each in transcript),
        "speakers": tuple(_speakers(transcript, making.looks)),
        "more_charts": making.others(page),
        "taken": taken(reading.record, reading.turns, making.drawn),
        "rows": tuple(seat_rows(reading)),
        "facts": tuple(_facts(reading)),
        "unresolved": [fault_text(reading, each) for each in report.unresolved],
        "sources": report.sources,
        "contents": tuple(_contents(page, sections, ledger, reading)),
        "runs_on": runs_on(reading),
        "first_page": tuple(each for each in FIRST_PAGE if each != "stable" or not is_full),
        "can_be_issue": outcome.issue(reading.record) is not None,
        "has_steps": any(isinstance(part, Steps) for part in parts_in(page)),
        "created": iso(reading.record.created_at),
    }


def _fixed_words(say: Language) -> dict[str, Mapping[str, str]]:
    """What levels and ends are called in the language of the debate."""
    return {
        "levels": {"High": say("High confidence"), "Medium": say("Medium confidence"), "Low": say("Low confidence")},
        "fates": {
            "standing": say("standing"),
            "answered": say("answered"),
            "unanswered": say("unanswered"),
            "contested": say("contested"),
            "conceded": say("conceded"),
            "withdrawn": say("withdrawn"),
            "dropped": say("dropped"),
            "untested": say("untested"),
            "gives way": say("gives way"),
            "open": say("open"),
        },
    }


class _Making:
    """Renders parts; charts get names of their own on the page."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._citing = Citing(reading.record.id, reading.source_index)
        self._charts = 0
        self.looks = seat_looks(reading)
        colours = {seat: look.colour - 1 if isinstance(look.colour, int) else -1 for seat, look in self.looks.items()}
        self.drawn = Drawn({seat: look.title for seat, look in self.looks.items()}, colours, reading.record.language)

    def section(self, section: Section) -> SectionView:
        parts = tuple(filter(None, map(self._part, section.parts)))
        return SectionView(section.id, section.title, parts, section.facts, section.seat)

    def _part(self, part: Part | Beside) -> PartView | None:
        match part:
            case Beside(blocks):
                made = (BlockView(each.title, tuple(filter(None, map(self._part, each.parts)))) for each in blocks)
                return PartView("beside", tuple(made))
            case Figure(data):
                self._charts += 1
                chart = drawn(f"own-{self._charts}", data, self.drawn)
                return PartView("figure", chart) if chart else None
            case Prose():
                return PartView("prose", self.prose(part))
            case Decisive(claims):
                ledger = self._reading.ledger
                found = ((ledger[each.claim] if ledger else None, each.times, each.of) for each in claims)
                named = tuple(DecisiveView(claim, times, of) for claim, times, of in found if claim)
                return PartView("decisive", named) if named else None
            case _:
                return PartView(type(part).__name__.lower(), part)

    def prose(self, part: Prose) -> ProseView:
        citing = self._citing
        html = document(part.text, "", citing).html if part.is_document else cited_speech(part.text, citing)
        return ProseView(html, part.fold, len(part.text.split()), part.is_document)

    def inline(self, text: str) -> Markup:
        """A text within a line of the page: its marks and citations where it is a single paragraph, else as it is."""
        html = cited_speech(text, self._citing).strip()
        inner = html.removeprefix("<p>").removesuffix("</p>")
        return Markup(inner) if html.startswith("<p>") and "<p" not in inner else escape(text)  # noqa: S704 - cleaned

    def others(self, page: OutcomePage) -> tuple[Chart, ...]:
        """Charts that the format declares and its page has no place for."""
        shown = list(charts_in(page))
        left = [data for data in self._reading.charts if data not in shown]
        found = (drawn(f"more-{at}", data, self.drawn) for at, data in enumerate(left, 1))
        return tuple(chart for chart in found if chart)


def seat_looks(reading: Reading) -> dict[str, SeatLook]:
    """Every seat that may be named: those who argue have a colour, a chair has 0, a person `you`."""
    colours = colours_of(reading.format)
    looks = {seat: SeatLook(title, colours.get(seat, 0)) for seat, title in reading.titles.items()}
    return {**looks, "human": SeatLook(words.YOU, "you")}


def runs_on(reading: Reading) -> str:
    """The model of every seat, or how many there are."""
    models = list(dict.fromkeys(words.short_model(each.model) for each in reading.record.seats.values()))
    if len(models) == 1:
        return f"{models[0]} in every seat"
    return f"{len(models)} models" if models else ""


def _contents(
    page: OutcomePage, sections: Sequence[SectionView], ledger: Ledger | None, reading: Reading
) -> Iterator[tuple[str, str]]:
    yield "verdict", page.label.partition(",")[0]
    for section in sections:
        first = section.parts[0] if section.parts else None
        title = section.title or (first.value[0].title if first and first.kind == "beside" else "")
        if title:
            yield section.id, title
    if ledger and ledger.claims:
        yield "claims", reading.record.language("Claims")
    if reading.turns:
        yield "transcript", "Transcript"
        yield "took", "What it took"


# Claims


def _claims(reading: Reading, ledger: Ledger, looks: Mapping[str, SeatLook]) -> Iterator[ClaimRow]:
    """Those that decided it, then those whose end says most."""
    found = reading.trust.claims if reading.trust else None
    say = reading.record.language
    named = (
        {each.id: say("decisive, {n} of {all}", n=each.judgings, all=found.judgings) for each in found.decided_by}
        if found
        else {}
    )
    back: dict[str, dict[str, list[str]]] = {}
    for claim in ledger.claims:
        for link in claim.links:
            back.setdefault(link.to, {}).setdefault(link.how, []).append(claim.id)

    def weight(claim: Claim) -> tuple[bool, int]:
        ended = TELLING.index(claim.status) if claim.status in TELLING else len(TELLING)
        return claim.id not in named, ended

    for claim in sorted(ledger.claims, key=weight)[:MAX_CLAIMS]:
        look = looks.get(claim.seat, SeatLook(claim.seat, 0))
        answers = tuple((how, tuple(ids)) for how, ids in back.get(claim.id, {}).items())
        yield ClaimRow(claim, look.title, look.colour, named.get(claim.id, ""), answers)


def _counts(ledger: Ledger) -> tuple[tuple[str, int], ...]:
    counts = Counter[str](claim.status for claim in ledger.claims if claim.status)
    return tuple((status, counts[status]) for status in (*TELLING, "gives way") if counts[status])


# The transcript


def _speakers(transcript: Sequence[Cards], looks: Mapping[str, SeatLook]) -> Iterator[tuple[str, SeatLook]]:
    spoken = dict.fromkeys(card.event.seat for each in transcript for card in each.turns if card.spoken)
    return ((seat, looks.get(seat, SeatLook(seat.capitalize(), 0))) for seat in spoken)


class SidePlace(NamedTuple):
    """Where a seat that faces another stands: in which column, under which word, holding what."""

    place: str
    word: str
    claim: str


def _sides(reading: Reading) -> dict[str, SidePlace]:
    places = zip(reading.sides.items(), ("for", "against"), strict=False)
    return {seat: SidePlace(place, side.word, side.claim) for (seat, side), place in places}


# What it took


def _facts(reading: Reading) -> Iterator[tuple[str, str]]:
    usage, turns = reading.usage, reading.turns
    yield "Time", duration_text(span_seconds(turns))
    yield "Calls", f"{usage.calls:,}"
    about = "about " if usage.estimated else ""
    yield "Tokens", f"{about}{thousands(usage.input_tokens)} in, {thousands(usage.output_tokens)} out"
    if usage.cached_tokens and usage.input_tokens:
        yield "from cache", f"{usage.cached_tokens / usage.input_tokens:.0%} of what was sent"
    checking = sum(turn.usage.output_tokens for turn in turns if turn.kind in CHECKS | reading.format.folded)
    if checking and usage.output_tokens:
        yield "of that, checking", f"{checking / usage.output_tokens:.0%}"
    yield "Cost", cost_text(usage)
    yield "Ended", reading.reason or "–"

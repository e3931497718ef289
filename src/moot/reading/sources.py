"""What a debate has made of its sources, as JSON and in words: what carried its decision, what leads nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from moot.core.coverage import MAX_LISTED, coverage_text, listed
from moot.core.quoting import as_cited, why
from moot.core.trust import Coverage
from moot.errors import NotFound
from moot.sources.references import Fault, SourceUse, Unresolved, Use
from moot.text.language import Language
from moot.text.plain import capitalized, shortened

if TYPE_CHECKING:
    from moot.reading.debate import Reading

MAX_NAMED = 20
"""Sources that a line names."""


class PassageView(BaseModel):
    """A piece of a source that turns quote, or name by its heading."""

    start: int = Field(description="where it begins in the source, in characters")
    end: int
    page: int | None
    text: str
    exact: bool = Field(description="false when it is quoted in other words than these")
    turns: tuple[int, ...] = Field(description="the positions of the turns that do so")


class SourceView(BaseModel):
    tag: str
    name: str
    characters: int
    pages: int | None = Field(description="null in a text without pages")
    use: Use = Field(description="whether what the decision rests on cites it, or any turn does")
    turns: tuple[int, ...] = Field(description="the positions of the turns that cite it")
    passages: list[PassageView]


class SourceWithText(SourceView):
    text: str


class UnresolvedView(BaseModel):
    """A citation that leads nowhere."""

    turn: int
    cited: str
    fault: Fault
    quote: str
    says: str = Field(description="what the source says instead, or the page that says so")


class SourcesView(BaseModel):
    """What a debate has made of its sources."""

    sources: list[SourceView]
    unresolved: list[UnresolvedView]
    coverage: Coverage | None = Field(description="what was read of long sources; null where all were read whole")


def sources_view(reading: Reading) -> SourcesView:
    return SourcesView(
        sources=[SourceView(**_fields(each)) for each in reading.sources.sources],
        unresolved=[UnresolvedView(**each._asdict()) for each in reading.sources.unresolved],
        coverage=reading.coverage,
    )


def source_with_text(reading: Reading, tag: str) -> SourceWithText:
    found = find_source(reading, tag)
    return SourceWithText(**_fields(found), text=found.source.text)


def find_source(reading: Reading, tag: str) -> SourceUse:
    """Raises NotFound."""
    for each in reading.sources.sources:
        if each.tag == tag.upper():
            return each
    known = ", ".join(each.tag for each in reading.sources.sources[:MAX_NAMED])
    raise NotFound(f"{reading.record.id} has no source {shortened(tag, 20)}; it has: {known or 'none'}")


def _fields(each: SourceUse) -> dict[str, object]:
    passages = [
        PassageView(**passage._asdict(), text=each.words(passage), page=each.source.page_at(passage.start))
        for passage in each.passages
    ]
    pages = len(each.source.pages) or None
    own = {"tag": each.tag, "name": each.name, "use": each.use, "turns": each.turns}
    return {**own, "characters": len(each.source.text), "pages": pages, "passages": passages}


# In words


def use_text(say: Language, use: Use) -> str:
    return {"carried": say("carried the decision"), "cited": say("cited"), "unused": say("never used")}[use]


def summary_lines(reading: Reading) -> Iterator[str]:
    """What carried the decision, what was cited, what was never used, and how many citations lead nowhere."""
    say, report = reading.record.language, reading.sources
    uses: Sequence[Use] = ("carried", "cited", "unused")
    for use in uses:
        if found := report.of_use(use):
            named = ", ".join(f"{each.tag} {each.name}" for each in found[:MAX_NAMED])
            more = f" (+{len(found) - MAX_NAMED})" if len(found) > MAX_NAMED else ""
            yield f"{capitalized(use_text(say, use))}: {named}{more}"
    if report.unresolved:
        yield say("Citations that lead nowhere: {number}", number=len(report.unresolved))


def read_text(reading: Reading, tag: str = "") -> str:
    """How much of all long sources was read, or what of one; "" where all were read whole."""
    found, say = reading.coverage, reading.record.language
    if found is None or not tag:
        return coverage_text(say, found) if found else ""
    own = [each for each in found.passages if each.split()[0] == tag]
    return say("Read: {which}", which=shortened(listed(own), MAX_LISTED)) if own else say("Nobody read any of it.")


def fault_text(reading: Reading, found: Unresolved) -> str:
    """Who cites what, and why that leads nowhere."""
    say = reading.record.language
    who = reading.titles.get(next(turn.seat for turn in reading.turns if turn.position == found.turn), "")
    return f"{who}, {say('turn {number}', number=found.turn)}: {as_cited(found)} – {why(say, found)}"

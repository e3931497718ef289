"""How much of its sources a debate has read, and what that does to its outcome. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from moot.core.debate import Outcome, Turn
from moot.core.evidence import KIND, LIBRARY, all_handed, handed
from moot.core.quoting import false_quotes, mention
from moot.core.research import RESEARCHER
from moot.core.sources import read_whole
from moot.core.trust import Coverage, Trust
from moot.text.language import Language
from moot.text.plain import shortened

if TYPE_CHECKING:
    from moot.core.script import Debate

MAX_LISTED = 600
"""Characters of the passages that are named in a line."""


def coverage(debate: Debate[Any]) -> Coverage | None:
    """What was read of long sources; None where everybody read all of them, or nobody was to."""
    if debate.own_sources or read_whole(debate):
        return None
    turns = [*debate.of_seat(LIBRARY), *debate.of_seat(RESEARCHER.name)]
    totals: list[Any] = [(turn.data or {}).get("total", 0) for turn in turns]
    read = all_handed(turns)
    return Coverage(
        read=len(read), total=max(totals, default=0), passages=list(dict.fromkeys(each.cited for each in read.values()))
    )


def with_sources(debate: Debate[Any], outcome: Outcome, title: Callable[[str], str]) -> Outcome:
    """An outcome with what its reader should know of its sources; mostly unread, they allow little trust."""
    if debate.own_sources or not debate.has_sources:
        return outcome
    found, trust = coverage(debate), outcome.trust
    caveats = [*_caveats(debate, found, title), *outcome.caveats]
    if found and found.mostly_unread:
        trust = trust or Trust(level="Low")
        trust = trust.model_copy(update={"level": "Low", "reasons": [unread(debate), *trust.reasons]})
    return outcome.model_copy(update={"coverage": found, "caveats": caveats, "trust": trust})


def unread(debate: Debate[Any]) -> str:
    return debate.language("most of the sources was read by nobody")


def _caveats(debate: Debate[Any], found: Coverage | None, title: Callable[[str], str]) -> Iterator[str]:
    say = debate.language
    yield from (mention(debate, title(each.seat), each.quote) for each in false_quotes(debate))
    for turn in debate.of_seat(LIBRARY):
        if turn.kind == KIND and turn.marks:
            yield say(
                "the sources could not be searched in round {round}: the debaters knew only their names",
                round=turn.round or 1,
            )
    if found:
        yield coverage_text(say, found)


def coverage_text(say: Language, found: Coverage) -> str:
    which = shortened(listed(found.passages), MAX_LISTED) or "–"
    return say(
        "{read} of {total} passages of the sources were read: {which}", read=found.read, total=found.total, which=which
    )


def handed_out(debate: Debate[Any], turn: Turn, title: Callable[[str], str]) -> Iterator[str]:
    """What readers are told below a turn that hands out passages: to whom, and which."""
    given = handed(turn) if (turn.seat, turn.kind) == (LIBRARY, KIND) else {}
    for seat, passages in given.items():
        which = listed(each.cited for each in passages)
        yield f"{title(seat)}: {shortened(which, MAX_LISTED) or '–'}"


def listed(cited: Iterable[str]) -> str:
    """Passages as they are cited, each once; the pages of a source in order, together: S1 p. 3–5, 9; S2 § Costs."""
    shown: dict[str, list[int]] = {}
    for each in cited:
        source, _, page = each.partition(" p. ")
        shown.setdefault(source, []).extend([int(page)] if page.isdecimal() else [])
    return "; ".join(f"{source} p. {_ranges(pages)}" if pages else source for source, pages in shown.items())


def _ranges(pages: Iterable[int]) -> str:
    runs: list[list[int]] = []
    for page in sorted({*pages}):
        if not runs or page > runs[-1][-1] + 1:
            runs.append([])
        runs[-1].append(page)
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)

"""Passages of sources that are too long to be read whole, for whoever speaks: the library finds them, in a turn of its
own, by what the speaker wants and was asked, and never again what it has had. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from moot.core.debate import Evidence, JsonObject, Step, Turn
from moot.core.research import RESEARCHER
from moot.core.sources import read_whole
from moot.sources.passages import LONGEST
from moot.sources.quotes import words
from moot.sources.source import text_by_tag
from moot.text.language import sentences

if TYPE_CHECKING:
    from moot.core.script import Debate

LIBRARY, KIND, TEMPLATES = "library", "evidence", "templates"
ROOM = 3600
"""Characters of the passages that a seat is handed in a round, where its model's window allows."""
CITED = 3
"""So many times as much is shown of what was cited."""
MAX_ASKED = 3
"""Sentences of another's speech that are looked for."""
ADDRESSED = 300
"""Characters after a seat's name that are taken as asked of it."""


class Handed(NamedTuple):
    """A passage as the library handed it out."""

    id: str
    cited: str
    """How it is cited: S3, S3 p. 12 or S3 § Results."""
    text: str


def resolved(debate: Debate[Any], step: Step) -> Evidence:
    """What a step gets: whoever argues is searched for, whoever closes or examines sees what was cited."""
    if step.evidence is not None:
        return step.evidence
    return "search" if debate.debating and step.kind not in debate.checks else "cited"


def searches(debate: Debate[Any], steps: Sequence[Step]) -> tuple[Step, ...]:
    """What the library is asked before these steps, a search for each round; a seat is served once in each."""
    if debate.own_sources or read_whole(debate):
        return ()
    asking: dict[int | None, dict[str, Step]] = {}
    for step in steps:
        wants = step.seat in debate.seats and resolved(debate, step) == "search"
        if wants and step.seat not in _served(debate, step.round):
            asking.setdefault(step.round, {}).setdefault(step.seat, step)
    return tuple(_search(debate, round, seats) for round, seats in asking.items())


def _served(debate: Debate[Any], round: int | None) -> set[str]:
    asked: list[Any] = [debate.steps[turn.position].variables for turn in _found(debate.in_round(round))]
    return {seat for variables in asked for seat in variables["queries"]}


def _found(turns: Sequence[Turn]) -> Iterator[Turn]:
    return (turn for turn in turns if (turn.seat, turn.kind) == (LIBRARY, KIND))


def _search(debate: Debate[Any], round: int | None, seats: Mapping[str, Step]) -> Step:
    return Step(
        LIBRARY,
        KIND,
        round,
        variables={
            "texts": debate.once("texts", lambda: text_by_tag(debate.settings.sources)),
            "queries": {seat: queries(debate, step) for seat, step in seats.items()},
            "characters": room(debate),
            "had": {seat: had(debate, seat) for seat in seats},
        },
    )


def had(debate: Debate[Any], seat: str) -> list[str]:
    """The ids of the passages that a seat has read: what it was handed, and what anybody's research has found."""
    if debate.rehearsed:
        return []
    own = [each.id for turn in _found(debate.of_seat(LIBRARY)) for each in handed(turn).get(seat, ())]
    return list(dict.fromkeys([*own, *all_handed(debate.of_seat(RESEARCHER.name))]))


def room(debate: Debate[Any]) -> int:
    whole: int = debate.settings.whole_sources
    return max(LONGEST, min(ROOM, whole // 2))


def queries(debate: Debate[Any], step: Step) -> list[str]:
    """What a seat wants to know: what its format says it looks for, what it said so itself, and what it was asked."""
    if debate.rehearsed:
        return []
    own = debate.of_seat(step.seat)
    since = own[-1].position if own else -1
    heard = [turn for turn in debate.transcript[since + 1 :] if turn.content and _sees(step, turn)]
    looking: Any = (own[-1].data or {}).get("looking_for", ()) if own else ()
    wanted = [looking] if isinstance(looking, str) else looking
    return [*(step.looks_for or (debate.topic,)), *map(str, wanted), *_asked(debate, step, heard)]


def _sees(step: Step, turn: Turn) -> bool:
    return turn.seat == "human" or step.visible is None or turn.position in step.visible


def _asked(debate: Debate[Any], step: Step, heard: Sequence[Turn]) -> list[str]:
    """What others said to the seat by its name, or else the longest sentences of what was said last; guidance too."""
    guidance = [turn.content for turn in heard if turn.seat == "human" and turn.kind != "settings"]
    said = [turn for turn in heard if turn.seat in debate.seats and turn.seat != step.seat]
    names = step.aliases or {}
    addressed = [each for turn in said for each in _addressed(turn.content, names.get(step.seat, ""), names.values())]
    if addressed or not said:
        return [*guidance, *addressed]
    return [*guidance, *sorted(sentences(said[-1].content), key=len, reverse=True)[:MAX_ASKED]]


def _addressed(text: str, name: str, names: Any) -> Iterator[str]:
    """From each mention of a name to the next of another."""
    if not name or name not in text:
        return
    mention = re.compile("|".join(re.escape(each) for each in sorted(names, key=len, reverse=True) if each))
    found = [*mention.finditer(text)]
    ends = [*(each.start() for each in found[1:]), len(text)]
    for each, end in zip(found, ends, strict=True):
        if each[0] == name and (asked := text[each.end() : min(end, each.end() + ADDRESSED)].strip(" :,;.\n")):
            yield asked


def handed(turn: Turn) -> dict[str, tuple[Handed, ...]]:
    """Seat → what a turn of the library, or of research, handed to it."""
    given: Any = (turn.data or {}).get(KIND)
    return {
        seat: tuple(Handed(str(each["id"]), str(each["cited"]), str(each["text"])) for each in mine)
        for seat, mine in (given.items() if isinstance(given, dict) else ())
    }


def _handed(debate: Debate[Any], turn: Turn) -> dict[str, tuple[Handed, ...]]:
    return debate.once(("handed by", turn.position), partial(handed, turn))


def all_handed(turns: Iterable[Turn]) -> dict[str, Handed]:
    """Everything that turns have handed to anybody, by id."""
    return {each.id: each for turn in turns for mine in handed(turn).values() for each in mine}


def passages(debate: Debate[Any], step: Step, before: int) -> tuple[Handed, ...]:
    """What a step is shown of long sources, from the turns before a position."""
    if debate.own_sources or read_whole(debate):
        return ()
    match step.evidence:
        case "search":
            found = (turn for turn in _found(debate.in_round(step.round)) if turn.position < before)
            return next((given for turn in found if (given := _handed(debate, turn).get(step.seat))), ())
        case "cited":
            return tuple(_cited(debate, step, before))
        case _:
            return ()


def _cited(debate: Debate[Any], step: Step, before: int) -> Iterator[Handed]:
    """The passages that speeches quote from, or name; of those of a rehearsal, which are made up, all that fit."""
    if debate.rehearsed:
        found = (turn for turn in _found(debate.of_seat(LIBRARY)) if turn.position < before)
        yield from islice((each for turn in found for mine in _handed(debate, turn).values() for each in mine), CITED)
        return
    turns = debate.transcript[:before]
    said = "\n".join(turn.content for turn in turns if turn.seat in debate.seats and _sees(step, turn))
    quoted = {words(quote) for quote in re.findall(r"[\"“„«»]([^\"”“«»\n]{12,600})[\"”“»«]", said)}
    left = CITED * room(debate)
    for each in all_handed(debate.of_seat(LIBRARY)).values():
        own = debate.once(("words of", each.id), partial(words, each.text))
        is_named = " " in each.cited and each.cited in said
        if (is_named or any(quote in own for quote in quoted)) and len(each.text) <= left:
            left -= len(each.text)
            yield each


def rehearsed(step: Step, templates: Callable[[], Sequence[JsonObject]], at_most: bool) -> JsonObject | None:
    """What the library might find, for an estimate: as much as there is room for, all of which will be cited; of its
    templates, the longest first, as many of the longest as are asked for, or of those in the middle."""
    if (step.seat, step.kind) == (LIBRARY, TEMPLATES):
        known, wanted = templates(), int(str(step.variables["top_k"]))
        start = 0 if at_most else max(0, len(known) - wanted) // 2
        return {TEMPLATES: [*known[start : start + wanted]]}
    if (step.seat, step.kind) != (LIBRARY, KIND):
        return None
    asked: Any = step.variables
    text = "words " * (asked["characters"] // 6)
    return {KIND: {seat: [{"id": seat, "cited": "S1", "text": text}] for seat in asked["queries"]}, "total": 0}

"""The claim ledger: which claims of a debate stand, and which were answered, dropped, conceded or never tested.

A scribe notes claims in the speakers' own words and what each says to an earlier one. Code checks the words, gives the
ids and computes how each claim ended; it never guesses what a claim answers. Links point back in time only, so letting
the last attack win would favour whoever spoke last: an attack that nobody could reply to leaves a claim contested.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import islice
from typing import Annotated, NamedTuple, Self

from pydantic import BaseModel, BeforeValidator, Field

from moot.core.claims import Claim, ClaimLink, How, Ledger, Status
from moot.core.debate import Answer, Turn
from moot.core.fields import Text, Words, at_most, letters, objects, readable
from moot.core.points import Point
from moot.sources.quotes import contains, words
from moot.text.language import sentences

MAX_CLAIMS, MAX_ANSWERS = 60, 3
MIN_QUOTE = 4
"""Words; fewer would be found anywhere."""
FALLEN: frozenset[Status | None] = frozenset({"dropped", "withdrawn"})
_ID = re.compile(r"\d+")


def _number(value: object) -> object:
    """`C2`, `"c 2"` and `2` are 2."""
    found = _ID.search(str(value)[:20])
    return int(found[0]) if found else value


class NotedLink(BaseModel):
    """What a noted claim says to an earlier one, by the number that has in the scribe's list."""

    claim: Annotated[int, BeforeValidator(_number)]
    how: Annotated[How, BeforeValidator(letters)]


class Noted(BaseModel):
    """A claim as the scribe notes it, before code has looked for its words."""

    quote: Annotated[Text, at_most(300)] = ""
    text: Annotated[Text, at_most(200)] = ""
    answers: Annotated[
        list[NotedLink], BeforeValidator(readable(NotedLink, MAX_ANSWERS)), at_most(MAX_ANSWERS, "maxItems")
    ] = Field(default_factory=list)


class Notes(Answer):
    """What the scribe hands in."""

    shown = "note"
    unread = "The scribe's notes could not be read, so no claims could be followed."

    note: Annotated[Words, at_most(300)]
    claims: Annotated[
        list[Noted], BeforeValidator(partial(objects, most=MAX_CLAIMS)), at_most(MAX_CLAIMS, "maxItems")
    ] = Field(default_factory=list)

    @classmethod
    def made_up(cls) -> Self:
        return cls(note="Something was claimed.")


def ledger(notes: Iterable[Notes], speeches: Sequence[Turn]) -> Ledger:
    """What the scribe noted, one after another, as far as it holds, with how every claim ended.

    The scribe numbers its claims through, over all its notes.
    """
    noted = [claim for each in notes for claim in each.claims]
    found = _places(noted, speeches)
    made = dict.fromkeys(found.values())
    room = {*islice(made, MAX_CLAIMS)}
    places = {number: place for number, place in found.items() if place in room}
    ids = {place: f"C{number}" for number, place in enumerate(sorted(room), 1)}
    seats = {turn.position: turn.seat for turn in speeches}
    claims: dict[str, Claim] = {}
    for number, place in sorted(places.items(), key=lambda item: item[1]):
        quote, text, id = noted[number - 1].quote, noted[number - 1].text, ids[place]
        claims.setdefault(id, Claim(id=id, turn=place.turn, seat=seats[place.turn], quote=quote, text=text or quote))
    lost = 0
    for number, place in places.items():
        claim = claims[ids[place]]
        for answer in noted[number - 1].answers:
            target = claims.get(ids.get(places.get(answer.claim, _NOWHERE), ""))
            if target is None or not _possible(claim, answer.how, target):
                lost += 1
            elif (link := ClaimLink(how=answer.how, to=target.id)) not in claim.links:
                claim.links.append(link)
    settle(kept := list(claims.values()), speeches)
    return Ledger(
        claims=kept,
        quotes_left_out=len(noted) - len(found),
        links_left_out=lost,
        claims_left_out=len(made) - len(room),
    )


class _Place(NamedTuple):
    turn: int
    at: int


_NOWHERE = _Place(-1, -1)


def _places(noted: Sequence[Noted], speeches: Sequence[Turn]) -> dict[int, _Place]:
    """Number of a noted claim → where its words were first said; the same words are the same claim."""

    @cache
    def first_said(quote: str) -> _Place | None:
        turn = next((turn for turn in speeches if contains(quote, turn.content)), None)
        return _Place(turn.position, max(0, words(turn.content).find(words(quote)))) if turn else None

    found = ((number, first_said(each.quote)) for number, each in enumerate(noted, 1) if _long_enough(each.quote))
    return {number: place for number, place in found if place}


def _long_enough(quote: str) -> bool:
    return words(quote).count(" ") >= MIN_QUOTE - 1


def _possible(claim: Claim, how: How, target: Claim) -> bool:
    """Only what was said before can be answered; one contradicts and concedes to others, and withdraws one's own."""
    if how == "supports":
        return target.turn <= claim.turn and target is not claim
    return target.turn < claim.turn and (claim.seat == target.seat) == (how == "withdraws")


def _order(claim: Claim) -> int:
    return int(claim.id[1:])


class Made(NamedTuple):
    """A claim of a format whose own forms say what was claimed and how it ended; its key is the format's."""

    key: str
    turn: Turn
    text: str
    status: Status | None
    links: tuple[tuple[How, str], ...] = ()
    quote: str = ""

    def point(self, title: str) -> Point:
        """It in an argument map; who grants a claim says the same as it."""
        return Point(
            self.key,
            self.text,
            (self.turn.position,),
            title=title,
            supports=tuple(key for how, key in self.links if how in ("supports", "concedes")),
            attacks=tuple(key for how, key in self.links if how == "attacks"),
            tags=(self.status,) if self.status else (),
            claim=True,
        )


def of_forms(made: Iterable[Made]) -> Ledger:
    """The ledger of a format that needs no scribe."""
    everything = sorted(made, key=lambda each: each.turn.position)
    ordered = everything[:MAX_CLAIMS]
    ids = {each.key: f"C{number}" for number, each in enumerate(ordered, 1)}
    claims = [
        Claim(
            id=ids[each.key],
            turn=each.turn.position,
            seat=each.turn.seat,
            text=each.text,
            quote=each.quote,
            links=[ClaimLink(how=how, to=ids[key]) for how, key in each.links if key in ids],
            status=each.status,
        )
        for each in ordered
    ]
    return Ledger(claims=claims, claims_left_out=len(everything) - len(ordered))


def by_code(speeches: Sequence[Turn]) -> Ledger:
    """Where nobody could follow the claims: what each speech begins with, tied to nothing."""
    firsts = [(turn, next(iter(sentences(turn.content)), "").strip()) for turn in speeches]
    kept = [(turn, text) for turn, text in firsts if text][:MAX_CLAIMS]
    claims = [
        Claim(id=f"C{number}", turn=turn.position, seat=turn.seat, text=text, quote=text)
        for number, (turn, text) in enumerate(kept, 1)
    ]
    return Ledger(claims=claims, by_code=True)


def settle(claims: Sequence[Claim], speeches: Sequence[Turn]) -> None:
    """From the last claim to the first: an attack lives unless the claim that makes it was dropped or withdrawn."""
    answers: dict[str, list[tuple[How, Claim]]] = {}
    for claim in claims:
        for link in claim.links:
            answers.setdefault(link.to, []).append((link.how, claim))
    for claim in reversed(claims):
        claim.status = _status(claim, answers, speeches)


def _status(claim: Claim, answers: Mapping[str, Sequence[tuple[How, Claim]]], speeches: Sequence[Turn]) -> Status:
    said = answers.get(claim.id, ())
    hows = {how for how, _ in said}
    if claim.links and all(link.how in ("concedes", "withdraws") for link in claim.links):
        return "gives way"
    if "withdraws" in hows:
        return "withdrawn"
    if "concedes" in hows:
        return "conceded"
    attacks = [attack for how, attack in said if how == "attacks"]
    if not attacks:
        heard = any(turn.position > claim.turn and turn.seat != claim.seat for turn in speeches)
        return "unanswered" if heard else "untested"
    living = [attack for attack in attacks if attack.status not in FALLEN]
    if not living:
        return "standing"
    return "dropped" if _left_alone(claim, living, answers, speeches) else "contested"


def _left_alone(
    claim: Claim,
    living: Sequence[Claim],
    answers: Mapping[str, Sequence[tuple[How, Claim]]],
    speeches: Sequence[Turn],
) -> bool:
    """Whether its owner spoke again after living attacks and replied to none of them."""
    replied = any(how == "attacks" and by.seat == claim.seat for one in living for how, by in answers.get(one.id, ()))
    last = max(attack.turn for attack in living)
    return not replied and any(turn.position > last and turn.seat == claim.seat for turn in speeches)


class Cited(NamedTuple):
    """A claim that judgings rest on, and in how many of them."""

    claim: Claim
    judgings: int


def cited(named: Sequence[Collection[str]], ledger: Ledger) -> tuple[list[Cited], int]:
    """What judgings name as decisive, what most of them name first; and how often they name a claim there is not."""
    counts = Counter(id for ids in named for id in dict.fromkeys(_tidy(id) for id in ids))
    known = {claim.id: claim for claim in ledger.claims}
    found = [Cited(known[id], number) for id, number in counts.items() if id in known]
    unknown = sum(number for id, number in counts.items() if id not in known)
    return sorted(found, key=lambda each: (-each.judgings, _order(each.claim))), unknown


def _tidy(id: str) -> str:
    number = _number(id)
    return f"C{number}" if isinstance(number, int) else id


def carries(winner: str, claim: Claim) -> bool:
    """Whether a verdict for this seat can rest on it: its own claim unless it fell, one of another's if it did."""
    return (claim.status in FALLEN or claim.status == "gives way") != (claim.seat == winner)


def stands(claim: Claim) -> bool:
    """Whether a decision of no side can rest on it."""
    return claim.status not in FALLEN


def open_claims(ledger: Ledger, seat: str) -> list[Claim]:
    """What others hold that this seat could still answer."""
    return [claim for claim in ledger.claims if claim.seat != seat and claim.status in ("unanswered", "untested")]


def points(ledger: Ledger) -> Iterator[Point]:
    """The ledger as an argument map."""
    for claim in ledger.claims:
        yield Point(
            claim.id,
            claim.text,
            (claim.turn,),
            title=claim.id,
            supports=tuple(link.to for link in claim.links if link.how == "supports"),
            attacks=tuple(link.to for link in claim.links if link.how == "attacks"),
            tags=(claim.status,) if claim.status else (),
            claim=True,
        )

"""An evaluation as an argument map and as a ledger: what is held on each topic, and what is said to it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from moot.core.claims import How, Ledger, Status
from moot.core.debate import Turn
from moot.core.points import Point
from moot.core.script import Debate
from moot.formats.evaluation.answers import arguments, challenges, reply
from moot.formats.evaluation.concessions import Concessions, concessions, other
from moot.formats.evaluation.settings import SIDES, TITLES, Challenge, FirstSettings
from moot.trust.claims import Made, of_forms


def points(debate: Debate[Any]) -> Iterator[Point]:
    for number, topic in enumerate(debate.settings.topics, 1):
        yield Point(f"topic-{number}", topic.advocate, title=topic.name, claim=True)
    yield from _challenges(debate)
    yield from _arguments(debate)


def _challenges(debate: Debate[Any]) -> Iterator[Point]:
    """Those the user gave, and those the red team made."""
    s, numbers = debate.settings, count(1)
    for challenge in s.challenges or ():
        yield _challenge(s, challenge, next(numbers), ())
    for turn in debate.transcript:
        if turn.kind == "challenges":
            for challenge in challenges(turn, s.categories):
                yield _challenge(s, challenge, next(numbers), (turn.position,))


def _challenge(s: FirstSettings, challenge: Challenge, number: int, turns: tuple[int, ...]) -> Point:
    argued = {topic.category for topic in s.topics}
    concerned = [
        f"topic-{at}"
        for at, topic in enumerate(s.topics, 1)
        if challenge.category == topic.category or challenge.category not in argued
    ]
    return Point(
        f"challenge-{number}",
        challenge.challenge,
        turns,
        title=f"Challenge {number}",
        attacks=tuple(concerned),
        tags=(challenge.severity,),
    )


def _arguments(debate: Debate[Any]) -> Iterator[Point]:
    """What both sides say on topics; an answer speaks against what the other side said last, save what it grants."""
    last: dict[tuple[int, str], list[str]] = {}
    for turn in debate.transcript:
        if turn.seat in SIDES and turn.round:
            said = reply(turn)
            granted = {_key(opening, at) for opening in _openings(debate, turn) for at in (said.grants if said else ())}
            answered = last.get((turn.round, other(turn.seat)), []) if turn.kind == "answer" else []
            made = list(_said(debate, turn, turn.round, [key for key in answered if key not in granted]))
            last[turn.round, turn.seat] = [point.key for point in made]
            yield from made


def _openings(debate: Debate[Any], turn: Turn) -> Iterator[Turn]:
    """The turns in which the other side gave its arguments."""
    said = debate.in_round(turn.round)
    return (each for each in said if each.kind == "argument" and each.seat == other(turn.seat))


def _said(debate: Debate[Any], turn: Turn, number: int, answered: list[str]) -> Iterator[Point]:
    topic = f"topic-{number}"
    supports, attacks = ([topic], answered) if turn.seat == SIDES[0] else ([], [topic, *answered])
    if turn.kind == "answer":
        yield Point.spoken(turn, supports, attacks)
    conceded = concessions(debate, debate.in_round(number))
    heard = _heard(debate, turn)
    for at, argument in enumerate(arguments(turn), 1):
        given_up = at in conceded.given_up[turn.seat]
        yield Point(
            _key(turn, at),
            f"{argument.claim} {argument.reasoning}",
            (turn.position,),
            claim=True,
            title=f"{TITLES[turn.seat]} on {debate.settings.topics[number - 1].name}, {at}",
            supports=() if given_up else tuple(supports),
            attacks=() if given_up else tuple(attacks),
            tags=(_end(conceded, turn.seat, at, heard),),
        )


def _key(turn: Turn, number: int) -> str:
    return f"turn-{turn.position}-{number}"


def claims(debate: Debate[Any]) -> Ledger:
    """Both sides' arguments for and against what the advocate holds on each topic: no scribe is needed."""
    return of_forms(made for number in range(1, len(debate.settings.topics) + 1) for made in _made(debate, number))


def _made(debate: Debate[Any], number: int) -> Iterator[Made]:
    turns = debate.in_round(number)
    argued = [turn for turn in turns if turn.kind == "argument"]
    opening = next((turn for turn in argued if turn.seat == SIDES[0]), None)
    if opening is None:
        return
    conceded, thesis = concessions(debate, turns), f"topic-{number}"
    yield Made(thesis, opening, debate.settings.topics[number - 1].advocate, None)
    for turn in argued:
        heard = _heard(debate, turn)
        how: How = "supports" if turn.seat == SIDES[0] else "attacks"
        for at, argument in enumerate(arguments(turn), 1):
            quote = argument.claim if argument.claim in turn.content else ""
            end = _end(conceded, turn.seat, at, heard)
            yield Made(_key(turn, at), turn, argument.claim, end, ((how, thesis),), quote)


def _heard(debate: Debate[Any], turn: Turn) -> bool:
    """Whether the other side answered it."""
    return any(each.kind == "answer" and each.seat == other(turn.seat) for each in debate.in_round(turn.round))


def _end(conceded: Concessions, side: str, number: int, heard: bool) -> Status:
    if number in conceded.given_up[side]:
        return "withdrawn"
    if number in conceded.granted[side]:
        return "conceded"
    return "contested" if heard else "untested"

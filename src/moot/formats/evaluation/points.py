"""An evaluation as an argument map: what the advocate holds on each topic, and what is said for and against it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from moot.core.debate import Turn
from moot.core.points import Point
from moot.core.script import Debate
from moot.formats.evaluation.answers import arguments, challenges
from moot.formats.evaluation.settings import SIDES, TITLES, Challenge, EvaluationSettings


def points(debate: Debate[EvaluationSettings]) -> Iterator[Point]:
    for number, topic in enumerate(debate.settings.topics, 1):
        yield Point(f"topic-{number}", topic.advocate, title=topic.name, claim=True)
    yield from _challenges(debate)
    yield from _arguments(debate)


def _challenges(debate: Debate[EvaluationSettings]) -> Iterator[Point]:
    """Those the user gave, and those the red team made."""
    s, numbers = debate.settings, count(1)
    for challenge in s.challenges or ():
        yield _challenge(s, challenge, next(numbers), ())
    for turn in debate.transcript:
        if turn.kind == "challenges":
            for challenge in challenges(turn, s.categories):
                yield _challenge(s, challenge, next(numbers), (turn.position,))


def _challenge(s: EvaluationSettings, challenge: Challenge, number: int, turns: tuple[int, ...]) -> Point:
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


def _arguments(debate: Debate[EvaluationSettings]) -> Iterator[Point]:
    """What both sides say on each topic; an answer speaks against what the other side said last."""
    last: dict[tuple[int, str], list[str]] = {}
    for turn in debate.transcript:
        if turn.seat in SIDES and turn.round:
            other = SIDES[1 - SIDES.index(turn.seat)]
            answered = last.get((turn.round, other), []) if turn.kind == "answer" else []
            made = list(_said(debate.settings, turn, turn.round, answered))
            last[turn.round, turn.seat] = [point.key for point in made]
            yield from made


def _said(s: EvaluationSettings, turn: Turn, number: int, answered: list[str]) -> Iterator[Point]:
    topic = f"topic-{number}"
    supports, attacks = ([topic], answered) if turn.seat == SIDES[0] else ([], [topic, *answered])
    if turn.kind == "answer":
        yield Point.spoken(turn, supports, attacks)
    for at, argument in enumerate(arguments(turn), 1):
        yield Point(
            f"turn-{turn.position}-{at}",
            f"{argument.claim} {argument.reasoning}",
            (turn.position,),
            title=f"{TITLES[turn.seat]} on {s.topics[number - 1].name}, {at}",
            supports=tuple(supports),
            attacks=tuple(attacks),
        )

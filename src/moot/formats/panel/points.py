"""A panel as an argument map: what each perspective puts first and argues, and what the decision rests on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moot.core.debate import Turn
from moot.core.points import Point, speech_key
from moot.core.script import Debate
from moot.formats.panel.assessment import Casting, cast, names, spoken
from moot.formats.panel.decision import Decision, decision


def points(debate: Debate[Any]) -> Iterator[Point]:
    casting = cast(debate)
    if casting is None:
        return
    for seat, perspective in casting.perspectives.items():
        yield Point(seat, f"First come {', '.join(perspective.priorities)}.", title=perspective.name, claim=True)
    synthesis = next((turn for turn in reversed(debate.transcript) if turn.kind == "synthesis"), None)
    if synthesis is None or "fallback" in synthesis.marks:
        yield from _speeches(debate, {})
    else:
        yield from _decided(debate, casting, synthesis)


def _decided(debate: Debate[Any], casting: Casting, synthesis: Turn) -> Iterator[Point]:
    made = decision(debate, casting, synthesis, approved=None)
    keys = list(_key_arguments(made))
    yield from keys
    yield from _speeches(debate, {at: [key.key for key in keys if at in key.turns] for key in keys for at in key.turns})
    yield from _recommended(made, synthesis)


def _key_arguments(made: Decision) -> Iterator[Point]:
    for view in made.perspectives:
        for number, argument in enumerate(view.key_arguments, 1):
            yield Point(
                f"{view.seat}-{number}",
                argument.text,
                tuple(argument.turns),
                title=f"{view.name}, key argument {number}",
                supports=(view.seat,),
            )


def _speeches(debate: Debate[Any], made_of: dict[int, list[str]]) -> Iterator[Point]:
    """Each speech supports the key arguments that were made of it, or else its perspective."""
    openings: dict[tuple[int | None, str], str] = {}
    known = names(debate)
    for turn in debate.transcript:
        if not spoken(turn):
            continue
        if turn.kind == "opening":
            openings[turn.round, known[turn.seat].casefold()] = speech_key(turn)
        answered = [openings[turn.round, name] for name in _answered(turn) if (turn.round, name) in openings]
        yield Point.spoken(turn, made_of.get(turn.position, [turn.seat]), answered)


def _answered(turn: Turn) -> list[str]:
    """The names of those whose points a rebuttal answers, each once."""
    points: Any = (turn.data or {}).get("responding_to") or []
    return list(dict.fromkeys(str(point).partition(":")[0].strip().casefold() for point in points))


def _recommended(made: Decision, synthesis: Turn) -> Iterator[Point]:
    about, turns = "recommendation", (synthesis.position,)
    yield Point(about, made.summary, turns, title="Recommendation", claim=True)
    for number, text in enumerate(made.agreement, 1):
        yield Point(f"agreement-{number}", text, turns, title=f"Agreement {number}", supports=(about,))
    yield Point("dissent", made.dissent, turns, title="Dissenting view", attacks=(about,))

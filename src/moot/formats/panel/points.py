"""A panel as an argument map: the options, what speaks for them, and what the decision rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from moot.core.claims import Ledger
from moot.core.debate import Turn
from moot.core.points import Point, speech_key
from moot.core.script import Debate
from moot.formats.panel.answers import Rebuttal
from moot.formats.panel.casting import SEATS, Casting, cast, seats_of, spoken
from moot.formats.panel.decision import Decision, decision
from moot.formats.panel.positions import positions
from moot.trust.claims import points as claim_points
from moot.trust.scribe import ledger_of

Deciding = Callable[[Debate[Any], Casting, Turn], Decision]


def claims(debate: Debate[Any]) -> Ledger | None:
    return ledger_of(debate, SEATS)


def points(debate: Debate[Any], deciding: Deciding = decision) -> Iterator[Point]:
    """The claims, where they were noted; else options or perspectives, and what speaks for them."""
    if (ledger := claims(debate)) and not ledger.by_code:
        yield from claim_points(ledger)
        return
    casting = cast(debate)
    if casting is None:
        return
    synthesis = next((turn for turn in reversed(debate.transcript) if turn.kind == "synthesis"), None)
    made = deciding(debate, casting, synthesis) if synthesis and "fallback" not in synthesis.marks else None
    if made and made.options:
        yield from _by_options(debate, made)
    else:
        yield from _by_perspectives(debate, casting, made)
    if made and synthesis:
        yield from _recommended(made, synthesis)


def _by_options(debate: Debate[Any], made: Decision) -> Iterator[Point]:
    """Each option is a claim; a perspective's arguments support the one it argues for."""
    keys = {option.name.casefold(): f"option-{number}" for number, option in enumerate(made.options, 1)}
    for option in made.options:
        yield Point(keys[option.name.casefold()], option.why, title=option.name, claim=True)
    held = {view.seat: (keys.get(view.option.casefold(), "recommendation"),) for view in made.perspectives}
    yield from _argued(debate, made, held)


def _by_perspectives(debate: Debate[Any], casting: Casting, made: Decision | None) -> Iterator[Point]:
    """Before options are known each perspective stands for what it recommends, or else for what it puts first."""
    declared = positions(debate)
    for seat, perspective in casting.perspectives.items():
        first = f"First come {', '.join(perspective.priorities)}."
        text = declared[seat].recommendation if seat in declared else first
        yield Point(seat, text, title=perspective.name, claim=True)
    yield from _argued(debate, made, {seat: (seat,) for seat in casting.perspectives})


def _argued(debate: Debate[Any], made: Decision | None, held: Mapping[str, tuple[str, ...]]) -> Iterator[Point]:
    keys = list(_key_arguments(made, held)) if made else []
    yield from keys
    made_of = {at: tuple(key.key for key in keys if at in key.turns) for key in keys for at in key.turns}
    yield from _speeches(debate, made_of, held)


def _key_arguments(made: Decision, held: Mapping[str, tuple[str, ...]]) -> Iterator[Point]:
    for view in made.perspectives:
        for number, argument in enumerate(view.key_arguments, 1):
            yield Point(
                f"{view.seat}-{number}",
                argument.text,
                tuple(argument.turns),
                title=f"{view.name}, key argument {number}",
                supports=held[view.seat],
            )


def _speeches(
    debate: Debate[Any], made_of: dict[int, tuple[str, ...]], held: Mapping[str, tuple[str, ...]]
) -> Iterator[Point]:
    """Each speech supports the key arguments that were made of it, or else what its perspective argues for."""
    openings: dict[tuple[int | None, str], str] = {}
    for turn in debate.transcript:
        if not spoken(turn):
            continue
        if turn.kind == "opening":
            openings[turn.round, turn.seat] = speech_key(turn)
        attacked = [openings[turn.round, seat] for seat in _answered(debate, turn) if (turn.round, seat) in openings]
        yield Point.spoken(turn, made_of.get(turn.position, held[turn.seat]), attacked)


def _answered(debate: Debate[Any], turn: Turn) -> list[str]:
    """The seats whose points a rebuttal contests; who agrees with another attacks nothing."""
    if not turn.data:
        return []
    said = Rebuttal.model_validate(turn.data)
    friends = (turn.seat, *seats_of(debate, said.agrees_with))
    return [seat for seat in seats_of(debate, said.responding_to) if seat not in friends]


def _recommended(made: Decision, synthesis: Turn) -> Iterator[Point]:
    about, turns = "recommendation", (synthesis.position,)
    yield Point(about, made.summary, turns, title="Recommendation", claim=True)
    for number, text in enumerate(made.agreement, 1):
        yield Point(f"agreement-{number}", text, turns, title=f"Agreement {number}", supports=(about,))
    if made.dissent:
        yield Point("dissent", made.dissent, turns, title="Dissenting view", attacks=(about,))

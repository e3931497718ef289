"""The duel: Debater A and Debater B argue pro and con, round after round, and a judge scores them.

All three know the sides by neutral names, so that nobody favours a label, and read the same growing text, so that
little of it is paid for twice. The winner follows from the scores.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AliasChoices, Field, StringConstraints, WithJsonSchema, computed_field, create_model

from moot.core.charts import ChartData, scores_by_round
from moot.core.debate import Answer, Outcome, Point, Seat, Settings, Turn, speech_key
from moot.core.format import Format
from moot.core.script import Debate, Script
from moot.trust.caveats import about_models, about_turns

Stance = Literal["pro", "con"]
Winner = Literal["a", "b", "undecided"]
# The schema says integer because grammars can bound integers; a judge that halves points is welcome all the same.
Score = Annotated[
    float, Field(ge=0, le=10, allow_inf_nan=False), WithJsonSchema({"type": "integer", "minimum": 0, "maximum": 10})
]

TITLES = {"debater_a": "Debater A", "debater_b": "Debater B"}
SIDES = tuple(TITLES)
NAMES = ("Cedar", "Flint", "Maple", "Slate", "Teal")
CLEAR_MARGIN = 1.0
"""Scores closer than this decide nothing."""
STALE_ROUNDS = 2
"""With a judge in each round: so many rounds without a new argument end the debate."""


class DuelSettings(Settings):
    stance_a: Stance = Field("pro", title="Debater A argues", description="Debater A's stance; B takes the other")
    judge: Literal["end", "each_round"] = Field("end", description="when the judge speaks")
    model_debater: str | None = Field(None, description="the model of both debaters")
    model_judge: str | None = Field(None, description="the judge's model")

    @property
    def stances(self) -> dict[str, Stance]:
        return dict(zip(SIDES, ("pro", "con") if self.stance_a == "pro" else ("con", "pro"), strict=True))


class Ballot(Answer):
    """What the judge hands in."""

    shown = "summary"

    summary: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    score_a: Score
    score_b: Score
    no_new_substantive_arguments: bool = False

    @computed_field  # type: ignore[prop-decorator]
    @property
    def winner(self) -> Winner:
        if abs(self.score_a - self.score_b) < CLEAR_MARGIN:
            return "undecided"
        return "a" if self.score_a > self.score_b else "b"

    @classmethod
    def fallback(cls) -> Self:
        summary = "The judge's answer could not be read, so neither side is declared the winner."
        return cls.model_validate({"summary": summary, "score_a": 5, "score_b": 5})


class Verdict(Outcome):
    """How the duel ended, with everything that weakens it."""

    winner: Winner
    score_a: float
    score_b: float
    stance_a: Stance
    stance_b: Stance
    no_new_substantive_arguments: bool
    fallback: bool
    models: dict[str, str]

    def headline(self) -> str:
        scores = f"{self.score_a:g} : {self.score_b:g}"
        if self.winner == "undecided":
            return f"Undecided, {scores}"
        stance = self.stance_a if self.winner == "a" else self.stance_b
        return f"Debater {self.winner.upper()} ({stance}) wins, {scores}"

    def table(self) -> tuple[tuple[str, ...], ...]:
        return (
            ("", "stance", "score"),
            ("Debater A", self.stance_a, f"{self.score_a:g}"),
            ("Debater B", self.stance_b, f"{self.score_b:g}"),
        )


def script(debate: Debate[DuelSettings]) -> Script[Verdict]:
    s = debate.settings
    names = neutral_names(debate.topic)
    ballot = ballot_for(*names.values())
    stale = 0
    judged: Turn | None = None
    with debate.until_closing():
        speaking = (*SIDES, "judge") if s.judge == "each_round" else SIDES
        for round in debate.rounds(speaking, closing=["judge"]):
            for seat in SIDES:
                stance, last = s.stances[seat], round == s.max_rounds
                yield from debate.ask(seat, "argument", round, aliases=names, stance=stance, last=last)
            if s.judge == "each_round":
                judged = yield from debate.ask("judge", "verdict", round, answer=ballot, aliases=names)
                stale = stale + 1 if (judged.data or {}).get("no_new_substantive_arguments") else 0
                if stale == STALE_ROUNDS:
                    debate.end_rounds("no_new_substantive_arguments")
    if judged is None or any(turn.seat in SIDES for turn in debate.transcript[judged.position + 1 :]):
        judged = yield from debate.ask("judge", "verdict", answer=ballot, aliases=names)
    return verdict(debate, judged)


def verdict(debate: Debate[DuelSettings], judged: Turn) -> Verdict:
    ballot = Ballot.model_validate(judged.data)
    stances = debate.settings.stances
    return Verdict(
        **ballot.model_dump(),
        stance_a=stances["debater_a"],
        stance_b=stances["debater_b"],
        fallback="fallback" in judged.marks,
        models={seat: chosen.model for seat, chosen in debate.seats.items()},
        caveats=list(_caveats(debate, judged)),
    )


def neutral_names(topic: str) -> Mapping[str, str]:
    """Two names that say nothing about side, order or worth, and that the topic does not use."""
    free = [name for name in NAMES if name.lower() not in topic.lower()]
    pairs = list(permutations(free if len(free) >= len(SIDES) else NAMES, len(SIDES)))
    return dict(zip(SIDES, pairs[zlib.crc32(topic.encode()) % len(pairs)], strict=True))


@cache
def ballot_for(*names: str) -> type[Ballot]:
    """The ballot as the judge sees it: one score under each neutral name."""
    fields = {
        field: (Score, Field(validation_alias=AliasChoices(f"score_{name.lower()}", field)))
        for field, name in zip(("score_a", "score_b"), names, strict=True)
    }
    return create_model("Ballot", __base__=Ballot, **fields)  # type: ignore[call-overload, no-any-return]


def points(debate: Debate[DuelSettings]) -> Iterator[Point]:
    """The motion, and every speech for or against it, which answers the other side's last one."""
    yield Point("motion", debate.topic, title="Motion", claim=True)
    last: dict[str, str] = {}
    for turn in debate.transcript:
        if turn.seat in SIDES:
            answered = [key for seat, key in last.items() if seat != turn.seat]
            if debate.settings.stances[turn.seat] == "pro":
                yield Point.spoken(turn, supports=["motion"], attacks=answered)
            else:
                yield Point.spoken(turn, attacks=["motion", *answered])
            last[turn.seat] = speech_key(turn)


def charts(debate: Debate[DuelSettings], outcome: Verdict) -> Iterator[ChartData]:
    names = {f"score_{seat[-1]}": title for seat, title in TITLES.items()}
    yield from scores_by_round(debate.transcript, "verdict", names)


def _caveats(debate: Debate[DuelSettings], judged: Turn) -> Iterator[str]:
    if "fallback" in judged.marks:
        yield "the judge's answer could not be read: these scores are a placeholder"
    yield from about_turns(debate, TITLES)
    yield from about_models(debate, "judge", TITLES)


DUEL = Format(
    name="duel",
    version=1,
    summary="Two debaters argue for and against before a judge who scores them.",
    settings=DuelSettings,
    seats=(
        *(Seat(side, title, "debater", max_tokens=600) for side, title in TITLES.items()),
        Seat("judge", "Judge", "judge", max_tokens=400, temperature=0.2),
    ),
    outcome=Verdict,
    script=script,
    folder=Path(__file__).parent,
    points=points,
    charts=charts,
    first=("stance_a",),
    bare_models=True,
)

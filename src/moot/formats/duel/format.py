"""The duel: Debater A and Debater B argue pro and con, round after round, and a judge scores them.

All three know the sides by neutral names, so that nobody favours a label, and read the same growing text, so that
little of it is paid for twice. The winner follows from the scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AliasChoices, Field, StringConstraints, WithJsonSchema, computed_field, create_model

from moot.core.charts import ChartData, scores_by_round
from moot.core.debate import Answer, Seat, Settings, Turn
from moot.core.fields import Text, at_most
from moot.core.format import Format
from moot.core.points import Point, speech_key
from moot.core.script import Debate, Script
from moot.trust.caveats import about_models, about_turns
from moot.trust.figures import provenance
from moot.trust.neutral_names import neutral_names
from moot.trust.quality import Rated

Stance = Literal["pro", "con"]
Winner = Literal["a", "b", "undecided"]
# The schema says integer because grammars can bound integers; a judge that halves points is welcome all the same.
Score = Annotated[
    float, Field(ge=0, le=10, allow_inf_nan=False), WithJsonSchema({"type": "integer", "minimum": 0, "maximum": 10})
]

TITLES = {"debater_a": "Debater A", "debater_b": "Debater B"}
SIDES = tuple(TITLES)
CLEAR_MARGIN = 1.0
"""Scores closer than this decide nothing."""
CONCEDED = "CONCEDED"
"""The last line of a debater that gives in."""
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


def leader(score_a: float, score_b: float) -> Winner:
    if round(abs(score_a - score_b), 6) < CLEAR_MARGIN:  # 8.2 - 7.2 is a little less than 1 to a computer
        return "undecided"
    return "a" if score_a > score_b else "b"


class Scores(Answer):
    """What the judge has handed in from version 1 on."""

    shown = "summary"

    summary: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    score_a: Score
    score_b: Score
    no_new_substantive_arguments: bool = False

    @computed_field  # type: ignore[prop-decorator]
    @property
    def winner(self) -> Winner:
        return leader(self.score_a, self.score_b)

    @classmethod
    def fallback(cls) -> Self:
        summary = "The judge's answer could not be read, so neither side is declared the winner."
        return cls.model_validate({"summary": summary, "score_a": 5, "score_b": 5})


class Ballot(Scores):
    """What the judge hands in."""

    lead: Annotated[Text, at_most(500)] = ""


class Verdict(Rated):
    """How the duel ended, with everything that weakens it."""

    winner: Winner
    score_a: float
    score_b: float
    stance_a: Stance
    stance_b: Stance
    no_new_substantive_arguments: bool
    fallback: bool
    models: dict[str, str]
    conceded: Literal["a", "b"] | None = Field(None, description="who gave in, which decides it")

    def headline(self) -> str:
        say, scores = self.say, {"a": self.score_a, "b": self.score_b}
        if self.winner == "undecided":
            return say("Undecided, {a:g} : {b:g}", **scores)
        names = {"winner": self.winner.upper(), "stance": self.stance_a if self.winner == "a" else self.stance_b}
        if self.conceded:
            loser = self.conceded.upper()
            return say("Debater {winner} ({stance}) wins: Debater {loser} conceded", **names, loser=loser)
        first, second = sorted(scores.values(), reverse=True)
        return say("Debater {winner} ({stance}) wins, {first:g} : {second:g}", **names, first=first, second=second)

    def rated(self) -> float | None:
        """How good the debate was: what the judge gave to both sides, on average."""
        return None if self.fallback else round((self.score_a + self.score_b) / 2, 2)

    def table(self) -> tuple[tuple[str, ...], ...]:
        return (
            ("", self.say("stance"), self.say("score")),
            ("Debater A", self.stance_a, f"{self.score_a:g}"),
            ("Debater B", self.stance_b, f"{self.score_b:g}"),
        )


def script(debate: Debate[DuelSettings], form: type[Scores] = Ballot) -> Script[Verdict]:
    s = debate.settings
    names = dict(zip(SIDES, neutral_names(debate.topic), strict=True))
    ballot = ballot_for(form, *names.values())
    stale = 0
    judged: Turn | None = None
    with debate.until_closing():
        speaking = (*SIDES, "judge") if s.judge == "each_round" else SIDES
        for round in debate.rounds(speaking, closing=["judge"]):
            if (yield from _speeches(debate, names, round)):
                break
            if s.judge == "each_round":
                judged = yield from _judge(debate, names, ballot, round)
                stale = stale + 1 if (judged.data or {}).get("no_new_substantive_arguments") else 0
                if stale == STALE_ROUNDS:
                    debate.end_rounds("no_new_substantive_arguments")
    if judged is None or any(turn.seat in SIDES for turn in debate.transcript[judged.position + 1 :]):
        judged = yield from _judge(debate, names, ballot)
    return verdict(debate, judged)


def _speeches(debate: Debate[DuelSettings], names: Mapping[str, str], round: int) -> Script[bool]:
    """Both sides speak; true when one gives in, and the other need not speak any more."""
    s = debate.settings
    for seat in SIDES:
        stance, last = s.stances[seat], round == s.max_rounds
        turn = yield from debate.ask(seat, "argument", round, aliases=names, stance=stance, last=last)
        if concedes(turn):
            debate.end_rounds("conceded")
            return True
    return False


def _judge(
    debate: Debate[DuelSettings], names: Mapping[str, str], ballot: type[Scores], round: int | None = None
) -> Script[Turn]:
    spoke = [turn.seat for turn in debate.transcript if turn.seat in SIDES]
    unanswered = round in (None, debate.settings.max_rounds) and len(spoke) > len(SIDES)
    return debate.ask(
        "judge",
        "verdict",
        round,
        answer=ballot,
        aliases=names,
        last_speaker=names[spoke[-1]] if unanswered else "",
        conceding=next((names[turn.seat] for turn in debate.transcript if concedes(turn)), ""),
    )


def concedes(turn: Turn) -> bool:
    """Whether a speech gives in: a line of its own says so at its end, the same in every language."""
    return turn.kind == "argument" and turn.content.rstrip(" \n*_.").endswith("\n" + CONCEDED)


def verdict(debate: Debate[DuelSettings], judged: Turn) -> Verdict:
    ballot = Ballot.model_validate(judged.data)
    stances = debate.settings.stances
    conceded = next((turn.seat[-1] for turn in debate.transcript if concedes(turn)), None)
    decided = {"conceded": conceded, "winner": "b" if conceded == "a" else "a"} if conceded else {}
    return Verdict(
        **{**ballot.model_dump(), **decided},
        stance_a=stances["debater_a"],
        stance_b=stances["debater_b"],
        fallback="fallback" in judged.marks,
        models={seat: chosen.model for seat, chosen in debate.seats.items()},
        caveats=list(_caveats(debate, judged)),
        figures=provenance(debate, f"{ballot.lead}\n{ballot.summary}", TITLES) if "lead" in (judged.data or {}) else [],
        language=debate.language.code,
    )


@cache
def ballot_for(base: type[Scores], *names: str) -> type[Scores]:
    """The ballot as the judge sees it: one score under each neutral name."""
    fields = {
        field: (Score, Field(validation_alias=AliasChoices(f"score_{name.lower()}", field)))
        for field, name in zip(("score_a", "score_b"), names, strict=True)
    }
    return create_model("Ballot", __base__=base, **fields)  # type: ignore[call-overload, no-any-return]


def points(debate: Debate[DuelSettings]) -> Iterator[Point]:
    """The motion, and every speech for or against it, which answers the other side's last one."""
    yield Point("motion", debate.topic, title="Motion", claim=True)
    last: dict[str, str] = {}
    for turn in debate.transcript:
        if turn.seat in SIDES and concedes(turn):
            yield Point.spoken(turn)
        elif turn.seat in SIDES:
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
        yield debate.language("the judge's answer could not be read: these scores are a placeholder")
    yield from about_turns(debate, TITLES)
    yield from about_models(debate, "judge", TITLES)


def notes(debate: Debate[DuelSettings], turn: Turn) -> tuple[str, ...]:
    return (debate.language("gives in: the debate is over"),) if concedes(turn) else ()


_DUEL = Format(
    name="duel",
    version=2,
    summary="Two debaters argue for and against before a judge who scores them.",
    settings=DuelSettings,
    seats=(
        *(Seat(side, title, "debater", max_tokens=600) for side, title in TITLES.items()),
        Seat("judge", "Judge", "judge", max_tokens=400, temperature=0.2),
    ),
    outcome=Verdict,
    script=script,
    folder=Path(__file__).parent,
    notes=notes,
    points=points,
    charts=charts,
    first=("stance_a",),
    reasons={"conceded": "a debater conceded", "no_new_substantive_arguments": "nothing new was argued"},
    bare_models=True,
)

_FIRST = replace(_DUEL, version=1, script=partial(script, form=Scores), folder=_DUEL.folder / "version_1")
DUEL = replace(_DUEL, earlier=(_FIRST,))

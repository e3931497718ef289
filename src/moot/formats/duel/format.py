"""The duel: Debater A and Debater B argue pro and con, round after round, and a judge scores them.

All three know the sides by neutral names, so that nobody favours a label, and read the same growing text, so that
little of it is paid for twice. The winner follows from the scores: the mean of several judgings, every other one of
which is shown the debate with the sides mirrored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import Field

from moot.core.charts import ChartData, scores_by_round
from moot.core.debate import Seat, Settings, Step, Turn
from moot.core.format import Format
from moot.core.points import Point, speech_key
from moot.core.script import Debate, Script
from moot.core.trust import Judging
from moot.formats.duel.ballot import CLEAR_MARGIN, Ballot, Scores, ballot_for
from moot.trust.caveats import about_models, about_turns
from moot.trust.figures import provenance
from moot.trust.judging import (
    REJUDGING,
    Call,
    Judged,
    JudgedSettings,
    JudgeView,
    call,
    judge_in_pairs,
    mirrored_order,
    trust,
    views,
    weigh,
)
from moot.trust.neutral_names import neutral_names
from moot.trust.quality import Rated

Stance = Literal["pro", "con"]

TITLES = {"debater_a": "Debater A", "debater_b": "Debater B"}
SIDES = tuple(TITLES)
CONCEDED = "CONCEDED"
"""The last line of a debater that gives in."""
STALE_ROUNDS = 2
"""With a judge in each round: so many rounds without a new argument end the debate."""


class FirstSettings(Settings):
    """What can be chosen from version 1 on."""

    stance_a: Stance = Field("pro", title="Debater A argues", description="Debater A's stance; B takes the other")
    judge: Literal["end", "each_round"] = Field("end", description="when the judge speaks")
    model_debater: str | None = Field(None, description="the model of both debaters")
    model_judge: str | None = Field(None, description="the judge's model")

    @property
    def stances(self) -> dict[str, Stance]:
        return dict(zip(SIDES, ("pro", "con") if self.stance_a == "pro" else ("con", "pro"), strict=True))


class DuelSettings(JudgedSettings, FirstSettings):
    pass


Duel: TypeAlias = Debate[FirstSettings] | Debate[DuelSettings]


class Verdict(Rated):
    """How the duel ended, with everything that weakens it."""

    winner: Call
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


def script(debate: Debate[DuelSettings]) -> Script[Verdict]:
    names = _names(debate)
    judged = yield from _debated(debate, names, Ballot)
    if any(map(concedes, debate.transcript)):  # which decides it, whatever the judge says
        return verdict(debate, judged or (yield from debate.ask_all([_judging(debate, names, Ballot)]))[0])
    ask = partial(_view, debate, names, judged.round if judged else None)
    every = yield from judge_in_pairs(debate, ask, _judging_of, CLEAR_MARGIN, judged)
    return _weighed(debate, every)


def first_script(debate: Debate[FirstSettings]) -> Script[Verdict]:
    """Version 1: judged once."""
    names = _names(debate)
    judged = yield from _debated(debate, names, Scores)
    return verdict(debate, judged or (yield from debate.ask_all([_judging(debate, names, Scores)]))[0])


def _names(debate: Duel) -> dict[str, str]:
    return dict(zip(SIDES, neutral_names(debate.topic), strict=True))


def _debated(debate: Duel, names: Mapping[str, str], form: type[Scores]) -> Script[Turn | None]:
    """All rounds; the last verdict, if it was given after the last speech."""
    s, stale = debate.settings, 0
    judged: Turn | None = None
    with debate.until_closing():
        speaking = (*SIDES, "judge") if s.judge == "each_round" else SIDES
        for round in debate.rounds(speaking, closing=["judge"]):
            if (yield from _speeches(debate, names, round)):
                break
            if s.judge == "each_round":
                (judged,) = yield from debate.ask_all([_judging(debate, names, form, round)])
                stale = stale + 1 if (judged.data or {}).get("no_new_substantive_arguments") else 0
                if stale == STALE_ROUNDS:
                    debate.end_rounds("no_new_substantive_arguments")
    spoken_since = judged and any(turn.seat in SIDES for turn in debate.transcript[judged.position + 1 :])
    return None if spoken_since else judged


def _speeches(debate: Duel, names: Mapping[str, str], round: int) -> Script[bool]:
    """Both sides speak; true when one gives in, and the other need not speak any more."""
    s = debate.settings
    for seat in SIDES:
        stance, last = s.stances[seat], round == s.max_rounds
        turn = yield from debate.ask(seat, "argument", round, aliases=names, stance=stance, last=last)
        if concedes(turn):
            debate.end_rounds("conceded")
            return True
    return False


def _judging(debate: Duel, names: Mapping[str, str], form: type[Scores], round: int | None = None) -> Step:
    """The first, or only, judging; `names` begins with the side that is shown first."""
    spoke = [turn.seat for turn in debate.transcript if turn.seat in SIDES]
    unanswered = round in (None, debate.settings.max_rounds) and len(spoke) > len(SIDES)
    variables = {
        "sides": tuple(names.values()),
        "last_speaker": names[spoke[-1]] if unanswered else "",
        "conceding": next((names[turn.seat] for turn in debate.transcript if concedes(turn)), ""),
        "wording": 0,
    }
    ballot = ballot_for(form, *names.values())
    return Step("judge", "verdict", round, answer=ballot, aliases=names, variables=variables)


def _view(debate: Duel, names: Mapping[str, str], round: int | None, view: JudgeView) -> Step:
    """A judging of a finished duel; mirrored, B is shown first and has the name that A has otherwise."""
    shown = dict(zip(reversed(SIDES), names.values(), strict=True)) if view.mirrored else names
    step = _judging(debate, shown, Ballot, round)
    if view == JudgeView():
        return step
    return replace(
        step,
        kind=REJUDGING,
        prompt=step.kind,
        answer=ballot_for(Ballot, *names.values(), view.mirrored),
        variables={**step.variables, "wording": view.wording},
        order=mirrored_order(debate.transcript, SIDES) if view.mirrored else None,
    )


def concedes(turn: Turn) -> bool:
    """Whether a speech gives in: a line of its own says so at its end, the same in every language."""
    return turn.kind == "argument" and turn.content.rstrip(" \n*_.").endswith("\n" + CONCEDED)


def _judging_of(turn: Turn, view: JudgeView) -> Judging:
    ballot = Ballot.model_validate(turn.data)
    return Judging(
        position=turn.position,
        mirrored=view.mirrored,
        wording=view.wording,
        score_a=ballot.score_a,
        score_b=ballot.score_b,
        counted="fallback" not in turn.marks,
    )


def _weighed(debate: Debate[DuelSettings], judged: Judged) -> Verdict:
    """The verdict of all judgings: their mean scores, in the words of the one that is nearest to these."""
    judgings = [_judging_of(*each) for each in zip(judged.turns, views(len(judged.turns)), strict=True)]
    stability = weigh(judgings, CLEAR_MARGIN)
    if stability is None:
        readable = (turn for turn in judged.turns if "fallback" not in turn.marks)
        alone = verdict(debate, next(readable, judged.turns[0]))
    else:
        nearest = min(stability.counted, key=lambda judging: abs(judging.margin - stability.margin))
        alone = verdict(debate, next(turn for turn in judged.turns if turn.position == nearest.position))
        alone.score_a, alone.score_b = round(stability.score_a, 2), round(stability.score_b, 2)
        alone.winner = call(stability.margin, CLEAR_MARGIN)
    alone.trust = trust(debate, judged, stability, CLEAR_MARGIN)
    return alone


def verdict(debate: Duel, judged: Turn) -> Verdict:
    """The verdict of one judging."""
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


def points(debate: Duel) -> Iterator[Point]:
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


def charts(debate: Duel, outcome: Verdict) -> Iterator[ChartData]:
    names = {f"score_{seat[-1]}": title for seat, title in TITLES.items()}
    yield from scores_by_round(debate.transcript, "verdict", names)


def _caveats(debate: Duel, judged: Turn) -> Iterator[str]:
    if "fallback" in judged.marks:
        yield debate.language("the judge's answer could not be read: these scores are a placeholder")
    yield from about_turns(debate, TITLES)
    yield from about_models(debate, "judge", TITLES)


def notes(debate: Duel, turn: Turn) -> tuple[str, ...]:
    return (debate.language("gives in: the debate is over"),) if concedes(turn) else ()


_DUEL: Format[Any, Verdict] = Format(
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
    folded=frozenset({REJUDGING}),
    first=("stance_a", "depth"),
    reasons={"conceded": "a debater conceded", "no_new_substantive_arguments": "nothing new was argued"},
    bare_models=True,
)

_FIRST = replace(
    _DUEL,
    version=1,
    settings=FirstSettings,
    script=first_script,
    folder=_DUEL.folder / "version_1",
    folded=frozenset(),
    first=("stance_a",),
)
DUEL = replace(_DUEL, earlier=(_FIRST,))

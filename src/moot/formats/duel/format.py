"""The duel: Debater A and Debater B argue pro and con, round after round, and a judge scores them.

All three know the sides by neutral names, so that nobody favours a label, and read the same growing text, so that
little of it is paid for twice. The winner follows from the scores: the mean of several judgings, every other one of
which is shown the debate with the sides mirrored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import Field

from moot.core.claims import Claim, Ledger
from moot.core.debate import Seat, Settings, Step, Turn
from moot.core.format import Format, Starter
from moot.core.page import charts_in
from moot.core.script import Debate, Script
from moot.core.trust import BALLOT, CLAIMS, REJUDGING, Judging
from moot.errors import InvalidInput
from moot.formats.duel.ballot import Ballot, ReasonedBallot, Scores, ballot_for
from moot.formats.duel.facing import SIDES, TITLES, concedes, facing
from moot.formats.duel.page import page
from moot.formats.duel.points import points
from moot.formats.duel.verdict import Stance, Verdict
from moot.trust.caveats import about_models, about_turns, untold
from moot.trust.claims import carries
from moot.trust.depth import JurySettings, jury
from moot.trust.figures import provenance
from moot.trust.judging import (
    Call,
    Case,
    Judged,
    JudgeView,
    call,
    judge_in_pairs,
    judged_from,
    trust,
    weighed,
)
from moot.trust.mirrored import judged_again, judging
from moot.trust.neutral_names import neutral_names
from moot.trust.poll import AGAINST, FOR, PolledSettings, first_ballots, further_ballots, voter, with_poll
from moot.trust.poll import notes as ballot_notes
from moot.trust.scribe import NotedSettings, is_stale, ledger_of, note_claims, scribe, unanswered, with_claims

JUDGE = Seat("judge", "Judge", "judge", max_tokens=400, temperature=0.2)
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


class DuelSettings(JurySettings, PolledSettings, NotedSettings, FirstSettings):
    pass


Duel: TypeAlias = Debate[FirstSettings] | Debate[DuelSettings]


def script(debate: Debate[DuelSettings]) -> Script[Verdict]:
    names = _names(debate)
    judged = yield from _debated(debate, names, Ballot, first_ballots(debate, SIDES))
    if not judged:
        yield from note_claims(debate, names)
    if any(map(concedes, debate.transcript)):  # which decides it, whatever the judge says
        alone = verdict(debate, judged or (yield from debate.ask_all([_judging(debate, names, Ballot)]))[0])
    else:
        ask = partial(_judging, debate, names, Ballot, judged.round if judged else None)
        (every,) = yield from judge_in_pairs(debate, [Case(ask, _judging_of, judged)])
        alone = _weighed(debate, every)
    yield from further_ballots(debate, SIDES)
    return _polled(debate, alone)


def first_script(debate: Debate[FirstSettings]) -> Script[Verdict]:
    """Version 1: judged once."""
    names = _names(debate)
    judged = yield from _debated(debate, names, Scores)
    return verdict(debate, judged or (yield from debate.ask_all([_judging(debate, names, Scores)]))[0])


def _names(debate: Duel) -> dict[str, str]:
    return dict(zip(SIDES, neutral_names(debate.topic), strict=True))


def _debated(
    debate: Duel, names: Mapping[str, str], form: type[Scores], beside: Sequence[Step] = ()
) -> Script[Turn | None]:
    """All rounds, the first speech side by side with other steps; the last verdict, if it was given after the last
    speech."""
    s, stale = debate.settings, 0
    judged: Turn | None = None
    with debate.until_closing():
        speaking = (*SIDES, "judge") if s.judge == "each_round" else SIDES
        for round in debate.rounds(speaking, closing=["judge"]):
            if (yield from _speeches(debate, names, round, beside if round == 1 else ())):
                break
            if isinstance(s, NotedSettings) and (s.noted == "rounds" or s.judge == "each_round"):
                yield from note_claims(debate, names, round)
                if is_stale(debate, round, SIDES):
                    debate.end_rounds("no_new_claims")
            if s.judge == "each_round":
                (judged,) = yield from debate.ask_all([_judging(debate, names, form, round)])
                stale = stale + 1 if (judged.data or {}).get("no_new_substantive_arguments") else 0
                if stale == STALE_ROUNDS:
                    debate.end_rounds("no_new_substantive_arguments")
    spoken_since = judged and any(turn.seat in SIDES for turn in debate.transcript[judged.position + 1 :])
    return None if spoken_since else judged


def _speeches(debate: Duel, names: Mapping[str, str], round: int, beside: Sequence[Step]) -> Script[bool]:
    """Both sides speak; true when one gives in, and the other need not speak any more."""
    s = debate.settings
    for seat in SIDES:
        open_claims = [_blinded(claim.text, names) for claim in unanswered(claims(debate), seat)]
        variables = {"stance": s.stances[seat], "last": round == s.max_rounds, "unanswered": open_claims}
        step = Step(seat, "argument", round, aliases=names, variables=variables)
        *_, turn = yield from debate.ask_all([*beside, step])
        beside = ()
        if concedes(turn):
            debate.end_rounds("conceded")
            return True
    return False


def _judging(
    debate: Duel,
    names: Mapping[str, str],
    form: type[Scores],
    round: int | None = None,
    view: JudgeView = JudgeView(),  # noqa: B008 - a tuple
) -> Step:
    """A judging; mirrored, B is shown first and has the name that A has otherwise."""
    shown = dict(zip(reversed(SIDES), names.values(), strict=True)) if view.mirrored else names
    spoke = [turn.seat for turn in debate.transcript if turn.seat in SIDES]
    unanswered = round in (None, debate.settings.max_rounds) and len(spoke) > len(SIDES)
    variables = {
        "sides": tuple(shown.values()),
        "last_speaker": shown[spoke[-1]] if unanswered else "",
        "conceding": next((shown[turn.seat] for turn in debate.transcript if concedes(turn)), ""),
        "wording": view.wording,
        "claims": _claimed(debate, shown),
    }
    ballot = ballot_for(_form(debate, form), names.values(), view.mirrored)
    step = Step("judge", "verdict", round, answer=ballot, aliases=shown, variables=variables, evidence="cited")
    return judged_again(debate, step, view, SIDES)


def claims(debate: Duel) -> Ledger | None:
    return ledger_of(debate, SIDES)


def _form(debate: Duel, form: type[Scores]) -> type[Scores]:
    """A judge that reads claims says which of them decide."""
    return ReasonedBallot if form is Ballot and _claimed(debate, _names(debate)) else form


def _claimed(debate: Duel, names: Mapping[str, str]) -> dict[str, list[tuple[str, str, str]]]:
    """What each side claimed and how that ended, for the judge: neutral name → id, status and text."""
    ledger = claims(debate)
    if ledger is None or ledger.by_code:
        return {}
    told: dict[str, list[tuple[str, str, str]]] = {name: [] for name in names.values()}
    for claim in ledger.claims:
        told[names[claim.seat]].append((claim.id, claim.status or "", _blinded(claim.text, names)))
    return told


def _blinded(text: str, names: Mapping[str, str]) -> str:
    for seat, name in names.items():
        text = text.replace(TITLES[seat], name)
    return text


def _judging_of(turn: Turn, view: JudgeView) -> Judging:
    ballot = Ballot.model_validate(turn.data)
    return judging(turn, view, ballot.score_a, ballot.score_b)


def _weighed(debate: Debate[DuelSettings], judged: Judged) -> Verdict:
    """The verdict of all judgings: their mean scores, in the words of the one that is nearest to these."""
    turn, stability = weighed(judged, _judging_of, debate.settings.noise)
    alone = verdict(debate, turn)
    if stability:
        alone.score_a, alone.score_b = round(stability.score_a, 2), round(stability.score_b, 2)
        alone.winner = call(stability.margin)
    named = [ReasonedBallot.model_validate(turn.data).because for turn in judged.turns if "fallback" not in turn.marks]
    unsound = debate.language("every claim that the judgings name has fallen, or speaks for the other side")
    found = trust(debate, judged, stability)
    alone.trust = with_claims(debate, found, SIDES, named, partial(_carries, alone.winner), unsound)
    alone.caveats = untold(alone.caveats, alone.trust)
    return alone.saying_whose_words()


def _carries(winner: Call, claim: Claim) -> bool:
    return winner == "undecided" or carries(f"debater_{winner}", claim)


def _polled(debate: Debate[DuelSettings], judged: Verdict) -> Verdict:
    """The verdict beside what independent answers say of the motion."""
    won = {"a": judged.stance_a, "b": judged.stance_b, "undecided": None}[judged.winner]
    judged.trust = with_poll(debate, judged.trust, {"pro": FOR, "con": AGAINST, None: ""}[won])
    if judged.trust and judged.trust.poll and judged.trust.poll.relation == "overturned":
        say = debate.language
        why = say("most independent answers are for the other side: the judge scored arguing, not who is right")
        judged.caveats.append(why)
    return judged


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


def _caveats(debate: Duel, judged: Turn) -> Iterator[str]:
    if "fallback" in judged.marks:
        yield debate.language("the judge's answer could not be read: these scores are a placeholder")
    yield from about_turns(debate, TITLES)
    yield from about_models(debate, "judge", TITLES)


def from_judging(turns: Sequence[Turn]) -> int:
    if any(map(concedes, turns)):
        raise InvalidInput("a debater conceded, which decides the duel whatever a judge says")
    return judged_from(turns, JUDGE.name, SIDES)


def notes(debate: Duel, turn: Turn) -> tuple[str, ...]:
    if turn.kind == BALLOT:
        return ballot_notes(turn, debate.language)
    if turn.kind == REJUDGING:
        ballot = Ballot.model_validate(turn.data)
        return (f"{TITLES[SIDES[0]]} {ballot.score_a:g}, {TITLES[SIDES[1]]} {ballot.score_b:g}",)
    return (debate.language("gives in: the debate is over"),) if concedes(turn) else ()


SEATS = (*(Seat(side, title, "debater", max_tokens=600) for side, title in TITLES.items()), JUDGE)
_DUEL: Format[Any, Verdict] = Format(
    name="duel",
    version=2,
    summary="Two debaters argue for and against before a judge who scores them.",
    settings=DuelSettings,
    seats=(*SEATS, *jury(JUDGE), scribe(like=JUDGE), voter(like=SEATS[0], optional=True)),
    outcome=Verdict,
    script=script,
    folder=Path(__file__).parent,
    notes=notes,
    points=points,
    claims=claims,
    charts=lambda debate, outcome: charts_in(page(debate, outcome)),
    sides=lambda debate: facing(debate.settings.stances),
    swapped=lambda settings: {"stance_a": "pro" if settings.get("stance_a") == "con" else "con"},
    closing=lambda debate: ("Judging",),
    page=page,
    folded=frozenset({REJUDGING, BALLOT, CLAIMS}),
    first=("stance_a", "depth"),
    hidden=frozenset({"noise"}),
    picture="sides",
    starters=(Starter("A team of six should write its next backend in Rust", "hear both sides at their strongest"),),
    reasons={
        "conceded": "a debater conceded",
        "no_new_substantive_arguments": "nothing new was argued",
        "no_new_claims": "two rounds brought no new claim",
    },
    bare_models=True,
    judge=JUDGE.name,
    judged_from=from_judging,
)

_FIRST = replace(
    _DUEL,
    version=1,
    settings=FirstSettings,
    seats=SEATS,
    script=first_script,
    folder=_DUEL.folder / "version_1",
    folded=frozenset(),
    first=("stance_a",),
)
DUEL = replace(_DUEL, earlier=(_FIRST,))

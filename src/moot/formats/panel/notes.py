"""What readers are told below a turn of a panel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from moot.core.debate import Turn
from moot.core.quoting import remarks
from moot.core.script import Debate
from moot.formats.panel.answers import Rebuttal
from moot.formats.panel.assessment import Verdict, confirmed, facts, observed, verdict
from moot.formats.panel.casting import cast, muting, names, strayed
from moot.formats.panel.pace import announcement
from moot.trust.poll import notes as ballot_notes

Judging = Callable[[Debate[Any], int, Turn], Verdict]


def notes(debate: Debate[Any], turn: Turn, judging: Judging = verdict) -> tuple[str, ...]:
    match turn.kind:
        case "analysis":
            casting = cast(_after(debate, turn))
            return tuple(filter(None, (casting.note, casting.warning))) if casting else ()
        case "summary" if debate.settings.rules > 1 and turn.round == 1:
            return tuple(filter(None, [announcement(_after(debate, turn))]))
        case "opening" | "rebuttal":
            return (*_about_position(debate, turn), *_about_speech(debate, turn))
        case "evaluation":
            return tuple(_about_round(debate, turn, judging))
        case "rejudging":
            return tuple(filter(None, [_about_second(debate, turn)]))
        case "ballot" | "vote":
            return ballot_notes(turn, debate.language)
        case _:
            return ()


def _after(debate: Debate[Any], turn: Turn) -> Debate[Any]:
    """The debate as it is once the turn stands in it."""
    return Debate(debate.id, debate.topic, debate.settings, debate.seats, [*debate.transcript, turn])


def _about_position(debate: Debate[Any], turn: Turn) -> Iterator[str]:
    if turn.kind != "rebuttal" or debate.settings.rules == 1 or not turn.data:
        return
    say, said = debate.language, Rebuttal.model_validate(turn.data)
    if said.responding_to:
        yield say("answers: {points}", points="; ".join(said.responding_to))
    if said.concedes:
        yield say("concedes: {points}", points="; ".join(said.concedes))
    if said.recommendation:
        yield say("recommends: {recommendation}", recommendation=said.recommendation)
    if said.agrees_with:
        yield say("agrees with {names}", names=", ".join(said.agrees_with))
    if said.would_change:
        yield say("would change its mind: {condition}", condition=said.would_change)


def _about_speech(debate: Debate[Any], turn: Turn) -> Iterator[str]:
    say = debate.language
    if "late" in turn.marks:
        yield say("late: it misses this round")
    if debate.own_sources:
        yield from remarks(debate, turn)


def _about_second(debate: Debate[Any], turn: Turn) -> str:
    round = turn.round or 1
    found = verdict(debate, round)
    remark = confirmed(debate, round, found, turn).remark
    return remark if remark != found.remark else debate.language("the second reading of this round concludes too")


def _about_round(debate: Debate[Any], evaluation: Turn, judging: Judging) -> Iterator[str]:
    """From the debate before the evaluation, which keeps what it has found out: another one would do all anew."""
    round = evaluation.round or 1
    say, known, found = debate.language, names(debate), facts(debate, round)
    if found.novelty:
        shares = ", ".join(f"{known[seat]} {share:.0%}" for seat, share in found.novelty.items())
        yield say("new wording: {shares}", shares=shares)
    yield from observed(debate, round)
    if remark := judging(debate, round, evaluation).remark:
        yield remark
    muted, refused = muting(debate, evaluation)
    if debate.settings.rules > 1:
        if seats := strayed(debate, evaluation):
            yield say("strayed from the question: {names}", names=", ".join(known[seat] for seat in seats))
        for seat in refused:
            yield say("{name} is not muted: two perspectives always speak", name=known[seat])
    if muted:
        yield say("muted: {names}", names=", ".join(known[seat] for seat in muted))

"""What readers are told below a turn of a panel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from moot.core.debate import Turn
from moot.core.script import Debate
from moot.formats.panel.answers import Rebuttal
from moot.formats.panel.assessment import Verdict, facts, quotes_of, verdict
from moot.formats.panel.casting import cast, muting, names, strayed
from moot.formats.panel.pace import announcement

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
    found = quotes_of(debate, turn)
    if found:
        verified = sum(quote.verdict == "verified" for quote in found)
        yield say("{verified} of {all} quotes stand in their source word for word", verified=verified, all=len(found))
    for quote in found:
        what = {"quote": quote.quote, "tag": quote.tag, "passage": quote.passage}
        match quote.verdict:
            case "near":
                yield say("not quite: “{quote}” [{tag}]; the source says “{passage}”", **what)
            case "unclear":
                yield say("whether “{quote}” [{tag}] leaves out a “not” cannot be told: “{passage}”", **what)
            case "no_source":
                yield say("no such source: “{quote}” [{tag}]", **what)
            case "missing" if not quote.tag:
                yield say("in no source, and said by nobody before: “{quote}”", **what)
            case "missing":
                yield say("not found: “{quote}” [{tag}]", **what)


def _about_round(debate: Debate[Any], evaluation: Turn, judging: Judging) -> Iterator[str]:
    """From the debate before the evaluation, which keeps what it has found out: another one would do all anew."""
    round = evaluation.round or 1
    say, known, found = debate.language, names(debate), facts(debate, round)
    if found.novelty:
        shares = ", ".join(f"{known[seat]} {share:.0%}" for seat, share in found.novelty.items())
        yield say("new wording: {shares}", shares=shares)
    for seat in found.repeating:
        share = f"{found.repetition[seat]:.0%}"
        yield say("{name} repeats {share} of its last round", name=known[seat], share=share)
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

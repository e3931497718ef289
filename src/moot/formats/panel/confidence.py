"""How sure a panel's decision is: computed from what is known of the debate, never from what a model claims.

Everything that is known caps the level; the lowest cap counts, and comes with what would lift it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from moot.core.coverage import coverage, unread
from moot.core.debate import Turn
from moot.core.script import Debate
from moot.core.trust import BALLOT, VOTE, Level, VoteResult
from moot.formats.panel.assessment import facts
from moot.formats.panel.barred import barred, rests_on, unsupported_figures
from moot.formats.panel.casting import ARGUED, active_seats, debaters, muted, names, options_of, spoken
from moot.formats.panel.positions import final_agreement, last_round, positions, told_apart
from moot.trust.caveats import only_model
from moot.trust.judging import LEVELS
from moot.trust.recommendations import cannot_tell, differ

LOW, MEDIUM, HIGH = range(3)


class Cap(NamedTuple):
    """How high the confidence can be at most, why, and what would lift it."""

    level: int
    reason: str
    lift: str = ""


class Confidence(NamedTuple):
    level: Level
    reasons: list[str]
    lifts: list[str]


def confidence(debate: Debate[Any], synthesis: Turn | None, basis: str, vote: VoteResult | None) -> Confidence:
    """`basis` is the text that the decision rests on."""
    caps = [_agreed(debate, basis.partition("\n")[0]), *_voted(debate, vote), *_caps(debate, synthesis, basis)]
    level = min(cap.level for cap in caps)
    return Confidence(
        LEVELS[level],
        [caps[0].reason, *(cap.reason for cap in sorted(caps[1:], key=lambda cap: cap.level))],
        [cap.lift for cap in caps if cap.level == level and cap.lift],
    )


def _agreed(debate: Debate[Any], recommended: str) -> Cap:
    say, known, found = debate.language, names(debate), final_agreement(debate)
    same = say("another round, in which each recommends what it says it agrees with")
    if not found.agreeing and found.apart:
        return Cap(LOW, told_apart(debate, found.apart), same)
    if not found.agreeing:
        lift = say("more rounds, or guidance that settles what divides the perspectives")
        return Cap(LOW, say("the perspectives did not come to one recommendation"), lift)
    agreeing, differing = (", ".join(known[seat] for seat in seats) for seats in (found.agreeing, found.differing))
    held = {seat: each.recommendation for seat, each in positions(debate).items() if seat in found.agreeing}
    options = options_of(debate)
    if any(differ(own, found.recommendation, options) for own in held.values()):
        return Cap(LOW, told_apart(debate, held), same)
    if recommended and differ(recommended, found.recommendation, options):
        lift = say("a record that recommends what the perspectives declared, or says why not")
        own = found.recommendation
        return Cap(LOW, say("the record recommends another thing than they declared: {own}", own=own), lift)
    if any(cannot_tell(own, found.recommendation, debate.topic) for own in held.values()):
        told = "; ".join(f"{known[seat]}: {own}" for seat, own in held.items())
        reason = say(
            "whether these are one recommendation cannot be told from words of this language: {told}", told=told
        )
        return Cap(MEDIUM if found.of_most else LOW, reason, say("somebody who reads them side by side"))
    if found.differing:
        wanted = "; ".join(filter(None, (_wanted(debate, seat) for seat in found.differing)))
        lift = wanted or say("an answer to what {names} holds against it", names=differing)
        level = MEDIUM if found.of_most else LOW
        return Cap(level, say("{names} agree, but not {others}", names=agreeing, others=differing), lift)
    if last_round(debate) == 1:
        lift = say("another round, in which the recommendation has to stand against objections")
        return Cap(MEDIUM, say("everybody agreed in the first round"), lift)
    return Cap(HIGH, say("every perspective declared the same recommendation"))


def _voted(debate: Debate[Any], vote: VoteResult | None) -> Iterator[Cap]:
    say = debate.language
    if vote and vote.winner is None and debate.settings.decision != "moderator":
        reason = say("{vote}: the rule decides nothing, and the recommendation is the moderator's", vote=vote.summary)
        yield Cap(LOW, reason, say("more rounds, or guidance that settles what divides the perspectives"))
    elif vote and vote.overturned:
        yield Cap(LOW, vote.summary, say("a record that recommends what the perspectives voted for, or says why not"))
    elif vote and vote.winner is None:
        yield Cap(HIGH, vote.summary)


def _wanted(debate: Debate[Any], seat: str) -> str:
    held = positions(debate).get(seat)
    if not held or not held.would_change:
        return ""
    return debate.language(
        "what would convince {name}: {condition}", name=names(debate)[seat], condition=held.would_change.rstrip(".")
    )


def _caps(debate: Debate[Any], synthesis: Turn | None, basis: str) -> Iterator[Cap]:
    say, known = debate.language, names(debate)
    if synthesis is None or "fallback" in synthesis.marks:
        yield Cap(LOW, say("there is no readable record"), say("a model that keeps to the form of the record"))
    if each := rests_on(debate, basis):
        reason = say("it rests on a quote of {name} that does not stand in its source", name=known[each.seat])
        yield Cap(LOW, reason, say("a revision without the quote"))
    elif brought := barred(debate):
        which = ", ".join(dict.fromkeys(known[each.seat] for each in brought))
        reason = say("{names} quoted what does not stand in the source", names=which)
        yield Cap(MEDIUM, reason, say("a debate without false quotes"))
    if (found := coverage(debate)) and found.mostly_unread:
        yield Cap(LOW, unread(debate), say("more rounds, or fewer and shorter sources"))
    if figures := unsupported_figures(debate, basis):
        reason = say("a figure in it was said by nobody and stands in no source: {figures}", figures=", ".join(figures))
        yield Cap(LOW, reason, say("a revision without the figure, or its source"))
    if model := only_model(debate):
        reason = say("one model, {model}, spoke in every seat", model=model)
        yield Cap(MEDIUM, reason, say("debaters of different model families"))
    yield from _incomplete(debate)


def _incomplete(debate: Debate[Any]) -> Iterator[Cap]:
    say, known = debate.language, names(debate)
    beside = ("synthesis", BALLOT, VOTE)
    unread = sum("fallback" in turn.marks for turn in debate.transcript if turn.kind not in beside)
    if unread:
        reason = say("answers that could not be read: {number}", number=unread)
        yield Cap(MEDIUM, reason, say("a model that keeps to the forms"))
    if unheard := missed(debate):
        reason = say("not everybody had their say: {names}", names=", ".join(known[seat] for seat in unheard))
        yield Cap(MEDIUM if any(map(spoken, debate.transcript)) else LOW, reason, _heard_by(debate, unheard))
    if repeating := facts(debate, last_round(debate)).repeating:
        which = ", ".join(known[seat] for seat in repeating)
        reason = say("repeating themselves in the last round: {names}", names=which)
        yield Cap(MEDIUM, reason, say("a question or guidance that brings something new"))


def _heard_by(debate: Debate[Any], unheard: list[str]) -> str:
    """What would let them have their say: who is muted has time enough."""
    say, known, silent = debate.language, names(debate), muted(debate)
    strayed = ", ".join(known[seat] for seat in unheard if seat in silent)
    kept = [say("guidance that keeps {names} to the question", names=strayed)] if strayed else []
    return "; ".join([*kept, *([] if {*unheard} <= {*silent} else [say("more time for the debaters")])])


def missed(debate: Debate[Any]) -> list[str]:
    """The seats that were late, muted, or not asked for all of the last round."""
    late = {turn.seat for turn in debate.transcript if "late" in turn.marks}
    silent = muted(debate)
    return [seat for seat in debaters(debate) if seat in late or seat in silent or not_asked(debate, seat)]


def not_asked(debate: Debate[Any], seat: str) -> list[str]:
    """What a seat was not asked for in the last round, because a limit or a person ended it before."""
    round = last_round(debate)
    if seat not in active_seats(debate) or not round:
        return []
    asked = {turn.kind for turn in debate.in_round(round) if turn.seat == seat}
    return [kind for kind in ARGUED if kind not in asked]

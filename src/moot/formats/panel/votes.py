"""How a panel votes: what can be decided, one secret vote for each perspective at the end, and what that means.

Nobody reads a vote, the moderator neither: whether its record agrees with them is found by code. Where a rule decides,
code takes the winner, and the moderator writes the reasons.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema, create_model

from moot.core.debate import Step, Turn
from moot.core.script import Debate, Script
from moot.core.trust import VOTE, VoteResult
from moot.formats.panel.answers import Synthesis
from moot.formats.panel.casting import Casting, active_seats, debaters, heard, names, options_of, spoken
from moot.formats.panel.settings import Decider
from moot.formats.panel.steps import known
from moot.text.language import Language
from moot.trust.judging import limit_of
from moot.trust.poll import LETTERS, VOTER, Ballot, Form, Labels, ballot_for, form_of, no_winner, option_named
from moot.trust.voting import Result, Rule, decide, rule_name, shuffled

OTHER = "other"


def labelled(debate: Debate[Any]) -> Labels:
    return tuple(zip(LETTERS, options_of(debate), strict=False))


def rule_of(debate: Debate[Any]) -> Rule:
    """The one by which votes are counted, also where they decide nothing."""
    decider: Decider = debate.settings.decision
    return "plurality" if decider == "moderator" else decider


def vote(debate: Debate[Any], casting: Casting) -> Script[None]:
    """Everybody who may still speak ranks the options, each in an order of its own."""
    if not options_of(debate) or VOTER not in debate.seats or not debate.settings.votes:
        return
    active, binding = active_seats(debate), debate.settings.decision != "moderator"
    if binding or not limit_of(debate, VOTER, len(active), len(active)):
        yield from debate.ask_all([_vote(debate, casting, seat) for seat in active])


def not_voted(debate: Debate[Any]) -> Iterator[str]:
    """Why nobody was asked to vote, where somebody should have been."""
    say, s = debate.language, debate.settings
    if s.rules == 1 or VOTER not in debate.seats or not any(map(spoken, debate.transcript)) or votes_of(debate):
        return
    if not options_of(debate):
        yield say("nobody voted: the moderator named no options to vote on")
    elif s.votes:
        number = len(debaters(debate))
        limit = limit_of(debate, VOTER, number, number) or "max_check_output_tokens"
        yield say("the vote was left out: {limit} leaves no room for it", limit=limit)


def _vote(debate: Debate[Any], casting: Casting, seat: str) -> Step:
    labels = tuple(zip(LETTERS, shuffled(options_of(debate), f"{debate.topic} {seat}"), strict=False))
    form: Form = "approval" if form_of(rule_of(debate)) == "approval" else "ranking"
    return Step(
        VOTER,
        VOTE,
        answer=ballot_for(labels, True),
        aliases=names(debate),
        model=debate.seats[seat].model,
        visible=heard(debate),
        variables={
            **known(debate, casting),
            "perspective": casting.perspectives[seat],
            "options": labels,
            "form": form,
        },
    )


def votes_of(debate: Debate[Any]) -> Sequence[Turn]:
    return [turn for turn in debate.of_seat(VOTER) if turn.kind == VOTE]


def counted(debate: Debate[Any]) -> Result | None:
    """What the votes come to; None when nobody was asked."""
    cast = [Ballot.model_validate(turn.data).choice for turn in votes_of(debate) if turn.data]
    if not cast:
        return None
    return decide(rule_of(debate), {str(at): choice for at, choice in enumerate(cast) if choice}, options_of(debate))


def decision_of(debate: Debate[Any]) -> str:
    """The option that has won by a rule that binds the moderator; empty where none does."""
    result = counted(debate) if debate.settings.rules > 1 and debate.settings.decision != "moderator" else None
    return result.winner or "" if result else ""


def record_form(debate: Debate[Any]) -> type[Synthesis]:
    """What the moderator fills in: a record for nothing but the winner, where a rule decides."""
    decided = decision_of(debate)
    return _bound_form(labelled(debate), decided) if decided else Synthesis


@cache
def _bound_form(labels: Labels, decided: str) -> type[Synthesis]:
    label = next(label for label, option in labels if option == decided)

    def read(value: object) -> str:
        if option_named(str(value), labels) != decided:
            raise ValueError(f"is {label}: {decided} has won the vote, which decides")
        return label

    chosen = Annotated[str, BeforeValidator(read), WithJsonSchema({"type": "string", "enum": [label]})]
    return create_model("Synthesis", __base__=Synthesis, chosen=(chosen, label))


def chosen_option(debate: Debate[Any], answer: Synthesis) -> str:
    """The option that a record recommends, `other` where it is none of them, or empty where that cannot be told."""
    labels = labelled(debate)
    if not labels:
        return ""
    if answer.chosen.strip().casefold().startswith(OTHER):
        return OTHER
    recommended = [each.option for each in answer.options if each.recommended]
    return next((found for said in (answer.chosen, *recommended) if (found := option_named(said, labels))), "")


def vote_result(debate: Debate[Any], chosen: str) -> VoteResult | None:
    result = counted(debate)
    if result is None:
        return None
    overturned = bool(result.winner and chosen and chosen != result.winner)
    rule = rule_of(debate)
    return VoteResult(
        rule=rule,
        tally=dict(result.tally),
        winner=result.winner,
        summary=_summary(result, rule, overturned, debate.language),
        overturned=overturned,
    )


def _summary(result: Result, rule: Rule, overturned: bool, say: Language) -> str:
    most_first = sorted(result.tally.items(), key=lambda each: -each[1])
    tally = ", ".join(f"{option} ({points:g})" for option, points in most_first)
    values = {"tally": tally, "rule": rule_name(rule, say)}
    if result.winner is None:
        return say("the perspectives voted {tally} by {rule}: {why}", **values, why=no_winner(result, rule, say))
    if overturned:
        return say("the perspectives voted {tally} by {rule}: the record overturned the vote", **values)
    return say("the perspectives voted {tally} by {rule}", **values)

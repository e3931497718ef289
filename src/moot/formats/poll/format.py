"""The poll: models answer a question, each alone and half of them in mirrored words, and a rule says what that means.

It is what a debate has to be better than, at its own price; the duel and the panel cast the same ballots beside their
first round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator

from moot.core.charts import percent
from moot.core.debate import Answer, Seat, Settings, Step, Turn
from moot.core.fields import Texts, Words, at_most
from moot.core.format import Format
from moot.core.page import charts_in
from moot.core.points import Point
from moot.core.script import Debate, Script
from moot.core.trust import BALLOT, Level, PollResult, Trust
from moot.formats.poll.outcome import PollOutcome, label
from moot.formats.poll.page import page
from moot.text.language import Language
from moot.trust.caveats import only_model
from moot.trust.poll import (
    AGAINST,
    FOR,
    LETTERS,
    VOTER,
    Ballot,
    Voter,
    ballot,
    form_of,
    no_winner,
    poll_result,
    read_ballots,
    unread,
    voter,
)
from moot.trust.poll import notes as ballot_notes
from moot.trust.voting import Result, Rule, decide

FIRST = voter()
SEATS = (FIRST, *(voter(f"{VOTER}_{number}", f"Voter {number}", FIRST) for number in (2, 3, 4)))
ASK = "ask"
REASONS_SHOWN = 3
"""Of each answer."""


def _named(value: Any) -> Any:
    """Names with commas between them, as they are typed."""
    return [part for each in value.split(",") if (part := " ".join(each.split()))] if isinstance(value, str) else value


class PollSettings(Settings):
    max_rounds: int = Field(1, ge=1, le=100)
    max_total_output_tokens: int = Field(20_000, ge=1, le=1_000_000_000)
    ballots: int = Field(15, ge=1, le=100, title="Ballots", description="how many answers are asked for")
    options: Annotated[list[Annotated[str, Field(min_length=1, max_length=120)]], BeforeValidator(_named)] = Field(
        default_factory=list,
        max_length=len(LETTERS),
        title="Answers to choose from",
        description="2 to 8, with commas between them; yes or no when empty; `ask` lets the voter name them first",
    )
    rule: Rule = Field("plurality", title="Decided by", description="the rule by which the ballots are counted")
    quorum: int = Field(
        0, ge=0, le=100, title="Quorum", description="with fewer ballots that can be read, nothing is decided"
    )

    @field_validator("options")
    @classmethod
    def _differ(cls, options: list[str]) -> list[str]:
        if options and options != [ASK] and len({option.casefold() for option in options}) < max(2, len(options)):
            raise ValueError("are at least two, each another; leave them out for yes or no")
        return options

    @field_validator("research")
    @classmethod
    def _argues_nothing(cls, research: bool) -> bool:
        if research:
            raise ValueError("is for debaters, and a poll has none; ask for a panel or a duel")
        return research

    def seated(self, seat: Seat) -> bool:
        return seat.name == VOTER or seat.name in self.models


class Options(Answer):
    """What can be chosen from."""

    shown = "asked"
    unread = "The options could not be read: it is yes or no."

    asked: Annotated[Words, at_most(300)]
    options: Texts = Field(default_factory=list)


def script(debate: Debate[PollSettings], round: int | None = 1) -> Script[PollOutcome]:
    with debate.until_closing():
        options = yield from _options(debate)
        asked = tuple(Voter(seat.name) for seat in SEATS if seat.name in debate.seats)
        number = _affordable(debate)
        form = form_of(debate.settings.rule)
        ballots = [ballot(debate, at, asked, options, form) for at in range(number)]
        yield from debate.ask_all([replace(each, round=round) for each in ballots])
    return _outcome(debate)


def _options(debate: Debate[PollSettings]) -> Script[Sequence[str]]:
    if debate.settings.options == [ASK]:
        step = Step(VOTER, "options", answer=Options, aliases={}, visible=frozenset(), rules=VOTER)
        yield from debate.ask_all([step])
    return options_of(debate)


def options_of(debate: Debate[PollSettings]) -> tuple[str, ...]:
    """Those of the person who asked, or those that were named first; none for yes or no."""
    if debate.settings.options != [ASK]:
        return tuple(debate.settings.options)
    turn = next((turn for turn in debate.transcript if turn.kind == "options"), None)
    named = Options.model_validate(turn.data).options if turn else []
    found = tuple({" ".join(each.split()).casefold(): " ".join(each.split())[:120] for each in named}.values())
    return found[: len(LETTERS)] if len(found) > 1 else ()


def _affordable(debate: Debate[PollSettings]) -> int:
    """As many as there are tokens for; at least one."""
    s = debate.settings
    left = s.max_total_output_tokens - debate.usage().output_tokens
    most = max(1, left // debate.seats[VOTER].max_tokens)
    if most < s.ballots:
        debate.end_rounds("max_total_output_tokens")
    return min(s.ballots, most)


def _outcome(debate: Debate[PollSettings]) -> PollOutcome:
    s, say, options = debate.settings, debate.language, options_of(debate)
    turns = [turn for turn in debate.transcript if turn.kind == BALLOT]
    poll = poll_result(turns, options, say)
    result = decide(s.rule, read_ballots(turns).choices, tuple(poll.counts), s.quorum)
    outcome = PollOutcome(
        summary=_reasons(turns, poll, say),
        language=say.code,
        winner=result.winner,
        rule=s.rule,
        why=no_winner(result, s.rule, say) if result.why else "",
        tally=dict(result.tally),
        poll=poll,
        caveats=list(_caveats(debate, turns)),
    )
    outcome.trust = _trust(debate, result, poll)
    return outcome


def _trust(debate: Debate[PollSettings], result: Result, poll: PollResult) -> Trust:
    """High needs a clear majority that the mirrored words share; one model says how sure that model is, and no more."""
    say = debate.language
    reasons = list(_against_high(debate, poll))
    if result.winner is None:
        reasons.insert(0, no_winner(result, debate.settings.rule, say))
    level: Level = "Low" if result.winner is None or poll.by_wording else "Medium" if reasons else "High"
    share = {"low": percent(poll.low), "high": percent(poll.high)}
    interval = say("the share of most among such answers: {low} to {high}", **share)
    return Trust(level=level, summary=f"{poll.summary}; {interval}" if poll.top else poll.summary, reasons=reasons)


def _against_high(debate: Debate[PollSettings], poll: PollResult) -> Iterator[str]:
    say = debate.language
    plain = {answer: poll.counts[answer] - poll.mirrored[answer] for answer in poll.counts}
    if poll.low <= 0.5:
        yield say("no answer is clear of one half")
    if poll.number > 1 and _first(plain) != _first(poll.mirrored):
        yield say("asked in mirrored words, most gave another answer")
    yield from unread(poll, say)
    if only_model(debate):
        yield say("one model gave every answer: it may be sure and wrong; a second voter would tell more")


def _first(counts: Mapping[str, int]) -> set[str]:
    most = max(counts.values(), default=0)
    return {answer for answer, number in counts.items() if number == most}


def _reasons(turns: Sequence[Turn], poll: PollResult, say: Language) -> str:
    """What was said for each answer, in the voters' words."""
    read = [Ballot.model_validate(turn.data) for turn in turns if turn.data]
    lines = []
    for answer in sorted(poll.counts, key=lambda answer: -poll.counts[answer]):
        said = dict.fromkeys(each.reason for each in read if each.choice[:1] == [answer])
        lines += [f"- {label(answer, say)}: {reason}" for reason in list(said)[:REASONS_SHOWN]]
    return "\n".join(lines) or "–"


def _caveats(debate: Debate[PollSettings], turns: Sequence[Turn]) -> Iterator[str]:
    say, s = debate.language, debate.settings
    if len(turns) < s.ballots:
        yield say("{n} of {all} ballots were cast: a limit or a person ended the poll", n=len(turns), all=s.ballots)
    if s.options == [ASK] and not options_of(debate):
        yield say("no answers to choose from could be read: the voters were asked for yes or no")


def notes(debate: Debate[PollSettings], turn: Turn) -> tuple[str, ...]:
    return ballot_notes(turn, debate.language) if turn.kind == BALLOT else ()


def points(debate: Debate[PollSettings]) -> Iterator[Point]:
    yield Point("motion", debate.topic, title="Question", claim=True)
    for turn in debate.transcript:
        if turn.kind == BALLOT and turn.data:
            choice = Ballot.model_validate(turn.data).choice[:1]
            for_it, against = choice == [FOR], choice == [AGAINST]
            yield Point.spoken(turn, supports=["motion"] if for_it else [], attacks=["motion"] if against else [])


_POLL = Format(
    name="poll",
    version=2,
    summary="Models answer a question, each alone, and a rule counts their ballots.",
    settings=PollSettings,
    seats=SEATS,
    outcome=PollOutcome,
    script=script,
    folder=Path(__file__).parent,
    notes=notes,
    points=points,
    charts=lambda debate, outcome: charts_in(page(debate, outcome)),
    closing=lambda debate: ("Count",),
    page=page,
    example="Is a monorepo better for a team of ten?",
    picture="ballots",
    first=("ballots", "options", "rule"),
    hidden=frozenset({"max_rounds", "research"}),
)
POLL = replace(_POLL, earlier=(replace(_POLL, version=1, script=partial(script, round=None)),))
"""In version 1 ballots had no round."""

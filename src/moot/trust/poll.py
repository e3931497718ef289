"""Independent answers without a debate: what models say to a question that each is asked alone.

Half of the ballots are put in mirrored words, so that whoever likes to say yes, or the first of a list, cancels out. No
ballot reads a speech, and nobody in a debate reads a ballot: a debate with a poll beside it goes as one without.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeAlias

from pydantic import BeforeValidator, Field, WithJsonSchema, create_model

from moot.core.charts import CountChart
from moot.core.debate import Answer, Outcome, Seat, Step, Turn, Usage, Was
from moot.core.fields import Words, at_most
from moot.core.record import usage_of
from moot.core.script import Debate, Script
from moot.core.trust import BALLOT, PollResult, Relation, Trust
from moot.text.language import Language
from moot.trust.depth import JudgedSettings
from moot.trust.judging import limit_of
from moot.trust.voting import RANKED, Result, Rule, shuffled, wilson

VOTER = "voter"
FOR, AGAINST = "for", "against"
LETTERS = "ABCDEFGH"
BESIDE, MOST = 5, 25
"""How many ballots are cast beside a debate, and at most where they may cost as much as it."""
MAX_TOKENS = 200
Form: TypeAlias = Literal["choice", "approval", "ranking"]
Labels: TypeAlias = tuple[tuple[str, str], ...]
"""What is written on a ballot, and the option that it stands for."""


def voter(name: str = VOTER, title: str = "Voter", like: Seat | None = None, optional: bool = False) -> Seat:
    return Seat(name, title, VOTER, max_tokens=MAX_TOKENS, temperature=1.0, like=like, optional=optional)


class PolledSettings(JudgedSettings):
    """What is chosen where independent answers are asked for beside a debate."""

    ballots: Annotated[int | None, Was(0)] = Field(
        None,
        ge=0,
        le=MOST,
        title="Independent answers",
        description="how many models answer alone, beside the debate; by depth when empty: none, 5, as many as cost "
        "as much as the debate",
    )

    @property
    def first_ballots(self) -> int:
        """Those that are cast before anybody has spoken."""
        by_depth = 0 if self.depth == "quick" else BESIDE
        return by_depth if self.ballots is None else self.ballots

    @property
    def equal_cost(self) -> bool:
        return self.ballots is None and self.depth == "careful"

    def seated(self, seat: Seat) -> bool:
        return self.first_ballots > 0 if seat.group == VOTER else super().seated(seat)


class Ballot(Answer):
    """An answer that is counted: one option, several, or all of them with the best first."""

    shown = "reason"

    reason: Annotated[Words, at_most(300)]
    choice: list[str] = Field(default_factory=list)

    @classmethod
    def fallback(cls) -> Self:
        """Without a choice, which no form of it would take."""
        return cls.model_construct(reason="This ballot could not be read.", choice=[])  # type: ignore[return-value]


@cache
def ballot_for(labels: Labels, several: bool) -> type[Ballot]:
    """The ballot as a voter sees it: labels on it, options in what is stored."""

    def read(value: object) -> list[str]:
        named = value if isinstance(value, list) else re.split(r"[,;>\n]", str(value)) if several else [value]
        found = dict.fromkeys(option for each in named if (option := option_named(str(each), labels)))
        if not found:
            raise ValueError(f"is one of {', '.join(label for label, _ in labels)}")
        return list(found) if several else list(found)[:1]

    written: dict[str, Any] = {"type": "string", "enum": [label for label, _ in labels]}
    schema = {"type": "array", "items": written, "minItems": 1, "maxItems": len(labels)} if several else written
    choice = Annotated[list[str], BeforeValidator(read), WithJsonSchema(schema)]
    return create_model("Choice", __base__=Ballot, choice=(choice, ...))


def option_named(written: str, labels: Labels) -> str | None:
    """`B`, `b)`, `Option B: wait`, or the option's own words; of stored ones, these are always its own."""
    said = " ".join(written.split()).strip(" .\"'*`").casefold()
    for label, option in labels:
        if said in (option.casefold(), label.casefold()):
            return option
    first = re.match(r"(?:option )?(\w+)\b", said)
    return next((option for label, option in labels if first and first[1] == label.casefold()), None)


def form_of(rule: Rule) -> Form:
    return "ranking" if rule in RANKED else "approval" if rule == "approval" else "choice"


class Voter(NamedTuple):
    seat: str
    model: str = ""
    """Where it is not the seat's."""


def voters(debate: Debate[Any], debaters: Sequence[str]) -> tuple[Voter, ...]:
    """The models that debate, each asked alone; or the one that a person has chosen for it."""
    if debate.settings.models.get(VOTER):
        return (Voter(VOTER),)
    return tuple(Voter(VOTER, model) for model in dict.fromkeys(debate.seats[seat].model for seat in debaters))


def ballot(debate: Debate[Any], number: int, asked: Sequence[Voter], options: Sequence[str], form: Form) -> Step:
    """The ballots come in pairs of the same words and voter, one of them mirrored; without options it is yes or no."""
    wording, mirrored = number // 2, bool(number % 2)
    shown = shuffled(options, f"{debate.topic} {wording}")
    labelled = tuple(zip(LETTERS, reversed(shown) if mirrored else shown, strict=False))
    means = (AGAINST, FOR) if mirrored else (FOR, AGAINST)
    labels: Labels = labelled or tuple(zip(("yes", "no"), means, strict=True))
    seat, model = asked[wording % len(asked)]
    return Step(
        seat,
        BALLOT,
        answer=ballot_for(labels, form != "choice"),
        aliases={},
        visible=frozenset(),
        rules="voter",
        model=model,
        evidence="search",
        variables={
            "number": number + 1,
            "wording": wording,
            "mirrored": mirrored,
            "options": labelled,
            "form": form,
        },
    )


def ballots_of(debate: Debate[Any]) -> tuple[Turn, ...]:
    return tuple(turn for turn in debate.transcript if turn.kind == BALLOT)


def first_ballots(debate: Debate[Any], debaters: Sequence[str], options: Sequence[str] = ()) -> list[Step]:
    """Those that are cast side by side with the first words of a debate, as far as its limits allow."""
    number = _affordable(debate, 0, debate.settings.first_ballots) if VOTER in debate.seats else 0
    return [ballot(debate, at, voters(debate, debaters), options, "choice") for at in range(number)]


def further_ballots(debate: Debate[Any], debaters: Sequence[str], options: Sequence[str] = ()) -> Script[None]:
    """As many more as cost, all together, what the debate has cost."""
    had = len(ballots_of(debate))
    number = _affordable(debate, had, _wanted(debate)) if had and debate.settings.equal_cost else 0
    more = [ballot(debate, at, voters(debate, debaters), options, "choice") for at in range(had, number)]
    yield from debate.ask_all(more)


def _wanted(debate: Debate[Any]) -> int:
    """How many ballots are cast where no limit is in the way."""
    first: int = debate.settings.first_ballots if VOTER in debate.seats else 0
    had = ballots_of(debate)[:first]
    if had and debate.settings.equal_cost and debate.rehearsed == "most":
        return MOST
    if not (had and debate.settings.equal_cost):
        return first
    return max(first, min(MOST, int(len(had) * _times(_usage_beside(debate), usage_of(had)))))


def _affordable(debate: Debate[Any], had: int, wanted: int) -> int:
    while wanted > had and limit_of(debate, VOTER, wanted - had, wanted - had, BALLOT):
        wanted -= 1
    return wanted


def _left_out(debate: Debate[Any], cast: int) -> str:
    """The limit for which not all ballots were cast."""
    missing = _wanted(debate) - cast
    if missing <= 0 or (not cast and debate.stop_reason == "concluded"):
        return ""
    return limit_of(debate, VOTER, missing, missing, BALLOT) or "max_check_output_tokens"


class Votes(NamedTuple):
    """What was readable on ballots, and how many were not."""

    choices: Mapping[str, Sequence[str]]
    """Ballot → options, best first."""
    mirrored: Sequence[str]
    """The first choice of those that were asked in mirrored words."""
    unreadable: int


def read_ballots(turns: Sequence[Turn]) -> Votes:
    """`turns` in the order in which they were asked for."""
    read = {at: Ballot.model_validate(turn.data).choice for at, turn in enumerate(turns) if turn.data}
    choices = {at: choice for at, choice in read.items() if choice}
    mirrored = [choice[0] for at, choice in choices.items() if at % 2]
    return Votes({str(at): choice for at, choice in choices.items()}, mirrored, len(turns) - len(choices))


def poll_result(turns: Sequence[Turn], options: Sequence[str], say: Language) -> PollResult:
    """What ballots said together; without a debate beside them."""
    votes, used = read_ballots(turns), usage_of(turns)
    answers = tuple(options) or (FOR, AGAINST)
    firsts = Counter(choice[0] for choice in votes.choices.values())
    most = max(firsts.values(), default=0)
    top = [answer for answer in answers if firsts[answer] == most > 0]
    low, high = wilson(most, len(votes.choices))
    return PollResult(
        counts={answer: firsts[answer] for answer in answers},
        mirrored={answer: votes.mirrored.count(answer) for answer in answers},
        unreadable=votes.unreadable,
        top=top[0] if len(top) == 1 else "",
        low=low,
        high=high,
        calls=used.calls,
        tokens=_tokens(used),
        cost=used.cost,
        summary=_summary(firsts, answers, say),
    )


def _summary(counts: Mapping[str, int], answers: Sequence[str], say: Language) -> str:
    told = ", ".join(
        f"{counts[answer]} {answer_text(answer, say)}" if answer in (FOR, AGAINST) else f"{answer} ({counts[answer]})"
        for answer in sorted(answers, key=lambda each: 0 if each in (FOR, AGAINST) else -counts[each])
    )
    number = sum(counts.values())
    return f"{say.count(number, '1 independent answer', '{n} independent answers')}: {told}"


def answer_text(answer: str, say: Language) -> str:
    return {FOR: say("for"), AGAINST: say("against")}.get(answer, answer)


def with_poll(debate: Debate[Any], found: Trust | None, verdict: str, options: Sequence[str] = ()) -> Trust | None:
    """How far an outcome can be relied on, also by what independent answers say; `verdict` is the option that the
    debate came to, or empty when it came to none."""
    say, turns = debate.language, ballots_of(debate)
    limit = _left_out(debate, len(turns))
    left_out = [say("independent answers were left out: {limit} leaves no room for them", limit=limit)] if limit else []
    if not turns:
        return found and found.with_reasons(left_out)
    poll = poll_result(turns, options, say)
    poll.relation = _relation(poll, verdict)
    poll.price = _price_text(debate, poll, verdict, say)
    trust = (found or Trust(level="Medium")).with_reasons([*left_out, *_against(poll, say)])
    trust = trust.model_copy(update={"poll": poll})
    return trust.lowered(overturned_text(poll, say)) if poll.relation == "overturned" else trust


def overturned_text(poll: PollResult, say: Language) -> str:
    values = {"n": poll.counts[poll.top], "all": poll.number, "answer": answer_text(poll.top, say)}
    return say("independent answers without a debate said another thing: {n} of {all} {answer}", **values)


def _relation(poll: PollResult, verdict: str) -> Relation:
    if not verdict:
        return "undecided"
    if poll.by_wording:
        return "decided a split"
    if 2 * poll.counts.get(verdict, 0) > poll.number:
        return "confirmed"
    return "overturned" if poll.top and poll.low > 0.5 else "decided a split"


def _price_text(debate: Debate[Any], poll: PollResult, verdict: str, say: Language) -> str:
    spent = _usage_beside(debate)
    numbers = {"n": poll.number, "same": poll.counts.get(verdict, 0)}
    values = {"calls": spent.calls, "tokens": _thousands(_tokens(spent)), "price": _thousands(poll.tokens), **numbers}
    if poll.relation == "undecided":
        end = say("and the debate left the question open.")
    elif poll.relation == "overturned":
        end = say("and said the same {same} of {n}: the debate overturned them.", **numbers)
    elif poll.relation == "decided a split":
        end = say("and said the same {same} of {n}: the debate decided a split.", **numbers)
    else:
        end = say("and said the same {same} of {n}.", **numbers)
    head = say("The debate cost {calls} calls, {tokens} tokens; {n} independent answers cost {price}", **values)
    return f"{head} {end}"


def unread(poll: PollResult, say: Language) -> Iterator[str]:
    if poll.unreadable:
        values = {"n": poll.unreadable, "all": poll.number + poll.unreadable}
        yield say("{n} of {all} independent answers could not be read", **values)


def _against(poll: PollResult, say: Language) -> Iterator[str]:
    yield from unread(poll, say)
    if poll.by_wording:
        yield say("asked the other way round, most independent answers said another thing")


def no_winner(result: Result, rule: Rule, say: Language) -> str:
    """Why nobody has won, in words."""
    tied = say(" and ").join(answer_text(option, say) for option in sorted(result.tied))
    if result.why == "tie":
        return say("{options} are level", options=tied)
    if result.why == "threshold":
        top = max(result.tally, key=lambda option: result.tally[option])
        rules = {"supermajority": say("two thirds are needed"), "unanimity": say("all are needed")}
        return say("most said {option}, but {needed}", option=answer_text(top, say), needed=rules.get(rule, ""))
    return say("too few votes could be read") if result.why == "quorum" else say("no vote could be read")


def notes(turn: Turn, say: Language) -> tuple[str, ...]:
    """What a ballot says, below its reason."""
    choice = Ballot.model_validate(turn.data).choice if turn.data else []
    return (" > ".join(answer_text(option, say) for option in choice),) if choice else ()


def charts(outcome: Outcome | None) -> Iterator[CountChart]:
    if outcome and outcome.trust and (poll := outcome.trust.poll):
        say = outcome.say
        counts = {answer_text(answer, say): number for answer, number in poll.counts.items()}
        yield CountChart(say("Independent answers"), say("ballots"), counts)


def _usage_beside(debate: Debate[Any]) -> Usage:
    """What everything else has cost."""
    return usage_of([turn for turn in debate.transcript if turn.kind != BALLOT])


def _tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens


def _times(one: Usage, other: Usage) -> float:
    """How many times what the other has cost: in dollars where both are known, or else in tokens."""
    return one.cost / other.cost if one.cost and other.cost else _tokens(one) / (_tokens(other) or 1)


def _thousands(tokens: int) -> str:
    return f"{tokens / 1000:.1f}k" if tokens < 9950 else f"{tokens / 1000:.0f}k"

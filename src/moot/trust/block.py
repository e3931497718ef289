"""The block that says how far an outcome can be relied on: one for all formats, made of what was examined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from moot.core.debate import Outcome
from moot.core.page import Fact, Line, Lines, TrustBlock
from moot.core.trust import ClaimSummary, PollResult, Stability, Trust, VoteResult
from moot.text.language import Language
from moot.text.plain import capitalized
from moot.trust.judging import summary
from moot.trust.poll import answer_text
from moot.trust.voting import rule_name

MAX_FACTS = 4


def block_of(outcome: Outcome, more: Sequence[Fact] = ()) -> TrustBlock | None:
    """None where there is nothing to say; `more` are facts that only the format knows."""
    trust, facts = outcome.trust, tuple([*facts_of(outcome), *more][:MAX_FACTS])
    if trust is None:
        return TrustBlock(None, facts=facts) if facts else None
    reasons = tuple(map(sentence, _against(trust, outcome.say)))
    return TrustBlock(trust.level, sentence(trust.summary), reasons, (), facts)


def _against(trust: Trust, say: Language) -> Iterator[str]:
    """Why it is no surer; what the judgings of a topic came to is no reason, and stands where they are drawn."""
    told = {f"{name}: {summary(each, say)}": name for name, each in trust.parts.items()}
    for reason in trust.reasons:
        came_to = next((each for each in told if reason.startswith(each)), "")
        rest = reason.removeprefix(came_to).removeprefix("; ")
        if rest:
            yield f"{told[came_to]}: {rest}" if came_to else rest


def facts_of(outcome: Outcome) -> Iterator[Fact]:
    say, trust = outcome.say, outcome.trust or Trust(level="Low")
    if trust.stability:
        yield _judged(trust.stability, say)
    elif trust.parts:
        number = sum(len(each.counted) for each in trust.parts.values())
        yield Fact(
            say("{n} judgings", n=number), say("of {n} topics; each side was shown first in half", n=len(trust.parts))
        )
    if trust.vote:
        yield _voted(trust.vote, say)
    if trust.poll:
        yield _polled(trust.poll, say)
    if trust.claims:
        yield _claimed(trust.claims, say)
    if outcome.coverage and outcome.coverage.total:
        values = {"n": outcome.coverage.read, "all": outcome.coverage.total}
        yield Fact(say("{n} of {all} passages read", **values), say("of the long sources"))


def quotes_fact(verified: int, given: int, say: Language) -> Iterator[Fact]:
    if given:
        found = say("{n} of {all} quotes found", n=verified, all=given)
        yield Fact(found, say("word for word where they are said to stand"))


def figures(lines: Sequence[str], say: Language) -> tuple[Lines, ...]:
    """Where the figures of an outcome come from, folded: most readers want to know that it was looked up."""
    return (Lines(tuple(map(Line, lines)), "file", fold=say("Where its figures come from")),) if lines else ()


def sentence(text: str) -> str:
    """As one begins and ends."""
    text = text.strip()
    return capitalized(text) + ("" if text[-1:] in ".!?…)" else ".") if text else ""


def _judged(stability: Stability, say: Language) -> Fact:
    values = {"n": stability.holds, "all": len(stability.counted)}
    mirrored = any(each.mirrored for each in stability.counted)
    detail = say("come to it; each side was shown first in half of them") if mirrored else say("come to it")
    return Fact(say("{n} of {all} judgings", **values), detail)


def _voted(vote: VoteResult, say: Language) -> Fact:
    if vote.winner is None:
        return Fact(say("No option won the vote"), rule_name(vote.rule, say))
    won = answer_text(vote.winner, say)
    if vote.overturned:
        return Fact(say("Another option won the vote"), won)
    return Fact(say("It won the vote"), say("{answer} ({rule})", answer=won, rule=rule_name(vote.rule, say)))


def _polled(poll: PollResult, say: Language) -> Fact:
    what = {
        "confirmed": say("independent answers, without a debate; it confirmed them"),
        "overturned": say("independent answers, without a debate; it overturned them"),
        "decided a split": say("independent answers, without a debate; it decided a split"),
        "undecided": say("independent answers, without a debate; it left the question open"),
    }
    detail = what[poll.relation or "undecided"]
    if not poll.top:
        return Fact(say("No majority before"), detail)
    values = {"n": poll.counts[poll.top], "all": poll.number}
    return Fact(say("{n} of {all} before", **values), f"{answer_text(poll.top, say)}: {detail}")


def _claimed(claims: ClaimSummary, say: Language) -> Fact:
    ended = {  # in the order in which that matters to a reader
        "conceded": say("conceded"),
        "contested": say("contested"),
        "withdrawn": say("withdrawn"),
        "answered": say("answered"),
        "dropped": say("dropped"),
    }
    told = [f"{number} {word}" for status, word in ended.items() if (number := claims.counts.get(status))]
    number = sum(claims.counts.values())
    return Fact(say.count(number, "1 claim", "{n} claims"), ", ".join(told[:3]) or say("none attacked"))

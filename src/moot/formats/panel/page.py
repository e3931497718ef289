"""What a reader sees of a panel's decision: what is recommended, what would change it, what to do, how it came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from moot.core.charts import ChartData, CountChart, LineChart, Series, Stand, StandChart, Threshold
from moot.core.page import (
    Beside,
    Block,
    Card,
    Cards,
    Fact,
    Figure,
    Line,
    Lines,
    OutcomePage,
    Part,
    Prose,
    Quoted,
    Section,
    Steps,
    TrustBlock,
    bold_to_colon,
    listed,
    present,
    told,
)
from moot.core.script import Debate
from moot.formats.panel.casting import debaters, names
from moot.formats.panel.decision import Decision, FinalPosition, RoundFacts
from moot.formats.panel.positions import agreement, positions
from moot.text.language import Language
from moot.trust.block import MAX_FACTS, facts_of, figures, quotes_fact, sentence
from moot.trust.novelty import REPEATS, STALE
from moot.trust.poll import charts as poll_charts
from moot.trust.voting import rule_name


def page(debate: Debate[Any], outcome: Decision) -> OutcomePage:
    say, begins = outcome.say, told(outcome.summary, outcome.lead)
    return OutcomePage(
        label=_label(outcome, say),
        headline=begins.headline or "–",
        lead=begins.lead,
        whole=_whole(outcome, begins.headline),
        trust=_trust(outcome),
        sections=present(
            Section("change", "", _changes(debate, outcome)),
            Section("steps", say("Next steps"), _steps(outcome)),
            Section("options", say("Options considered"), tuple(_options(outcome))),
            Section("reached", say("How it was reached"), tuple(_reached(debate, outcome))),
            Section("told", say("What the panel was told"), _told(outcome)),
            Section("questions", say("Open questions"), listed(outcome.open_questions, "turn")),
            Section("figures", "", figures(outcome.figures, say)),
            Section("caveats", say("Before you rely on it"), listed(outcome.caveats, "turn")),
        ),
    )


def _whole(outcome: Decision, headline: str) -> Prose | None:
    """All of it, where the headline is not that already."""
    said = " ".join(outcome.summary.split()).removesuffix(".")
    return None if said == headline else Prose(outcome.summary, fold=outcome.say("The whole recommendation"))


def _label(outcome: Decision, say: Language) -> str:
    if outcome.approved is None:
        return say("Recommendation")
    values = {"who": outcome.approved_by}
    if outcome.approved:
        return say("Recommendation, approved by {who}", **values) if outcome.approved_by else say("Approved")
    return say("Recommendation, rejected by {who}", **values) if outcome.approved_by else say("Rejected")


def _trust(outcome: Decision) -> TrustBlock:
    views, say = outcome.perspectives, outcome.say
    quotes = quotes_fact(sum(each.verified_quotes for each in views), sum(each.all_quotes for each in views), say)
    facts: list[Fact] = [*facts_of(outcome), *quotes][:MAX_FACTS]
    why, *others = outcome.reasons or [""]
    reasons, lifts = (tuple(map(sentence, each)) for each in (others, outcome.lifts))
    return TrustBlock(outcome.confidence, sentence(why), reasons, lifts, tuple(facts))


def _changes(debate: Debate[Any], outcome: Decision) -> tuple[Beside, ...]:
    say = outcome.say
    remark = [Line(outcome.remark, strong=f"{say('Rejected')}:")] if outcome.remark else []
    dissent = (*remark, *_dissent(debate, outcome))
    blocks = [
        Block(say("This changes if"), (Lines(tuple(map(bold_to_colon, outcome.conditions)), "turn"),))
        if outcome.conditions
        else None,
        Block(say("Dissent"), (Quoted(dissent),)) if dissent else None,
    ]
    found = tuple(block for block in blocks if block)
    return (Beside(found),) if found else ()


def _dissent(debate: Debate[Any], outcome: Decision) -> Iterator[Line]:
    """Each part under its seat, where it begins with the name of one."""
    seats, held = {name: seat for seat, name in names(debate).items()}, positions(debate)
    for part in filter(None, (each.strip() for each in outcome.dissent.split("\n\n"))):
        name, colon, rest = part.partition(": ")
        seat = seats.get(name, "") if colon else ""
        turns = (held[seat].turn,) if seat in held else ()
        yield Line(rest, seat=seat, turns=turns) if seat else Line(part)


def _steps(outcome: Decision) -> tuple[Steps, ...]:
    return (Steps(tuple(outcome.acceptance)),) if outcome.tasks or outcome.acceptance else ()


def _options(outcome: Decision) -> Iterator[Part | Beside]:
    say = outcome.say
    cards = [
        Card(option.name, option.why, chosen=option.recommended, tag=say("recommended") if option.recommended else "")
        for option in outcome.options
    ]
    if cards:
        yield Cards(tuple(cards))
    if counted := [*votes(outcome), *poll_charts(outcome)]:
        yield Beside(tuple(Block("", (Figure(chart),)) for chart in counted))


def votes(outcome: Decision) -> Iterator[CountChart]:
    """What each option got in the vote, where the rule counts whole votes."""
    vote = outcome.trust.vote if outcome.trust else None
    if vote and all(points == int(points) for points in vote.tally.values()):
        counts = {option: int(points) for option, points in vote.tally.items()}
        say = outcome.say
        title = say("Vote of the perspectives at the end ({rule})", rule=rule_name(vote.rule, say))
        yield CountChart(title, say("votes"), counts)


def _reached(debate: Debate[Any], outcome: Decision) -> Iterator[Part | Beside]:
    say = outcome.say
    yield from map(Figure, stands(debate, say))
    agreed = Block(say("Points of agreement"), listed(outcome.agreement, "check"))
    tense = Block(say("Tensions"), listed(outcome.tensions, "turn"))
    if found := tuple(block for block in (agreed, tense) if block.parts):
        yield Beside(found)
    if outcome.perspectives:
        yield Cards(tuple(_view(each, say) for each in outcome.perspectives))


def _view(each: FinalPosition, say: Language) -> Card:
    lines = [
        Line(
            argument.text,
            turns=tuple(argument.turns),
            note=say("rests on a quote that does not stand in its source") if argument.barred else "",
        )
        for argument in each.key_arguments
    ]
    if each.recommendation:
        lines.append(Line(each.recommendation, strong=f"{say('Last position')}:"))
    if each.would_change:
        lines.append(Line(each.would_change, strong=f"{say('Would change its mind')}:"))
    note = f"{say('Gives up')}: {each.trade_offs}" if each.trade_offs else ""
    return Card(each.name, seat=each.seat, lines=tuple(lines), note=note)


def _told(outcome: Decision) -> tuple[Lines, ...]:
    say = outcome.say
    lines = [
        Line(each.text, strong=f"{each.who}:" if each.who else "", turns=(each.turn,), note=_when(each.round, say))
        for each in outcome.told
    ]
    return (Lines(tuple(lines), "check"),) if lines else ()


def _when(round: int, say: Language) -> str:
    return say("after round {round}", round=round) if round else say("before the first round")


def stands(debate: Debate[Any], say: Language) -> Iterator[StandChart]:
    """Who declared the recommendation that most share, round by round; nothing of a single round."""
    rounds = sorted({turn.round for turn in debate.transcript if turn.kind == "rebuttal" and turn.round})
    held = {round: positions(debate, round) for round in rounds}
    sharing = {round: agreement(debate, round).agreeing for round in rounds}
    found = [
        Stand(seat, name, {round: int(seat not in sharing[round]) for round in rounds if seat in held[round]})
        for seat, name in debaters(debate).items()
    ]
    found = [each for each in found if each.lanes]
    if len(rounds) > 1 and found:
        lanes = (say("with most"), say("on its own"))
        yield StandChart(say("Who declared what most recommend"), lanes, found, 0, _moved(found, say))


def _moved(found: Sequence[Stand], say: Language) -> str:
    """How many stood elsewhere in the end than at first."""
    changed = sum(each.lanes[min(each.lanes)] != each.lanes[max(each.lanes)] for each in found)
    return say("{n} of {all} changed sides", n=changed, all=len(found)) if changed else say("Nobody changed sides")


def charts(debate: Debate[Any], outcome: Decision) -> Iterator[ChartData]:
    new, repeated = (_shares(debate, outcome.rounds, name) for name in ("novelty", "repetition"))
    say = debate.language
    stale = Threshold(STALE, say("stale below {share}", share=f"{STALE:.0%}"))
    repeats = Threshold(REPEATS, say("repetitive above {share}", share=f"{REPEATS:.0%}"))
    yield LineChart(say("New wording, by round"), new, high=1, percent=True, threshold=stale)
    yield LineChart(say("What was repeated, by round"), repeated, high=1, percent=True, threshold=repeats)
    yield from poll_charts(outcome)


def _shares(debate: Debate[Any], rounds: Sequence[RoundFacts], name: str) -> list[Series]:
    by_round = {each.round: getattr(each, name) for each in rounds}
    seats = dict.fromkeys(seat for shares in by_round.values() for seat in shares)
    by_seat = names(debate)
    return [
        Series(
            by_seat.get(seat, seat), {round: shares[seat] for round, shares in by_round.items() if seat in shares}, seat
        )
        for seat in seats
    ]

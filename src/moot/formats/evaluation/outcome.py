"""From what was judged to the scorecard: what each verdict moves, how sure of it one can be, and what weakens it.

How sure one can be is computed from what several judgings say together, whatever the arbiter says of itself. A verdict
that was given once is of medium certainty at most; low, when a side could not be heard as it should. A lead is held
back, and moves nothing, when code knows better than the arbiter: the leading side quotes what the idea does not say, or
has given up its whole case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import copysign
from typing import NamedTuple

from moot.core.charts import signed
from moot.core.debate import Turn
from moot.core.trust import RESCORING, Judging, Stability, Trust
from moot.formats.evaluation import answers
from moot.formats.evaluation.concessions import concessions
from moot.formats.evaluation.evidence import all_quoted, misquoted
from moot.formats.evaluation.hearing import Evaluating, Rules, TopicDebate, order
from moot.formats.evaluation.scorecard import (
    CategoryScore,
    HeldBack,
    Scorecard,
    TopicVerdict,
    counted,
    digest,
    open_first,
)
from moot.formats.evaluation.scores import ScoreVerdict, adjust, change, overall
from moot.formats.evaluation.settings import SIDES, CategoryRating, Level
from moot.formats.evaluation.settings import TITLES as ALL_TITLES
from moot.text.language import Language
from moot.trust.caveats import about_models, about_turns, untold
from moot.trust.figures import provenance
from moot.trust.judging import Judged, JudgeView, Weighed, together, trust, weighed
from moot.trust.mirrored import judging

TITLES = {side: ALL_TITLES[side] for side in SIDES}


def scorecard(
    debate: Evaluating,
    ratings: Mapping[str, CategoryRating],
    noise: Mapping[str, float],
    hearings: Sequence[TopicDebate],
    rules: Rules,
) -> Scorecard:
    s, say = debate.settings, debate.language
    topics = [rules.judged(debate, hearing, hearing.judged) for hearing in hearings if hearing.judged]
    categories = [_scored(debate, name, rating, noise.get(name), topics) for name, rating in ratings.items()]
    before = overall({one.category: one.before for one in categories}, s.weights)
    after = overall({one.category: one.after for one in categories}, s.weights)
    not_judged = [hearing.topic.name for hearing in hearings if s.debate and not hearing.judged]
    told = [*_summary(topics, before, after, say)], [*_lead(topics, categories, say)]
    first = any(topic.certainty is None for topic in topics)
    relied = None if first else _trust(debate, hearings, topics)
    return Scorecard(
        summary=" ".join([*told[0], *told[1]] if first else told[0]),
        lead="" if first else " ".join(told[1]),
        categories=categories,
        topics=topics,
        not_judged=not_judged,
        overall_before=round(before, 2),
        overall_after=round(after, 2),
        debated=s.debate,
        idea_digest="" if first else digest(s.quotable(debate.topic)),
        models={seat: chosen.model for seat, chosen in debate.seats.items()},
        caveats=untold(_caveats(debate, topics, not_judged), relied),
        figures=[] if first else _figures(debate, topics),
        language=say.code,
        trust=relied,
    )


def _trust(debate: Evaluating, hearings: Sequence[TopicDebate], topics: Sequence[TopicVerdict]) -> Trust | None:
    """Of all verdicts; what decided nothing moved nothing, and takes nothing from the others."""
    judged = {each.topic.name: each.judged for each in hearings if each.judged}
    decided = {topic.name for topic in topics if topic.winner != "draw"}
    found = {name: trust(debate, each, _weighed(debate, each).stability) for name, each in judged.items()}
    return together(debate, found, decided) if found else None


def _figures(debate: Evaluating, topics: Sequence[TopicVerdict]) -> list[str]:
    """Where those of the arbiter's words come from."""
    said = "\n".join(text for topic in topics for text in (topic.reasoning, *topic.key_points))
    return provenance(debate, said, TITLES, {debate.language("the idea"): debate.settings.quotable(debate.topic)})


# One topic


class Moving(NamedTuple):
    """What judgings of a topic come to, the one in whose words that is told, and what they say together."""

    verdict: ScoreVerdict
    turn: Turn
    stability: Stability | None


def judging_of(turn: Turn, view: JudgeView) -> Judging:
    """The advocate is the first side, whoever began on the topic."""
    said, challenger_began = answers.judgment(turn), order(turn.round or 1)[0] != SIDES[0]
    seen = view._replace(mirrored=view.mirrored != challenger_began)
    return judging(turn, seen, said.score_advocate, said.score_challenger)


def judged(debate: Evaluating, hearing: TopicDebate, judged: Judged) -> TopicVerdict:
    say, (verdict, turn, stability) = debate.language, moving(debate, hearing.number, judged)
    said, conceded = answers.judgment(turn), concessions(debate, hearing.turns)
    unreadable = {"reasoning": say("The arbiter's answer could not be read, so this topic moves no score.")}
    return TopicVerdict(
        **{
            **said.model_dump(exclude={"winner", "score_advocate", "score_challenger"}),
            **(unreadable if verdict.fallback else {}),
        },
        number=hearing.number,
        name=hearing.topic.name,
        category=hearing.topic.category,
        winner=verdict.winner,
        score_advocate=verdict.score_advocate,
        score_challenger=verdict.score_challenger,
        stability=stability,
        change=round(change(verdict), 2),
        quotes=counted([quote for each in hearing.turns for quote in all_quoted(debate, each)]),
        fallback=verdict.fallback,
        certainty=verdict.certainty,
        doubts=list(doubts(debate, hearing.number)),
        held_back=held_back(debate, hearing.number, verdict),
        misquoted=[f"{TITLES[quote.seat]}: “{quote.text}”" for quote in misquoted(debate, hearing.number)],
        given_up=_listed(conceded.given_up),
        granted=_listed(conceded.granted),
    )


def moving(debate: Evaluating, number: int, judged: Judged) -> Moving:
    """What the arbiter's judgings of a topic come to."""
    turn, stability = _weighed(debate, judged)
    said = answers.judgment(turn)
    scores = (stability.score_a, stability.score_b) if stability else (said.score_advocate, said.score_challenger)
    level: Level = "low" if [*doubts(debate, number)] else _certainty(debate, judged, stability)
    verdict = ScoreVerdict(round(scores[0], 2), round(scores[1], 2), level, "fallback" in turn.marks)
    return Moving(replace(verdict, held_back=bool(held_back(debate, number, verdict))), turn, stability)


def _weighed(debate: Evaluating, judged: Judged) -> Weighed:
    return weighed(judged, judging_of, getattr(debate.settings, "noise", None))  # version 1 has none


def _certainty(debate: Evaluating, judged: Judged, stability: Stability | None) -> Level:
    if len(judged.turns) == 1:
        return "medium"
    levels: Mapping[str, Level] = {"Low": "low", "Medium": "medium", "High": "high"}
    return levels[trust(debate, judged, stability).level]


def held_back(debate: Evaluating, number: int, verdict: ScoreVerdict) -> HeldBack:
    """What forbids the leading side to win."""
    if any(quote.seat == verdict.leader for quote in misquoted(debate, number)):
        return "misquotes"
    return "gave_in" if concessions(debate, debate.in_round(number)).gave_in == verdict.leader else ""


def doubts(debate: Evaluating, number: int) -> Iterator[str]:
    """Why less can be held of the verdict on a topic."""
    say = debate.language
    spoken = [turn for turn in debate.in_round(number) if turn.seat in SIDES]
    if any("fallback" in turn.marks for turn in spoken):
        yield say("a side could not be read")
    planned = len(SIDES) * (1 + debate.settings.exchanges)
    if len(spoken) < planned and not concessions(debate, spoken).gave_in:
        yield say("the exchange was cut short")


def _listed(numbers: Mapping[str, frozenset[int]]) -> dict[str, list[int]]:
    return {side: sorted(own) for side, own in numbers.items() if own}


# All topics


def _scored(
    debate: Evaluating, category: str, rating: CategoryRating, noise: float | None, topics: Sequence[TopicVerdict]
) -> CategoryScore:
    about_it = [topic for topic in topics if topic.category == category]
    before = round(rating.score, 2)
    after = round(adjust([topic.verdict() for topic in about_it], before), 2)
    return CategoryScore(
        category=category,
        before=before,
        after=after,
        noise=noise,
        weight=debate.settings.weight(category),
        confidence=rating.confidence,
        evidence=rating.evidence,
        reasons=list(_reasons(about_it, before, after, debate.language)),
    )


def _reasons(topics: Sequence[TopicVerdict], before: float, after: float, say: Language) -> Iterator[str]:
    if not topics:
        yield say("no topic about it was judged, so nothing moved")
    yield from (topic.reason(say) for topic in topics)
    if round(before + sum(topic.change for topic in topics) - after, 2):
        yield say("the scale ends at {end:g}", end=after)


def _summary(topics: Sequence[TopicVerdict], before: float, after: float, say: Language) -> Iterator[str]:
    if not topics:
        yield say("The idea scores {after:.1f} overall; no topic was judged.", after=after)
        return
    won = {side: sum(topic.winner == side for topic in topics) for side in SIDES}
    if len(topics) == 1:
        yield say("Of 1 topic the advocate won {advocate} and the challenger {challenger}.", **won)
    else:
        count = len(topics)
        yield say("Of {count} topics the advocate won {advocate} and the challenger {challenger}.", count=count, **won)
    if f"{before:.1f}" != f"{after:.1f}":
        yield say("Overall the idea moved from {before:.1f} to {after:.1f}.", before=before, after=after)
    else:
        yield say("Overall the idea stays at {after:.1f}.", after=after)


def _lead(topics: Sequence[TopicVerdict], categories: Sequence[CategoryScore], say: Language) -> Iterator[str]:
    """What moved it most, and what should be tested next."""
    moves = _moves(topics, categories)
    if most := max(moves, key=lambda move: abs(move[1]), default=None):
        topic, moved_by = most
        yield say(
            "What moved it most was {topic} ({change}): {reasoning}",
            topic=topic.name,
            change=signed(moved_by),
            reasoning=topic.reasoning,
        )
    for topic in open_first(topics)[:1]:
        yield say("What to test next ({topic}): {test}", topic=topic.name, test=topic.next_test)


def _moves(topics: Sequence[TopicVerdict], categories: Sequence[CategoryScore]) -> Iterator[tuple[TopicVerdict, float]]:
    """Each topic with the points by which its category has moved its way, as far as that counts."""
    for topic in topics:
        (about,) = (one for one in categories if one.category == topic.category)
        if about.weight and topic.change * about.difference > 0:
            yield topic, copysign(min(abs(topic.change), abs(about.difference)), topic.change)


def _caveats(debate: Evaluating, topics: Sequence[TopicVerdict], not_judged: Sequence[str]) -> Iterator[str]:
    say = debate.language
    scorings = [turn for turn in debate.transcript if turn.kind in ("scores", RESCORING)]
    if scorings and all("fallback" in turn.marks for turn in scorings):
        yield say("the evaluator's answer could not be read: the scores before the debate are a placeholder")
    if not debate.settings.debate:
        return
    if any(turn.kind == "challenges" and "fallback" in turn.marks for turn in debate.transcript):
        yield say("the red team's answer could not be read: the challenger argued without it")
    for topic in topics:
        if topic.fallback:
            yield say("the arbiter's answer on {topic} could not be read: it moved nothing", topic=topic.name)
    if not_judged:
        yield say("not judged: {topics}", topics=", ".join(not_judged))
    for side, title in TITLES.items():
        yield from _about_arguments(debate, topics, side, title)
    yield from about_turns(debate, TITLES)
    yield from about_models(debate, "arbiter", TITLES)


def _about_arguments(debate: Evaluating, topics: Sequence[TopicVerdict], side: str, title: str) -> Iterator[str]:
    say = debate.language
    given = [turn for turn in debate.transcript if (turn.seat, turn.kind) == (side, "argument")]
    if unread := sum("fallback" in turn.marks for turn in given):
        yield say(
            "{unread} of {given} cases of the {title} gave no argument that could be read",
            unread=unread,
            given=len(given),
            title=title,
        )
    quotes = [topic.quotes[side] for topic in topics]
    total = sum(count.given for count in quotes)
    if false := total - sum(count.verified for count in quotes):
        yield say(
            "{false} of {total} quotes of the {title} do not stand in the idea", false=false, total=total, title=title
        )

"""The evaluation: an advocate and a challenger argue an idea's topics, an arbiter judges each, and the scores move.

Topics are independent: several are argued at a time, and nobody reads another topic's turns. A round is a topic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from moot.core.charts import ChartData, scores_by_round, signed
from moot.core.debate import Step, Turn
from moot.core.format import Files, Format, Starter
from moot.core.record import usage_of
from moot.core.script import Lazy, Script
from moot.core.trust import CHECKS, RESCORING
from moot.errors import InvalidInput
from moot.formats.evaluation import answers, version_1
from moot.formats.evaluation.answers import RedTeam, scores_for
from moot.formats.evaluation.concessions import concessions
from moot.formats.evaluation.evidence import all_quoted, remarks
from moot.formats.evaluation.hearing import Evaluating, Rules, TopicDebate, judging, order, speech
from moot.formats.evaluation.ideas import is_report, read
from moot.formats.evaluation.outcome import held_back, judged, judging_of, moving, scorecard
from moot.formats.evaluation.page import judgings, page, score_chart
from moot.formats.evaluation.points import claims, points
from moot.formats.evaluation.scorecard import Scorecard, compare, compared, last_of, ranking
from moot.formats.evaluation.scores import change
from moot.formats.evaluation.settings import (
    ARBITER,
    SEATS,
    SIDES,
    TITLES,
    CategoryRating,
    Challenge,
    EvaluationSettings,
    FirstSettings,
    Topic,
)
from moot.sources.quotes import contains
from moot.trust.judging import Case, Judged, judge_in_pairs, judged_from, limit_of

LEAST_SHARE = 0.5
"""Of its usual output a topic must have so much left, or it is not begun."""
RULES = Rules(order=order, speech=speech, judging=judging, judged=judged)


def script(debate: Evaluating, rules: Rules = RULES) -> Script[Lazy[Scorecard]]:
    s = debate.settings
    prepared = yield from debate.ask_all(list(_preparations(debate)))
    ratings, challenges = _known(debate, prepared)
    hearings = [
        TopicDebate(number, topic, ratings[topic.category], _concerning(topic, s.topics, challenges))
        for number, topic in enumerate(s.topics, 1)
    ]
    if s.debate:
        yield from _hear(debate, hearings[: s.max_rounds], rules)
        if not debate.stop_reason and len(hearings) > s.max_rounds:
            debate.end_rounds("max_rounds")
    return partial(scorecard, debate, ratings, _noise(prepared), hearings, rules)


def _preparations(debate: Evaluating) -> Iterator[Step]:
    """Score what has no score and find what speaks against the idea; none reads another."""
    s, nothing = debate.settings, frozenset[int]()
    if s.unscored:
        yield _scoring(s.unscored)
        if s.rescorings and not limit_of(debate, "evaluator", s.rescorings, s.rescorings):
            yield from (_scoring(s.unscored, wording) for wording in range(1, s.rescorings + 1))
    if s.debate and s.challenges is None:
        about = {"categories": tuple(dict.fromkeys(topic.category for topic in s.topics))}
        yield Step("red_team", "challenges", answer=RedTeam, variables=about, visible=nothing, evidence="search")


def _scoring(unscored: tuple[str, ...], wording: int = 0) -> Step:
    """Every other time with the categories reversed."""
    categories = unscored[::-1] if wording % 2 else unscored
    return Step(
        "evaluator",
        RESCORING if wording else "scores",
        answer=scores_for(*categories),
        variables={"categories": categories, "wording": wording},
        visible=frozenset(),
        prompt="scores",
        evidence="search",
        looks_for=categories,
    )


def _known(debate: Evaluating, prepared: Sequence[Turn]) -> tuple[dict[str, CategoryRating], list[Challenge]]:
    """Every category's rating and all challenges, those the user gave and those just made."""
    s, idea = debate.settings, debate.settings.quotable(debate.topic)
    ratings = dict(s.evaluation.categories) if s.evaluation else {}
    challenges = list(s.challenges or ())
    for turn in prepared:
        if turn.kind == "challenges":
            challenges += answers.challenges(turn, s.categories)
    scored = _scorings(prepared)
    for name, rating in scored[0].items() if scored else ():
        mean = round(fmean(each[name].score for each in scored), 2)
        ratings[name] = _proven(rating.model_copy(update={"score": mean}), idea)
    return {category: ratings[category] for category in s.categories}, challenges


def _scorings(prepared: Sequence[Turn]) -> list[dict[str, CategoryRating]]:
    """What every scoring gave that can be read; the placeholder when none can."""
    turns = [turn for turn in prepared if turn.seat == "evaluator"]
    readable = [turn for turn in turns if "fallback" not in turn.marks]
    return [answers.ratings(turn) for turn in readable or turns[:1]]


def _noise(prepared: Sequence[Turn]) -> dict[str, float]:
    """Category → the standard deviation of its scorings, where there were several."""
    scored = _scorings(prepared)
    if len(scored) < 2:
        return {}
    return {name: round(stdev(each[name].score for each in scored), 2) for name in scored[0]}


def _proven(rating: CategoryRating, idea: str) -> CategoryRating:
    """The rating without quotes that do not stand in the idea."""
    return rating.model_copy(update={"evidence": [quote for quote in rating.evidence if contains(quote, idea)]})


def _concerning(topic: Topic, topics: Sequence[Topic], challenges: Sequence[Challenge]) -> list[Challenge]:
    """The challenges to a topic's category, and those to none that is argued."""
    others = {other.category for other in topics} - {topic.category}
    return [challenge for challenge in challenges if challenge.category not in others]


def _hear(debate: Evaluating, waiting: Sequence[TopicDebate], rules: Rules) -> Script[None]:
    """Argue and judge the topics, as many at a time as the settings and the output left allow."""
    while waiting and not debate.stop_reason:
        size = _affordable(debate, len(waiting))
        if not size:
            debate.end_rounds("max_total_output_tokens")
            return
        group, waiting = waiting[:size], waiting[size:]
        with debate.until_closing():
            yield from _argue(debate, group, rules)
        heard = [hearing for hearing in group if hearing.both_heard]
        cases = [Case(partial(rules.judging, debate, hearing), judging_of) for hearing in heard]
        verdicts = yield from judge_in_pairs(debate, cases)
        for hearing, verdict in zip(heard, verdicts, strict=True):
            hearing.judged = verdict


def _argue(debate: Evaluating, group: Sequence[TopicDebate], rules: Rules) -> Script[None]:
    """Both sides speak in turn; a side that has given up its case ends its topic."""
    waves = [("argument", place) for place in range(len(SIDES))]
    waves += [("answer", place) for place in range(len(SIDES))] * debate.settings.exchanges
    for at, (kind, place) in enumerate(waves):
        group = [hearing for hearing in group if not concessions(debate, hearing.turns).gave_in]
        if not group:
            return
        if _costs_too_much(debate, len(group)):
            debate.end_rounds("max_cost")
            return
        left = len(waves) - at
        most = max(1, _output_left(debate, len(group)) // (len(group) * left))
        last = left <= len(SIDES)
        sides = [rules.order(hearing.number)[place] for hearing in group]
        turns = yield from debate.ask_all(
            [rules.speech(debate, *each, kind, last, most) for each in zip(group, sides, strict=True)]
        )
        for hearing, turn in zip(group, turns, strict=True):
            hearing.turns.append(turn)


def _affordable(debate: Evaluating, waiting: int) -> int:
    """How many topics can be argued at a time without anyone being cut much too short."""
    usual = (1 + debate.settings.exchanges) * sum(debate.seats[seat].max_tokens for seat in SIDES)
    sizes = range(min(waiting, debate.settings.parallel_topics), 0, -1)
    return next((size for size in sizes if _output_left(debate, size) >= size * usual * LEAST_SHARE), 0)


def _output_left(debate: Evaluating, topics: int) -> int:
    """Tokens the sides may still write when the arbiter's on these topics are kept in reserve."""
    reserve = topics * debate.seats["arbiter"].max_tokens
    return debate.settings.max_total_output_tokens - debate.debate_output() - reserve


def _costs_too_much(debate: Evaluating, topics: int) -> bool:
    """Whether as many turns as were played last would exceed the limit."""
    limit, spent = debate.settings.max_cost, debate.usage().cost
    if limit is None or spent is None:
        return False
    last = usage_of(debate.transcript[-topics:]).cost
    return spent + (last or 0.0) > limit


# What readers are told


def notes(debate: Evaluating, turn: Turn) -> tuple[str, ...]:
    """What code says of a turn: its scores, whether its quotes stand in the idea, and what a verdict moves."""
    told = remarks(all_quoted(debate, turn), debate.language) if turn.seat in TITLES else ()
    match turn.kind:
        case "scores" | "rescoring":
            return (answers.rated(turn), *told)
        case "answer":
            return (*told, *_conceded(debate, turn))
        case "verdict" | "rejudging" if turn.round:
            return (_moved(debate, turn, turn.round), *told)
        case _:
            return tuple(told)


def _conceded(debate: Evaluating, turn: Turn) -> Iterator[str]:
    say, said = debate.language, answers.reply(turn)
    if said and said.gives_up:
        yield say("gives up its argument {numbers}", numbers=", ".join(map(str, said.gives_up)))
    if said and said.grants:
        yield say("grants the other side's argument {numbers}", numbers=", ".join(map(str, said.grants)))


def _moved(debate: Evaluating, turn: Turn, number: int) -> str:
    say, verdict = debate.language, moving(debate, number, Judged((turn,))).verdict
    scores = {"advocate": verdict.score_advocate, "challenger": verdict.score_challenger}
    if debate.settings.most_judgings > 1:  # what it moves follows from all judgings
        return say("advocate {advocate:g}, challenger {challenger:g}", **scores)
    told = {**scores, "category": debate.settings.topics[number - 1].category}
    match held_back(debate, number, verdict):
        case "misquotes":
            return say(
                "advocate {advocate:g}, challenger {challenger:g}: {category} does not move, as the leading side "
                "quotes what the idea does not say",
                **told,
            )
        case "gave_in":
            return say(
                "advocate {advocate:g}, challenger {challenger:g}: {category} does not move, as the leading side has "
                "given up its case",
                **told,
            )
    return say(
        "advocate {advocate:g}, challenger {challenger:g}: {category} {change}",
        **told,
        change=signed(change(verdict)),
    )


def from_judging(turns: Sequence[Turn]) -> int:
    position = judged_from(turns, ARBITER.name, SIDES)
    if any(turn.seat == ARBITER.name for turn in turns[:position]):
        raise InvalidInput(
            "some topics were argued after others were judged; evaluate it anew with as many parallel_topics as topics"
        )
    if position == len(turns):
        raise InvalidInput("it was scored without a debate, so there is nothing to judge again")
    return position


def charts(debate: Evaluating, card: Scorecard) -> Iterator[ChartData]:
    yield score_chart(card)
    yield from judgings(card)
    names = {f"score_{side}": TITLES[side] for side in SIDES}
    yield from scores_by_round(debate.transcript, "verdict", names, debate.language)


_EVALUATION: Format[Any, Scorecard] = Format(
    name="evaluation",
    version=2,
    summary="An advocate and a challenger argue an idea before an arbiter, and its scores move.",
    settings=EvaluationSettings,
    seats=SEATS,
    outcome=Scorecard,
    script=script,
    folder=Path(__file__).parent,
    notes=notes,
    points=points,
    claims=claims,
    charts=charts,
    round_title=lambda debate, number: debate.settings.topics[number - 1].name,
    page=page,
    files=Files(read=read, is_report=is_report, last=last_of, compare=compare, compared=compared, ranking=ranking),
    folded=CHECKS,
    first=("idea", "depth"),
    picture="scores",
    starters=(Starter("Is this business idea worth a pilot?", "paste the idea; it is scored before and after"),),
    hidden=frozenset({"idea_key", "noise"}),
    judge=ARBITER.name,
    judged_from=from_judging,
)

_FIRST = replace(
    _EVALUATION,
    version=1,
    settings=FirstSettings,
    seats=tuple(seat for seat in SEATS if not seat.optional),
    folded=frozenset(),
    first=("idea",),
    script=partial(script, rules=version_1.RULES),
    folder=version_1.FOLDER,
    notes=version_1.notes,
)
EVALUATION = replace(_EVALUATION, earlier=(_FIRST,))

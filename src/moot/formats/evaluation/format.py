"""The evaluation: an advocate and a challenger argue an idea's topics, an arbiter judges each, and the scores move.

Topics are independent: several are argued at a time, and nobody reads another topic's turns. A round is a topic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import copysign
from pathlib import Path

from moot.core.charts import ChartData, Score, ScoreChart, scores_by_round, signed
from moot.core.debate import NO_USAGE, Step, Turn
from moot.core.format import Files, Format
from moot.core.script import Debate, Script
from moot.formats.evaluation import answers
from moot.formats.evaluation.answers import Arguments, Judgment, RedTeam, scores_for
from moot.formats.evaluation.evidence import Quote, misquoted, quoted, remarks
from moot.formats.evaluation.ideas import is_report, read
from moot.formats.evaluation.points import points
from moot.formats.evaluation.scorecard import CategoryScore, Quotes, Scorecard, TopicVerdict, compare, last_of, ranking
from moot.formats.evaluation.scores import adjust, change, overall
from moot.formats.evaluation.settings import SEATS, SIDES, CategoryRating, Challenge, EvaluationSettings, Topic
from moot.trust.caveats import about_models, about_turns
from moot.trust.quotes import contains

LEAST_SHARE = 0.5
"""Of its usual output a topic must have so much left, or it is not begun."""
TITLES = {seat.name: seat.title for seat in SEATS if seat.name in SIDES}
OPENING = tuple((seat, "argument") for seat in SIDES)
EXCHANGE = tuple((seat, "answer") for seat in SIDES)

Evaluating = Debate[EvaluationSettings]


@dataclass(slots=True)
class TopicDebate:
    """One topic as it is argued."""

    number: int
    topic: Topic
    rating: CategoryRating
    raised: Sequence[Challenge]
    turns: list[Turn] = field(default_factory=list)
    verdict: Turn | None = None

    @property
    def both_heard(self) -> bool:
        return {turn.seat for turn in self.turns} == set(SIDES)

    def step(self, seat: str, kind: str, most: int, last: bool) -> Step:
        """What a side is asked on this topic."""
        positions = {"advocate": self.topic.advocate, "challenger": self.topic.challenger}
        position = positions.pop(seat)
        (against,) = positions.values()
        return Step(
            seat,
            kind,
            self.number,
            answer=Arguments if kind == "argument" else None,
            variables={
                "about": self.topic,
                "position": position,
                "against": against,
                "rating": self.rating,
                "raised": self.raised,
                "last": last,
            },
            max_tokens=most,
            visible=self._positions(),
        )

    def judging(self, idea: str) -> Step:
        return Step(
            "arbiter",
            "verdict",
            self.number,
            answer=Judgment,
            variables={"about": self.topic, "misquoted": misquoted(self.turns, idea)},
            visible=self._positions(),
        )

    def _positions(self) -> frozenset[int]:
        return frozenset(turn.position for turn in self.turns)


def script(debate: Evaluating) -> Script[Scorecard]:
    s = debate.settings
    prepared = yield from debate.ask_all(list(_preparations(s)))
    ratings, challenges = _known(debate, prepared)
    hearings = [
        TopicDebate(number, topic, ratings[topic.category], _concerning(topic, s.topics, challenges))
        for number, topic in enumerate(s.topics, 1)
    ]
    if s.debate:
        yield from _hear(debate, hearings[: s.max_rounds])
        if not debate.stop_reason and len(hearings) > s.max_rounds:
            debate.end_rounds("max_rounds")
    return scorecard(debate, ratings, hearings)


def _preparations(s: EvaluationSettings) -> Iterator[Step]:
    """Score what has no score and find what speaks against the idea; neither reads the other."""
    nothing = frozenset[int]()
    if s.unscored:
        about = {"categories": s.unscored}
        yield Step("evaluator", "scores", answer=scores_for(*s.unscored), variables=about, visible=nothing)
    if s.debate and s.challenges is None:
        about = {"categories": tuple(dict.fromkeys(topic.category for topic in s.topics))}
        yield Step("red_team", "challenges", answer=RedTeam, variables=about, visible=nothing)


def _known(debate: Evaluating, prepared: Sequence[Turn]) -> tuple[dict[str, CategoryRating], list[Challenge]]:
    """Every category's rating and all challenges, those the user gave and those just made."""
    s = debate.settings
    ratings = dict(s.evaluation.categories) if s.evaluation else {}
    challenges = list(s.challenges or ())
    for turn in prepared:
        if turn.kind == "scores":
            ratings |= {name: _proven(rating, idea_of(debate)) for name, rating in answers.ratings(turn).items()}
        else:
            challenges += answers.challenges(turn, s.categories)
    return {category: ratings[category] for category in s.categories}, challenges


def _proven(rating: CategoryRating, idea: str) -> CategoryRating:
    """The rating without quotes that do not stand in the idea."""
    return rating.model_copy(update={"evidence": [quote for quote in rating.evidence if contains(quote, idea)]})


def _concerning(topic: Topic, topics: Sequence[Topic], challenges: Sequence[Challenge]) -> list[Challenge]:
    """The challenges to a topic's category, and those to none that is argued."""
    others = {other.category for other in topics} - {topic.category}
    return [challenge for challenge in challenges if challenge.category not in others]


def _hear(debate: Evaluating, waiting: Sequence[TopicDebate]) -> Script[None]:
    """Argue and judge the topics, as many at a time as the settings and the output left allow."""
    while waiting and not debate.stop_reason:
        size = _affordable(debate, len(waiting))
        if not size:
            debate.end_rounds("max_total_output_tokens")
            return
        group, waiting = waiting[:size], waiting[size:]
        with debate.until_closing():
            yield from _argue(debate, group)
        heard = [hearing for hearing in group if hearing.both_heard]
        verdicts = yield from debate.ask_all([hearing.judging(idea_of(debate)) for hearing in heard])
        for hearing, turn in zip(heard, verdicts, strict=True):
            hearing.verdict = turn


def _argue(debate: Evaluating, group: Sequence[TopicDebate]) -> Script[None]:
    waves = (*OPENING, *EXCHANGE * debate.settings.exchanges)
    for at, (seat, kind) in enumerate(waves):
        if _costs_too_much(debate, len(group)):
            debate.end_rounds("max_cost")
            return
        left = len(waves) - at
        most = _output_left(debate, len(group)) // (len(group) * left)
        steps = [hearing.step(seat, kind, max(1, most), last=left <= len(SIDES)) for hearing in group]
        turns = yield from debate.ask_all(steps)
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
    return debate.settings.max_total_output_tokens - debate.usage().output_tokens - reserve


def _costs_too_much(debate: Evaluating, topics: int) -> bool:
    """Whether as many turns as were played last would exceed the limit."""
    limit, spent = debate.settings.max_cost, debate.usage().cost
    last = sum((turn.usage for turn in debate.transcript[-topics:]), NO_USAGE).cost
    return limit is not None and spent is not None and spent + (last or 0.0) > limit


def idea_of(debate: Evaluating) -> str:
    return debate.settings.quotable(debate.topic)


# The outcome


def scorecard(debate: Evaluating, ratings: Mapping[str, CategoryRating], hearings: Sequence[TopicDebate]) -> Scorecard:
    s = debate.settings
    topics = [_judged(hearing, hearing.verdict, idea_of(debate)) for hearing in hearings if hearing.verdict]
    categories = [_scored(s, category, rating, topics) for category, rating in ratings.items()]
    before = overall({one.category: one.before for one in categories}, s.weights)
    after = overall({one.category: one.after for one in categories}, s.weights)
    not_judged = [hearing.topic.name for hearing in hearings if s.debate and not hearing.verdict]
    return Scorecard(
        summary=" ".join(_summary(topics, categories, before, after)),
        categories=categories,
        topics=topics,
        not_judged=not_judged,
        overall_before=round(before, 2),
        overall_after=round(after, 2),
        debated=s.debate,
        models={seat: chosen.model for seat, chosen in debate.seats.items()},
        caveats=list(_caveats(debate, topics, not_judged)),
    )


def _judged(hearing: TopicDebate, turn: Turn, idea: str) -> TopicVerdict:
    verdict = answers.verdict(turn)
    checked = [quote for said in hearing.turns for quote in quoted(said, idea)]
    return TopicVerdict(
        **answers.judgment(turn).model_dump(exclude={"winner"}),
        number=hearing.number,
        name=hearing.topic.name,
        category=hearing.topic.category,
        winner=verdict.winner,
        change=round(change(verdict), 2),
        quotes={side: _count([quote for quote in checked if quote.seat == side]) for side in SIDES},
        fallback=verdict.fallback,
    )


def _count(checked: Sequence[Quote]) -> Quotes:
    return Quotes(given=len(checked), verified=sum(quote.verdict == "verified" for quote in checked))


def _scored(
    s: EvaluationSettings, category: str, rating: CategoryRating, topics: Sequence[TopicVerdict]
) -> CategoryScore:
    about_it = [topic for topic in topics if topic.category == category]
    before = round(rating.score, 2)
    after = round(adjust([topic.verdict() for topic in about_it], before), 2)
    return CategoryScore(
        category=category,
        before=before,
        after=after,
        weight=s.weight(category),
        confidence=rating.confidence,
        evidence=rating.evidence,
        reasons=list(_reasons(about_it, before, after)),
    )


def _reasons(topics: Sequence[TopicVerdict], before: float, after: float) -> Iterator[str]:
    if not topics:
        yield "no topic about it was judged, so nothing moved"
    yield from (topic.reason() for topic in topics)
    if round(before + sum(topic.change for topic in topics) - after, 2):
        yield f"the scale ends at {after:g}"


def _summary(
    topics: Sequence[TopicVerdict], categories: Sequence[CategoryScore], before: float, after: float
) -> Iterator[str]:
    if not topics:
        yield f"The idea scores {after:.1f} overall; no topic was judged."
        return
    won = {side: sum(topic.winner == side for topic in topics) for side in SIDES}
    number = f"{len(topics)} topic{'s' if len(topics) > 1 else ''}"
    yield f"Of {number} the advocate won {won['advocate']} and the challenger {won['challenger']}."
    moved = f"moved from {before:.1f} to {after:.1f}" if f"{before:.1f}" != f"{after:.1f}" else f"stays at {after:.1f}"
    yield f"Overall the idea {moved}."
    most, moved_by = max(_moves(topics, categories), key=lambda move: abs(move[1]), default=(topics[0], 0.0))
    if moved_by:
        yield f"What moved it most was {most.name} ({signed(moved_by)}): {most.reasoning}"


def _moves(topics: Sequence[TopicVerdict], categories: Sequence[CategoryScore]) -> Iterator[tuple[TopicVerdict, float]]:
    """Each topic with the points by which its category has moved its way, as far as that counts."""
    for topic in topics:
        (about,) = (one for one in categories if one.category == topic.category)
        if about.weight and topic.change * about.difference > 0:
            yield topic, copysign(min(abs(topic.change), abs(about.difference)), topic.change)


def _caveats(debate: Evaluating, topics: Sequence[TopicVerdict], not_judged: Sequence[str]) -> Iterator[str]:
    if any(turn.kind == "scores" and "fallback" in turn.marks for turn in debate.transcript):
        yield "the evaluator's answer could not be read: the scores before the debate are a placeholder"
    if not debate.settings.debate:
        return
    if any(turn.kind == "challenges" and "fallback" in turn.marks for turn in debate.transcript):
        yield "the red team's answer could not be read: the challenger argued without it"
    for topic in topics:
        if topic.fallback:
            yield f"the arbiter's answer on {topic.name} could not be read: it moved nothing"
    if not_judged:
        yield f"not judged: {', '.join(not_judged)}"
    for side, title in TITLES.items():
        yield from _about_arguments(debate, topics, side, title)
    yield from about_turns(debate, TITLES)
    yield from about_models(debate, "arbiter", TITLES)


def _about_arguments(debate: Evaluating, topics: Sequence[TopicVerdict], side: str, title: str) -> Iterator[str]:
    given = [turn for turn in debate.transcript if (turn.seat, turn.kind) == (side, "argument")]
    if unread := sum("fallback" in turn.marks for turn in given):
        yield f"{unread} of {len(given)} cases of the {title} gave no argument that could be read"
    quotes = [topic.quotes[side] for topic in topics]
    total = sum(count.given for count in quotes)
    if false := total - sum(count.verified for count in quotes):
        yield f"{false} of {total} quotes of the {title} do not stand in the idea"


def notes(debate: Evaluating, turn: Turn) -> tuple[str, ...]:
    """What code says of a turn: its scores, whether its quotes stand in the idea, and what a verdict moves."""
    match turn.kind:
        case "scores":
            scores = [f"{name} {one.score:g} ({one.confidence})" for name, one in answers.ratings(turn).items()]
            return (", ".join(scores), *remarks(quoted(turn, idea_of(debate))))
        case "argument":
            return tuple(remarks(quoted(turn, idea_of(debate))))
        case "verdict" if turn.round:
            category, verdict = debate.settings.topics[turn.round - 1].category, answers.verdict(turn)
            scores_given = f"advocate {verdict.score_advocate:g}, challenger {verdict.score_challenger:g}"
            return (f"{scores_given}, confidence {verdict.confidence}: {category} {signed(change(verdict))}",)
        case _:
            return ()


def charts(debate: Evaluating, card: Scorecard) -> Iterator[ChartData]:
    """Without topics nothing came between before and after."""
    title = "Scores before and after" if card.topics else "Scores"
    *scores, whole = (Score(name, before if card.topics else None, after) for name, before, after in card.rows())
    yield ScoreChart(title, scores, whole)
    yield from scores_by_round(debate.transcript, "verdict", {f"score_{side}": TITLES[side] for side in SIDES})


EVALUATION = Format(
    name="evaluation",
    version=1,
    summary="An advocate and a challenger argue an idea before an arbiter, and its scores move.",
    settings=EvaluationSettings,
    seats=SEATS,
    outcome=Scorecard,
    script=script,
    folder=Path(__file__).parent,
    notes=notes,
    points=points,
    charts=charts,
    files=Files(read=read, is_report=is_report, last=last_of, compare=compare, ranking=ranking),
    first=("idea",),
    hidden=frozenset({"idea_key"}),
)

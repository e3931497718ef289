"""The outcome: what each category scored before and after, and what moved it; and the same as a markdown document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from math import inf
from textwrap import shorten

from pydantic import BaseModel, Field, ValidationError, computed_field

from moot.core.charts import moved, signed
from moot.core.debate import Bar, Cell, Outcome, Record, Rows, Status, Turn
from moot.core.trace import iso
from moot.formats.evaluation.answers import Argument, arguments
from moot.formats.evaluation.evidence import quoted
from moot.formats.evaluation.scores import ScoreVerdict, Winner
from moot.formats.evaluation.settings import OVERALL, TITLES, EvaluationSettings, Level, Topic
from moot.text.markdown import MAX_TITLE, contained, in_line, table_of

MAX_HEADING = 3
FOUND = {"verified": "✓ in the idea", "near": "≈ not word for word in the idea", "missing": "✗ not in the idea"}


class Quotes(BaseModel):
    """How many words of the idea a side quoted, and how many of them stand there."""

    given: int = 0
    verified: int = 0


class TopicVerdict(BaseModel):
    """How one topic was judged."""

    number: int
    name: str
    category: str
    winner: Winner
    score_advocate: float
    score_challenger: float
    confidence: Level
    change: float
    """Points by which it moves its category, before the scale bounds them."""
    reasoning: str
    key_points: list[str] = Field(default_factory=list)
    strongest_advocate: str = ""
    strongest_challenger: str = ""
    quotes: dict[str, Quotes] = Field(default_factory=dict)
    fallback: bool = False
    """The arbiter's answer could not be read: the scores are a placeholder and move nothing."""

    def verdict(self) -> ScoreVerdict:
        return ScoreVerdict(self.score_advocate, self.score_challenger, self.confidence, self.fallback)

    def result(self) -> str:
        """Who won, in a few words."""
        scores = f"{self.score_advocate:g} : {self.score_challenger:g}"
        if self.fallback:
            return "not readable"
        return f"a draw, {scores}" if self.winner == "draw" else f"the {self.winner} wins, {scores}"

    def reason(self) -> str:
        """Why the score moved as it did."""
        if self.fallback:
            return f"{self.name}: the arbiter's answer could not be read, so nothing moved"
        if self.winner == "draw":
            return f"{self.name}: {self.result()}, so nothing moved"
        return f"{self.name}: {self.result()}, confidence {self.confidence}: {signed(self.change)}"


class CategoryScore(BaseModel):
    category: str
    before: float
    after: float
    weight: float = 1.0
    confidence: Level = "medium"
    """How sure the score before was."""
    evidence: list[str] = Field(default_factory=list)
    reasons: list[str] = Field(default_factory=list)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def difference(self) -> float:
        return round(self.after - self.before, 2)


class Scorecard(Outcome):
    """How the idea scored before and after the debate, with everything that weakens it."""

    categories: list[CategoryScore]
    topics: list[TopicVerdict]
    not_judged: list[str]
    overall_before: float
    overall_after: float
    debated: bool
    models: dict[str, str]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def overall_difference(self) -> float:
        return round(self.overall_after - self.overall_before, 2)

    def headline(self) -> str:
        if not self.topics:
            scores = ", ".join(f"{one.category} {one.after:.1f}" for one in self.categories)
            return f"{self.overall_after:.1f} overall; {scores}"
        moves = ", ".join(f"{one.category} {moved(one.before, one.after)}" for one in self.categories)
        return f"{self.overall_before:.1f} → {self.overall_after:.1f} overall; {moves}"

    def rows(self) -> list[tuple[str, float, float]]:
        """Each category and all of them together, before and after."""
        categories = [(one.category, one.before, one.after) for one in self.categories]
        return [*categories, (OVERALL, self.overall_before, self.overall_after)]

    def table(self) -> Rows:
        if not self.topics:
            return (("", "score"), *((name, Bar(after)) for name, _, after in self.rows()))
        return (
            ("", "before", "after", "difference"),
            *((name, Bar(before), Bar(after), moved(before, after)) for name, before, after in self.rows()),
        )

    def document(self, record: Record, turns: Sequence[Turn]) -> str:
        settings = EvaluationSettings.model_validate(record.settings)
        idea = settings.quotable(record.topic)
        parts = [
            *_head(self, record),
            *_scores(self),
            *(part for topic in self.topics for part in _topic(topic, settings.topics[topic.number - 1], turns, idea)),
            *_section("Not judged", _list(map(in_line, self.not_judged))),
            *_section("What to keep in mind", _list(map(in_line, self.caveats))),
            *_transcript(settings, turns),
        ]
        return "\n\n".join(parts) + "\n"


# How scorecards compare: one with an earlier one of the same idea, several ideas with each other


def compare(before: Scorecard, after: Scorecard) -> Rows:
    """How the final scores of an idea moved from one evaluation to another."""
    then, now = _finals(before), _finals(after)
    names = sorted({**now, **then}, key=lambda name: name == OVERALL)  # it comes last
    return (
        ("", "last time", "now", "difference"),
        *((name, _cell(then, name), _cell(now, name), _moved(then, now, name)) for name in names),
    )


def ranking(ideas: Iterable[tuple[str, Scorecard]]) -> Rows:
    """Several ideas by name, the best first; those with the same score share their rank."""
    ranked = sorted(ideas, key=lambda idea: (-idea[1].overall_after, idea[0]))
    scores = [card.overall_after for _, card in ranked]
    return (
        ("rank", "idea", "before", "after", "difference"),
        *(
            (
                str(scores.index(card.overall_after) + 1),
                name,
                f"{card.overall_before:.1f}",
                Bar(card.overall_after),
                moved(card.overall_before, card.overall_after),
            )
            for name, card in ranked
        ),
    )


def last_of(records: Iterable[Record], idea_key: str) -> Scorecard | None:
    """The outcome of the latest finished evaluation of an idea; the records come newest first."""
    for record in records:
        same = record.format == "evaluation" and record.settings.get("idea_key") == idea_key
        if same and record.status is Status.FINISHED:
            with suppress(ValidationError):  # of another version of the format, which there is nothing to compare with
                return Scorecard.model_validate(record.outcome)
    return None


def _finals(card: Scorecard) -> dict[str, float]:
    return {name: after for name, _, after in card.rows()}


def _cell(scores: dict[str, float], name: str) -> Cell:
    return Bar(scores[name]) if name in scores else "–"


def _moved(then: dict[str, float], now: dict[str, float], name: str) -> str:
    return moved(then[name], now[name]) if name in then and name in now else "–"


# The scorecard as a document: what models and people wrote stays in its place


def _head(card: Scorecard, record: Record) -> Iterator[str]:
    yield f"# Evaluation: {in_line(shorten(record.topic, MAX_TITLE, placeholder=' …'))}"
    on = iso(record.finished_at or record.created_at)[:10]
    models = ", ".join(dict.fromkeys(name.rpartition("#")[2] for name in card.models.values()))
    yield f"{on} · {record.id} · {in_line(models)}"
    yield f"**{in_line(card.headline())}**"
    yield in_line(card.summary)


def _scores(card: Scorecard) -> Iterator[str]:
    yield "## Scores"
    yield table_of(card.table())
    yield _list(f"**{in_line(one.category)}**: {in_line(reason)}" for one in card.categories for reason in one.reasons)


def _topic(judged: TopicVerdict, topic: Topic, turns: Sequence[Turn], idea: str) -> Iterator[str]:
    yield f"## {judged.number}. {in_line(judged.name)}: {judged.result()}"
    yield contained(judged.reasoning, MAX_HEADING)
    yield from _section("Key points", _list(map(in_line, judged.key_points)), level=3)
    sides = (
        ("advocate", topic.advocate, judged.strongest_advocate),
        ("challenger", topic.challenger, judged.strongest_challenger),
    )
    for seat, position, strongest in sides:
        yield f"### {TITLES[seat]}: {in_line(position)}"
        own = [turn for turn in turns if (turn.seat, turn.kind, turn.round) == (seat, "argument", judged.number)]
        given = [line for turn in own for line in _arguments(turn, idea)]
        yield "\n".join(given) or "No argument that could be read."
        if strongest:
            yield f"Strongest, says the arbiter: {in_line(strongest)}"


def _arguments(turn: Turn, idea: str) -> Iterator[str]:
    found = {quote.text: FOUND[quote.verdict] for quote in quoted(turn, idea)}
    for number, argument in enumerate(arguments(turn), 1):
        yield f"{number}. **{in_line(argument.claim)}** {in_line(argument.reasoning)}{_evidence(argument, found)}"


def _evidence(argument: Argument, found: dict[str, str]) -> str:
    if not argument.evidence:
        return ""
    return f" “{in_line(argument.evidence)}” ({found[argument.evidence]})"


def _transcript(settings: EvaluationSettings, turns: Sequence[Turn]) -> Iterator[str]:
    yield "## Transcript"
    for turn in sorted(turns, key=_place):
        topic = f" · {in_line(settings.topics[turn.round - 1].name)}" if turn.round else ""
        marks = f" ({', '.join(turn.marks)})" if turn.marks else ""
        yield f"### {TITLES.get(turn.seat, turn.seat.capitalize())} · {turn.kind}{topic}{marks}"
        yield contained(turn.content, MAX_HEADING)


def _place(turn: Turn) -> float:
    """What came before the topics, then topic by topic, then what a person or the clock has said."""
    return turn.round or (0 if turn.seat in TITLES else inf)


def _section(title: str, body: str, level: int = 2) -> Iterator[str]:
    """Nothing when there is nothing to say."""
    if body:
        yield f"{'#' * level} {title}"
        yield body


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)

"""The outcome: what each category scored before and after, and what moved it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Literal

from pydantic import BaseModel, Field, ValidationError, computed_field

from moot.core.charts import moved, signed
from moot.core.debate import Record, Status, Turn
from moot.core.table import Bar, Cell, Rows
from moot.core.trust import Stability
from moot.formats.evaluation import report
from moot.formats.evaluation.evidence import Quote
from moot.formats.evaluation.scores import ScoreVerdict, Winner
from moot.formats.evaluation.settings import OVERALL, SIDES, TITLES, EvaluationSettings, Level
from moot.text.language import Language
from moot.trust.quality import Rated

HeldBack = Literal["", "misquotes", "gave_in"]


class Quotes(BaseModel):
    """How many words of the idea a side quoted, and how many of them stand there."""

    given: int = 0
    verified: int = 0


def counted(checked: Sequence[Quote]) -> dict[str, Quotes]:
    """By side."""
    own = {side: [quote.false for quote in checked if quote.seat == side] for side in SIDES}
    return {side: Quotes(given=len(found), verified=found.count(False)) for side, found in own.items()}


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
    certainty: Level | None = None
    """How far code trusts the verdict; None in version 1, where the arbiter's own `confidence` moved the score."""
    doubts: list[str] = Field(default_factory=list)
    """Why the certainty is low."""
    held_back: HeldBack = ""
    """What forbids the leading side to win, so that nothing moves."""
    misquoted: list[str] = Field(default_factory=list)
    """What the sides quoted and the idea does not say."""
    given_up: dict[str, list[int]] = Field(default_factory=dict)
    """Side → the numbers of its arguments that it no longer defends."""
    granted: dict[str, list[int]] = Field(default_factory=dict)
    """Side → the numbers of its arguments that the other side accepts."""
    stability: Stability | None = None
    """What several judgings say together; its first side is the advocate."""
    next_test: str = ""
    """What would settle what stayed open, says the arbiter."""

    def verdict(self) -> ScoreVerdict:
        level = self.certainty or self.confidence
        return ScoreVerdict(self.score_advocate, self.score_challenger, level, self.fallback, bool(self.held_back))

    def result(self, say: Language) -> str:
        """Who won, in a few words."""
        scores = self._scores()
        if self.fallback:
            return say("not readable")
        if self.held_back:
            return say("open, {side} leads {scores}", side=TITLES[self.verdict().leader], scores=scores)
        if self.winner == "draw":
            return say("a draw, {scores}", scores=scores)
        if self.winner == "advocate":
            return say("the advocate wins, {scores}", scores=scores)
        return say("the challenger wins, {scores}", scores=scores)

    def reason(self, say: Language) -> str:
        """Why the score moved as it did."""
        told = {"name": self.name, "result": self.result(say)}
        if self.fallback:
            return say("{name}: the arbiter's answer could not be read, so nothing moved", name=self.name)
        if self.held_back == "misquotes":
            return say("{name}: {result}, but quotes what the idea does not say, so nothing moved", **told)
        if self.held_back:
            return say("{name}: {result}, but has given up its case, so nothing moved", **told)
        if self.winner == "draw":
            return say("{name}: {result}, so nothing moved", **told)
        told["change"] = signed(self.change)
        if self.certainty is None:
            return say("{name}: {result}, confidence {level}: {change}", **told, level=self.confidence)
        return say("{name}: {result}, certainty {level}: {change}", **told, level=_level(self, say))

    def fate(self, side: str, number: int, say: Language) -> str:
        """What became of a side's argument, where it was conceded."""
        if number in self.given_up.get(side, ()):
            return say("(given up)")
        return say("(granted by the other side)") if number in self.granted.get(side, ()) else ""

    def _scores(self) -> str:
        """The leader's first; in version 1 the advocate's."""
        scores = [self.score_advocate, self.score_challenger]
        return "{:g} : {:g}".format(*(scores if self.certainty is None else sorted(scores, reverse=True)))


def open_first(topics: Sequence[TopicVerdict]) -> list[TopicVerdict]:
    """Those for which there is something to test: what nobody has won comes first, then what was close."""
    tests = [topic for topic in topics if topic.next_test]
    return sorted(tests, key=lambda topic: (topic.winner != "draw", topic.verdict().margin))


def _level(topic: TopicVerdict, say: Language) -> str:
    level = {"low": say("low"), "medium": say("medium"), "high": say("high")}[topic.certainty or topic.confidence]
    return f"{level} ({', '.join(topic.doubts)})" if topic.doubts else level


class CategoryScore(BaseModel):
    category: str
    before: float
    after: float
    weight: float = 1.0
    confidence: Level = "medium"
    """How sure the score before was."""
    evidence: list[str] = Field(default_factory=list)
    reasons: list[str] = Field(default_factory=list)
    noise: float | None = Field(
        None, description="the standard deviation of the scorings before, of which it is the mean"
    )

    @property
    def within_noise(self) -> bool:
        """Whether it moved by less than one scoring differs from another."""
        return self.noise is not None and 0 < abs(self.difference) < self.noise

    @computed_field  # type: ignore[prop-decorator]
    @property
    def difference(self) -> float:
        return round(self.after - self.before, 2)


class Scorecard(Rated):
    """How the idea scored before and after the debate, with everything that weakens it."""

    categories: list[CategoryScore]
    topics: list[TopicVerdict]
    not_judged: list[str]
    overall_before: float
    overall_after: float
    debated: bool
    models: dict[str, str]
    idea_digest: str = Field("", description="another one is of another text")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def overall_difference(self) -> float:
        return round(self.overall_after - self.overall_before, 2)

    def headline(self) -> str:
        say, after = self.say, self.overall_after
        if not self.topics:
            scores = ", ".join(f"{one.category} {one.after:.1f}" for one in self.categories)
            return say("{after:.1f} overall; {scores}", after=after, scores=scores)
        moves = ", ".join(f"{one.category} {moved(one.before, one.after)}" for one in self.categories)
        return say("{before:.1f} → {after:.1f} overall; {moves}", before=self.overall_before, after=after, moves=moves)

    def listed(self) -> str:
        say = self.say
        before, after = f"{self.overall_before:.1f}", f"{self.overall_after:.1f}"
        if not self.topics:
            return say("{after} of 10, before any debate", after=after)
        if before == after:
            return say("It stays at {after} of 10", after=after)
        most = max(self.categories, key=lambda one: abs(one.difference)).category
        values = {"before": before, "after": after, "category": most}
        if self.overall_after < self.overall_before:
            return say("Down from {before} to {after}, most of it in {category}", **values)
        return say("Up from {before} to {after}, most of it in {category}", **values)

    def rated(self) -> float | None:
        return self.overall_after

    def rows(self) -> list[tuple[str, float, float]]:
        """Each category and all of them together, before and after."""
        categories = [(one.category, one.before, one.after) for one in self.categories]
        return [*categories, (OVERALL, self.overall_before, self.overall_after)]

    def _said_rows(self) -> list[tuple[str, float, float]]:
        *categories, (_, before, after) = self.rows()
        return [*categories, (self.say("overall"), before, after)]

    def table(self) -> Rows:
        say, rows = self.say, self._said_rows()
        if not self.topics:
            return (("", say("score")), *((name, Bar(after)) for name, _, after in rows))
        quiet = {one.category for one in self.categories if one.within_noise}
        return (
            ("", say("before"), say("after"), say("difference")),
            *(
                (name, Bar(before), Bar(after), self._moved(name in quiet, before, after))
                for name, before, after in rows
            ),
        )

    def _moved(self, quiet: bool, before: float, after: float) -> str:
        change = moved(before, after)
        return self.say("{change}, within the noise of scoring", change=change) if quiet else change

    def topics_to_test(self) -> list[TopicVerdict]:
        return open_first(self.topics)

    def document(self, record: Record, turns: Sequence[Turn]) -> str:
        return report.document(self, record, turns)


# How scorecards compare: one with an earlier one of the same idea, several ideas with each other


def compare(before: Scorecard, after: Scorecard) -> Rows:
    """How the final scores of an idea moved from one evaluation to another."""
    then, now = _finals(before), _finals(after)
    names = sorted({**now, **then}, key=lambda name: name == OVERALL)  # it comes last
    return (
        ("", "last time", "now", "difference"),
        *((name, _cell(then, name), _cell(now, name), _moved(then, now, name)) for name in names),
    )


def compared(before: Scorecard, after: Scorecard) -> Sequence[str]:
    """What makes two evaluations of an idea hard to compare."""
    notes = []
    if before.debated != after.debated:
        debated, other = ("now", "last time") if after.debated else ("last time", "now")
        notes.append(f"The scores were debated {debated}, and not {other}: a difference may come from that alone.")
    if before.idea_digest and after.idea_digest and before.idea_digest != after.idea_digest:
        notes.append("The idea has changed since the last time.")
    return notes


def digest(idea: str) -> str:
    return hashlib.sha256(idea.encode("utf-8", "surrogatepass")).hexdigest()[:16]


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
                idea = EvaluationSettings.model_validate(record.settings).quotable(record.topic)
                return Scorecard.model_validate(record.outcome).model_copy(update={"idea_digest": digest(idea)})
    return None


def _finals(card: Scorecard) -> dict[str, float]:
    return {name: after for name, _, after in card.rows()}


def _cell(scores: dict[str, float], name: str) -> Cell:
    return Bar(scores[name]) if name in scores else "–"


def _moved(then: dict[str, float], now: dict[str, float], name: str) -> str:
    return moved(then[name], now[name]) if name in then and name in now else "–"

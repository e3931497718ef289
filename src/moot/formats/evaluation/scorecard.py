"""The outcome: what each category scored before and after, and what moved it; and how two outcomes compare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, Field, computed_field

from moot.core.debate import Outcome, Record, Status, Turn
from moot.formats.evaluation.scores import Verdict, Winner
from moot.formats.evaluation.settings import OVERALL, Level

BLOCKS = 10
MINUS = "−"
Rows = tuple[tuple[str, ...], ...]


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

    def verdict(self) -> Verdict:
        return Verdict(self.score_advocate, self.score_challenger, self.confidence, self.fallback)

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

    def table(self) -> Rows:
        rows = [(one.category, one.before, one.after) for one in self.categories]
        rows.append((OVERALL, self.overall_before, self.overall_after))
        if not self.topics:
            return (("", "score"), *((name, bar(after)) for name, _, after in rows))
        return (
            ("", "before", "after", "difference"),
            *((name, bar(before), bar(after), moved(before, after)) for name, before, after in rows),
        )

    def document(self, record: Record, turns: Sequence[Turn]) -> str:
        from moot.formats.evaluation.document import document  # which knows this class

        return document(self, record, turns)


def bar(score: float) -> str:
    """`██████░░░░ 6.0`"""
    filled = round(score * BLOCKS / 10)
    return f"{'█' * filled}{'░' * (BLOCKS - filled)} {score:.1f}"


def signed(points: float) -> str:
    """`+0.3`, `−1.2`, `0.0`"""
    rounded = round(points, 1)
    return f"{rounded:+.1f}".replace("-", MINUS) if rounded else "0.0"


def moved(before: float, after: float) -> str:
    """The difference between two scores as they are shown, so that the reader's sum agrees."""
    return signed(round(after, 1) - round(before, 1))


def compare(before: Scorecard, after: Scorecard) -> Rows:
    """How the final scores of an idea moved from one evaluation to another."""
    then, now = _finals(before), _finals(after)
    return (
        ("", "last time", "now", "difference"),
        *((name, _cell(then, name), _cell(now, name), _moved(then, now, name)) for name in {**now, **then}),
        (
            OVERALL,
            bar(before.overall_after),
            bar(after.overall_after),
            moved(before.overall_after, after.overall_after),
        ),
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
                bar(card.overall_after),
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
            return Scorecard.model_validate(record.outcome)
    return None


def _finals(card: Scorecard) -> dict[str, float]:
    return {one.category: one.after for one in card.categories}


def _cell(scores: dict[str, float], name: str) -> str:
    return bar(scores[name]) if name in scores else "–"


def _moved(then: dict[str, float], now: dict[str, float], name: str) -> str:
    return moved(then[name], now[name]) if name in then and name in now else "–"
